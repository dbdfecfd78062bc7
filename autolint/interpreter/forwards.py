"""What a forward does wrong: layers that it builds itself, dropout that never ends."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.autograd.layers import LayerFacts
from autolint.autograd.objects import Instance, Module
from autolint.autograd.values import NO, Mapping, Scalar, Sequence, Value, resolve
from autolint.interpreter import classes
from autolint.interpreter.events import FreshLayerCalled, FunctionalDropout
from autolint.interpreter.machine import Frame, Machine
from autolint.interpreter.objects import Arguments, ClassValue
from autolint.interpreter.unit import Site

DROPPING = frozenset(
    {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
    | {"feature_dropout", "scaled_dot_product_attention"}
)
"""Bare names of the functions that drop values."""
_ATTENTION = "scaled_dot_product_attention"
_OFF_BY_DEFAULT = frozenset({"alpha_dropout", "feature_alpha_dropout"})
_MAX_KEPT = 200


def running(m: Machine) -> Frame | None:
    """The innermost forward of a module that is being run."""
    frame: Frame | None = m.frame
    while frame is not None:
        function = frame.function
        if function is not None and function.name == "forward" and function.cls is not None:
            return frame if classes.is_module(function.cls) is not NO else None
        frame = frame.caller
    return None


def ask_training(m: Machine) -> None:
    """The code that runs reads a module's `training`: all that called it may go by that."""
    frame: Frame | None = m.frame
    while frame is not None:
        frame.asks_training = True
        frame = frame.caller


def built(m: Machine, module: Module, facts: LayerFacts) -> None:
    """Remember in which forward a layer was built, if that may matter."""
    if m.listens(FreshLayerCalled) and (module.own is not NO or facts.group == "dropout"):
        module.forward = running(m)


def called(m: Machine, module: Module, facts: LayerFacts) -> None:
    """Tell the rules about a layer that lives for one forward only."""
    frame = running(m)
    if frame is None or frame is not module.forward or module.tended:
        return
    if frame.function is None or not isinstance(module.origin, Site):
        return
    if any(name in module.attributes for name in facts.parameter_names):
        return  # Its weights were read, and so perhaps set.
    receiver = frame.names.get(_first_parameter(frame.function.node))
    if receiver is None or _keeps(receiver, module):
        return
    dropped_share = module.attributes.get("p")
    m.emit(
        FreshLayerCalled,
        module.origin,
        layer=facts.name.rpartition(".")[2],
        parameters=module.own & module.trainable,
        training_matters=facts.training_matters,
        probability=dropped_share.value if isinstance(dropped_share, Scalar) else None,
        asked=m.frame.asks_training or frame.asks_training,
    )


def _keeps(receiver: Value, module: Module) -> bool:
    """Whether an object holds a module, directly or through what it holds."""
    todo, seen = [receiver], set[int]()
    while todo and len(seen) < _MAX_KEPT:
        value = resolve(todo.pop())
        if value is module:
            return True
        if id(value) not in seen:
            seen.add(id(value))
            todo.extend(_held(value))
    return bool(todo)


def _held(value: Value) -> Iterator[Value]:
    if isinstance(value, Instance):
        yield from value.attributes.values()
    elif isinstance(value, (Sequence, Mapping)):
        yield from value.items or () if isinstance(value, Sequence) else value.items.values()
        if value.rest is not None:
            yield value.rest


def dropped(m: Machine, name: str, args: Arguments, node: cst.Call) -> None:
    """Tell the rules about the call of a function of this bare name that drops values."""
    frame = running(m)
    if frame is None or args.star:
        return
    place, switch = (4, "dropout_p") if name == _ATTENTION else (2, "training")
    if name == "feature_dropout" or "train" in args.keywords:
        switch = "train"
    training = _argument(node, place, switch)
    if training is None and (name in _OFF_BY_DEFAULT or name == _ATTENTION):
        return
    given = args.get(1, "p") if name != _ATTENTION else args.get(4, "dropout_p")
    known = resolve(given) if given is not None else Scalar(0.5, known=True)
    m.emit(
        FunctionalDropout,
        m.site(node),
        operation=name,
        training=training,
        switch=switch,
        probability=known.value if isinstance(known, Scalar) and known.known else None,
        asked=m.frame.asks_training or frame.asks_training,
        receiver=_receiver(m.frame),
    )


def _argument(node: cst.Call, place: int, name: str) -> cst.BaseExpression | None:
    for position, argument in enumerate(node.args):
        keyword = argument.keyword
        if keyword.value == name if keyword is not None else position == place:
            return argument.value
    return None


def _receiver(frame: Frame) -> str | None:
    """What a method of a module names its module."""
    function = frame.function
    if function is None or not isinstance(function.cls, ClassValue):
        return None
    return _first_parameter(function.node) or None


def _first_parameter(node: cst.FunctionDef | cst.Lambda | None) -> str:
    if not isinstance(node, cst.FunctionDef) or not node.params.params:
        return ""
    return node.params.params[0].name.value
