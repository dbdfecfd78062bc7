"""What the engine says about a file: plain values without a syntax tree, ready for any report.

Paths are absolute. Lines and columns are 1-based and count code points; ends are exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from autolint.severity import Severity
from autolint.source import Source


class Place(NamedTuple):
    """One link of a finding's because-chain: what happened where."""

    path: str
    line: int
    column: int
    message: str
    cell: int | None = None


class TextEdit(NamedTuple):
    """A replacement in the text of a file; an empty range inserts.

    Lines of `text` end with a line feed whatever the file uses.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """A fix as text edits. `safe`: apart from the fault, the program does and stores the same."""

    title: str
    safe: bool
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding at its place. `excerpt` is the source line that it starts on.

    `cell` is the code cell of a notebook, inside which lines are counted; None elsewhere.

    `elsewhere`: it stands at a call; the fault itself is in another file, at the first place of
    `because`.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    severity: Severity
    message: str
    because: tuple[Place, ...] = ()
    fix: Repair | None = None
    excerpt: str = ""
    elsewhere: bool = False
    cell: int | None = None

    @property
    def order(self) -> tuple[str, int, int, int, str, str]:
        """The key of the one order in which every report lists findings."""
        return (self.path, self.cell or 0, self.line, self.column, self.code, self.message)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that autolint could not do: an unreadable file, or a fault of its own.

    `code` is the rule that crashed, if one did; `details` the traceback, shown with ``--verbose``.
    """

    path: str
    message: str
    code: str | None = None
    details: str = ""


@dataclass(slots=True)
class Outcome:
    """A whole run: what was found, what could not be done, and the figures of the last line.

    `fixed` counts applied fixes, `suppressed` findings that got a comment, `known` those that a
    baseline keeps back; `changed` holds, per path, the file before and after them.
    """

    findings: list[Diagnostic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    functions: int = 0
    not_followed: int = 0
    fixed: int = 0
    suppressed: int = 0
    known: int = 0
    changed: dict[str, tuple[Source, Source]] = field(default_factory=dict)
