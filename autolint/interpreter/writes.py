"""In-place writes: through a tensor itself, `.data`, `.detach()` or numpy; and writes to
gradients.
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from autolint.autograd import graph, raising
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Array, GradHolder, Storage, Tensor
from autolint.autograd.values import MAYBE, NO, YES, Through, Tri, Value, Word
from autolint.interpreter import alias_use, kept_aliases, tensors
from autolint.interpreter.events import (
    AliasReshaped,
    Attempt,
    InPlaceWrite,
    LeafWritten,
    SavedBy,
    SavedWritten,
)
from autolint.interpreter.events.memory import RESHAPING
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def memory_of(value: Value) -> Tensor | None:
    """The tensor whose memory a numpy array shares, if it is one."""
    return value.tensor if isinstance(value, Array) else None


def write(
    m: Machine,
    target: Tensor,
    facts: OpFacts | None,
    operands: list[tuple[int, Value]],
    site: Site,
    target_node: cst.CSTNode,
    operation: str,
    sure: Tri = YES,
    part: Tri = NO,
) -> Tensor:
    """An in-place operation on a tensor; `part`: on a part of it, which an index picks."""
    if target.state.grad_of:
        touch_gradient(m, target)
        return target
    if target.off is not None:
        target.off.written = True
    found, unseen = tensors.operands_of(m, operands)
    alias_use.use(m, [(0, target), *found], site)
    kept_aliases.computed(m, found, site)
    if m.listens(Attempt):
        raises = raising.write_raises(m.autograd.mode, target, found)
        m.emit(Attempt, site, act="in-place write", raises=raises)
    event = _emit(m, target, site, target_node, operation) or _earlier(target.storage)
    sure = sure & target.tensor
    m.autograd.write(target, facts, found, site, unseen=unseen, sure=sure, event=event, part=part)
    return target


def reshape_alias(m: Machine, tensor: Tensor, site: Site, node: cst.Call) -> None:
    """A shape is changed in place: of an alias, perhaps, that the statement itself makes."""
    if tensor.through not in (Through.DATA, Through.DETACH) or not m.listens(AliasReshaped):
        return
    made = node.func.value if isinstance(node.func, cst.Attribute) else None
    statement = site.statement
    small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    dropped = any(isinstance(each, cst.Expr) and each.value is node for each in small)
    if dropped and isinstance(made, (cst.Attribute, cst.Call)):
        text = site._replace(node=made).text
        operation = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        m.emit(AliasReshaped, site, base=tensor.base, operation=operation, target_text=text)


def write_alias(
    m: Machine, value: Value, site: Site, target_node: cst.CSTNode, operation: str
) -> None:
    """A write into a numpy array that shares a tensor's memory."""
    tensor = memory_of(value)
    if tensor is None:
        return
    alias = Tensor(
        tensor.state,
        tensor.storage,
        tensor.origin,
        tensor.grade,
        Through.NUMPY,
        tensor,
        None,
        tensor.tensor,
    )
    event = _emit(m, alias, site, target_node, operation)
    graph.write(m.heap, alias, Through.NUMPY, site, event=event)


def _emit(
    m: Machine, target: Tensor, site: Site, target_node: cst.CSTNode, operation: str
) -> InPlaceWrite | None:
    """The event of a write, told to the rules.

    A write through the tensor itself is one only where a leaf or a saved value is hit.
    """
    if m.muted:
        return None
    if operation in RESHAPING and target.through is Through.DATA:
        return None  # the values stay as they are, and `.data` has a counter of its own
    saving = saved_by(m, target)
    kind: type[InPlaceWrite] = InPlaceWrite
    if target.through is Through.SELF:
        if not m.autograd.mode.off and _of_leaf(target):
            kind = LeafWritten
        elif saving:
            kind = SavedWritten
        else:
            return None
    base = target.base
    return m.emit(
        kind,
        site,
        target=target,
        base=base,
        through=target.through,
        saved_by=saving,
        parameter=parameter(base),
        made=target.origin,
        target_text=site._replace(node=target_node).text,
        operation=operation,
    )


def _earlier(storage: Storage) -> object:
    """What was told of the last write: nothing saved the memory since, so that one did the harm."""
    if storage.last_write is not None:
        return storage.last_write.event
    return next((found for part in storage.parts if (found := _earlier(part)) is not None), None)


def _of_leaf(target: Tensor) -> bool:
    """Whether a tensor is surely a leaf that requires grad, or a view of one."""
    for tensor in target.sources():
        state = tensor.state
        if tensor.through is not Through.SELF or state.cut or state.requires_grad is not YES:
            return False
        if tensor.source is None:
            return state.leaf is YES and tensor.tensor is YES
    return False


def parameter(tensor: Tensor) -> Tri:
    """Whether a tensor is, or may be, a parameter of a module."""
    state = tensor.state
    if state.owner is not None or state.members:
        return YES
    return state.parameter


def saved_by(m: Machine, target: Tensor, as_object: bool = False) -> tuple[SavedBy, ...]:
    """The operations that saved the present value of a tensor's memory and may still need it.

    `as_object`: only those that saved the tensor itself, which `.data =` changes.
    """
    found: list[SavedBy] = []
    for node, saved in m.autograd.saved_in(target.storage):
        if node.freed is YES or saved.changed() is not None:
            continue
        if as_object and saved.holder is None:
            continue
        sure = saved.sure if node.freed is NO else saved.sure & MAYBE
        if saved.storage is not target.storage and not target.storage.together:
            sure = sure & MAYBE
        found.append(SavedBy(saved, node.operation, node.origin, sure))
    return tuple(found)


def gradient_behind(tensor: Tensor) -> Tensor | None:
    """The `.grad` that a tensor is, or is an alias of."""
    return next((each for each in tensor.sources() if each.state.grad_of), None)


def touch_gradient(m: Machine, gradient: Tensor) -> None:
    """A gradient is changed by hand: nothing is known of it any more."""
    for holder in gradient.state.grad_of:
        graph.forget(m.heap, holder)


def clear(
    m: Machine,
    holders: tuple[GradHolder, ...],
    site: Site,
    to_none: Tri = YES,
    unsure: Collection[GradHolder] = (),
) -> None:
    """Gradients are set to None or zero; those of `unsure` sets, perhaps."""
    moment = m.moment(site)
    kept_aliases.cleared(m, holders, site, to_none)
    for holder in holders:
        if holder in unsure:
            graph.clear_perhaps(m.heap, holder, to_none)
            continue
        if Word.FRESH in holder.words:
            m.change(holder, "wiped", moment)
        graph.clear(m.heap, holder, site, to_none)
        m.change(holder, "emptied", moment)


def clear_perhaps(m: Machine, holders: tuple[GradHolder, ...], site: Site) -> None:
    """Something is cleared that may be these sets: what it did to fresh gradients is not known."""
    clear(m, holders, site)
    for holder in holders:
        if Word.DROPPED in holder.words:
            graph.forget(m.heap, holder)
