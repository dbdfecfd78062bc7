"""Methods of tensors and of numpy arrays."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.factories import factory_method
from autolint.autograd.op_facts import Alias, OpFacts
from autolint.autograd.tensor import Array, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Kind,
    Lost,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    attribute_writes,
    casts,
    factory_calls,
    numpy_calls,
    op_calls,
    tensors,
    training,
    writes,
)
from autolint.interpreter.events.memory import RESHAPING
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

_CASTS = {
    "float": (Kind.FLOAT, "float32"),
    "double": (Kind.FLOAT, "float64"),
    "half": (Kind.FLOAT, "float16"),
    "bfloat16": (Kind.FLOAT, "bfloat16"),
    "int": (Kind.INT, "int32"),
    "long": (Kind.INT, "int64"),
    "short": (Kind.INT, "int16"),
    "char": (Kind.INT, "int8"),
    "byte": (Kind.INT, "uint8"),
    "bool": (Kind.BOOL, "bool"),
    "cfloat": (Kind.COMPLEX, "complex64"),
    "cdouble": (Kind.COMPLEX, "complex128"),
}
_NUMBERS = {
    "dim": Kind.INT, "numel": Kind.INT, "nelement": Kind.INT, "ndimension": Kind.INT,
    "data_ptr": Kind.INT, "element_size": Kind.INT, "stride": Kind.INT, "storage_offset": Kind.INT,
    "is_contiguous": Kind.BOOL, "is_floating_point": Kind.BOOL, "is_complex": Kind.BOOL,
    "equal": Kind.BOOL, "allclose": Kind.BOOL, "is_inference": Kind.BOOL, "get_device": Kind.INT,
}  # fmt: skip
_NO_RESULT = frozenset({"register_hook", "register_post_accumulate_grad_hook", "record_stream"})


def call(m: Machine, tensor: Tensor, name: str, args: Arguments, node: cst.Call) -> Value:
    """`tensor.name(...)`."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(m, tensor, args, node)
    site = m.site(node)
    if name in RESHAPING:
        writes.reshape_alias(m, tensor, site, node)
    if name in _CASTS:
        kind, dtype = _CASTS[name]
        return casts.cast(m, tensor, kind, dtype, node)
    if name in ("cpu", "cuda", "xpu", "pin_memory"):
        return casts.to_device(m, tensor, node)
    if name in _NUMBERS:
        return Scalar(kind=_NUMBERS[name])
    if name in _NO_RESULT:
        if name != "record_stream":  # A hook may keep the gradient.
            m.change(tensor.state, "retains_grad", tensor.state.retains_grad | MAYBE)
        return Unknown()
    made = factory_method(name)
    if made is not None:
        return factory_calls.make(
            m, made, Arguments([tensor, *args.positional], args.keywords), node
        )
    facts = ops.method(name)
    if facts is None:
        return m.unknown(tensor, *args.all(), origin=site)
    if facts.inplace and name.endswith("_") and not name.startswith("_"):
        return _in_place(m, tensor, name, facts, args, node)
    given = Arguments([tensor, *args.positional], args.keywords, args.star)
    return op_calls.run(m, name, facts, given, node)


def _in_place(
    m: Machine, tensor: Tensor, name: str, facts: OpFacts, args: Arguments, node: cst.Call
) -> Value:
    target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    gradient = writes.gradient_behind(tensor)
    if gradient is not None:
        if name in ("zero_", "fill_"):
            writes.clear(m, gradient.state.grad_of, m.site(node), NO)
        else:
            writes.touch_gradient(m, gradient)
        if gradient is tensor:
            return tensor
    operands = op_calls.positions(facts, Arguments([tensor, *args.positional], args.keywords))
    others = [(position, value) for position, value in operands if position != 0]
    return writes.write(m, tensor, facts, others, m.site(node), target, name)


# ---------------------------------------------------------------------- special methods


def _backward(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    return training.backward(m, tensor, args, m.site(node))


def _detach(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    if tensor.state.grad_of:
        return tensor
    return m.autograd.detached(tensor, Through.DETACH, m.site(node))


def _detach_in_place(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    if tensor.source is not None and tensor.through is Through.SELF and tensor.off is None:
        target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
        attribute_writes.refuse_flag(m, tensor, NO, "detach_", m.site(node), target)
    m.autograd.detach_(tensor)
    return tensor


def _requires_grad_(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    given = args.get(0, "requires_grad")
    known = YES
    if given is not None:
        asked = resolve(given)
        known = MAYBE
        if isinstance(asked, Scalar) and asked.known:
            known = Tri.of(bool(asked.value))
    before = tensor.state.requires_grad
    target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    attribute_writes.set_requires_grad(m, tensor, known, "method", m.site(node), target)
    if before is not NO:
        return m.autograd.same(tensor, m.site(node))
    return tensor


def _item(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    history = tensor.state.requires_grad is not NO
    lost = Lost("copy", m.site(node)) if history else tensor.state.lost
    return Scalar(kind=tensor.state.kind, lost=lost)


def _tolist(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    return Sequence(None, Scalar(kind=tensor.state.kind))


def _size(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    return Scalar(kind=Kind.INT) if args.positional or args.keywords else Unknown("shape")


def _retain_grad(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    state = tensor.state
    m.change(state, "retains_grad", YES)
    if state.node is not None and state.leaf is NO:
        m.change(state.node, "retained", state)
    for other in state.perhaps:  # another name for it, perhaps: then it has the gradient as well
        m.change(other.state, "absent", MAYBE)
        m.change(other.state, "guessed", True)
        m.change(other.state, "given", True)
    return NONE


def _to(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    """`.to(device)`, `.to(dtype)`, `.to(other)`: itself if it is that already."""
    copy = args.get(-1, "copy")
    if copy is not None and not _is_false(copy):
        facts = ops.method("clone")
        assert facts is not None
        return tensors.operate(m, facts, [(0, tensor)], m.site(node), kind=Kind.UNKNOWN)
    dtype: Value | None = args.keywords.get("dtype")
    unknown = args.star
    for value in args.positional[:2]:
        found = resolve(value)
        if casts.is_dtype(found):
            dtype = found
        elif isinstance(found, Tensor) or (
            not casts.is_device(found) and not isinstance(found, Scalar)
        ):
            unknown = True
    if dtype is not None:
        kind, name = casts.dtype_of(dtype)
        return casts.cast(m, tensor, kind, name, node)
    if unknown:
        return casts.cast(m, tensor, Kind.UNKNOWN, None, node)
    return casts.to_device(m, tensor, node)


def _is_false(value: Value) -> bool:
    found = resolve(value)
    return isinstance(found, Scalar) and found.known and not found.value


def _type(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    if not args.positional and not args.keywords:
        return Scalar()
    value = args.get(0, "dtype")
    kind, name = casts.dtype_of(value) if value is not None else (Kind.UNKNOWN, None)
    return casts.cast(m, tensor, kind, name, node)


def _contiguous(m: Machine, tensor: Tensor, args: Arguments, node: cst.Call) -> Value:
    """Itself, if nothing that was seen took it out of order."""
    facts = ops.method("contiguous")
    assert facts is not None
    alias = Alias.SAME if in_order(tensor) else Alias.SAME | Alias.FRESH
    return tensors.operate(
        m,
        facts,
        [(0, tensor)],
        m.site(node),
        kind=tensor.state.kind,
        rank=tensor.state.rank,
        ranked=True,
        alias=alias,
    )


def in_order(tensor: Tensor) -> bool:
    """Whether a tensor is surely contiguous: made by a factory, or by an op, and no view."""
    storage = tensor.storage
    seen = not storage.parts and not storage.unseen
    return tensor.source is None and seen and tensor.tensor is YES


_SPECIAL = {
    "backward": _backward,
    "detach": _detach,
    "detach_": _detach_in_place,
    "requires_grad_": _requires_grad_,
    "numpy": numpy_calls.method,
    "item": _item,
    "tolist": _tolist,
    "size": _size,
    "retain_grad": _retain_grad,
    "to": _to,
    "type": _type,
    "contiguous": _contiguous,
}


# ---------------------------------------------------------------------- numpy arrays

_ARRAY_WRITES = frozenset({"fill", "sort", "put", "partition", "itemset", "resize"})
_ARRAY_VIEWS = frozenset({"reshape", "ravel", "squeeze", "transpose", "view", "swapaxes"})


def call_array(m: Machine, array: Array, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of an array that shares memory with a tensor."""
    if name in _ARRAY_WRITES:
        target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
        writes.write_alias(m, array, m.site(node), target, name)
        return NONE
    if name in _ARRAY_VIEWS:
        return array
    return m.unknown()
