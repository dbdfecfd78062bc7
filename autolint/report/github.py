"""For GitHub Actions: workflow commands that annotate the changed lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autolint.api import Severity
from autolint.diagnostic import Diagnostic, Outcome
from autolint.report.figures import last_line
from autolint.report.paths import relative

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def lines(outcome: Outcome, root: str) -> Iterator[str]:
    """One command per finding and problem; paths are relative to the repository's `root`."""
    for each in outcome.findings:
        properties: dict[str, object] = {
            "title": f"{each.code} {each.name}",
            "file": relative(each.path, root),
            "line": each.line,
            "endLine": each.end_line,
            "col": each.column,
            "endColumn": each.end_column,
        }
        if each.end_line != each.line:
            # GitHub takes columns only within one line.
            del properties["col"], properties["endColumn"]
        yield _command(_COMMANDS[each.severity], properties, _message(each, root))
    for problem in outcome.problems:
        place = {"title": "autolint", "file": relative(problem.path, root)}
        yield _command("error", place, problem.message)
    yield last_line(outcome)


def _message(each: Diagnostic, root: str) -> str:
    lines = [each.message]
    for place in each.because:
        where = "" if place.path == each.path else f"{relative(place.path, root)} "
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
