"""Functions of the project: binding of arguments, unknown arguments, and what is run besides."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import cast

import libcst as cst

from autolint.autograd.objects import Instance, Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Mapping, Scalar, Sequence, Unknown, Value, resolve
from autolint.interpreter import alternatives, custom_calls, following, type_hints
from autolint.interpreter.behind import behind
from autolint.interpreter.machine import MAX_DEPTH, Frame, Machine
from autolint.interpreter.objects import (
    Arguments,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Manager,
    MethodOf,
)
from autolint.interpreter.screen import FACTORIES


def under(function: FunctionValue, manager: Manager) -> FunctionValue:
    """The same function in a context: its grad mode, and its autocast."""
    return replace(
        function,
        mode=function.mode if manager.mode is None else manager.mode,
        autocast=function.autocast if manager.autocast is None else manager.autocast,
    )


def bind(m: Machine, function: FunctionValue, args: Arguments) -> dict[str, Value] | None:
    """The parameters of a function bound to arguments; None if there are too many of them."""
    assert function.node is not None
    params = function.node.params
    names: dict[str, Value] = {}
    positional = [*params.posonly_params, *params.params]
    given = list(args.positional)
    keywords = dict(args.keywords)
    for param in positional:
        name = param.name.value
        if given:
            names[name] = given.pop(0)
        elif name in keywords:
            names[name] = keywords.pop(name)
        else:
            names[name] = _default(m, function, param, args.star)
    for param in params.kwonly_params:
        name = param.name.value
        if name in keywords:
            names[name] = keywords.pop(name)
        else:
            names[name] = _default(m, function, param, args.star)
    if isinstance(params.star_arg, cst.Param):
        known = None if args.star else tuple(given)
        rest = alternatives.any_of(m, given)
        names[params.star_arg.name.value] = Sequence(known, rest, mutable=False)
        given = []
    if params.star_kwarg is not None:
        left = {key: value for key, value in keywords.items() if not key.startswith("*")}
        names[params.star_kwarg.name.value] = Mapping(
            cast("dict[Hashable, Value]", left), args.star
        )
    return None if given else names


def _default(m: Machine, function: FunctionValue, param: cst.Param, star: bool) -> Value:
    name = param.name.value
    if star:
        return Unknown(name)
    value = function.defaults.get(name)
    if value is not None:
        return value
    if param.default is None:
        return Unknown(name)
    if function.context.foreign:
        return _literal(param.default)
    return Unknown(name)


def _literal(node: cst.BaseExpression) -> Value:
    """The default of a parameter in another file: None, a bool or a number; else unknown."""
    if isinstance(node, cst.Name) and node.value in ("None", "True", "False"):
        return Scalar({"None": None, "True": True, "False": False}[node.value], known=True)
    if isinstance(node, cst.Integer):
        return Scalar(int(node.value.replace("_", ""), 0), known=True)
    return Unknown()


def unknown_arguments(
    m: Machine, function: FunctionValue, receiver: Value | None
) -> dict[str, Value]:
    """A function's parameters when nobody is seen to call it: unknown, but for annotations."""
    assert function.node is not None
    params = function.node.params
    names: dict[str, Value] = {}
    caller = m.frame
    everything = [*params.posonly_params, *params.params, *params.kwonly_params]
    first = receiver
    for param in everything:
        name = param.name.value
        if first is not None and function.binding != "static":
            names[name], first = first, None
            continue
        known: Value | None = None
        if param.annotation is not None and caller is not None:
            known = type_hints.annotated(m, param.annotation.annotation, m.site(param))
        names[name] = Unknown(name) if known is None else known
    if isinstance(params.star_arg, cst.Param):
        names[params.star_arg.name.value] = Sequence(None, Unknown(), mutable=False)
    if params.star_kwarg is not None:
        names[params.star_kwarg.name.value] = Mapping({}, True)
    return names


def is_stub(function: FunctionValue) -> bool:
    """Whether a body does nothing: `pass`, `...`, a docstring, `raise NotImplementedError`."""
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return False
    for statement in node.body.body:
        smalls = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
        for small in smalls:
            if isinstance(small, (cst.Pass, cst.Raise)):
                continue
            plain = isinstance(small, cst.Expr) and isinstance(
                small.value, (cst.Ellipsis, cst.SimpleString, cst.ConcatenatedString)
            )
            if not plain:
                return False
    return True


def worth_following(m: Machine, function: FunctionValue, args: Arguments) -> bool:
    """Whether a function of another file is followed: one level, and only if it holds a trigger.

    A function of this file that holds one counts as a trigger: a method of a base in another file
    may call what a class of this file overrides. Of an object, all constructors of its bases are
    run.
    """
    receiver = args.positional[0] if args.positional else None
    above = m.frame.function
    chained = function.name == "__init__" and above is not None and above.name == "__init__"
    if chained and above is not None and receiver is m.frame.names.get(_first_parameter(above)):
        return True
    if function.name == "__init__" and isinstance(receiver, Instance):
        cls = receiver.cls
        if isinstance(cls, ClassValue) and not cls.context.foreign:
            return True  # a class of this file that inherits its constructor
    running: Frame | None = m.frame
    while running is not None:
        if running.context.foreign:
            return False
        running = running.caller
    info = function.info
    if info is None:
        return False
    builds = function.name == "__init__" and isinstance(receiver, Module)
    return (
        (builds and (_gives_tensor(args.all()[1:]) or not info.names.isdisjoint(FACTORIES)))
        or not info.names.isdisjoint(m.local_leads)
        or m.needs_elsewhere.met(info.names, lambda: _running_names(m))
        or (m.needs.met(info.names, lambda: _running_names(m)) and _gives_tensor(args.all()))
    )


def _gives_tensor(values: list[Value]) -> bool:
    return any(isinstance(tensor, Tensor) for value in values for tensor in behind(value, 8))


def _running_names(m: Machine) -> Iterator[frozenset[str]]:
    """The names that each running function uses, the innermost first."""
    frame: Frame | None = m.frame
    while frame is not None:
        yield frame.names_used()
        frame = frame.caller


def _first_parameter(function: FunctionValue) -> str:
    node = function.node
    return node.params.params[0].name.value if node is not None and node.params.params else ""


def run_unfollowed(m: Machine, frame: Frame) -> None:
    """Functions defined in a function that nobody called: run once, for what is in them."""
    returned = [resolve(value) for _, value in frame.returns]
    for function in frame.nested:
        if function in returned and frame.call is not None:
            continue  # the caller has it, and calls it in its own context
        if id(function.node) in m.followed or m.depth >= MAX_DEPTH:
            continue
        names = function.context.names.get(function.qualname)
        if names is not None and not m.needs.met(names, lambda: _running_names(m)):
            continue
        run_alone(m, function, None)


def run_passed(m: Machine, value: Value) -> None:
    """A function that is handed to unseen code is run once with unknown arguments."""
    found = resolve(value)
    receiver: Value | None = None
    if isinstance(found, BoundMethod):
        receiver, found = found.receiver, found.function
    if isinstance(found, (MethodOf, FunctionValue)):
        m.heap.put(m.facts, "escaped", True)
    if not isinstance(found, FunctionValue) or id(found.node) in m.followed:
        return
    if found.node is None or m.depth >= MAX_DEPTH:
        return
    run_alone(m, found, receiver)


def run_alone(m: Machine, function: FunctionValue, receiver: Value | None) -> None:
    """Run a function for its events and forget what it did."""
    mark = m.heap.mark()
    loops, guards = m.loops, m.guards
    m.loops, m.guards = (), ()
    try:
        bound = unknown_arguments(m, function, receiver)
        following.run_function(m, function, bound, None, context=False)
    finally:
        m.loops, m.guards = loops, guards
        m.heap.undo(mark)


def apply_custom(m: Machine, cls: ClassValue, args: Arguments, node: cst.Call) -> Value:
    """`Function.apply(...)` of a custom autograd function: a tensor that may have history."""
    custom_calls.applied(m, cls, args, node)
    return m.unknown(*args.all(), origin=m.site(node))
