"""For GitLab: ``--format gitlab``, a Code Quality report."""

from __future__ import annotations

import json
from typing import Any

from autolint.diagnostic import Diagnostic, Outcome
from autolint.fingerprints import fingerprints
from autolint.paths import in_cell, relative
from autolint.severity import Severity

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(outcome: Outcome, root: str) -> str:
    """A list of issues, as the merge request widget reads it.

    What autolint could not do is an issue too: the report has no other place for it.
    """
    marks = fingerprints(outcome.findings, root)
    issues = [_issue(each, mark, root) for each, mark in zip(outcome.findings, marks, strict=True)]
    for problem in outcome.problems:
        path = relative(problem.path, root)
        issues.append(
            {
                "description": problem.message,
                "check_name": problem.code or "autolint",
                "fingerprint": f"problem:{path}:{problem.message}",
                "severity": "blocker",
                "location": {"path": path, "lines": {"begin": 1}},
            }
        )
    return json.dumps(issues, indent=1)


def _issue(each: Diagnostic, mark: str, root: str) -> dict[str, Any]:
    lines = {"begin": each.line, "end": each.end_line}
    return {
        "description": f"{each.code} {each.name}: {in_cell(each.cell)}{each.message}",
        "check_name": each.code,
        "fingerprint": mark,
        "severity": _SEVERITIES[each.severity],
        "location": {"path": relative(each.path, root), "lines": lines},
    }
