"""Statements that are one expression: what becomes of a value that nobody takes."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import library, ops
from autolint.autograd.objects import GradScaler, Module, Optimizer, Scheduler
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import YES, Grade, Qualified, Unknown, Value, resolve
from autolint.interpreter import attributes, definitions, expressions, grad_modes
from autolint.interpreter.events.calls import ACTIONS, PURE, Discarded
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, Manager


def evaluate(m: Machine, node: cst.BaseExpression) -> None:
    """Evaluate an expression that is a statement."""
    if isinstance(node, cst.Attribute):
        receiver = resolve(expressions.evaluate(m, node.value))
        name = node.attr.value
        if name in ACTIONS or name in PURE:
            _tell(m, receiver, name, node, node.value, called=False)
        attributes.get(m, receiver, name, node)
        return
    m.dropped = node
    expressions.evaluate(m, node)


def method(m: Machine, receiver: Value, func: cst.Attribute, node: cst.Call) -> None:
    """The result of `receiver.name(...)` is dropped. Told before the call may prove something."""
    name = func.attr.value
    if name == "__enter__" and isinstance(receiver, Manager) and receiver.mode is not None:
        grad_modes.entered(m, node)
    elif name in PURE and isinstance(receiver, Tensor):
        _tell(m, receiver, name, node, func.value, called=True)


def function(m: Machine, callee: Value, args: Arguments, node: cst.Call) -> None:
    """The result of `function(...)` is dropped."""
    callee = resolve(callee)
    if not isinstance(callee, Qualified):
        return
    name = library.canonical(callee.name)
    short = name.rpartition(".")[2]
    if library.grad_mode(name) is not None:
        grad_modes.dropped(m, short, args, node)
    elif short in PURE and ops.function(name) is not None and args.positional:
        first = resolve(args.positional[0])
        # `out=` and `inplace=True` write to something; so may a second positional argument.
        writes = not args.keywords.keys().isdisjoint({"out", "inplace"}) or args.star
        if isinstance(first, Tensor) and not writes and not node.args[0].star:
            _tell(m, first, short, node, node.args[0].value, called=True)


def _tell(
    m: Machine,
    receiver: Value,
    operation: str,
    node: cst.BaseExpression,
    receiver_node: cst.BaseExpression,
    called: bool,
) -> None:
    if not m.listens(Discarded):
        return
    kind = _kind(receiver, operation)
    if called and (kind != "tensor" or not _rooted(receiver_node)):
        return
    m.emit(
        Discarded,
        m.site(node),
        receiver=receiver,
        kind=kind,
        grade=Grade.NAMED if kind == "unknown" else receiver.grade,
        operation=operation,
        called=called,
        receiver_node=receiver_node,
        local=not isinstance(receiver_node, cst.Name) or receiver_node.value in m.frame.names,
        trial=m.trial == (m.frame, m.loops),
    )


def _rooted(node: cst.BaseExpression) -> bool:
    """Whether an expression is a name, or reached from one by accesses and pure methods.

    What a call made is computed for its own sake: `torch.zeros(1).cuda()` wakes a device up.
    """
    while not isinstance(node, cst.Name):
        if isinstance(node, cst.Call):
            func = node.func
            if not isinstance(func, cst.Attribute) or func.attr.value not in PURE:
                return False
            node = func.value
        elif isinstance(node, (cst.Attribute, cst.Subscript)):
            node = node.value
        else:
            return False
    return True


def _kind(receiver: Value, operation: str) -> str:
    if isinstance(receiver, Tensor):
        return "tensor" if receiver.tensor is YES else "unknown"
    if isinstance(receiver, Module):
        return "module"
    if isinstance(receiver, Optimizer):
        return "optimizer"
    if isinstance(receiver, Scheduler):
        return "scheduler"
    if isinstance(receiver, GradScaler):
        return "scaler"
    if isinstance(receiver, (Unknown, Qualified)) and operation == "step":
        if definitions.looks_like_optimizer(receiver.name):
            return "optimizer"
        return "scheduler" if "sched" in receiver.name.lower() else "unknown"
    return "unknown"
