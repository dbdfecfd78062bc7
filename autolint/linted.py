"""What is known of one file after it was checked: plain values, for the outcome and the cache."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from autolint.diagnostic import Diagnostic, Problem
from autolint.interpreter.touched import Import, Probe


@dataclass(slots=True)
class Linted:
    """The findings of a file, hidden severities included, told by cells in a notebook.

    `files` are the paths of other files, `imports` the lookups (folder, module), that the findings
    depend on.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    functions: int = 0
    not_followed: int = 0
    files: frozenset[str] = frozenset()
    imports: frozenset[Import] = frozenset()


@dataclass(slots=True)
class Seen:
    """What was seen of the disk while files were checked.

    `stamps` are those of files, `unsteady` the files that changed meanwhile. `asked` holds for each
    import which names were looked for in which folders, `answers` whether they were there,
    `changed` when a folder was changed last before its names were read.
    """

    stamps: Mapping[str, tuple[int, int, str] | None]
    unsteady: Set[str]
    asked: Mapping[Import, frozenset[Probe]]
    answers: Mapping[Probe, bool]
    changed: Mapping[str, int]
