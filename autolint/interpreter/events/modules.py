"""Events of modules: what their classes build and keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst

from autolint.autograd import layers
from autolint.autograd.objects import Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import GradMode, Tri, Value
from autolint.interpreter.events.base import Event, Scope
from autolint.interpreter.index import DROPPED, EARLY, LISTED, REPEATED
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
class PartsHidden(Event):
    """A module keeps parts with parameters to train in a plain list, tuple or dict.

    Told when its construction has ended, and after each call of its forward. `stored` is where the
    container was put into the attribute `name`, in `owner`; `kept` is the container, `parts` what
    is surely hidden in it. `facts` as in `ModuleBuilt`.
    """

    triggers = frozenset({LISTED})
    company = layers.bare_names(dropout=False) | {"Parameter"}
    at_construction = True

    module: Module
    name: str
    stored: Site
    owner: Scope
    kept: Value
    parts: tuple[Value, ...]
    facts: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class PartTooEarly(Event):
    """A module gets a part before the constructor of `nn.Module` has run, which raises."""

    triggers = frozenset({EARLY})
    at_construction = True

    module: Module
    name: str
    part: Value


@dataclass(frozen=True, slots=True)
class InitMissing(Event):
    """A module's own `__init__` has run to its end without that of `nn.Module`.

    The site is the name of that `__init__`, `built_at` where the object was constructed;
    `only_module`: `nn.Module` is the one base of the class.
    """

    triggers = frozenset({EARLY})
    at_construction = True

    class_name: str
    only_module: bool
    built_at: Site


@dataclass(frozen=True, slots=True)
class LayersRepeated(Event):
    """A container of modules is built from a list that was multiplied: it holds a layer twice.

    The site is the multiplication; `container` is the bare name of what was built, `made` where
    the layer was built.
    """

    triggers = frozenset({REPEATED})
    company = frozenset({"ModuleList", "ModuleDict", "Sequential"})

    container: str
    made: Site | None


@dataclass(frozen=True, slots=True)
class FreshLayerCalled(Event):
    """A layer of torch is called by the forward that built it, and nothing keeps it.

    The site is where it was built. `parameters` says whether it has any, `training_matters` whether
    it behaves differently in training, `probability` is what it drops if known; `asked`: forward
    has asked whether it is in training.
    """

    triggers = layers.bare_names(dropout=False) | layers.bare_names(dropout=True)
    in_forward = True

    layer: str
    parameters: Tri
    training_matters: bool
    probability: object
    asked: bool


@dataclass(frozen=True, slots=True)
class FunctionalDropout(Event):
    """A function that drops values, called by the forward of a module.

    `training` is the argument for the switch as written, None if it is left out (of attention it
    is the probability); `switch` is that argument's name. `probability` is the number if known;
    `asked`: forward has asked whether it is in training. `receiver` is what the method that holds
    the call names its module, None outside methods of modules.
    """

    triggers = frozenset({DROPPED, "dropout_p"})
    in_forward = True

    operation: str
    training: cst.BaseExpression | None
    switch: str
    probability: object
    asked: bool
    receiver: str | None


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
