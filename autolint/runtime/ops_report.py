"""The report of `autolint verify --ops`, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from autolint.runtime.op_changes import HEADS, Comparison, Difference

_SHOWN = 6
"""Names of one line of the text; the JSON has all."""

_WIDE = 100


def text(found: Comparison) -> str:
    """The differences under their heads, what was not probed, and one line that sums it up."""
    return "\n".join(_lines(found))


def as_json(found: Comparison) -> str:
    """One object; the lists are in the order of the text."""
    document = {
        "version": 1,
        "torch": found.torch,
        "made_with": found.made_with,
        "differences": [
            {
                "head": each.head,
                "table": each.table,
                "names": list(each.names),
                "variant": each.variant,
                "column": each.column,
                "was": each.was,
                "now": each.now,
            }
            for each in found.differences
        ],
        "not_probed": [
            {"table": each.table, "names": list(each.names), "reason": each.reason}
            for each in found.not_probed
        ],
        "summary": {
            **{head: _count(found, head) for head in HEADS},
            "probed": found.probed,
            "not probed": _unprobed(found),
        },
    }
    return json.dumps(document, indent=2)


def _lines(found: Comparison) -> Iterator[str]:
    yield f"torch {found.torch}; the tables were made with torch {found.made_with}"
    for head in HEADS:
        if _count(found, head):
            yield f"\n{head}: {_count(found, head)}"
            yield from (f"  {_line(each)}" for each in found.differences if each.head == head)
    if found.not_probed:
        yield f"\nnot probed: {_unprobed(found)}"
        for each in found.not_probed:
            reason = each.reason if len(each.reason) <= _WIDE else each.reason[:_WIDE] + "..."
            yield f"  {each.table} {_names(each.names)}: {reason}"
    yield ""
    number = sum(_count(found, head) for head in HEADS)
    verdict = f"{number} difference{'' if number == 1 else 's'}" if number else "no difference"
    yield f"{verdict}; {found.probed} names probed, {_unprobed(found)} not probed"


def _line(each: Difference) -> str:
    names = f"{each.table} {_names(each.names)}"
    if not each.column:
        return names
    where = f" ({each.variant})" if each.variant else ""
    return f"{names}{where}: {each.column} {_cell(each.was)} -> {_cell(each.now)}"


def _cell(text: str) -> str:
    return f"'{text}'"


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _count(found: Comparison, head: str) -> int:
    """Differences under a head; names that are new or vanished count one by one."""
    return sum(
        1 if each.column else len(each.names) for each in found.differences if each.head == head
    )


def _unprobed(found: Comparison) -> int:
    return len({(each.table, name) for each in found.not_probed for name in each.names})
