"""State dicts that are kept: their values are the parameters, and follow each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from autolint.autograd.objects import Module, Optimizer, StateDict
from autolint.autograd.tensor import GradHolder
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Cell,
    Mapping,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import alternatives
from autolint.interpreter.events import AliasKept, Moment, SnapshotUsed
from autolint.interpreter.iteration import holders_of, trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

_ALIASES = frozenset({"copy", "detach", "get", "__getitem__"})
"""Methods whose result has the same memory still."""
_MOVES = frozenset({"cpu", "to", "cuda"})
"""Methods that copy only from one device to another."""
_READS = frozenset({"keys", "size", "numel", "dim", "__len__", "__contains__"})
_DEPTH = 2
"""How many dicts may be around what is used."""


class Update(NamedTuple):
    """A step of an optimizer; `clock` orders it among the cells."""

    moment: Moment
    clock: int
    optimizer: Optimizer


def made(m: Machine, module: Module, site: Site) -> Value:
    """`module.state_dict()`."""
    if not m.listens(SnapshotUsed):
        return m.unknown(module)
    return StateDict(holders_of(m, module), (module,), site, m.loops)


def again(m: Machine, found: StateDict, moved: str = "") -> Value:
    """Another dict, or a part, with the same memory: `dict(found)`, an item."""
    parts: list[Value] = [each.again(moved) for each in found.alternatives() if each.edited is NO]
    return alternatives.any_of(m, parts) or Unknown()


def method(m: Machine, found: StateDict, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a state dict, or of what is in it."""
    if name == "items":
        return Sequence(None, Sequence((Scalar(), again(m, found)), mutable=False))
    if name == "values":
        return Sequence(None, again(m, found))
    if name in _ALIASES:
        return again(m, found)
    if name in _MOVES:
        return again(m, found, name)
    if name not in _READS:
        edit(m, found)
    return m.unknown(*args.all(), origin=m.site(node))


def edit(m: Machine, found: StateDict) -> None:
    """Values of the dict are replaced, or may be."""
    for each in found.alternatives():
        m.change(each, "edited", MAYBE)


def stepped(m: Machine, optimizer: Optimizer, site: Site) -> None:
    """An optimizer changes its parameters."""
    if not m.listens(SnapshotUsed) and not m.listens(AliasKept):
        return
    known = (each for each in updates(m) if each.moment.site.node is not site.node)
    now = Update(m.moment(site), Cell.clock(), optimizer)
    m.heap.put(m.facts, "updates", (*known, now))


def updates(m: Machine) -> tuple[Update, ...]:
    """The steps that were seen, the latest one of each place."""
    found: tuple[Update, ...] = m.facts.get("updates", ())
    return found


def used(m: Machine, value: Value, how: str, node: cst.CSTNode, into: Value | None = None) -> None:
    """What was kept is loaded (`into` a module), saved or returned."""
    steps = updates(m)
    if not steps or not m.listens(SnapshotUsed):
        return
    targets = holders_of(m, into) if into is not None else ()
    told: set[object] = set()
    for found in _inside(value, _DEPTH):
        if found.origin in told:
            continue
        for update in reversed(steps):
            sure = _changes(m, update, found)
            if sure is NO:
                continue
            told.add(found.origin)
            assert isinstance(found.origin, Site)
            m.emit(
                SnapshotUsed,
                m.site(node),
                how=how,
                text=m.site(node).text,
                made=found.origin,
                step=update.moment,
                looped=_share_a_loop(found, update),
                own=_own(found, targets),
                stepped=sure,
                moved=found.moved,
            )
            break


def _inside(value: Value, depth: int) -> Iterator[StateDict]:
    """The state dicts that a value is, or holds."""
    found = resolve(value)
    if isinstance(found, StateDict):
        yield from (each for each in found.alternatives() if each.edited is NO)
    elif isinstance(found, Mapping) and depth:
        for item in (*found.items.values(), *(() if found.rest is None else (found.rest,))):
            yield from _inside(item, depth - 1)


def _changes(m: Machine, update: Update, found: StateDict) -> Tri:
    """Whether a step came after the dict was made and changed its values."""
    if update.clock < found.since:
        return NO
    sets = update.optimizer.sets()
    if any(holder in sets and trainable(holder) is not NO for holder in found.holders):
        return YES
    # The only optimizer in sight, of unknown contents, is taken to be the module's.
    return MAYBE if update.optimizer.opaque is not None and len(m.optimizers()) == 1 else NO


def _own(found: StateDict, targets: tuple[GradHolder, ...]) -> Tri:
    return Tri.of(not set(found.holders).isdisjoint(targets))


def _share_a_loop(found: StateDict, update: Update) -> bool:
    loops = {id(mark.loop.node) for mark in found.loops}
    return any(id(mark.loop.node) in loops for mark in update.moment.loops)
