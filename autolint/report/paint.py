"""Colours of a terminal, or none."""

from __future__ import annotations

from autolint.severity import Severity

_SEVERITIES = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}


class Paint:
    """Wraps text in ANSI codes if `colour` is set."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def bold(self, text: str) -> str:
        """For paths and codes."""
        return self._wrap(text, "1")

    def dim(self, text: str) -> str:
        """For what accompanies a finding."""
        return self._wrap(text, "2")

    def good(self, text: str) -> str:
        """For fixes."""
        return self._wrap(text, "32")

    def severity(self, text: str, severity: Severity) -> str:
        """For what says how bad it is."""
        return self._wrap(text, _SEVERITIES[severity])

    def _wrap(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text
