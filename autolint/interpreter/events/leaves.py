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

OPTIMIZERS = frozenset({"optim", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS", "RAdam"})
"""Names of what builds an optimizer."""


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
class GradRead(Event):
    """A `.grad` that is None for sure was read, and is used as if it were a gradient.

    Tests for None are no use. `leaf` and `retains_grad` are the tensor's; `passed_at` is the
    backward that went through a computed tensor, `cleared_at` where a gradient was last set to
    None. `use` is "attribute" (or method), "operand" or "return", at `used`; the event's site is
    the read itself. `tested`: in a loop, it stands under a test which
    may keep the first iteration out.
    """

    triggers = frozenset({"grad"})
    company = frozenset({"backward", "zero_grad"})

    tensor: Tensor
    leaf: Tri
    retains_grad: Tri
    passed_at: Site | None
    cleared_at: Site | None
    use: str
    used: Site
    tested: bool
    target_text: str


@dataclass(frozen=True, slots=True)
class LeafLost(Event):
    """A result that took the place of a leaf, in the expression that made it, is used as that leaf.

    `leaf` is what was lost at `lost_at`; `device`: only where the program runs on another device
    than the tensor was made on. `use` is "grad" (its `.grad` is read), "optimizer" (it is to be
    optimised) or "parameter" (it was an `nn.Parameter` and is set on a module).
    """

    triggers = frozenset({"requires_grad", "requires_grad_", "Parameter"})
    company = frozenset({"grad", "to", "cuda", "double", "half", "bfloat16"}) | OPTIMIZERS

    tensor: Tensor
    leaf: Tensor
    lost_at: Site
    device: bool
    use: str
    target_text: str


@dataclass(frozen=True, slots=True)
class LeafRebound(Event):
    """The name of a leaf was given to a result that was computed from it.

    The event's site is the name there. `by_gradient`: the leaf's gradient had been read since the
    last backward. `used` is where the program misses the leaf later, by its
    `.grad` or as what an optimizer may take; None where the name is an
    attribute, which outlives the code.
    """

    triggers = frozenset({"grad"})

    leaf: Tensor
    by_gradient: bool
    used: Site | None
    target_text: str


@dataclass(frozen=True, slots=True)
class OffAliasUsed(Event):
    """An alias made under no_grad, of a tensor that requires grad, is used as if it were detached.

    `how` is "backward", "operation" or "requires_grad"; `alias.made` is where the alias was made.
    `alone`: no other operand of the operation requires grad, so without this one it ends the graph.
    """

    triggers = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})

    alias: OffAlias
    tensor: Tensor
    how: str
    alone: bool
    made: Site
    target_text: str


@dataclass(frozen=True, slots=True)
class FlagRefused(Event):
    """The flag of a tensor that is surely a result is changed, or a view detached: torch raises.

    `how` is "method", "attribute" or "detach_"; `value` is what is asked for.
    """

    triggers = frozenset({"requires_grad_", "requires_grad=", "detach_"})

    tensor: Tensor
    how: str
    value: Tri
    target_text: str
