"""Reads of `.grad`: what they give, and the use of a None that such a read gave."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import MAYBE, NO, YES, Tri, Value, resolve
from autolint.interpreter import leaf_loss
from autolint.interpreter.events import GradRead
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import NoGradient
from autolint.interpreter.unit import Site


def holders_behind(tensor: Tensor) -> tuple[GradHolder, ...]:
    """The parameter sets that a tensor stands for: itself, its layer, or all of a summary."""
    state = tensor.state
    return state.members or ((state,) if state.owner is None else (state.owner,))


def read(m: Machine, tensor: Tensor, site: Site) -> Value:
    """`tensor.grad`: None before the first backward, else a tensor that stands for the gradient."""
    state = tensor.state
    holders = holders_behind(tensor)
    if state.lost_leaf is not None and state.lost_leaf.device:
        leaf_loss.used(m, tensor, "grad", site, site.text)
    for holder in holders:
        m.change(holder, "read", True)
    absent = _absent(m, holders)
    if state.leaf is not NO and not state.accumulates:
        absent = absent & MAYBE  # One of several tensors: each has a gradient of its own.
    leaf = state.leaf & state.requires_grad
    if leaf is NO and state.retains_grad is NO:
        if state.requires_grad is MAYBE or absent is NO or any(each.given for each in holders):
            return m.unknown(name="grad")
        return NoGradient(tensor, site, state.requires_grad is YES and tensor.tensor is YES)
    if absent is YES and (leaf is YES or state.retains_grad is YES):
        return NoGradient(tensor, site, tensor.tensor is YES)
    result = TensorState(NO, YES, state.kind, state.rank)
    if any(holder.given for holder in holders):
        result.requires_grad = result.leaf = result.inference = MAYBE
    result.grad_of = holders
    owned = leaf is YES or state.retains_grad is YES
    sure = YES if absent is NO and owned else MAYBE
    if not state.accumulates:
        sure = MAYBE
    return Tensor(result, Storage(unseen=True), site, tensor.grade, tensor=sure)


def _absent(m: Machine, holders: tuple[GradHolder, ...]) -> Tri:
    """Whether there is no gradient yet.

    What was there before this root may have got one since; so may what was there when a backward
    ran over a graph with unseen parts, unless it is known which optimizer steps it.
    """
    absent: Tri | None = None
    unseen = max((m.born, *m.facts.get("opaque_backwards", ())))
    for holder in holders:
        since = m.born if _stepped(m, holder) else unseen
        known = holder.absent & MAYBE if holder.birth <= since else holder.absent
        absent = known if absent is None else Tri.join(absent, known)
    return MAYBE if absent is None else absent


def _stepped(m: Machine, holder: GradHolder) -> bool:
    """Whether an optimizer is known to step a set: then a backward is taken to reach it or not."""
    return any(holder in optimizer.holders for optimizer in m.optimizers())


def used(m: Machine, value: Value, how: str, node: cst.CSTNode) -> None:
    """A value is used other than in a test for None; tell if it is a missing gradient."""
    value = resolve(value)
    if not isinstance(value, NoGradient) or not value.certain:
        return
    tensor, where = value.tensor, value.read
    state = tensor.state
    if state.rebound_from is not None:
        leaf_loss.tell_rebound(m, state.rebound_from, where)
    elif state.lost_leaf is not None:
        leaf_loss.used(m, tensor, "grad", where, where.text)
    elif m.listens(GradRead):
        _tell(m, tensor, where, how, node)


def _tell(m: Machine, tensor: Tensor, where: Site, how: str, node: cst.CSTNode) -> None:
    state = tensor.state
    holders = holders_behind(tensor)
    target = where.node
    m.emit(
        GradRead,
        where,
        tensor=tensor,
        leaf=state.leaf,
        retains_grad=state.retains_grad,
        passed_at=None if state.node is None else state.node.passed_at,
        cleared_at=next((h.emptied.site for h in holders if h.cleared and h.emptied), None),
        use=how,
        used=m.site(node),
        tested=_tested(m, holders),
        target_text=where._replace(
            node=target.value if isinstance(target, cst.Attribute) else target
        ).text,
    )


def _tested(m: Machine, holders: tuple[GradHolder, ...]) -> bool:
    """Whether a test may keep the first iteration out of a loop that the tensors are older than."""
    if not m.loops:
        return False
    loop = m.loops[-1].loop.node
    return any(
        guard.since >= holder.birth and _varies(guard.test.node, loop)
        for guard in m.guards
        for holder in holders
    )


def _varies(test: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether a test may come out differently from one iteration to the next."""
    if isinstance(test, (cst.Attribute, cst.Call, cst.Subscript, cst.NamedExpr, cst.Await)):
        return True
    if isinstance(test, cst.Name):
        return _binds(loop, test.value)
    return any(_varies(child, loop) for child in test.children)


def _binds(node: cst.CSTNode, name: str, target: bool = False) -> bool:
    """Whether a name is bound somewhere in a node; `target`: the node is what is bound."""
    if isinstance(node, cst.Name):
        return target and node.value == name
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        if _binds(node.target, name, True):
            return True
    elif isinstance(node, cst.AsName):
        return _binds(node.name, name, True)
    return any(_binds(child, name, target) for child in node.children)


def used_all(m: Machine, values: list[Value], node: cst.CSTNode) -> None:
    """Values are given to an operation of torch."""
    for value in values:
        if type(value) is NoGradient:
            used(m, value, "operand", node)
