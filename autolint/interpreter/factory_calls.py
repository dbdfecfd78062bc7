"""Calls of factories: the kind, dtype and rank of the tensor that one makes."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.factories import FactoryFacts
from autolint.autograd.op_facts import Alias
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Grade,
    Kind,
    Lost,
    Qualified,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import attribute_writes, casts
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site


def make(m: Machine, facts: FactoryFacts, args: Arguments, node: cst.Call) -> Value:
    """A call that makes a new tensor."""
    site = m.site(node)
    first = resolve(args.positional[0]) if args.positional else None
    sizes = len(args.positional) > 1 and facts.name in _OF_SIZES
    if facts.alias is not Alias.FRESH and isinstance(first, (Tensor, Unknown)) and not sizes:
        return _wrapped(m, facts, first, args, node)
    kind, dtype = _factory_kind(facts, args)
    rank = len(args.positional) if sizes and not args.star else _factory_rank(facts, args)
    grad = NO
    asked = args.keywords.get("requires_grad")
    if asked is not None and facts.requires_grad_kwarg:
        known = resolve(asked)
        grad = MAYBE
        if isinstance(known, Scalar) and known.known:
            grad = Tri.of(bool(known.value))
    if facts.name == "normal" or facts.name.startswith("normal"):
        rank = None
    tensor = m.autograd.leaf(kind, rank, NO, site)
    tensor.state.dtype = dtype
    tensor.state.sized = tensor.state.sized or _has_size(facts, args)
    device = args.keywords.get("device")
    tensor.state.placed = device is not None and not _is_none(device)
    if _is_raw(facts, args):
        tensor.storage.raw = YES
    if facts.name == "tensor":
        tensor.state.lost = _lost(first, site)
    if asked is not None and grad is not NO:
        attribute_writes.set_requires_grad(m, tensor, grad, "keyword", site, node)
    return tensor


_OF_SIZES = frozenset({"Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor"})
"""Constructors that take sizes one by one, or else one thing that is data."""
_RAW = frozenset(
    {"empty", "empty_like", "empty_strided", "empty_permuted", ".new_empty", ".new_empty_strided"}
)


def _is_raw(facts: FactoryFacts, args: Arguments) -> bool:
    """Whether a factory hands out memory as it is."""
    given = [resolve(value) for value in args.positional]
    if facts.name in _OF_SIZES:
        # What is not known may be a list or an array of values.
        if not given or (len(given) == 1 and not _is_number(given[0])):
            return False
    elif facts.name not in _RAW:
        return False
    lengths = [each for value in given for each in _items(value)]
    if any(isinstance(each, Scalar) and each.known and each.value == 0 for each in lengths):
        return False  # A placeholder without elements.
    device = args.keywords.get("device")
    known = resolve(device) if device is not None else None
    # On the meta device there is no memory; values come when it is put elsewhere.
    return not (isinstance(known, Scalar) and known.known and str(known.value) == "meta")


def _is_number(value: Value) -> bool:
    return isinstance(value, Scalar) and value.kind is Kind.INT


def _items(value: Value) -> list[Value]:
    if isinstance(value, Sequence):
        return [resolve(item) for item in value.items or ()]
    return [value]


def _lost(data: Value | None, site: Site) -> Lost | None:
    """Where the history of the data ended that a tensor is made from."""
    if isinstance(data, Scalar):
        return data.lost
    if isinstance(data, Tensor):
        return Lost("copy", site) if data.state.requires_grad is not NO else data.state.lost
    return None


def _wrapped(
    m: Machine, facts: FactoryFacts, first: Value, args: Arguments, node: cst.Call
) -> Value:
    """`as_tensor(t)` and `asarray(t)`: the tensor itself, unless it is cast."""
    if isinstance(first, Tensor):
        dtype = args.get(1, "dtype")
        if dtype is not None:
            kind, name = casts.dtype_of(dtype)
            return casts.cast(m, first, kind, name, node)
        if facts.alias is Alias.SAME:
            return casts.to_device(m, first, node)
    made = m.unknown(first, origin=m.site(node))
    tensor = m.autograd.vague(m.site(node), Grade.BUILT)
    tensor.state.kind = casts.dtype_of(args.get(1, "dtype") or Unknown())[0]
    device = args.keywords.get("device")
    tensor.state.placed = device is not None and not _is_none(device)
    tensor.state.parameter = NO
    m.change(made, "refined", tensor)
    return made


def _factory_kind(facts: FactoryFacts, args: Arguments) -> tuple[Kind, str | None]:
    dtype = args.keywords.get("dtype")
    if dtype is None and "dtype" in facts.parameters:
        place = facts.parameters.index("dtype")
        # Sizes are given one by one where the parameter list has one `size`.
        there = args.positional[place : place + 1] if facts.size_at is None else []
        dtype = next((value for value in there if casts.is_dtype(resolve(value))), None)
    if dtype is not None:
        known = resolve(dtype)
        if isinstance(known, Scalar) and known.known and known.value is None:
            dtype = None
        else:
            return casts.dtype_of(dtype)
    given: dict[int, Kind] = {}
    for position, value in enumerate(args.positional):
        given[position] = element_kind(value)
    for name, value in args.keywords.items():
        if name in facts.parameters:
            given[facts.parameters.index(name)] = element_kind(value)
    if args.star:
        given = dict.fromkeys(facts.kind_of, Kind.UNKNOWN)
    kind = facts.result_kind(given)
    return kind, _DEFAULT_DTYPE.get(kind) if not facts.like else _like_dtype(args)


_DEFAULT_DTYPE = {Kind.FLOAT: "float32", Kind.INT: "int64", Kind.BOOL: "bool"}


def _like_dtype(args: Arguments) -> str | None:
    first = resolve(args.positional[0]) if args.positional else None
    return first.state.dtype if isinstance(first, Tensor) else None


def element_kind(value: Value) -> Kind:
    """The kind that a number, list of numbers, or tensor gives a new tensor."""
    found = resolve(value)
    if isinstance(found, Scalar):
        return found.kind
    if isinstance(found, Tensor):
        return found.state.kind
    if isinstance(found, Sequence):
        items = [*(found.items or ()), *(() if found.rest is None else (found.rest,))]
        kinds = [element_kind(item) for item in items]
        if not kinds:
            return Kind.FLOAT if found.items == () else Kind.UNKNOWN
        kind = kinds[0]
        for other in kinds[1:]:
            kind = Kind.promote(kind, other)
        return kind
    if isinstance(found, Qualified) and found.name in ("math.pi", "math.e", "math.inf", "math.nan"):
        return Kind.FLOAT
    return Kind.UNKNOWN


def _factory_rank(facts: FactoryFacts, args: Arguments) -> int | None:
    if args.star:
        return None
    if facts.rank == "like":
        first = resolve(args.positional[0]) if args.positional else None
        return first.state.rank if isinstance(first, Tensor) else None
    if facts.rank == "data":
        return _depth(resolve(args.positional[0])) if args.positional else None
    start = facts.size_at
    size = args.keywords.get("size")
    if size is not None:
        return _lengths([size], facts)
    if start is None:
        if facts.rank == "size":
            tuples = [v for v in args.positional if isinstance(resolve(v), Sequence)]
            return _lengths(tuples[:1], facts)
        return facts.result_rank([])
    sizes = args.positional[start:]
    if sizes and isinstance(resolve(sizes[0]), Sequence):
        sizes = sizes[:1]
    return _lengths(sizes, facts)


def _is_none(value: Value) -> bool:
    found = resolve(value)
    return isinstance(found, Scalar) and found.known and found.value is None


def _has_size(facts: FactoryFacts, args: Arguments) -> bool:
    """Whether a size is given, though it is not known."""
    if facts.rank == "like":
        first = resolve(args.positional[0]) if args.positional else None
        return isinstance(first, Tensor) and first.state.sized
    if facts.rank != "size":
        return False
    if facts.size_at is None:
        return any(isinstance(resolve(value), Sequence) for value in args.positional)
    sizes = args.positional[facts.size_at :]
    empty = (
        isinstance(first := resolve(sizes[0]), Sequence) and first.items == () if sizes else True
    )
    return not empty


def _lengths(sizes: list[Value], facts: FactoryFacts) -> int | None:
    lengths: list[int | None] = []
    for value in sizes:
        found = resolve(value)
        if isinstance(found, Sequence):
            if found.items is None:
                return None
            lengths.append(len(found.items))
        elif (isinstance(found, Scalar) and found.kind is Kind.INT) or len(sizes) > 1:
            lengths.append(None)
        else:
            return None  # one unknown size may be a tuple
    return facts.result_rank(lengths)


def _depth(value: Value) -> int | None:
    """How deep lists of numbers nest: the rank of a tensor made from them."""
    if isinstance(value, Scalar):
        return 0 if value.kind is not Kind.UNKNOWN else None
    if isinstance(value, Tensor):
        return value.state.rank
    if isinstance(value, Sequence):
        if value.items == ():
            return 1
        item = value.items[0] if value.items else value.rest
        inner = _depth(resolve(item)) if item is not None else None
        return None if inner is None else inner + 1
    return None
