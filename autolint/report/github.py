"""For GitHub Actions: workflow commands that annotate the changed lines.

GitHub shows at most ten annotations of each kind for one step; the log holds all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from autolint.diagnostic import Diagnostic, Outcome
from autolint.paths import in_cell, relative
from autolint.report.figures import last_line, plural
from autolint.severity import Severity

SHOWN = 10
"""Annotations of one kind that GitHub shows for a step."""

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def lines(outcome: Outcome, root: str) -> Iterator[str]:
    """One command per finding and problem; paths are relative to the repository's `root`.

    The last one, a notice, counts what GitHub will leave out.
    """
    kinds = Counter(_COMMANDS[each.severity] for each in outcome.findings)
    kinds["error"] += len(outcome.problems)
    hidden = sum(max(0, count - SHOWN) for count in kinds.values())
    for each in outcome.findings:
        properties: dict[str, object] = {
            "title": f"{each.code} {each.name}",
            "file": relative(each.path, root),
            "line": each.line,
            "endLine": each.end_line,
            "col": each.column,
            "endColumn": each.end_column,
        }
        if each.cell is not None:
            # Lines of a cell are not those of the file; the message says where it is.
            for name in ("line", "endLine", "col", "endColumn"):
                del properties[name]
        elif each.end_line != each.line:
            # GitHub takes columns only within one line.
            del properties["col"], properties["endColumn"]
        yield _command(_COMMANDS[each.severity], properties, _message(each, root))
    for problem in outcome.problems:
        place = {"title": "autolint", "file": relative(problem.path, root)}
        yield _command("error", place, problem.message)
    if hidden:
        note = f"{plural(hidden, 'annotation')} not shown here; the log of this step has all"
        yield _command("notice", {"title": "autolint"}, f"{last_line(outcome)}; {note}")
    yield last_line(outcome)


def _message(each: Diagnostic, root: str) -> str:
    lines = [each.message]
    if each.cell is not None:
        lines = [f"{in_cell(each.cell)}line {each.line}, column {each.column}: {each.message}"]
    for place in each.because:
        where = "" if place.path == each.path else f"{relative(place.path, root)} "
        where += in_cell(place.cell)
        lines.append(f"{where}line {place.line}: {place.message}")
    return "\n".join(lines)


def _command(name: str, properties: Mapping[str, object], message: str) -> str:
    fields = ",".join(
        f"{key}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    return f"::{name} {fields}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
