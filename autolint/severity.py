"""How bad a finding is."""

from __future__ import annotations

import enum


class Severity(enum.IntEnum):
    """A promise: an error is wrong whenever the line runs, a warning under a common condition."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()
