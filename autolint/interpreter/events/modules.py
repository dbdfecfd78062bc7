"""Events of modules: what their classes build and keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst

from autolint.autograd.objects import Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import GradMode
from autolint.interpreter.events.base import Event, Scope
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor kept as an attribute: where it was assigned, and by how many assignments.

    `initialised`: nn.Module's own `__init__` had run by then. `placed`: the tensor was put on a
    device by hand on its way here (`device=`, `.to(device)`, `.cuda()`).
    """

    name: str
    tensor: Tensor
    site: Site
    scope: Scope
    assignments: int
    initialised: bool = False
    placed: bool = False


@dataclass(frozen=True, slots=True)
class ModuleBuilt(Event):
    """An `nn.Module` of a project class was constructed: its plain tensor attributes.

    `facts` (computed when asked) answers what the class does with an attribute: see
    `class_facts.ClassFacts`.
    """

    module: Module
    class_name: str
    tensors: tuple[StoredTensor, ...]
    facts: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class ClassDecorated(Event):
    """A class is decorated with a grad mode. The site is the decorator, its statement the class."""

    triggers = frozenset({"no_grad", "enable_grad", "inference_mode", "set_grad_enabled"})

    class_name: str
    set_mode: GradMode


@dataclass(frozen=True, slots=True)
class LossApplied(Event):
    """A loss gets a prediction whose last operation is known.

    `loss` and `activation` are bare names, of the function or of the layer; views after the
    activation are not counted. `before` is the operation that made what the activation got, if
    that is known too. `made` is where the activation was applied, `prediction` the argument;
    `logits` is what the activation (or the log of one) is applied to, if it is written in there.
    """

    triggers = frozenset(
        {"cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"}
        | {"CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss"}
    )
    company = frozenset(
        {"softmax", "log_softmax", "sigmoid", "Softmax", "LogSoftmax", "Sigmoid", "backward"}
    )

    loss: str
    activation: str
    before: str | None
    made: Site
    prediction: cst.BaseExpression
    logits: cst.BaseExpression | None
