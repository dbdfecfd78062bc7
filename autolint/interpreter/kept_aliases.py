"""Aliases of parameters and gradients that are kept while their memory is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from autolint.autograd.recording import Operand
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import NO, YES, Cell, Through, Tri
from autolint.interpreter import snapshots
from autolint.interpreter.events import AliasKept
from autolint.interpreter.iteration import holders_of, trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site

_THROUGH = {Through.DATA: "data", Through.DETACH: "detach"}


class _Change(NamedTuple):
    """A backward that added to gradients, or a clear that gave them up (`cleared`).

    They are noted in their order; `clock` orders them among the cells.
    """

    site: Site
    clock: int
    holders: frozenset[GradHolder]
    cleared: bool


def filled(m: Machine, reached: Iterable[tuple[GradHolder, Tri]], site: Site) -> None:
    """A backward adds to the gradients of some sets."""
    _note(m, (holder for holder, sure in reached if sure is YES), site, cleared=False)


def cleared(m: Machine, holders: Iterable[GradHolder], site: Site, to_none: Tri) -> None:
    """Gradients are set to None: the next backward makes new ones."""
    if to_none is not NO:
        _note(m, holders, site, cleared=True)


def _note(m: Machine, holders: Iterable[GradHolder], site: Site, *, cleared: bool) -> None:
    if m.listens(AliasKept):
        change = _Change(site, Cell.clock(), frozenset(holders), cleared)
        m.heap.put(m.facts, "gradients", (*m.facts.get("gradients", ()), change))


def computed(m: Machine, operands: list[Operand], site: Site) -> None:
    """An operation takes these tensors."""
    if not m.listens(AliasKept):
        return
    for _, tensor in operands:
        if tensor.through is Through.SELF and not tensor.state.grad_of:
            continue  # Most of them.
        changed = _changed(m, tensor)
        if changed is not None and isinstance(tensor.origin, Site):
            through = "grad" if tensor.state.grad_of else _THROUGH[tensor.through]
            m.emit(AliasKept, site, through=through, made=tensor.origin, changed=changed)


def _changed(m: Machine, tensor: Tensor) -> Site | None:
    """What changed the memory of an alias since it was taken, if anything did for sure."""
    born = tensor.state.birth
    if tensor.state.grad_of:
        return _added(m, frozenset(tensor.state.grad_of), born)
    if tensor.through not in _THROUGH or tensor.source is None:
        return None
    holders = holders_of(m, tensor.base)
    trained = {holder for holder in holders if trainable(holder) is YES}
    for update in snapshots.updates(m):
        if update.clock >= born and not trained.isdisjoint(update.optimizer.sets()):
            return update.moment.site
    return None


def _added(m: Machine, sets: frozenset[GradHolder], born: int) -> Site | None:
    """The backward that added to the gradients of some sets since they were read."""
    changes: tuple[_Change, ...] = m.facts.get("gradients", ())
    for change in changes:
        if change.clock < born:
            continue
        if change.cleared and not sets.isdisjoint(change.holders):
            return None  # What comes now is another tensor.
        if not change.cleared and sets <= change.holders:
            return change.site
    return None
