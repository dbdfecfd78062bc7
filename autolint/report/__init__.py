"""The formats in which an outcome is printed."""

from __future__ import annotations

from collections.abc import Iterable

from autolint.catalogue import Catalogue
from autolint.diagnostic import Outcome
from autolint.paths import relative, repository_root
from autolint.report.paint import Paint

__all__ = ["Paint", "relative", "render", "repository_root"]


def render(
    format_name: str,
    outcome: Outcome,
    base: str,
    paint: Paint,
    statistics: bool,
    catalogue: Catalogue,
) -> Iterable[str]:
    """The lines of a report in one of the formats of ``--format``.

    `base` is the folder that paths are relative to. `statistics` gives people counts instead of
    findings; programs get both anyway.
    """
    # Each form is loaded when it is asked for: some take as long as a warm run.
    if format_name == "json":
        from autolint.report import json_format

        return [json_format.render(outcome, base)]
    if format_name == "junit":
        from autolint.report import junit

        return [junit.render(outcome, base)]
    if format_name in ("github", "gitlab", "sarif"):
        from autolint.report import github, gitlab, sarif

        root = repository_root(base)
        if format_name == "github":
            return github.lines(outcome, root)
        if format_name == "gitlab":
            return [gitlab.render(outcome, root)]
        return [sarif.render(outcome, root, catalogue)]
    from autolint.report import text

    if statistics:
        return text.statistics(outcome, paint)
    layout = text.full if format_name == "text" else text.concise
    return layout(outcome, base, paint)
