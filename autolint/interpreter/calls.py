"""Calls: dispatch by what is called, and by the receiver of a method."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import (
    GradScaler,
    Instance,
    Module,
    Optimizer,
    Parameters,
    Scheduler,
    StateDict,
)
from autolint.autograd.tensor import Array, Tensor
from autolint.autograd.values import (
    NONE,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    attributes,
    classes,
    containers,
    custom_calls,
    discards,
    expressions,
    following,
    functions,
    gradient_reads,
    layer_calls,
    leaf_loss,
    methods,
    modules,
    names,
    optimizers,
    outside,
    scalers,
    schedulers,
    snapshots,
    unseen,
)
from autolint.interpreter.machine import MAX_DEPTH, Frame, Machine
from autolint.interpreter.objects import (
    Arguments,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Manager,
    MethodOf,
    Partial,
    SuperValue,
)


def run_call(m: Machine, node: cst.Call) -> Value:
    """A call expression."""
    func = node.func
    if isinstance(func, cst.Attribute):
        receiver = resolve(expressions.evaluate(m, func.value))
        if isinstance(receiver, (Qualified, names.ModuleFile)):
            callee = attributes.get(m, receiver, func.attr.value, func)
        else:
            if node is m.dropped:
                discards.method(m, receiver, func, node)
            args = expressions.arguments(m, node.args)
            return call_method(m, receiver, func.attr.value, args, node)
    elif isinstance(func, cst.Name) and func.value == "super":
        return _super(m, node)
    else:
        callee = expressions.evaluate(m, func)
    args = expressions.arguments(m, node.args)
    if node is m.dropped:
        discards.function(m, callee, args, node)
    return call(m, callee, args, node)


def _super(m: Machine, node: cst.Call) -> Value:
    cls = m.frame.cls
    receiver: Value | None = None
    frame: Frame | None = m.frame
    while frame is not None and receiver is None:
        if frame.function is not None and frame.function.cls is not None:
            function = frame.function.node
            if isinstance(function, cst.FunctionDef) and function.params.params:
                receiver = frame.names.get(function.params.params[0].name.value)
        frame = frame.closure
    if node.args:
        named = resolve(expressions.evaluate(m, node.args[0].value))
        cls = named if isinstance(named, ClassValue) else cls
    if cls is None or receiver is None:
        return Unknown()
    return SuperValue(cls, receiver)


def call(m: Machine, callee: Value, args: Arguments, node: cst.Call) -> Value:
    """Call a value."""
    callee = resolve(callee)
    if isinstance(callee, FunctionValue):
        return following.follow(m, callee, args, node)
    if isinstance(callee, BoundMethod):
        given = Arguments([callee.receiver, *args.positional], args.keywords, args.star)
        return following.follow(m, callee.function, given, node)
    if isinstance(callee, Qualified):
        return outside.call_qualified(m, callee.name, args, node)
    if isinstance(callee, ClassValue):
        return classes.construct(m, callee, args, node)
    if isinstance(callee, Module):
        return layer_calls.call_module(m, callee, args, node)
    if isinstance(callee, MethodOf):
        return call_method(m, resolve(callee.receiver), callee.name, args, node)
    if isinstance(callee, Partial):
        given = callee.arguments
        return call(
            m,
            callee.function,
            Arguments(
                [*given.positional, *args.positional],
                {**given.keywords, **args.keywords},
                given.star or args.star,
            ),
            node,
        )
    if isinstance(callee, Instance):
        custom_calls.instance_called(m, callee, node)
        return call_method(m, callee, "__call__", args, node)
    if isinstance(callee, Manager):
        return _decorated(callee, args)
    return unseen.unknown_call(m, callee, args, node)


def _decorated(manager: Manager, args: Arguments) -> Value:
    """`torch.no_grad()(function)`."""
    function = resolve(args.positional[0]) if args.positional else None
    if isinstance(function, FunctionValue) and (manager.mode is not None or manager.autocast):
        return functions.under(function, manager)
    return Unknown()


def call_method(m: Machine, receiver: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """`receiver.name(...)`."""
    if isinstance(receiver, Tensor):
        gradient_reads.used_all(m, args.positional, node)
        placed = receiver.state.placed
        result = methods.call(m, receiver, name, args, node)
        return leaf_loss.moved(m, receiver, name, args, placed, result, node)
    if isinstance(receiver, Instance):
        return _instance_method(m, receiver, name, args, node)
    if isinstance(receiver, StateDict):
        return snapshots.method(m, receiver, name, args, node)
    if isinstance(receiver, Unknown):
        return unseen.unknown_method(m, receiver, name, args, node)
    if isinstance(receiver, Optimizer):
        return optimizers.method(m, receiver, name, args, node)
    if isinstance(receiver, (Sequence, Mapping, Parameters)):
        return containers.method(m, receiver, name, args, node)
    if isinstance(receiver, (ClassValue, SuperValue)):
        return _class_method(m, receiver, name, args, node)
    if isinstance(receiver, GradScaler):
        return scalers.method(m, receiver, name, args, node)
    if isinstance(receiver, Array):
        return methods.call_array(m, receiver, name, args, node)
    if isinstance(receiver, Qualified):
        return outside.call_qualified(m, f"{receiver.name}.{name}", args, node)
    if isinstance(receiver, Scheduler) and name == "step":
        return schedulers.step(m, receiver, args, node)
    if isinstance(receiver, (Scalar, Scheduler)):
        gradient_reads.used(m, receiver, "attribute", node)
        return Scalar() if isinstance(receiver, Scalar) else m.unknown()
    return unseen.unknown_call(m, receiver, args, node)


def _instance_method(
    m: Machine, receiver: Instance, name: str, args: Arguments, node: cst.Call
) -> Value:
    value = receiver.attributes.get(name)
    kept = _deeper if name == "__call__" else call
    if value is not None:
        return kept(m, value, args, node)
    found = classes.lookup(receiver.cls, name) if isinstance(receiver.cls, ClassValue) else None
    if isinstance(found, FunctionValue):
        if found.binding == "property":
            inner = following.follow(m, found, Arguments([receiver]), node)
            return kept(m, inner, args, node)
        if receiver.assumed and functions.is_stub(found):
            return unseen.unknown_call(m, receiver, args, node)  # meant to be overridden
        given = args
        if found.binding == "class":
            given = Arguments([receiver.cls, *args.positional], args.keywords, args.star)
        elif found.binding != "static":
            given = Arguments([receiver, *args.positional], args.keywords, args.star)
        return following.follow(m, found, given, node)
    if found is not None:
        return kept(m, found, args, node)
    if isinstance(receiver, Module):
        return modules.method(m, receiver, name, args, node)
    unseen.weaken(m, [receiver, *args.all()])
    return m.unknown(receiver, *args.all(), origin=m.site(node))


def _deeper(m: Machine, callee: Value, args: Arguments, node: cst.Call) -> Value:
    """Call the `__call__` of an object that is no method: it may be the object itself."""
    if m.depth >= MAX_DEPTH:
        return unseen.unknown_call(m, callee, args, node)
    m.depth += 1
    try:
        return call(m, callee, args, node)
    finally:
        m.depth -= 1


def _class_method(
    m: Machine, receiver: ClassValue | SuperValue, name: str, args: Arguments, node: cst.Call
) -> Value:
    if isinstance(receiver, SuperValue):
        found = classes.super_attribute(m, receiver, name)
        if isinstance(found, MethodOf) and isinstance(receiver.receiver, Module):
            return modules.method(m, receiver.receiver, name, args, node)
        if isinstance(found, MethodOf) and isinstance(receiver.receiver, Optimizer):
            return optimizers.method(m, receiver.receiver, name, args, node, own=False)
        if isinstance(found, Unknown):
            if name != "__init__":
                return unseen.unknown_call(m, receiver.receiver, args, node)
            return NONE
        return call(m, found, args, node)
    found_value = classes.lookup(receiver, name)
    if isinstance(found_value, FunctionValue):
        if name == "forward":
            custom_calls.forward_called(m, receiver, args, node)
        given = args
        if found_value.binding == "class":
            given = Arguments([receiver, *args.positional], args.keywords, args.star)
        return following.follow(m, found_value, given, node)
    if name == "apply":
        return functions.apply_custom(m, receiver, args, node)
    return unseen.unknown_call(m, receiver, args, node)
