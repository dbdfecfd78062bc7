"""Custom autograd functions: what their classes and their calls get wrong."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd import library
from autolint.interpreter import classes, custom_context, custom_methods
from autolint.interpreter.custom_methods import Method, Return, names, parts
from autolint.interpreter.events import (
    ConstantGiven,
    FunctionCalled,
    GradientForgotten,
    GradientsMiscounted,
    InputWritten,
    KeptOnContext,
)
from autolint.interpreter.events.functions import FUNCTION_BASES
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import ClassValue, FunctionValue
from autolint.interpreter.unit import Site, Unit

_EVENTS = (
    ConstantGiven,
    FunctionCalled,
    GradientForgotten,
    GradientsMiscounted,
    InputWritten,
    KeptOnContext,
)


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A custom function whose methods can be read: `setup` is its `setup_context`."""

    name: str
    unit: Unit
    forward: Method
    backward: Method
    setup: Method | None
    returns: tuple[Return | None, ...]

    def site(self, node: cst.CSTNode, statement: cst.CSTNode) -> Site:
        """A place in one of its methods."""
        return Site(self.unit, node, statement)

    def differentiable(self, position: int) -> bool:
        """Whether backward has a gradient for the input at a position."""
        return any(
            each is not None
            and position < len(each.items)
            and self.backward.may_give(each.items[position])
            for each in self.returns
        )


def is_function(cls: ClassValue) -> bool:
    """Whether a class derives from `torch.autograd.Function`, and from nothing that is unknown."""
    bases = classes.external(cls)
    return bool(bases) and all(
        name.startswith("torch.autograd.") and name.rpartition(".")[2] in FUNCTION_BASES
        for name in map(library.canonical, bases)
    )


def defined(m: Machine, cls: ClassValue) -> None:
    """The body of a class has run: tell of what its methods get wrong."""
    if not any(map(m.listens, _EVENTS)) or not is_function(cls):
        return
    custom = read(cls)
    if custom is None:
        return
    _constructed_only(m, cls, custom)
    _count(m, custom)
    if "backward" in cls.namespace:
        _forgotten(m, custom)
    if "forward" in cls.namespace:
        custom_context.kept(m, custom)
        custom_context.written(m, custom)


def read(cls: ClassValue) -> CustomFunction | None:
    """What can be read of a custom function; None if its methods are somewhere else."""
    forward, backward, setup = (
        own_method(cls, name) for name in ("forward", "backward", "setup_context")
    )
    if forward is None or backward is None or forward.unit is None:
        return None
    node, back = forward.node, backward.node
    if not isinstance(node, cst.FunctionDef) or not isinstance(back, cst.FunctionDef):
        return None
    later = setup.node if setup is not None else None
    backward_method = custom_methods.read(back)
    return CustomFunction(
        cls.name,
        forward.unit,
        custom_methods.read(node, with_context=later is None),
        backward_method,
        custom_methods.read(later) if isinstance(later, cst.FunctionDef) else None,
        tuple(custom_methods.returns(backward_method)),
    )


def own_method(cls: ClassValue, name: str) -> FunctionValue | None:
    """A method of a custom function, its project bases' included."""
    found = classes.lookup(cls, name)
    return found if isinstance(found, FunctionValue) else None


# ---------------------------------------------------------------------- gradients


def _count(m: Machine, custom: CustomFunction) -> None:
    """Each return of backward has one gradient for each input; further ones must be None."""
    forward, backward = custom.forward, custom.backward
    if not forward.plain or not backward.plain:
        return
    fewest, most = forward.required, len(forward.parameters)
    for each in custom.returns:
        if each is None or not each.items:
            continue
        if len(each.items) < fewest:
            miscounted(m, custom, each, fewest, custom_methods.place(custom.unit, forward))
        elif not forward.open and any(map(backward.one_tensor, each.items[most:])):
            miscounted(m, custom, each, most, custom_methods.place(custom.unit, forward))


def miscounted(m: Machine, custom: CustomFunction, found: Return, inputs: int, at: Site) -> None:
    """Tell of a return of backward that has another number of gradients than there are inputs."""
    lacking = custom.forward.parameters[len(found.items) : inputs]
    methods = [each for each in (custom.forward, custom.setup) if each is not None]
    saves = [call for each in methods for call in each.calls("save_for_backward")]
    m.emit(
        GradientsMiscounted,
        custom.site(found.value, found.statement),
        function=custom.name,
        inputs=inputs,
        returned=len(found.items),
        last=found.items[-1],
        inputs_at=at,
        of_tensors=any(not names(call).isdisjoint(lacking) for call in saves),
    )


def _forgotten(m: Machine, custom: CustomFunction) -> None:
    """A backward that ends without a value, though it computes with the gradient."""
    backward = custom.backward
    smalls = [small for small, _ in backward.statements]
    if any(isinstance(small, (cst.Return, cst.Raise)) for small in smalls):
        return
    used = {name for small in smalls for name in names(small)}
    # It may hand gradients on by itself.
    hands_on = bool(backward.calls("backward"))
    yields = any(isinstance(part, cst.Yield) for small in smalls for part in parts(small))
    if backward.plain and not used.isdisjoint(backward.parameters) and not hands_on and not yields:
        m.emit(
            GradientForgotten,
            custom_methods.place(custom.unit, backward),
            function=custom.name,
        )


def _constructed_only(m: Machine, cls: ClassValue, custom: CustomFunction) -> None:
    """A constructor with arguments is for objects that are called, which torch refuses."""
    init = own_method(cls, "__init__")
    node = init.node if init is not None else None
    if (
        isinstance(node, cst.FunctionDef)
        and len(node.params.params) > 1
        and not custom.forward.static
        and "__call__" not in cls.namespace
    ):
        m.emit(
            FunctionCalled,
            custom_methods.place(custom.unit, custom.forward),
            function=cls.name,
            by="constructor",
        )
