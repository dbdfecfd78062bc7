"""Events of tensors and their flags: what requires grad, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass

from autolint.autograd.tensor import OffAlias, Tensor
from autolint.autograd.values import Kind, Tri, Value
from autolint.interpreter.events.base import Event
from autolint.interpreter.index import COMPARED, WHOLE
from autolint.interpreter.unit import Site

WHOLE_NUMBERS = frozenset(
    {COMPARED, WHOLE, "tensor", "arange", "full", "randint", "randperm", "zeros_like", "ones_like"}
    | {"full_like", "empty_like", "new_tensor", "new_full", "as_tensor", "from_numpy"}
    | {"LongTensor", "IntTensor", "ByteTensor", "BoolTensor", "argmax", "argmin", "argsort"}
    | {"nonzero", "one_hot", "isnan", "bincount", "tril_indices", "triu_indices", "bucketize"}
)
"""Names of what makes tensors of integers or booleans."""


@dataclass(frozen=True, slots=True)
class Revealed(Event):
    """`autolint.testing.reveal(value)` was called; `answer` is what was known of the value then."""

    triggers = frozenset({"reveal"})

    value: Value
    answer: str


@dataclass(frozen=True, slots=True)
class RequiresGradSet(Event):
    """A tensor is asked to require grad: by keyword, method, attribute, or `nn.Parameter`.

    `how` is "keyword", "method", "attribute" or "parameter"; `value` is what is asked for; `made`
    is where the tensor was made.
    """

    triggers = frozenset({"requires_grad", "requires_grad_", "Parameter", "requires_grad="})
    company = WHOLE_NUMBERS

    tensor: Tensor
    kind: Kind
    how: str
    value: Tri
    made: Site | None
    target_text: str


@dataclass(frozen=True, slots=True)
class OffAliasUsed(Event):
    """An alias made under no_grad, of a tensor that requires grad, is used as if it were detached.

    `how` is "backward", "operation" or "requires_grad"; `alias.made` is where the alias was made.
    """

    triggers = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})

    alias: OffAlias
    tensor: Tensor
    how: str
    made: Site
    target_text: str
