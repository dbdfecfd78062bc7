"""For code scanning: ``--format sarif``, version 2.1.0."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import autolint
from autolint.catalogue import Entry
from autolint.diagnostic import Diagnostic, Outcome, Place, Problem, Repair
from autolint.fingerprints import KEY, fingerprints
from autolint.paths import in_cell, relative
from autolint.severity import Severity

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT = "SRCROOT"


def render(outcome: Outcome, root: str, entries: Iterable[Entry]) -> str:
    """The whole outcome as one SARIF log; paths are relative to the repository's `root`."""
    by_code = {each.code: each for each in entries}
    rules = list(by_code)
    marks = fingerprints(outcome.findings, root)
    run = {
        "tool": {"driver": _driver(by_code.values())},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not outcome.problems,
                "toolExecutionNotifications": [_notification(p, root) for p in outcome.problems],
            }
        ],
        "results": [
            _result(each, mark, rules.index(each.code), root)
            for each, mark in zip(outcome.findings, marks, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def homepage() -> str | None:
    """The address of the project, as its metadata has it (``project.urls``); None without one."""
    for line in importlib.metadata.metadata("autolint").get_all("Project-URL") or ():
        label, _, address = str(line).partition(",")
        if label.strip().lower() in ("homepage", "documentation"):
            return address.strip()
    return None


def _driver(entries: Iterable[Entry]) -> dict[str, Any]:
    address = homepage()
    driver: dict[str, Any] = {
        "name": "autolint",
        "version": autolint.__version__,
        "rules": [_rule(each, address) for each in entries],
    }
    if address is not None:
        driver["informationUri"] = address
    return driver


def _rule(entry: Entry, address: str | None) -> dict[str, Any]:
    page = entry.page.strip()
    rule: dict[str, Any] = {
        "id": entry.code,
        "name": entry.name,
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": entry.summary},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
        "properties": {"tags": ["pytorch", "autograd"]},
    }
    if address is not None:
        rule["helpUri"] = f"{address.rstrip('/')}#{entry.code}"
    return rule


def _result(each: Diagnostic, mark: str, index: int, root: str) -> dict[str, Any]:
    region = _region(each.line, each.column, each.end_line, each.end_column)
    result: dict[str, Any] = {
        "ruleId": each.code,
        "ruleIndex": index,
        "level": _LEVELS[each.severity],
        "message": {"text": f"{in_cell(each.cell)}{each.message}"},
        "locations": [{"physicalLocation": _physical(each.path, root, region)}],
        "partialFingerprints": {KEY: mark},
    }
    if each.because:
        result["relatedLocations"] = [
            _related(number, place, root) for number, place in enumerate(each.because)
        ]
    if each.fix is not None and each.cell is None:
        # In a notebook the lines of an edit are a cell's, not the file's.
        result["fixes"] = [_fix(each.path, each.fix, root)]
    return result


def _related(number: int, place: Place, root: str) -> dict[str, Any]:
    region = {"startLine": place.line, "startColumn": place.column}
    return {
        "id": number,
        "message": {"text": f"{in_cell(place.cell)}{place.message}"},
        "physicalLocation": _physical(place.path, root, region),
    }


def _fix(path: str, fix: Repair, root: str) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": _region(edit.line, edit.column, edit.end_line, edit.end_column),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(path, root), "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _notification(problem: Problem, root: str) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": problem.message}}
    location = {"physicalLocation": {"artifactLocation": _artifact(problem.path, root)}}
    notification["locations"] = [location]
    if problem.code is not None:
        notification["associatedRule"] = {"id": problem.code}
    return notification


def _physical(path: str, root: str, region: dict[str, int]) -> dict[str, Any]:
    return {"artifactLocation": _artifact(path, root), "region": region}


def _artifact(path: str, root: str) -> dict[str, str]:
    shown = relative(path, root)
    uri = quote(shown.encode("utf-8", "surrogateescape"))
    if shown.startswith("/"):
        return {"uri": f"file://{uri}"}
    return {"uri": uri, "uriBaseId": _ROOT}


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }
