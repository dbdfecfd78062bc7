"""Changes of dtype and device, and what tells the two apart among arguments."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd import library, ops
from autolint.autograd.op_facts import Alias
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Kind, Qualified, Scalar, Unknown, Value, resolve
from autolint.interpreter import tensors
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import DtypeOf

_DEVICE_NAME = re.compile(r"dev(ice)?|gpu|cuda|cpu|rank", re.IGNORECASE)


def is_dtype(value: Value) -> bool:
    """Whether an argument is a dtype."""
    if isinstance(value, Qualified):
        return library.dtype_kind(value.name) is not None
    return isinstance(value, DtypeOf)


def is_device(value: Value) -> bool:
    """Whether an argument says where, not of which dtype."""
    if isinstance(value, Scalar):
        return isinstance(value.value, (str, int)) or not value.known
    if isinstance(value, Unknown):
        return _DEVICE_NAME.search(value.name) is not None or any(
            isinstance(item, Qualified) and item.name == "torch.device" for item in value.inputs
        )
    return False


def dtype_of(value: Value) -> tuple[Kind, str | None]:
    """The kind and name of a dtype given as an argument."""
    found = resolve(value)
    if isinstance(found, DtypeOf):
        return found.tensor.state.kind, found.tensor.state.dtype
    if isinstance(found, Qualified):
        kind = library.dtype_kind(found.name)
        if kind is not None:
            name = library.canonical(found.name).rpartition(".")[2]
            return kind, _BUILTIN_DTYPES.get(name, name)
    return Kind.UNKNOWN, None


_BUILTIN_DTYPES = {
    "bool": "bool",
    "int": "int64",
    "float": "float32",
    "complex": "complex64",
    "long": "int64",
    "double": "float64",
    "half": "float16",
    "short": "int16",
}


def to_device(m: Machine, tensor: Tensor, node: cst.Call) -> Value:
    """A move to a device: the same tensor where it is there already, which CPU runs show."""
    if tensor.state.grad_of:
        return tensor
    m.change(tensor.state, "placed", True)
    return m.autograd.same(tensor, m.site(node))


def cast(m: Machine, tensor: Tensor, kind: Kind, dtype: str | None, node: cst.Call) -> Value:
    """A change of dtype: itself if it has that dtype, else a copy; either, if that is not known."""
    state = tensor.state
    known = kind is not Kind.UNKNOWN and state.kind is not Kind.UNKNOWN
    if known and kind is state.kind:
        if dtype is not None and dtype == state.dtype:
            return to_device(m, tensor, node)
        known = dtype is not None and state.dtype is not None
    facts = ops.method("to")
    assert facts is not None
    result = tensors.operate(
        m,
        facts,
        [(0, tensor)],
        m.site(node),
        kind=kind,
        rank=state.rank,
        ranked=True,
        alias=Alias.FRESH if known else Alias.SAME | Alias.FRESH,
    )
    if isinstance(result, Tensor):
        result.state.dtype = dtype
    return result
