"""Calls of custom autograd functions, by `apply` and in other ways."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import Instance
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import YES, GradMode, Kind, Scalar, resolve
from autolint.interpreter import classes, custom_functions
from autolint.interpreter.events import ConstantGiven, FunctionCalled, GradientsMiscounted
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, ClassValue
from autolint.interpreter.unit import Site


def instance_called(m: Machine, instance: Instance, node: cst.Call) -> None:
    """`Function()(x)`: torch raises whatever the methods look like."""
    cls = instance.cls
    if (
        m.listens(FunctionCalled)
        and isinstance(cls, ClassValue)
        and custom_functions.is_function(cls)
    ):
        init = custom_functions.own_method(cls, "__init__")
        if init is None and classes.lookup(cls, "__call__") is None:
            m.emit(FunctionCalled, m.site(node), function=cls.name, by="instance")


def forward_called(m: Machine, cls: ClassValue, args: Arguments, node: cst.Call) -> None:
    """`Function.forward(ctx, x)`: its backward is not used, the operations are recorded."""
    if not m.listens(FunctionCalled) or not custom_functions.is_function(cls):
        return
    around = m.frame.cls
    if around is not None and custom_functions.is_function(around):
        return  # One function makes use of another's computation.
    if m.autograd.mode is not GradMode.ON or classes.lookup(cls, "backward") is None:
        return  # Nothing is recorded, so nothing goes by.
    if any(_trains(resolve(value)) for value in args.positional):
        m.emit(FunctionCalled, m.site(node), function=cls.name, by="forward")


def _count_given(
    m: Machine, custom: custom_functions.CustomFunction, given: int, call: Site
) -> None:
    """As many gradients are wanted as arguments are given, those with a default too."""
    for each in custom.returns:
        if each is not None and each.items and len(each.items) < given:
            custom_functions.miscounted(m, custom, each, given, call)


def _trains(value: object) -> bool:
    return isinstance(value, Tensor) and value.tensor is YES and value.state.requires_grad is YES


def applied(m: Machine, cls: ClassValue, args: Arguments, node: cst.Call) -> None:
    """`Function.apply(x, 2.0)`: there is no gradient for a number."""
    if not any(map(m.listens, (ConstantGiven, GradientsMiscounted))) or args.star:
        return
    if not custom_functions.is_function(cls):
        return
    custom = custom_functions.read(cls)
    if custom is None or not custom.forward.plain or not custom.backward.plain:
        return
    _count_given(m, custom, len(args.positional), m.site(node))
    for position, value in enumerate(args.positional[: len(custom.forward.parameters)]):
        found = resolve(value)
        if not isinstance(found, Scalar) or found.kind is Kind.UNKNOWN:
            continue
        for each in custom.returns:
            if each is None or position >= len(each.items):
                continue
            gradient = each.items[position]
            if custom.backward.one_tensor(gradient):
                m.emit(
                    ConstantGiven,
                    custom.site(gradient, each.statement),
                    function=cls.name,
                    name=custom.forward.parameters[position],
                    call=m.site(node),
                )
