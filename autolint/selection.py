"""Which rules are run, and which of their findings are shown.

A selector is a code, a beginning of codes (``AG1``), a rule's name, or ``ALL``. Of the selectors
that match a rule the longest decides, and between equals the one that ignores.
"""

from __future__ import annotations

from collections.abc import Iterable

from autolint.catalogue import UNPARSABLE, Catalogue, Entry
from autolint.config import Config, ConfigError, did_you_mean
from autolint.severity import Severity

ALL = "ALL"

DEFAULT_SEVERITY = Severity.WARNING
"""The mildest severity that is shown unless a rule was asked for by its full code or name."""


def check_selector(catalogue: Catalogue, selector: str) -> None:
    """Raise ConfigError if a selector means no rule."""
    if not any(_strength(entry, [selector]) for entry in catalogue):
        known = catalogue.keys()
        raise ConfigError(f"no rule is called {selector!r}" + did_you_mean(selector, known))


class Selection:
    """The rules of one config."""

    def __init__(self, catalogue: Catalogue, config: Config, ignored_here: Iterable[str]) -> None:
        """`ignored_here` are the selectors that per-file-ignores has for the file."""
        select = (ALL,) if config.select is None else config.select
        self._select = (*select, *config.extend_select)
        self._ignore = config.ignore
        self._ignored_here = tuple(ignored_here)
        self._config = config
        self.entries = {entry.code: entry for entry in catalogue if self._runs(entry)}
        self._floors = {code: self._floor(entry) for code, entry in self.entries.items()}

    def shows(self, code: str, severity: Severity) -> bool:
        """Whether a finding is in the report."""
        floor = self._floors.get(code)
        return floor is not None and severity >= floor

    def _runs(self, entry: Entry) -> bool:
        if _strength(entry, self._ignored_here):
            return False
        ignored = _strength(entry, self._ignore)
        if entry.code == UNPARSABLE.code:
            # Whatever is selected, an unread file must not pass for a clean one.
            return not ignored
        return _strength(entry, self._select) > ignored

    def _floor(self, entry: Entry) -> Severity:
        if self._config.min_severity is not None:
            return self._config.min_severity
        named = entry.code in self._select or entry.name in self._select
        return Severity.INFO if named else DEFAULT_SEVERITY


def _strength(entry: Entry, selectors: Iterable[str]) -> int:
    """How specific the most specific matching selector is; 0 if none matches."""
    strength = 0
    for selector in selectors:
        if selector in (entry.code, entry.name):
            return 1_000
        if selector == ALL:
            strength = max(strength, 1)
        elif selector and entry.code.startswith(selector):
            strength = max(strength, 1 + len(selector))
    return strength
