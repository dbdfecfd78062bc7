"""For programs: ``--format json``, version 1. Complete also when something went wrong."""

from __future__ import annotations

import json
from typing import Any

from autolint.diagnostic import Diagnostic, Outcome, Place, Problem, Repair
from autolint.report.figures import by_code, fixable
from autolint.report.paths import relative

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
    return {
        "path": relative(each.path, base),
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
    return {**place._asdict(), "path": relative(place.path, base)}


def _fix(fix: Repair) -> dict[str, Any]:
    edits = [edit._asdict() for edit in fix.edits]
    return {"title": fix.title, "safe": fix.safe, "edits": edits}


def _error(problem: Problem, base: str) -> dict[str, Any]:
    path = relative(problem.path, base)
    return {"path": path, "code": problem.code, "message": problem.message}
