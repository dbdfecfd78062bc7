"""Findings as lists that JSON can hold, and back. Paths that are the file's own are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolint.diagnostic import Diagnostic, Place, Repair, TextEdit
from autolint.severity import Severity


def encode(found: Diagnostic) -> list[Any]:
    """A finding as a list."""
    return [
        found.code,
        int(found.severity),
        found.name,
        found.line,
        found.column,
        found.end_line,
        found.end_column,
        found.message,
        [[None if each.path == found.path else each.path, *each[1:]] for each in found.because],
        None
        if found.fix is None
        else [found.fix.title, found.fix.safe, [list(edit) for edit in found.fix.edits]],
        found.excerpt,
        found.elsewhere,
        found.cell,
    ]


def decode(
    path: str, rows: list[list[Any]], shows: Callable[[str, Severity], bool]
) -> list[Diagnostic]:
    """The findings among those of a file that are shown."""
    return [_decoded(path, row) for row in rows if shows(row[0], Severity(row[1]))]


def _decoded(path: str, row: list[Any]) -> Diagnostic:
    code, severity, name, line, column, end_line, end_column, message, because, fix, *rest = row
    excerpt, elsewhere, cell = rest
    return Diagnostic(
        path=path,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        code=code,
        name=name,
        severity=Severity(severity),
        message=message,
        because=tuple(Place(path if at is None else at, *other) for at, *other in because),
        fix=None
        if fix is None
        else Repair(fix[0], fix[1], tuple(TextEdit(*edit) for edit in fix[2])),
        excerpt=excerpt,
        elsewhere=elsewhere,
        cell=cell,
    )
