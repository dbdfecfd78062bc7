"""Gradient scalers: the loss is scaled before backward, the gradients unscaled by the step."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.objects import Optimizer
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Value, resolve
from autolint.interpreter import optimizers, tensors, unseen
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site


def method(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a gradient scaler."""
    first = args.get(0, "outputs" if name == "scale" else "optimizer")
    if name == "scale" and first is not None:
        return scaled(m, first, m.site(node))
    if name == "step" and first is not None:
        inner = resolve(first)
        if isinstance(inner, Optimizer):
            return optimizers.method(m, inner, "step", Arguments(args.positional[1:]), node)
        unseen.unknown_method(m, inner, "step", Arguments(), node)
    return m.unknown()


def scaled(m: Machine, value: Value, site: Site) -> Value:
    """A loss times a number that is not known."""
    found = resolve(value)
    if not isinstance(found, Tensor):
        return m.unknown(value, origin=site)
    facts = ops.operator("*")
    assert facts is not None
    return tensors.operate(m, facts.variant("number"), [(0, found)], site)
