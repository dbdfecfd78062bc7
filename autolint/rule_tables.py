"""The table of all rules, as ``autolint explain`` and the index of `rules/` show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from autolint.catalogue import Entry
from autolint.selection import DEFAULT_SEVERITY

HEAD = ("code", "name", "severity", "default", "fix", "fault")


def row(entry: Entry) -> tuple[str, str, str, str, str, str]:
    """The cells of a rule: whether its findings are shown by default, and whether it has fixes."""
    return (
        entry.code,
        entry.name,
        str(entry.severity),
        "on" if entry.severity >= DEFAULT_SEVERITY else "off",
        "yes" if re.search(r"^Fix\b", entry.page, re.MULTILINE) else "",
        entry.summary,
    )


def text(entries: Iterable[Entry]) -> Iterator[str]:
    """The table for a terminal."""
    rows = [HEAD, *(row(each) for each in entries)]
    widths = [max(len(each[column]) for each in rows) for column in range(5)]
    for *cells, summary in rows:
        head = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{head}  {summary}"


def markdown(entries: Iterable[Entry]) -> Iterator[str]:
    """The table for `rules/README.md`; each name leads to the rule's module."""
    yield f"| {' | '.join(HEAD)} |"
    yield "|---" * len(HEAD) + "|"
    for entry in entries:
        cells = list(row(entry))
        cells[1] = f"[{entry.name}]({entry.name.replace('-', '_')}.py)"
        yield f"| {' | '.join(cells)} |"
