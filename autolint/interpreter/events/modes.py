"""Events of grad modes and flags that do not do what they seem to, and of numpy on tensors."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd import layers
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Tri
from autolint.interpreter.events.base import Event
from autolint.interpreter.index import YIELDED
from autolint.interpreter.unit import Site

_MODES = frozenset({"no_grad", "inference_mode", "enable_grad", "set_grad_enabled"})
MISSPELT = frozenset(
    {"require_grad", "requires_grads", "require_grads", "requiers_grad", "required_grad"}
    | {"requires_gradient", "require_gradient", "requires_gard", "reqires_grad", "requres_grad"}
)
"""Names that were meant to be `requires_grad`."""


@dataclass(frozen=True, slots=True)
class GradModeUnused(Event):
    """A grad mode is made and not entered, or entered and not left.

    `how` is "dropped" (`torch.no_grad()` as a statement), "uncalled" (`with torch.no_grad:`),
    "entered" (`no_grad().__enter__()`, and nothing in the file leaves anything) or "switched" (a
    statement `set_grad_enabled(False)` in a function of a file that never switches back).
    `records`: something in the file is there to be differentiated. `function` is the one it stands
    in, if that does not record itself.
    """

    triggers = (
        frozenset(f"{name}();" for name in _MODES)
        | {f"{name};" for name in _MODES}
        | {"__enter__();"}
    )

    name: str
    how: str
    records: bool
    function: cst.FunctionDef | None


@dataclass(frozen=True, slots=True)
class YieldedInMode(Event):
    """A generator hands out a value inside a `with` that switches recording off.

    `block` is the context. `evaluation`: recording is off around it, or where the generator is
    used. Not for functions that a decorator turns into something else, as `contextmanager` does.
    """

    triggers = frozenset({YIELDED})
    company = _MODES

    block: Site
    evaluation: bool


@dataclass(frozen=True, slots=True)
class FlagMissed(Event):
    """An attribute is set that was meant to be a tensor's `requires_grad`, and is not.

    It is `requires_grad` of a module (`kind` is "module"), or a misspelt name of a tensor or
    module. `value` is what was meant; `own` says that the class knows such a name itself.
    """

    triggers = frozenset(f"{name}=" for name in MISSPELT | {"requires_grad"})

    kind: str
    name: str
    value: Tri
    own: bool
    receiver_text: str


@dataclass(frozen=True, slots=True)
class GivenToNumpy(Event):
    """A tensor becomes a numpy array: by its own method, or because numpy gets it.

    `function` is None for `tensor.numpy()`, else numpy's; `listed`: the tensor is in a list that
    numpy gets. `node` is the expression of the tensor or list.
    """

    triggers = frozenset({"numpy", "np"})
    company = layers.bare_names(dropout=False) | {
        *("backward", "requires_grad", "requires_grad_", "requires_grad=", "Parameter")
    }

    tensor: Tensor
    function: str | None
    listed: bool
    node: cst.BaseExpression
