"""The formats in which an outcome is printed."""

from __future__ import annotations

from collections.abc import Iterable

from autolint.diagnostic import Outcome
from autolint.report import github, json_format, text
from autolint.report.paint import Paint
from autolint.report.paths import relative, repository_root

__all__ = ["Paint", "relative", "render", "repository_root"]


def render(
    format_name: str, outcome: Outcome, base: str, paint: Paint, statistics: bool
) -> Iterable[str]:
    """The lines of a report in one of the formats of ``--format``.

    `base` is the folder that paths are relative to. `statistics` gives people counts instead of
    findings; programs get both anyway.
    """
    if format_name == "json":
        return [json_format.render(outcome, base)]
    if format_name == "github":
        return github.lines(outcome, repository_root(base))
    if statistics:
        return text.statistics(outcome, paint)
    layout = text.full if format_name == "text" else text.concise
    return layout(outcome, base, paint)
