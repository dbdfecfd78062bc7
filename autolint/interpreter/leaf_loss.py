"""Leaves that a program loses: made and changed in one expression, or replaced by a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from autolint.autograd.graph import Node
from autolint.autograd.objects import Module
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import NO, YES, Scalar, Value, resolve
from autolint.interpreter import casts
from autolint.interpreter.events import LeafLost, LeafRebound
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

_MAX_NODES = 40
"""How many nodes are looked at between a result and the leaf whose name it takes."""
_NAMES = (cst.Name, cst.Attribute, cst.Subscript)
_MOVES = frozenset({"to", "cuda", "xpu"})
_OTHER_DTYPES = frozenset({"double", "half", "bfloat16"})


@dataclass(frozen=True, slots=True)
class Lost:
    """A leaf that had no name when a result took its place; `device`: only on another device."""

    leaf: Tensor
    site: Site
    device: bool


@dataclass(frozen=True, slots=True)
class Rebound:
    """A leaf's own name was given to a result; `by_gradient`: after its gradient was read."""

    leaf: Tensor
    site: Site
    by_gradient: bool


# ---------------------------------------------------------------------- lost in one expression


def operated(
    m: Machine, operands: Sequence[tuple[Tensor, cst.CSTNode]], result: Value, node: cst.CSTNode
) -> Value:
    """Note that the result of an operation took the place of a leaf without a name."""
    found = resolve(result)
    if not isinstance(found, Tensor):
        return result
    for tensor, operand in operands:
        before = tensor.state.lost_leaf
        if isinstance(operand, _NAMES) or found.state is tensor.state:
            continue
        if found.state.leaf is not NO or found.state.requires_grad is not YES:
            continue
        if before is not None or _unnamed(m, tensor):
            leaf = tensor if before is None else before.leaf
            m.change(found.state, "lost_leaf", Lost(leaf, m.site(node), False))
    return result


def moved(
    m: Machine,
    tensor: Tensor,
    name: str,
    args: Arguments,
    placed: bool,
    result: Value,
    node: cst.Call,
) -> Value:
    """Likewise for a method, where the device or the default dtype may decide."""
    found = resolve(result)
    operand = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    if not isinstance(found, Tensor) or isinstance(operand, _NAMES):
        return result
    if not _unnamed(m, tensor):
        return operated(m, [(tensor, operand)], result, node)
    if name in _OTHER_DTYPES and found.state.leaf is not YES:
        m.change(found.state, "lost_leaf", Lost(tensor, m.site(node), False))
    elif name in _MOVES and found.state is tensor.state and not placed and _elsewhere(args):
        m.change(found.state, "lost_leaf", Lost(tensor, m.site(node), True))
    return operated(m, [(tensor, operand)], result, node)


def _unnamed(m: Machine, tensor: Tensor) -> bool:
    """Whether a tensor is a leaf that this statement made."""
    state, origin = tensor.state, tensor.origin
    return (
        state.leaf is YES
        and state.requires_grad is YES
        and tensor.tensor is YES
        and state.owner is None
        and not state.members
        and not m.autograd.mode.off
        and isinstance(origin, Site)
        and origin.statement is m.frame.statement
    )


def _elsewhere(args: Arguments) -> bool:
    """Whether arguments may name another device than the one a tensor is made on by default."""
    values = [resolve(value) for value in args.all()]
    if any(casts.is_dtype(value) or isinstance(value, Tensor) for value in values):
        return False
    return not any(isinstance(v, Scalar) and v.known and v.value == "cpu" for v in values)


def used(m: Machine, tensor: Tensor, how: str, site: Site, text: str) -> None:
    """A tensor is used as the leaf that was lost."""
    lost = tensor.state.lost_leaf
    if lost is not None and tensor.tensor is YES:
        m.emit(
            LeafLost,
            site,
            tensor=tensor,
            leaf=lost.leaf,
            lost_at=lost.site,
            device=lost.device,
            use=how,
            target_text=text,
        )


def stored(m: Machine, receiver: Module, value: Value, site: Site) -> None:
    """What was a parameter becomes an attribute of a module."""
    found = resolve(value)
    lost = found.state.lost_leaf if isinstance(found, Tensor) else None
    if isinstance(found, Tensor) and lost is not None and lost.leaf.state.parameter is YES:
        used(m, found, "parameter", site, site.text)


def optimised(m: Machine, params: Value, site: Site) -> None:
    """An optimizer is built with a list that holds computed tensors."""
    for item in _listed(params):
        state = item.state
        if state.lost_leaf is not None:
            used(m, item, "optimizer", site, site.text)
        elif state.rebound_from is not None:
            tell_rebound(m, state.rebound_from, site)


def _listed(params: Value) -> list[Tensor]:
    """The tensors in what an optimizer is given, groups included."""
    found = resolve(params)
    if isinstance(found, Tensor):
        return [found]
    items = getattr(found, "items", None)
    if isinstance(items, dict):
        return _listed(items["params"]) if "params" in items else []
    if isinstance(items, tuple):
        return [tensor for item in items for tensor in _listed(item)]
    return []


# ---------------------------------------------------------------------- replaced by a result


def rebound(m: Machine, old: Value | None, new: Value, site: Site) -> Rebound | None:
    """Note that a name of a leaf is given to a result that was computed from that leaf."""
    result = resolve(new)
    if not isinstance(result, Tensor) or result.state.requires_grad is not YES:
        return None
    if result.state.leaf is not NO or old is None or result.state.rebound_from is not None:
        return None
    leaf = resolve(old)
    if not isinstance(leaf, Tensor) or leaf.state.leaf is not YES or leaf.state.members:
        return None
    if leaf.state.requires_grad is not YES or not _leads(result.state.node, leaf.state):
        return None
    found = Rebound(leaf, site, leaf.state.read)
    m.change(result.state, "rebound_from", found)
    return found


def _leads(node: Node | None, leaf: GradHolder) -> bool:
    """Whether a graph leads to a leaf for sure, not too far away."""
    todo, seen = [node], 0
    while todo and seen < _MAX_NODES:
        current = todo.pop()
        seen += 1
        for target, sure in () if current is None else current.inputs:
            if target is leaf and sure is YES:
                return True
            if isinstance(target, Node) and sure is YES:
                todo.append(target)
    return False


def kept(m: Machine, old: Value | None, new: Value, site: Site) -> None:
    """An attribute of an object, which outlives this code, is taken from a leaf."""
    found = rebound(m, old, new, site)
    if found is not None and found.by_gradient:
        tell_rebound(m, found, None)


def tell_rebound(m: Machine, found: Rebound, used: Site | None) -> None:
    """A leaf was replaced under its own name; `used` is where that comes out."""
    m.emit(
        LeafRebound,
        found.site,
        leaf=found.leaf,
        by_gradient=found.by_gradient,
        used=used,
        target_text=found.site.text,
    )
