"""Which facts of the committed tables are no longer what torch shows: differences under five heads.

Names are compared, not lines: two names of one op count as one difference as long as they share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autolint.runtime.findings import Probed, Row, Tables
from autolint.runtime.tables import by_name, names_of

NEW = "new ops"
VANISHED = "vanished ops"
ALIAS = "changed alias kind"
SAVED = "changed saved tensors"
DTYPE = "changed dtype behaviour"
HEADS = (NEW, VANISHED, ALIAS, SAVED, DTYPE)

HEAD_OF = {
    # What the result is to the operands, and its form.
    **dict.fromkeys(["alias", "alias_of", "outputs", "scalar", "rank", "size_at", "form"], ALIAS),
    # What backward needs and gives.
    **dict.fromkeys(
        ["saves", "saves_result", "keeps", "differentiable", "gradient", "requires_grad"], SAVED
    ),
    **dict.fromkeys(["kinds", "kind_of"], DTYPE),
}
WORDS = frozenset(
    [
        "parameters",
        "arguments",
        "parameters_if",
        "buffers",
        "buffers_if",
        "training",
        "group",
        "details",
    ]
)
"""Columns of words (parameters, buffers, …): each word is itself something new or vanished."""


@dataclass(frozen=True)
class Difference:
    """What `was` in the committed table, and is `now` in the installed torch.

    Without a column, the names themselves are new or vanished.
    """

    head: str
    table: str
    names: tuple[str, ...]
    variant: str = ""
    column: str = ""
    was: str = ""
    now: str = ""


@dataclass(frozen=True)
class NotProbed:
    """Names (all or under a variant of their arguments) that were not run, and why."""

    table: str
    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Comparison:
    """The committed table, made with torch `made_with`, beside the installed torch."""

    torch: str
    made_with: str
    probed: int
    differences: tuple[Difference, ...]
    not_probed: tuple[NotProbed, ...]


def compare(old: Tables, probed: Probed) -> Comparison:
    """Every difference under its head; what was not run is not compared."""
    new = probed.tables
    before, after = names_of(old), names_of(new)
    single: list[Difference] = []
    missing: dict[tuple[str, str, str], None] = {}
    for table, name in after - before:
        single.append(Difference(NEW, table, (name,)))
    for table, name in before - after:
        reason = probed.reasons.get((table, name))
        if reason is None and name in probed.present:
            reason = "this torch has no samples of it"
        if reason is None:
            single.append(Difference(VANISHED, table, (name,)))
        else:
            missing[table, reason, name] = None
    for (table, name), reason in probed.reasons.items():
        missing[table, reason, name] = None
    for table in new.rows:
        lines, committed = by_name(table, new.rows[table]), by_name(table, old.rows[table])
        for name in lines.keys() & committed.keys():
            unrun = (table, name) in probed.reasons
            for found in _changes(table, name, committed[name], lines[name], unrun):
                if isinstance(found, Difference):
                    single.append(found)
                else:
                    missing[table, found, name] = None
    return Comparison(
        torch=new.torch,
        made_with=old.torch,
        probed=len(after - {(table, name) for table, _, name in missing}),
        differences=tuple(_joined(single)),
        not_probed=tuple(_by_reason(missing)),
    )


def _changes(
    table: str, name: str, was: dict[str, Row], now: dict[str, Row], unrun: bool
) -> Iterator[Difference | str]:
    """The differences of one name, and why a variant of it is not compared."""
    for variant in sorted(was.keys() | now.keys()):
        if variant not in now:
            yield f"no sample shows it with the arguments {variant!r}"
            continue
        # A table gives no line to a variant that does not differ from the joined line.
        here, there = now[variant], was.get(variant, was.get("", {}))
        for column in here.keys() & there.keys():
            old, new = there[column], here[column]
            joined = variant and (was[""][column], now[""][column]) == (old, new)
            if old == new or joined or (unrun and not new):
                continue
            for head, gone, come in _under_heads(column, old, new):
                yield Difference(head, table, (name,), variant, column, gone, come)


def _under_heads(column: str, old: str, new: str) -> Iterator[tuple[str, str, str]]:
    if column in HEAD_OF:
        yield HEAD_OF[column], old, new
        return
    gone = [word for word in old.split() if word not in new.split()]
    come = [word for word in new.split() if word not in old.split()]
    if come or not gone:
        yield NEW, *(("", " ".join(come)) if come else (old, new))  # or the same, in another order
    if gone:
        yield VANISHED, " ".join(gone), ""


def _joined(single: list[Difference]) -> Iterator[Difference]:
    """Differences that several names share as one, by head, table and name."""
    names: dict[tuple[object, ...], list[str]] = {}
    first: dict[tuple[object, ...], Difference] = {}
    for each in single:
        key: tuple[object, ...] = each.head, each.table, each.variant, each.column
        if each.column:
            key = *key, _bare(each.names[0]), each.was, each.now
        names.setdefault(key, []).extend(each.names)
        first.setdefault(key, each)
    found = [
        Difference(
            each.head,
            each.table,
            tuple(sorted(names[key])),
            each.variant,
            each.column,
            each.was,
            each.now,
        )
        for key, each in first.items()
    ]
    yield from sorted(
        found,
        key=lambda d: (HEADS.index(d.head), d.table, bool(d.column), d.names, d.variant, d.column),
    )


def _bare(name: str) -> str:
    return name.rpartition(".")[2].removesuffix("_")


def _by_reason(missing: dict[tuple[str, str, str], None]) -> Iterator[NotProbed]:
    names: dict[tuple[str, str], list[str]] = {}
    for table, reason, name in missing:
        names.setdefault((table, reason), []).append(name)
    for (table, reason), found in sorted(names.items()):
        yield NotProbed(table, tuple(sorted(found)), reason)
