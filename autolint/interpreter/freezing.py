"""Freezing: parameters told not to require grad, and what steps and backward make of it."""

from __future__ import annotations

from dataclasses import dataclass

from autolint.autograd.objects import Module, Optimizer
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Cell,
    Scalar,
    Tri,
    Unknown,
    Value,
    Word,
    resolve,
)
from autolint.interpreter.events import FrozenMoves, LoopMark, NothingTrained, Scope
from autolint.interpreter.iteration import holders_of, trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

_MOMENTUM = frozenset({"Adam", "AdamW", "Adamax", "NAdam", "RAdam"})
_FACT = "frozen parts"
_USED = frozenset({Word.USED})
_EMPTY = frozenset({Word.NONE})


@dataclass(frozen=True, slots=True)
class Frozen:
    """A freeze: where, in which function and loops, and how old what was there can be at most.

    `part` is where one of the frozen parts had been put in the place of another, together with
    which it was frozen here.
    """

    site: Site
    scope: Scope
    loops: tuple[LoopMark, ...]
    clock: int
    part: Site | None


def _wanted(m: Machine) -> bool:
    return m.listens(NothingTrained) or m.listens(FrozenMoves)


def moves_on(name: str, args: Arguments) -> Tri:
    """Whether an optimizer moves parameters whose gradient is zero: by momentum, or by decay."""
    if args.star:
        return MAYBE
    answer = Tri.of(name in _MOMENTUM)
    for keyword in ("momentum", "weight_decay"):
        given = resolve(args.keywords.get(keyword) or Scalar(0, known=True))
        known = given if isinstance(given, Scalar) and given.known else None
        answer = answer | (MAYBE if known is None else Tri.of(bool(known.value)))
    return answer


# ---------------------------------------------------------------------- what is noted


def placed(m: Machine, owner: Module, old: Value | None, value: Value, site: Site) -> None:
    """A part is put into a module, in the place of another or where that is not known."""
    found = resolve(value)
    if not isinstance(found, (Module, Tensor)) or not _wanted(m):
        return
    before = resolve(old) if old is not None else Unknown()
    unseen = owner.cls is None and owner.library is None
    if isinstance(before, Module) or unseen:
        for holder in holders_of(m, found):
            m.change(holder, "placed", site)


def flagged(m: Machine, holders: tuple[GradHolder, ...], value: Tri, site: Site) -> None:
    """Parameters are told to require grad, or not to."""
    if not _wanted(m):
        return
    if value is not NO:
        for holder in holders:
            if holder.frozen is not None:
                m.change(holder, "frozen", None)
        return
    parts = [holder.placed for holder in holders if isinstance(holder.placed, Site)]
    # Of a part that is frozen by itself that is meant.
    part = parts[0] if parts and len(parts) < len(holders) else None
    frozen = Frozen(site, m.scope(), m.loops, Cell.clock(), part)
    for holder in holders:
        m.change(holder, "frozen", frozen)
    if part is not None:
        new = next(holder for holder in holders if holder.placed is part)
        m.heap.put(m.facts, _FACT, (*m.facts.get(_FACT, ()), (new, frozen)))


# ---------------------------------------------------------------------- who is told


def stepped(m: Machine, optimizer: Optimizer, site: Site, text: str) -> None:
    """An optimizer steps: over frozen parameters only, or over some that it goes on moving?"""
    if not _wanted(m):
        return
    frozen = [holder for holder in optimizer.holders if _is_frozen(holder)]
    if any(not _lasts(m, holder.frozen) for holder in frozen):
        return
    for holder in frozen:
        if _keeps_moving(optimizer, holder):
            _tell_moves(m, optimizer, holder.frozen, site, text, holder.words == _EMPTY)
            return
    built = optimizer.origin
    if not frozen or optimizer.opaque is not None or len(frozen) < len(optimizer.holders):
        return
    if optimizer.birth <= m.born or not isinstance(built, Site):
        return  # Built by a constructor: other methods may thaw.
    if any(holder.absent is not YES for holder in frozen):
        return  # Gradients may be put there by hand.
    part = next((each.frozen for each in frozen if each.frozen.part is not None), None)
    _tell_nothing(m, part or frozen[0].frozen, optimizer, text, site)


def propagated(m: Machine, loss: Tensor, site: Site) -> None:
    """A backward starts from a loss that has no history: was a new part frozen with the rest?"""
    noted = m.facts.get(_FACT, ())
    if not noted or loss.state.lost is not None or loss.tensor is not YES:
        return  # Nothing is recorded for another reason.
    holder, frozen = noted[-1]
    if _is_frozen(holder) and holder.frozen is frozen and frozen.clock > m.born:
        _tell_nothing(m, frozen, None, "", site)


def _lasts(m: Machine, frozen: Frozen) -> bool:
    """Whether loops that began since a freeze are in another iteration than the first: what is
    thawed at the end of an iteration is known by then.
    """
    return all(mark.iteration > 1 or mark in frozen.loops for mark in m.loops)


def _is_frozen(holder: GradHolder) -> bool:
    """Whether parameters were frozen in sight, for sure, and still are."""
    return isinstance(holder.frozen, Frozen) and trainable(holder) is NO


def _keeps_moving(optimizer: Optimizer, holder: GradHolder) -> bool:
    """Whether a step moves frozen parameters: by the gradient that an earlier one has used, or by
    what it remembers while the gradient is zero.
    """
    if holder.absent is not NO or holder.given:
        return False
    zeroed = holder.words == _EMPTY and holder.stepped is not None
    return holder.words == _USED or (zeroed and optimizer.moves_on is YES)


def _tell_moves(
    m: Machine, optimizer: Optimizer, frozen: Frozen, site: Site, text: str, zeroed: bool
) -> None:
    m.emit(
        FrozenMoves,
        frozen.site,
        owner=frozen.scope,
        optimizer_text=text,
        stepped_at=site,
        zeroed=zeroed,
    )


def _tell_nothing(
    m: Machine, frozen: Frozen, optimizer: Optimizer | None, text: str, site: Site
) -> None:
    built = optimizer.origin if optimizer is not None else None
    m.emit(
        NothingTrained,
        frozen.site,
        owner=frozen.scope,
        part=frozen.part,
        optimizer_text=text,
        built=built if isinstance(built, Site) else None,
        shown_at=site,
    )
