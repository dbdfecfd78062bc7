"""Gradient scalers: the loss is scaled before backward, the gradients unscaled by the step."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.objects import GradScaler, Optimizer
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Grade,
    Scalar,
    Tri,
    Unknown,
    Value,
    Word,
    resolve,
)
from autolint.autograd.walking import Walk
from autolint.interpreter import optimizers, tensors, unseen
from autolint.interpreter.behind import behind
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

_SCALER_NAME = re.compile(r"(^|[._])(grad_?|amp_?|loss_?)?scaler$", re.IGNORECASE)
_LOSS = re.compile(r"loss|entropy", re.IGNORECASE)
_LEFT = frozenset({Word.FRESH, Word.STALE, Word.USED})


def build(args: Arguments, site: Site) -> Value:
    """A scaler as it is constructed."""
    given = args.keywords.get("enabled")
    if given is None:
        hidden = args.star or len(args.positional) > 4
        return GradScaler(MAYBE if hidden else YES, place=site)
    known = resolve(given)
    if isinstance(known, Scalar) and known.known:
        return GradScaler(Tri.of(bool(known.value)), place=site)
    return GradScaler(MAYBE, place=site)


def proves_scaler(value: Unknown, name: str, args: Arguments) -> bool:
    """Whether the call of a method proves an unknown value to be a gradient scaler."""
    if name == "unscale_":
        return True
    if name not in ("scale", "step", "update") or _SCALER_NAME.search(value.name) is None:
        return False
    return len(args.positional) == (0 if name == "update" else 1)


def method(m: Machine, scaler: GradScaler, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a gradient scaler."""
    if isinstance(node.func, cst.Attribute):
        scaler.place = m.site(node.func.value)
    first = args.get(0, "outputs" if name == "scale" else "optimizer")
    if name == "scale" and first is not None:
        return scaled(m, first, m.site(node), scaler)
    if name in ("step", "unscale_") and first is not None:
        inner = _optimizer(m, first, m.site(node))
        if inner is None:
            unseen.unknown_method(m, resolve(first), "step", Arguments(), node)
        elif name == "step":
            rest = Arguments(args.positional[1:])
            result = optimizers.method(m, inner, "step", rest, node, scaler=scaler)
            m.change(inner, "awaits", scaler.enabled)
            return result
        else:
            for holder in inner.sets():
                m.change(holder, "scaled", MAYBE)
    if name == "update":
        for optimizer in m.optimizers():
            m.change(optimizer, "awaits", NO)
        return NONE
    return m.unknown()


def _optimizer(m: Machine, value: Value, site: Site) -> Optimizer | None:
    """What a scaler steps is an optimizer."""
    found = resolve(value)
    if isinstance(found, Unknown):
        made = m.saw(Optimizer((), False, site, Grade.USED, found.name))
        m.change(found, "refined", made)
        return made
    return found if isinstance(found, Optimizer) else None


def forget(m: Machine) -> None:
    """Unseen code has the scaler: it may have updated it."""
    for optimizer in m.optimizers():
        m.change(optimizer, "awaits", MAYBE)


def scaled(m: Machine, value: Value, site: Site, scaler: GradScaler) -> Value:
    """A loss times a number that is not known."""
    found = resolve(value)
    if isinstance(found, Unknown) and scaler.grade > Grade.NAMED:
        loss = m.autograd.opaque(behind(found), found.origin or site, Grade.USED, saves=False)
        m.change(found, "refined", loss)
        found = loss
    if not isinstance(found, Tensor):
        return m.unknown(value, origin=site)
    facts = ops.operator("*")
    assert facts is not None
    result = tensors.operate(m, facts.variant("number"), [(0, found)], site)
    if isinstance(result, Tensor) and result.state.node is not None:
        result.state.node.scaler = scaler
    return result


def scaling(m: Machine, loss: Tensor, found: Walk) -> tuple[Tri, GradScaler | None]:
    """Whether the gradients of a backward are multiplied by a scaler's factor, and by which."""
    met = [(node.scaler, sure) for node, sure in found.nodes if node.scaler is not None]
    for scaler, sure in met:
        if sure is YES and scaler.grade > Grade.NAMED and scaler.enabled is not NO:
            return YES, scaler
    if met:
        return MAYBE, None
    names = m.frame.context.names.values()
    if found.opaque is NO or not any("scale" in each for each in names):
        return NO, None
    # A loss function takes no loss, so nothing before it was scaled.
    if any(sure is YES and _LOSS.search(node.operation) for node, sure in found.nodes):
        return NO, None
    return MAYBE, None


def reach(m: Machine, holder: GradHolder, scaled: Tri, scaler: GradScaler | None) -> None:
    """A backward adds gradients, scaled or not, to those of a set."""
    if not holder.words.isdisjoint(_LEFT):
        scaled = Tri.join(holder.scaled, scaled)
    m.change(holder, "scaled", scaled)
    m.change(holder, "scaler", scaler)
    if holder.clipped is not None and not holder.clipped.empty:
        m.change(holder, "clipped", None)
