"""What a probe of torch found, in classes that can be read without torch."""

from __future__ import annotations

from dataclasses import dataclass, field

Row = dict[str, str]
"""A line of a table, by column."""


@dataclass
class Part:
    """Lines of a table, and why there are none for some names."""

    rows: list[Row] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tables:
    """Lines by file name, and the version of torch that they are of."""

    torch: str
    rows: dict[str, list[Row]]


@dataclass(frozen=True)
class Probed:
    """The tables of the installed torch.

    `reasons` says, by table and name, why a line is not there or has empty cells; `present` are the
    names of the committed tables that this torch has though it gave no line for them.
    """

    tables: Tables
    reasons: dict[tuple[str, str], str]
    present: frozenset[str] = frozenset()
