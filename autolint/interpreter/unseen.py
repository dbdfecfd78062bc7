"""Calls of code that is not seen: what they may have done to the values that they got."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd import graph
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer, Parameters, StateDict
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    Grade,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    calls,
    definitions,
    functions,
    gathering,
    optimizers,
    replaced,
    scalers,
    snapshots,
    spent,
    training,
    writes,
)
from autolint.interpreter.behind import behind, joined_modules, optimizers_behind
from autolint.interpreter.iteration import holders_of
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, BoundMethod, MethodOf

_CLEARING = re.compile(r"(zero|clear|reset)\w*grad", re.IGNORECASE)
"""Names of helpers that clear gradients which they may find in other ways than by arguments."""


def unknown_call(m: Machine, callee: Value, args: Arguments, node: cst.CSTNode) -> Value:
    """A call of code that is not followed: what it is given is weakened, its result is unknown."""
    values = args.all()
    escaped = isinstance(callee, Unknown) and m.facts.get("escaped")
    if escaped or _CLEARING.search(getattr(callee, "name", "") or ""):
        weaken(m, list(m.optimizers()))
    weaken(m, [callee, *values])
    for value in values:
        functions.run_passed(m, value)
    kept = callee if isinstance(callee, (Unknown, Instance, BoundMethod)) else None
    inputs = values if kept is None else [kept, *values]
    return m.unknown(*inputs, origin=m.site(node))


def weaken(m: Machine, values: list[Value], depth: int = 2) -> None:
    """Unseen code may have used or cleared the gradients of what it got, and filled its lists."""
    for value in values:
        value = resolve(value)
        kind = type(value)
        # Most values are of these kinds. Where no optimizer was met, none is behind an unknown one.
        if kind is Scalar or kind is Qualified or (kind is Unknown and not m.optimizers()):
            continue
        if isinstance(value, Optimizer):
            m.change(value, "has_stepped", True)
            replaced.forget(m)
            for holder in value.sets():
                graph.forget(m.heap, holder)
        elif isinstance(value, GradScaler):
            scalers.forget(m)
        elif isinstance(value, (BoundMethod, MethodOf)):
            weaken(m, [value.receiver], depth)
        elif isinstance(value, StateDict):
            snapshots.edit(m, value)
        elif isinstance(value, Unknown):
            for optimizer in optimizers_behind(value):
                weaken(m, [optimizer], depth)
        elif isinstance(value, (Module, Parameters)):
            spent.perhaps_used(m, value)
            for holder in holders_of(m, value):
                graph.forget(m.heap, holder)
            if isinstance(value, Module) and value.forward is not None:
                m.change(value, "tended", True)
            if isinstance(value, Module) and value.cls is not None and depth:
                weaken(m, list(value.attributes.values()), depth - 1)
        elif isinstance(value, Instance):
            if depth:
                weaken(m, list(value.attributes.values()), depth - 1)
        elif isinstance(value, Sequence):
            if depth:
                weaken(m, list(value.items or ()), depth - 1)
            gathering.taken(m, value)
            if value.mutable and value.items is not None:
                m.change(value, "rest", m.unknown(*value.items))
                m.change(value, "items", None)
        elif isinstance(value, Mapping):
            if depth:
                weaken(m, list(value.items.values()), depth - 1)
            gathering.taken(m, value)
            m.change(value, "open", True)
        elif isinstance(value, Tensor):
            if value.storage.raw is not NO:
                m.change(value.storage, "raw", NO)  # it may have been filled there
            holders = value.state.members or (value.state,)
            for holder in holders:
                graph.forget(m.heap, holder)


def unknown_method(
    m: Machine, receiver: Value, name: str, args: Arguments, node: cst.Call
) -> Value:
    """A method of a value about which nothing is known: its use may tell what it is."""
    if not isinstance(receiver, Unknown):
        return calls.call_method(m, receiver, name, args, node)
    known = definitions.refine(m, receiver, name, args, node)
    if known is not None:
        return calls.call_method(m, known, name, args, node)
    attribute = receiver.attributes.get("." + name)
    if attribute is not None and type(resolve(attribute)) is not Unknown:
        return calls.call(m, attribute, args, node)
    site = m.site(node)
    if name == "backward":
        return _foreign_backward(m, receiver, args, node)
    if name == "step":
        first = resolve(args.positional[0]) if args.positional else None
        if isinstance(first, Optimizer):  # a scaler or engine that was handed in
            return optimizers.method(m, first, "step", Arguments(), node)
    if name == "zero_grad":
        for item in behind(receiver):
            if not isinstance(item, Tensor):
                writes.clear_perhaps(m, (item,), site)
        optimizers.clear_opaque(m, site)
        return NONE
    if name == "requires_grad_":
        flag_joined(m, receiver, args.get(0, "requires_grad") or Scalar(True, known=True))
    if name == "scale" and args.positional:
        return scalers.scaled(m, args.positional[0], site, GradScaler(MAYBE, Grade.NAMED))
    weaken(m, [receiver, *args.all()])
    for value in args.all():
        functions.run_passed(m, value)
        if optimizers_behind(value):
            m.change(receiver, "inputs", (*receiver.inputs[-8:], value))
    return m.unknown(receiver, *args.all(), origin=site)


def flag_joined(m: Machine, receiver: Unknown, value: Value) -> None:
    """The flag of parameters is set, of one of several modules: a branch decided which."""
    asked = resolve(value)
    known = MAYBE
    if isinstance(asked, Scalar) and asked.known:
        known = Tri.of(bool(asked.value))
    for module in joined_modules(receiver):
        m.autograd.set_trainable(holders_of(m, module), known, sure=False)


def _foreign_backward(m: Machine, receiver: Unknown, args: Arguments, node: cst.Call) -> Value:
    """`x.backward(loss)`: an engine runs the backward of its argument, or a gradient is given."""
    first = resolve(args.positional[0])
    rest = Arguments(args.positional[1:], args.keywords)
    training.backward(m, first, rest, m.site(node), given=True)
    return NONE
