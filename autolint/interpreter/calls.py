"""Calls: dispatch by what is called, following functions of the project, and what is not seen."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd import graph
from autolint.autograd.joins import Joiner
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer, Parameters, Scheduler
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
    definitions,
    expressions,
    flow,
    foreign,
    functions,
    methods,
    modules,
    names,
    torch_calls,
    training,
    writes,
)
from autolint.interpreter.behind import behind, optimizers_behind
from autolint.interpreter.iteration import holders_of
from autolint.interpreter.machine import (
    MAX_DEPTH,
    MAX_RECURSION,
    Frame,
    Machine,
)
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
            return call(m, callee, expressions.arguments(m, node.args), node)
        return call_method(m, receiver, func.attr.value, expressions.arguments(m, node.args), node)
    if isinstance(func, cst.Name) and func.value == "super":
        return _super(m, node)
    callee = expressions.evaluate(m, func)
    return call(m, callee, expressions.arguments(m, node.args), node)


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
        return follow(m, callee, args, node)
    if isinstance(callee, BoundMethod):
        given = Arguments([callee.receiver, *args.positional], args.keywords, args.star)
        return follow(m, callee.function, given, node)
    if isinstance(callee, Qualified):
        return torch_calls.call_qualified(m, callee.name, args, node)
    if isinstance(callee, ClassValue):
        return classes.construct(m, callee, args, node)
    if isinstance(callee, Module):
        return modules.call_module(m, callee, args, node)
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
        return call_method(m, callee, "__call__", args, node)
    if isinstance(callee, Manager):
        return _decorated(callee, args)
    return unknown_call(m, callee, args, node)


def _decorated(manager: Manager, args: Arguments) -> Value:
    """`torch.no_grad()(function)`."""
    function = resolve(args.positional[0]) if args.positional else None
    if isinstance(function, FunctionValue) and manager.mode is not None:
        return functions.with_mode(function, manager.mode)
    return Unknown()


def call_method(m: Machine, receiver: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """`receiver.name(...)`."""
    if isinstance(receiver, Tensor):
        return methods.call(m, receiver, name, args, node)
    if isinstance(receiver, Instance):
        return _instance_method(m, receiver, name, args, node)
    if isinstance(receiver, Unknown):
        return unknown_method(m, receiver, name, args, node)
    if isinstance(receiver, Optimizer):
        return training.optimizer_method(m, receiver, name, args, node)
    if isinstance(receiver, (Sequence, Mapping, Parameters)):
        return containers.method(m, receiver, name, args, node)
    if isinstance(receiver, (ClassValue, SuperValue)):
        return _class_method(m, receiver, name, args, node)
    if isinstance(receiver, GradScaler):
        return training.scaler_method(m, name, args, node)
    if isinstance(receiver, Array):
        return methods.call_array(m, receiver, name, args, node)
    if isinstance(receiver, Qualified):
        return torch_calls.call_qualified(m, f"{receiver.name}.{name}", args, node)
    if isinstance(receiver, (Scalar, Scheduler)):
        return Scalar() if isinstance(receiver, Scalar) else m.unknown()
    return unknown_call(m, receiver, args, node)


def _instance_method(
    m: Machine, receiver: Instance, name: str, args: Arguments, node: cst.Call
) -> Value:
    value = receiver.attributes.get(name)
    if value is not None:
        return call(m, value, args, node)
    found = classes.lookup(receiver.cls, name) if isinstance(receiver.cls, ClassValue) else None
    if isinstance(found, FunctionValue):
        if found.binding == "property":
            inner = follow(m, found, Arguments([receiver]), node)
            return call(m, inner, args, node)
        if receiver.assumed and functions.is_stub(found):
            return unknown_call(m, receiver, args, node)  # meant to be overridden
        given = args
        if found.binding == "class":
            given = Arguments([receiver.cls, *args.positional], args.keywords, args.star)
        elif found.binding != "static":
            given = Arguments([receiver, *args.positional], args.keywords, args.star)
        return follow(m, found, given, node)
    if found is not None:
        return call(m, found, args, node)
    if isinstance(receiver, Module):
        return modules.method(m, receiver, name, args, node)
    weaken(m, [receiver, *args.all()])
    return m.unknown(receiver, *args.all(), origin=m.site(node))


def _class_method(
    m: Machine, receiver: ClassValue | SuperValue, name: str, args: Arguments, node: cst.Call
) -> Value:
    if isinstance(receiver, SuperValue):
        found = classes.super_attribute(m, receiver, name)
        if isinstance(found, MethodOf) and isinstance(receiver.receiver, Module):
            return modules.method(m, receiver.receiver, name, args, node)
        if isinstance(found, MethodOf) and isinstance(receiver.receiver, Optimizer):
            return training.optimizer_method(m, receiver.receiver, name, args, node, own=False)
        if isinstance(found, Unknown):
            if name != "__init__":
                return unknown_call(m, receiver.receiver, args, node)
            return NONE
        return call(m, found, args, node)
    found_value = classes.lookup(receiver, name)
    if isinstance(found_value, FunctionValue):
        given = args
        if found_value.binding == "class":
            given = Arguments([receiver, *args.positional], args.keywords, args.star)
        return follow(m, found_value, given, node)
    if name == "apply":
        return functions.apply_custom(m, receiver, args, node)
    return unknown_call(m, receiver, args, node)


# ---------------------------------------------------------------------- following


def follow(m: Machine, function: FunctionValue, args: Arguments, node: cst.CSTNode) -> Value:
    """Call a function of the project: run its body, or treat it as unseen where it is not run."""
    done = follow_checked(m, function, args, node)
    if done is None:
        return unknown_call(m, function, args, node)
    return done


def follow_checked(
    m: Machine, function: FunctionValue, args: Arguments, node: cst.CSTNode
) -> Value | None:
    """The same; None if the function is not followed."""
    if not _may_follow(m, function, args):
        return None
    bound = functions.bind(m, function, args)
    return None if bound is None else run_function(m, function, bound, node)


def follow_unknown(
    m: Machine, function: FunctionValue, receiver: Value | None, node: cst.CSTNode
) -> Value | None:
    """Run a function with unknown arguments."""
    if not foreign.load(m, function):
        return None
    return run_function(m, function, functions.unknown_arguments(m, function, receiver), node)


def _may_follow(m: Machine, function: FunctionValue, args: Arguments) -> bool:
    if m.depth >= MAX_DEPTH:
        return False
    running = 0
    frame: Frame | None = m.frame
    while frame is not None:
        if frame.function is not None and frame.function.node is function.node:
            running += function.node is not None
        frame = frame.caller
    if running >= MAX_RECURSION:
        return False
    if function.context.foreign and not functions.worth_following(m, function, args):
        return False
    return foreign.load(m, function)


def run_function(
    m: Machine,
    function: FunctionValue,
    bound: dict[str, Value],
    node: cst.CSTNode | None,
    context: bool = True,
) -> Value:
    """Run a function's body with its parameters bound; the joined value of its returns.

    `context`: this is one of the contexts in which the function is really called.
    """
    assert function.node is not None
    assert function.unit is not None
    heap, caller = m.heap, m.frame
    call_site = m.site(node) if node is not None else None
    frame = Frame(
        function.context,
        function.unit,
        function,
        bound,
        function.closure,
        call_site,
        caller if node is not None else None,
        heap.mark(),
    )
    mode, block = m.autograd.mode, m.autograd.block
    guards = m.guards
    if function.mode is not None:
        if m.autograd.mode is not function.mode:
            m.autograd.block = object()
        m.autograd.mode = function.mode
    m.frame = frame
    m.depth += 1
    m.followed.add(id(function.node))
    if context:
        m.sink.scope_entered(m.scope())
    for wrapper in function.wrappers:
        weaken(m, [wrapper])
    try:
        if isinstance(function.node, cst.Lambda):
            frame.statement = caller.statement if caller is not None else function.node
            flow.leave(frame, m, expressions.evaluate(m, function.node.body))
        else:
            if flow.run_body(m, function.node.body):
                flow.leave(frame, m, NONE)
            functions.run_unfollowed(m, frame)
    finally:
        m.frame = caller
        m.depth -= 1
        inner = m.autograd.mode
        m.autograd.mode, m.autograd.block = mode, block
        m.guards = guards
    value = _joined_returns(m, frame)
    if function.generator or frame.yields:
        if function.manager:
            changed = frame.yield_modes[0] if frame.yield_modes else inner
            return Manager(changed, value=frame.yields[0] if frame.yields else None)
        made = Sequence(None, any_of(m, frame.yields) if frame.yields else None)
        made.source = function
        return made
    return value


def _joined_returns(m: Machine, frame: Frame) -> Value:
    """Put the state after a call: the join of the states in which it returned."""
    if not frame.returns:
        m.heap.undo(frame.mark)
        return Unknown()
    m.heap.undo(frame.mark)
    own = id(frame.names)
    arms = [
        {where: change for where, change in changes.items() if where[0] != own}
        for changes, _ in frame.returns
    ]
    joiner = Joiner()
    m.heap.join(arms, frame.born, joiner.fact)
    value = frame.returns[0][1]
    for _, other in frame.returns[1:]:
        value = joiner.values(value, other)
    return value


# ---------------------------------------------------------------------- what is not seen

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
        if isinstance(value, Optimizer):
            for holder in value.sets():
                graph.forget(m.heap, holder)
        elif isinstance(value, (BoundMethod, MethodOf)):
            weaken(m, [value.receiver], depth)
        elif isinstance(value, Unknown):
            for optimizer in optimizers_behind(value):
                weaken(m, [optimizer], depth)
        elif isinstance(value, (Module, Parameters)):
            for holder in holders_of(m, value):
                graph.forget(m.heap, holder)
            if isinstance(value, Module) and value.cls is not None and depth:
                weaken(m, list(value.attributes.values()), depth - 1)
        elif isinstance(value, Instance):
            if depth:
                weaken(m, list(value.attributes.values()), depth - 1)
        elif isinstance(value, Sequence):
            if depth:
                weaken(m, list(value.items or ()), depth - 1)
            if value.mutable and value.items is not None:
                m.change(value, "rest", m.unknown(*value.items))
                m.change(value, "items", None)
        elif isinstance(value, Mapping):
            if depth:
                weaken(m, list(value.items.values()), depth - 1)
            m.change(value, "open", True)
        elif isinstance(value, Tensor):
            holders = value.state.members or (value.state,)
            for holder in holders:
                graph.forget(m.heap, holder)


def unknown_method(
    m: Machine, receiver: Value, name: str, args: Arguments, node: cst.Call
) -> Value:
    """A method of a value about which nothing is known: its use may tell what it is."""
    if not isinstance(receiver, Unknown):
        return call_method(m, receiver, name, args, node)
    known = definitions.refine(m, receiver, name, args, node)
    if known is not None:
        return call_method(m, known, name, args, node)
    attribute = receiver.attributes.get("." + name)
    if attribute is not None and type(resolve(attribute)) is not Unknown:
        return call(m, attribute, args, node)
    site = m.site(node)
    if name == "backward":
        return _foreign_backward(m, receiver, args, node)
    if name == "step":
        first = resolve(args.positional[0]) if args.positional else None
        if isinstance(first, Optimizer):  # a scaler or engine that was handed in
            return training.optimizer_method(m, first, "step", Arguments(), node)
    if name == "zero_grad":
        for item in behind(receiver):
            if not isinstance(item, Tensor):
                writes.clear(m, (item,), site)
        training.clear_opaque(m, site)
        return NONE
    if name == "scale" and args.positional:
        return training.scaled(m, args.positional[0], site)
    weaken(m, [receiver, *args.all()])
    for value in args.all():
        functions.run_passed(m, value)
        if optimizers_behind(value):
            m.change(receiver, "inputs", (*receiver.inputs[-8:], value))
    return m.unknown(receiver, *args.all(), origin=site)


def _foreign_backward(m: Machine, receiver: Unknown, args: Arguments, node: cst.Call) -> Value:
    """`x.backward(loss)`: an engine runs the backward of its argument, or a gradient is given."""
    first = resolve(args.positional[0])
    training.backward(m, first, Arguments(args.positional[1:], args.keywords), m.site(node))
    return NONE


def one_of(m: Machine, left: Value, right: Value) -> Value:
    """One of two values."""
    return Joiner().values(left, right)


def any_of(m: Machine, values: list[Value]) -> Value | None:
    """Any one of several values; None of none."""
    if not values:
        return None
    joiner = Joiner()
    result = values[0]
    for value in values[1:]:
        result = joiner.values(result, value)
    return result


def spread(m: Machine, value: Value) -> Value:
    """An element of what is spread by a star in a display."""
    if isinstance(value, (Parameters, Module)):
        return value
    return names.element(m, value)
