"""Between the interpreter and the rules: hands events to checks and keeps what may be reported."""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from autolint.api import Event, Finding, Rule, Severity, Site
from autolint.interpreter.events import Scope
from autolint.interpreter.unit import Unit


@dataclass(frozen=True, slots=True)
class Report:
    """A finding, who made it and in which run of which function.

    `anchor` is where it stands in the linted file: its own site, or the call that led out of the
    file.
    """

    rule: Rule
    finding: Finding
    scope: Scope
    anchor: Site

    @property
    def key(self) -> tuple[str, int]:
        """Reports with one key say the same; the first of the most severe ones is kept."""
        return (self.rule.code, id(self.anchor.node))

    @property
    def severity(self) -> Severity:
        """The finding's own severity, or that of its rule."""
        own = self.finding.severity
        return self.rule.severity if own is None else own


@dataclass(frozen=True, slots=True)
class Crash:
    """A check that raised: which rule, at which event, and the traceback."""

    rule: Rule
    site: Site
    error: Exception
    details: str


class Collector:
    """The interpreter's sink for one file."""

    def __init__(self, rules: Iterable[Rule], unit: Unit) -> None:
        self._unit = unit
        self._rules: dict[type[Event], list[Rule]] = {}
        for rule in rules:
            for event in rule.checks:
                self._rules.setdefault(event, []).append(rule)
        self.wanted = frozenset(self._rules)
        self.crashes: list[Crash] = []
        self.function: str | None = None
        self._root: list[Report] = []
        self._finished: list[Report] = []
        self._contexts: dict[Hashable, set[Hashable]] = {}
        """For each function the contexts that it was run in."""

    def scope_entered(self, scope: Scope) -> None:
        """A function is run once more, in the context of its scope."""
        self.function = scope.qualname
        self._contexts.setdefault(scope.function, set()).add(scope.context)

    def emit(self, event: Event) -> None:
        """Ask the rules about an event. What a rule raises ends that check only."""
        for rule in self._rules[type(event)]:
            for check in rule.checks[type(event)]:
                try:
                    for finding in check(event):
                        self._take(rule, finding, finding.scope or event.scope)
                except Exception as error:
                    details = traceback.format_exc()
                    self.crashes.append(Crash(rule, event.site, error, details))

    def root_finished(self, complete: bool) -> None:
        """Keep what the root led to, unless a bound was reached: then it is only half the truth."""
        if complete:
            self._finished.extend(self._root)
        self._root = []

    def reports(self) -> list[Report]:
        """What may be reported: shown in every context where it must be, each once."""
        shown: dict[tuple[str, int], set[Hashable]] = {}
        for report in self._finished:
            shown.setdefault(report.key, set()).add(report.scope.context)
        first: dict[tuple[str, int], Report] = {}
        for report in self._finished:
            # A rule about something missing: another call of the function may supply it.
            everywhere = self._contexts.get(report.scope.function, set())
            if not report.rule.missing or everywhere <= shown[report.key]:
                known = first.setdefault(report.key, report)
                if report.severity > known.severity:
                    first[report.key] = report
        return list(first.values())

    def _take(self, rule: Rule, finding: Finding, scope: Scope) -> None:
        anchor = self._anchor(finding.site, scope)
        if anchor is not None:
            self._root.append(Report(rule, finding, scope, anchor))

    def _anchor(self, site: Site, scope: Scope) -> Site | None:
        if site.unit is self._unit:
            return site
        return next((call for call in reversed(scope.calls) if call.unit is self._unit), None)


def most_specific(reports: Iterable[Report]) -> tuple[list[Report], list[Report]]:
    """The reports that stand, and those displaced by a more specific one of the same fault."""
    reports = list(reports)
    displaced: dict[Hashable, set[str]] = {}
    for report in reports:
        if report.finding.fault is not None:
            codes = displaced.setdefault(report.finding.fault, set())
            codes.update(report.rule.more_specific_than)
    stand: list[Report] = []
    fall: list[Report] = []
    for report in reports:
        fault = report.finding.fault
        behind = fault is not None and report.rule.code in displaced[fault]
        (fall if behind else stand).append(report)
    return stand, fall
