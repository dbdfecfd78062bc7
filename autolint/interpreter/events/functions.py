"""Events of custom autograd functions: subclasses of `torch.autograd.Function`."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.interpreter.events.base import Event
from autolint.interpreter.unit import Site

FUNCTION_BASES = frozenset({"Function", "InplaceFunction"})
"""Bare names of the classes of torch that custom functions derive from."""


@dataclass(frozen=True, slots=True)
class GradientsMiscounted(Event):
    """A `return` of backward hands out surely too few or too many gradients.

    The site is what is returned; `inputs` is how many forward takes, told at `inputs_at`,
    `returned` how many there are, the last of which is `last`. `of_tensors`: an input without a
    gradient is surely a tensor.
    """

    triggers = FUNCTION_BASES

    function: str
    inputs: int
    returned: int
    last: cst.BaseExpression
    of_tensors: bool
    inputs_at: Site


@dataclass(frozen=True, slots=True)
class ConstantGiven(Event):
    """`apply` gets a number for an input for which backward returns a gradient, at the site."""

    triggers = FUNCTION_BASES

    function: str
    name: str
    call: Site


@dataclass(frozen=True, slots=True)
class GradientForgotten(Event):
    """A backward computes with the gradient and returns nothing. The site is its name."""

    triggers = FUNCTION_BASES

    function: str


@dataclass(frozen=True, slots=True)
class KeptOnContext(Event):
    """An input or output of forward becomes a plain attribute of the context.

    `reads` are the nodes in backward that read the attribute; `alone`: nothing else is kept for
    backward in this way, nor by `save_for_backward`, and the value has a name.
    """

    triggers = FUNCTION_BASES

    function: str
    attribute: str
    value: str
    output: bool
    reads: tuple[cst.Attribute, ...]
    alone: bool


@dataclass(frozen=True, slots=True)
class InputWritten(Event):
    """A forward writes an input in place, for which backward has a gradient, without
    `mark_dirty`.
    """

    triggers = FUNCTION_BASES

    function: str
    name: str


@dataclass(frozen=True, slots=True)
class FunctionCalled(Event):
    """An object of a custom function is called (`by` "instance"), or can only be made to be called
    ("constructor"; the site is its forward), or its forward is called by name ("forward").
    """

    triggers = FUNCTION_BASES

    function: str
    by: str
