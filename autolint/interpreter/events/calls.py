"""Events of statements that do nothing: results that are dropped, methods that are only named."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd.values import Grade, Value
from autolint.interpreter.events.base import Event

PURE = frozenset(
    {"detach", "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "int", "long", "bool"}
    | {"clone", "view", "view_as", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "t"}
    | {"flatten", "unflatten", "contiguous", "clamp", "clip", "clamp_min", "clamp_max", "type_as"}
    | {"masked_fill", "masked_scatter", "index_fill", "index_add", "index_copy", "index_put"}
    | {"scatter", "scatter_add", "nan_to_num", "repeat", "roll", "flip", "tril", "triu", "type"}
    | {"abs", "neg", "sqrt", "exp", "log", "sigmoid", "tanh", "relu", "softmax", "log_softmax"}
    | {"round", "floor", "ceil", "sub", "mul", "div", "pow", "add", "mean", "sum", "cumsum"}
)
"""Operations that change nothing but their result, and are often taken for changing their tensor.

Not those that serve as a check or as a barrier where their result is dropped: `expand_as`, `item`.
"""
TENSOR_ACTIONS = frozenset({"backward", "requires_grad_", "retain_grad", "detach_", "zero_"})
MODULE_ACTIONS = frozenset(
    {"train", "eval", "zero_grad", "requires_grad_", "cuda", "cpu", "half", "float", "double"}
)
ACTIONS = TENSOR_ACTIONS | MODULE_ACTIONS | {"step", "update"}
"""Methods that are called for what they do."""


@dataclass(frozen=True, slots=True)
class Discarded(Event):
    """A statement does nothing: a pure call whose result is dropped, or a method only named.

    `operation` is the operation of a tensor or, if not `called`, any method in `PURE` or `ACTIONS`.
    `receiver` is what it is an operation of: `receiver_node` its expression, `kind` one of
    "tensor", "module", "optimizer", "scheduler", "scaler" and "unknown", `grade` how well that is
    known. `local`: it is no name of another scope. `trial`: it stands in a short block, not in
    a loop of it, that catches what it raises.
    """

    triggers = frozenset(f"{name}();" for name in PURE) | {f"{name};" for name in PURE | ACTIONS}
    by_arguments = True

    receiver: Value
    kind: str
    grade: Grade
    operation: str
    called: bool
    receiver_node: cst.BaseExpression
    local: bool
    trial: bool
