"""Parts that modules and programs replace after an optimizer took their parameters."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd.objects import Instance, Module, Optimizer
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    NO_GRAD_YET,
    YES,
    Grade,
    Unknown,
    Value,
    Word,
    resolve,
)
from autolint.interpreter import freezing
from autolint.interpreter.events import PartReplaced, Scope
from autolint.interpreter.index import FunctionInfo
from autolint.interpreter.iteration import holders_of, trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import ClassValue
from autolint.interpreter.unit import Site

_FACT = "renewed"
_FRESH = frozenset({Word.FRESH})
_GROUPS = "param_groups"
"""Code that uses this name may put the new parameters into the optimizer by hand."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """New parameters in a place whose old ones an optimizer holds.

    `old` are the sets that were there; `around` those of the module that got a part; `owner` and
    `name` tell the attribute, if it was one. `unseen`: how the module uses its parts is not known.
    """

    site: Site
    scope: Scope
    owner: Instance | None
    name: str
    old: tuple[GradHolder, ...]
    around: tuple[GradHolder, ...]
    new: tuple[GradHolder, ...]
    unseen: bool
    assigned: bool = False


# ---------------------------------------------------------------------- what is noted


def stored(m: Machine, owner: Instance, name: str, value: Value, site: Site) -> None:
    """An attribute of an object is about to be set, or (without a name) a child of a module."""
    if isinstance(owner, Module):
        freezing.placed(m, owner, owner.attributes.get(name), value, site)
    if not _older(m, owner):
        return
    before = owner.attributes.get(name, Unknown())
    _take_alike(m, before, value, site)
    if not _is_part(value):
        return
    old = _sets(m, before)
    _note(m, owner, name, old, holders_of(m, owner), value, site)


def put(m: Machine, owner: Module, old: Value, value: Value, site: Site) -> None:
    """A child of a container of modules is about to be exchanged."""
    freezing.placed(m, owner, old, value, site)
    if _older(m, owner) and _is_part(value):
        _note(m, owner, "", _sets(m, old), holders_of(m, owner), value, site)


def bound(m: Machine, old: Value | None, value: Value, site: Site) -> None:
    """A name is about to be given to another module."""
    if old is None or not isinstance(value, Module) or not m.optimizers():
        return
    before = resolve(old)
    if isinstance(before, Module) and before is not value:
        _note(m, None, "", _sets(m, before), (), value, site)


def assigned(m: Machine, module: Module, site: Site) -> None:
    """`load_state_dict(..., assign=True)`: optimizers keep the parameters that were there."""
    mine = holders_of(m, module)
    for optimizer in m.optimizers():
        held = tuple(holder for holder in optimizer.holders if holder in mine)
        if not held:
            continue
        old = {holder: GradHolder(holder.words) for holder in held}
        kept = tuple(old.get(holder, holder) for holder in optimizer.holders)
        m.change(optimizer, "holders", kept)
        made = Renewed(
            site, m.scope(), None, "", tuple(old.values()), (), held, _unseen(module), True
        )
        m.heap.put(m.facts, _FACT, (*m.facts.get(_FACT, ()), made))
    for holder in mine:
        m.change(holder, "words", NO_GRAD_YET)
        m.change(holder, "absent", YES)


def _older(m: Machine, owner: Instance) -> bool:
    """Whether an optimizer was built since an object was: only then can it hold its parts."""
    return any(optimizer.birth > owner.birth for optimizer in m.optimizers())


def _is_part(value: Value) -> bool:
    """Whether a value is a module, or a tensor that is trained by itself."""
    found = resolve(value)
    if isinstance(found, Tensor):
        state = found.state
        whole = state.leaf is YES and state.requires_grad is YES and not state.members
        return whole and found.tensor is YES and found.grade is Grade.BUILT
    return isinstance(found, Module) and found.grade is Grade.BUILT


def _take_alike(m: Machine, before: Value, value: Value, site: Site) -> None:
    """What a function of the project gave was a module: called again, it gives another module."""
    if type(before) is not Unknown or not isinstance(resolve(before), Module):
        return
    if type(value) is not Unknown or value.refined is not None:
        return
    maker = _maker(value)
    known = m.project.resolve(m.frame.context.index, maker) if maker else None
    if isinstance(known, FunctionInfo) and maker == _maker(before):
        module = Module(None, None, MAYBE, MAYBE, site, Grade.BUILT)
        module.open = True
        m.change(value, "refined", module)


def _maker(value: Unknown) -> str:
    """The function whose result a value is, by its bare name."""
    node = value.origin.node if isinstance(value.origin, Site) else None
    func = node.func if isinstance(node, cst.Call) else None
    return func.value if isinstance(func, cst.Name) else ""


def _sets(m: Machine, value: Value) -> tuple[GradHolder, ...]:
    found = resolve(value)
    return holders_of(m, found) if isinstance(found, (Module, Tensor)) else ()


def _unseen(module: Instance | None) -> bool:
    """Whether it is not known what a module does with its parts."""
    return isinstance(module, Module) and module.cls is None and module.library is None


def _note(
    m: Machine,
    owner: Instance | None,
    name: str,
    old: tuple[GradHolder, ...],
    around: tuple[GradHolder, ...],
    value: Value,
    site: Site,
) -> None:
    if not isinstance(owner, Module):
        around = ()
    if not m.listens(PartReplaced) or _GROUPS in m.names_used():
        return
    new = tuple(
        holder
        for holder in holders_of(m, value)
        if holder not in old and holder not in around and Word.FRESH not in holder.words
    )
    held = {holder for optimizer in m.optimizers() for holder in optimizer.holders}
    if not new or not (_all_in(old, held) or _all_in(around, held)):
        return
    made = Renewed(site, m.scope(), owner, name, old, around, new, _unseen(owner))
    m.heap.put(m.facts, _FACT, (*m.facts.get(_FACT, ()), made))


def _all_in(sets: tuple[GradHolder, ...], held: set[GradHolder]) -> bool:
    return bool(sets) and held.issuperset(sets)


# ---------------------------------------------------------------------- who is told


def stepped(m: Machine, optimizer: Optimizer, site: Site, text: str) -> None:
    """An optimizer steps. Does a backward fill parameters that are where its own were?"""
    noted = m.facts.get(_FACT, ())
    if not noted or _GROUPS in m.names_used():
        return
    for renewed in noted:
        left = _left_out(m, optimizer, renewed)
        if any(_filled(renewed, holder) for holder in left):
            _tell(m, renewed, optimizer, text, site)


def _left_out(m: Machine, optimizer: Optimizer, renewed: Renewed) -> tuple[GradHolder, ...]:
    """The new parameters that nobody steps, though this optimizer steps the old ones."""
    if any(each.opaque is not None for each in m.optimizers()):
        return ()  # It may hold them.
    mine = set(optimizer.holders)
    if not _all_in(renewed.around, mine):
        if not _all_in(renewed.old, mine):
            return ()
        if any(holder.words == _FRESH for holder in renewed.old):
            return ()  # Still in use under another name: wrapped, or one of two models.
    held = {holder for each in m.optimizers() for holder in each.holders}
    return tuple(holder for holder in renewed.new if holder not in held)


def _filled(renewed: Renewed, holder: GradHolder) -> bool:
    """Whether a backward has reached new parameters."""
    if renewed.unseen:  # A model that is not seen uses the part that it is given.
        return Word.FRESH in holder.words and Word.UNKNOWN not in holder.words
    return holder.words == _FRESH


def forget(m: Machine) -> None:
    """Unseen code got an optimizer: it may have given it the new parameters."""
    if m.facts.get(_FACT):
        m.heap.put(m.facts, _FACT, ())


def count(m: Machine) -> int:
    """How many replacements were noted so far."""
    return len(m.facts.get(_FACT, ()))


def method_left(m: Machine, receiver: Value | None, before: int) -> None:
    """A method has run to its end: do the others of its class step an optimizer that lacks what
    it has put into an attribute?
    """
    if not isinstance(receiver, Instance):
        return
    for renewed in m.facts.get(_FACT, ())[before:]:
        if renewed.owner is not receiver or not renewed.name or renewed.around:
            continue
        part = resolve(receiver.attributes.get(renewed.name, Unknown()))
        if not isinstance(part, Module) or part.tended or _sets(m, part) != renewed.new:
            continue  # Loaded or switched to evaluation: perhaps never meant to be trained.
        if all(trainable(holder) is NO for holder in renewed.new):
            continue
        for name, value in receiver.attributes.items():
            optimizer = resolve(value)
            if (
                isinstance(optimizer, Optimizer)
                and _left_out(m, optimizer, renewed)
                and _trains(receiver, name, renewed.name)
            ):
                _tell(m, renewed, optimizer, f"self.{name}", None)


def _trains(receiver: Instance, optimizer: str, part: str) -> bool:
    """Whether a class trains a part with an optimizer that only its constructor sets."""
    cls = receiver.cls
    if not isinstance(cls, ClassValue) or cls.info is None:
        return False
    elsewhere = (each for each in cls.context.index.all_functions if each.name != "__init__")
    if any(f"{optimizer}=" in each.names for each in elsewhere):
        return False
    methods = cls.info.methods.values()
    return any(each.names >= {"step", "backward", optimizer, part} for each in methods)


def _tell(
    m: Machine, renewed: Renewed, optimizer: Optimizer, text: str, stepped_at: Site | None
) -> None:
    m.emit(
        PartReplaced,
        renewed.site,
        part_text=renewed.site.text,
        assigned=renewed.assigned,
        owner=renewed.scope,
        optimizer_text=text,
        built=optimizer.origin if isinstance(optimizer.origin, Site) else None,
        stepped_at=stepped_at,
    )
