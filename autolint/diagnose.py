"""From what rules reported about nodes to diagnostics about lines and columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autolint.api import Site
from autolint.collect import Crash, Report
from autolint.diagnostic import Diagnostic, Place, Problem
from autolint.interpreter.unit import Unit
from autolint.locate import Locator
from autolint.repair import Repairs
from autolint.source import Source


class Diagnoser:
    """Knows where everything stands that was reported about one file."""

    def __init__(
        self,
        source: Source,
        tree: ast.Module,
        unit: Unit,
        reports: Sequence[Report],
        crashes: Sequence[Crash],
    ) -> None:
        self._path = source.path
        self._lines = source.text.split("\n")
        sites = [site for report in reports for site in _sites(report, unit)]
        self._locator = Locator([*sites, *(crash.site for crash in crashes)])
        self._repairs = Repairs(source.text, tree, self._locator.whole)

    def diagnostic(self, report: Report) -> Diagnostic:
        """The report as the user reads it."""
        finding, rule = report.finding, report.rule
        span = self._locator.span(report.anchor)
        because = [self._place(each.site, each.message) for each in finding.because]
        if report.anchor is not finding.site:
            because.insert(0, self._place(finding.site, f"here, in {report.scope.name}"))
        return Diagnostic(
            path=self._path,
            line=span.line,
            column=span.column + 1,
            end_line=span.end_line,
            end_column=span.end_column + 1,
            code=rule.code,
            name=rule.name,
            severity=rule.severity if finding.severity is None else finding.severity,
            message=finding.message,
            because=tuple(because),
            fix=None if finding.fix is None else self._repairs.repair(finding.fix),
            excerpt=self._lines[span.line - 1],
            elsewhere=report.anchor is not finding.site,
        )

    def problem(self, crash: Crash) -> Problem:
        """A rule's crash, at the line that it looked at."""
        line = self._locator.span(crash.site).line
        reason = f"{type(crash.error).__name__}: {crash.error}"
        message = f"internal error in rule {crash.rule.code} ({crash.rule.name})"
        if crash.site.unit.path != self._path:
            message += f" about {crash.site.unit.path}"
        return Problem(
            self._path, f"{message} at line {line}: {reason}", crash.rule.code, crash.details
        )

    def _place(self, site: Site, message: str) -> Place:
        span = self._locator.span(site)
        return Place(site.unit.path, span.line, span.column + 1, message)


def _sites(report: Report, unit: Unit) -> Iterator[Site]:
    """All places that a report speaks of; edits speak of nodes of the linted file."""
    finding = report.finding
    yield report.anchor
    yield finding.site
    for each in finding.because:
        yield each.site
    if finding.fix is not None:
        for edit in finding.fix.edits:
            yield Site(unit, edit.node, edit.node)
            if edit.until is not None:
                yield Site(unit, edit.until, edit.until)
