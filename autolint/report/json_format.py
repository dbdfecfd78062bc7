"""For programs: ``--format json``, version 1. Complete also when something went wrong."""

from __future__ import annotations

import json
from typing import Any

from autolint.diagnostic import Diagnostic, Outcome, Place, Problem, Repair, TextEdit
from autolint.paths import relative
from autolint.report.figures import by_code, fixable

VERSION = 1


def render(outcome: Outcome, base: str) -> str:
    """The whole outcome as one JSON object."""
    document = {
        "version": VERSION,
        "findings": [_finding(each, base) for each in outcome.findings],
        "errors": [_error(each, base) for each in outcome.problems],
        "summary": {
            "files": outcome.files,
            "findings": len(outcome.findings),
            "fixable": fixable(outcome),
            "by_code": by_code(outcome),
            "not_followed": outcome.not_followed,
        },
    }
    return json.dumps(document, indent=1)


def _finding(each: Diagnostic, base: str) -> dict[str, Any]:
    cell = {} if each.cell is None else {"cell": each.cell}
    return {
        "path": relative(each.path, base),
        **cell,
        "line": each.line,
        "column": each.column,
        "end_line": each.end_line,
        "end_column": each.end_column,
        "code": each.code,
        "name": each.name,
        "severity": str(each.severity),
        "message": each.message,
        "because": [_place(place, base) for place in each.because],
        "fix": None if each.fix is None else _fix(each.fix),
    }


def _place(place: Place, base: str) -> dict[str, Any]:
    return {**_fields(place), "path": relative(place.path, base)}


def _fields(value: Place | TextEdit) -> dict[str, Any]:
    """The fields of a place or edit; `cell` only in notebooks."""
    fields = value._asdict()
    if value.cell is None:
        del fields["cell"]
    return fields


def _fix(fix: Repair) -> dict[str, Any]:
    edits = [_fields(edit) for edit in fix.edits]
    return {"title": fix.title, "safe": fix.safe, "edits": edits}


def _error(problem: Problem, base: str) -> dict[str, Any]:
    path = relative(problem.path, base)
    return {"path": path, "code": problem.code, "message": problem.message}
