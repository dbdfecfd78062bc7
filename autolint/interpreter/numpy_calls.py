"""Calls of numpy, and of a tensor's own `numpy()`."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.tensor import Array, Tensor
from autolint.autograd.values import NONE, YES, Sequence, Unknown, Value, resolve
from autolint.interpreter import writes
from autolint.interpreter.events.modes import GivenToNumpy
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

_CONVERTING = frozenset(
    {"array", "asarray", "asanyarray", "ascontiguousarray", "stack", "vstack", "hstack", "dot"}
    | {"sqrt", "exp", "log", "log10", "abs", "absolute", "square", "sign", "tanh", "floor", "round"}
    | {"argmax", "argmin", "argsort", "sort", "median", "average", "percentile", "quantile"}
    | {"clip", "cumsum", "isnan", "isfinite", "where", "unique", "ravel", "transpose", "append"}
    | {"maximum", "minimum", "power", "allclose", "isclose", "nanmean", "histogram"}
    | {"float32", "float64", "int64", "nan_to_num", "expand_dims", "column_stack"}
)
"""Functions of numpy that make an array of a tensor they get.

Others (`mean`, `sum`, `max`) call the tensor's method of that name, or only look at its shape.
"""


def method(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    """`tensor.numpy()`."""
    force = args.get(0, "force")
    forced = force is not None and getattr(resolve(force), "value", True) is not False
    if not forced and not args.star and isinstance(node.func, cst.Attribute):
        _tell(m, tensor, None, False, node.func.value, node)
    return Array(tensor)


def function(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """numpy's functions: arrays made from tensors share their memory, others are new."""
    short = name.rpartition(".")[2]
    if args.positional and not node.args[0].star:
        _given(m, args.positional[0], short, node)
    first = resolve(args.positional[0]) if args.positional else None
    if short in ("asarray", "ascontiguousarray") and isinstance(first, (Tensor, Array)):
        return Array(first) if isinstance(first, Tensor) else first
    if short in ("copyto", "put", "place", "putmask", "fill_diagonal") and isinstance(first, Array):
        writes.write_alias(m, first, m.site(node), node.args[0].value, short)
        return NONE
    return Unknown()


def _given(m: Machine, value: Value, function: str, node: cst.Call) -> None:
    """numpy gets a tensor, or a list of them."""
    found = resolve(value)
    if isinstance(found, Tensor):
        if function in _CONVERTING:
            _tell(m, found, function, False, node.args[0].value, node)
    elif isinstance(found, Sequence):
        items = found.items if found.items is not None else (found.rest,)
        for item in items or ():
            tensor = None if item is None else resolve(item)
            if isinstance(tensor, Tensor) and tensor.state.requires_grad is YES:
                _tell(m, tensor, function, True, node.args[0].value, node)
                return


def _tell(
    m: Machine,
    tensor: Tensor,
    function: str | None,
    listed: bool,
    given: cst.BaseExpression,
    node: cst.Call,
) -> None:
    if tensor.state.requires_grad is YES and tensor.tensor is YES:
        m.emit(
            GivenToNumpy, m.site(node), tensor=tensor, function=function, listed=listed, node=given
        )
