"""Calls of ops and factories: arguments to parameter positions, variants, kinds and ranks."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.factories import FactoryFacts
from autolint.autograd.op_facts import Alias, OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Grade,
    Kind,
    Qualified,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import attributes, methods, tensors, writes
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments


def positions(facts: OpFacts, args: Arguments) -> list[tuple[int, Value]]:
    """The given values with the positions of their parameters."""
    found: list[tuple[int, Value]] = list(enumerate(args.positional))
    for name, value in args.keywords.items():
        if name in facts.parameters:
            found.append((facts.parameters.index(name), value))
        elif name not in ("out", "dtype", "generator"):
            found.append((len(facts.parameters) + len(found), value))
    return found


def run(m: Machine, name: str, facts: OpFacts, args: Arguments, node: cst.Call) -> Value:
    """Call an op; `args` have the receiver of a method at position 0."""
    values = positions(facts, args)
    given = dict(values)
    numbers = "number" in facts.variants or name == "where"
    facts = variant(facts, name, args, given)
    site = m.site(node)
    first = resolve(args.positional[0]) if args.positional else None
    if _true(args.keywords.get("inplace")) and isinstance(first, Tensor):
        target = node.args[0].value if node.args else node
        return writes.write(m, first, facts, [v for v in values if v[0]], site, target, name)
    dtype = args.keywords.get("dtype")
    kind = kind_of(facts, values, numbers) if dtype is None else methods.dtype_of(dtype)[0]
    ranked, rank = rank_of(m, name, facts, args, given)
    alias = alias_of(name, facts, first, args)
    result = tensors.operate(
        m, facts, values, site, kind=kind, rank=rank, ranked=ranked, alias=alias
    )
    if dtype is not None and isinstance(result, Tensor):
        result.state.dtype = methods.dtype_of(dtype)[1]
    out = args.keywords.get("out")
    if out is not None and isinstance(resolve(out), Tensor):
        target = next(a.value for a in node.args if a.keyword and a.keyword.value == "out")
        others = [(position + 1, value) for position, value in values]
        target_tensor = resolve(out)
        assert isinstance(target_tensor, Tensor)
        return writes.write(m, target_tensor, None, others, site, target, "out=")
    return result


def kind_of(facts: OpFacts, values: list[tuple[int, Value]], numbers: bool) -> Kind:
    """The kind of the result: of one operand, or what the operands promote to.

    A view has the kind of what it is a view of. `numbers`: a number may stand for a tensor and
    promotes; elsewhere it is a size, a dimension or a setting.
    """
    place = facts.kind_of
    if place is None and not facts.alias & Alias.FRESH:
        place = facts.alias_of
    if place is not None and place in dict(values):
        values = [value for value in values if value[0] == place]
    return facts.result_kind([tensors.promoted(values, numbers=numbers)])


def _true(value: Value | None) -> bool:
    found = resolve(value) if value is not None else None
    return isinstance(found, Scalar) and found.value is True


_REDUCED = ("mean", "sum", "batchmean")
_DIM_NAMES = ("dim", "axis", "dims")


def variant(facts: OpFacts, name: str, args: Arguments, given: dict[int, Value]) -> OpFacts:
    """The facts for what is known of the arguments."""
    if not facts.variants or args.star:
        return facts
    wanted: list[str] = []
    second = resolve(args.positional[1]) if len(args.positional) > 1 else None
    if isinstance(second, Tensor):
        wanted.append("other")
    if "rounding_mode" in facts.parameters:
        wanted.append("rounding" if "rounding_mode" in args.keywords else "no_rounding")
    if isinstance(second, Scalar) and second.kind is not Kind.UNKNOWN:
        wanted.append("number")
    if "training" in facts.parameters:
        training = given.get(facts.parameters.index("training"))
        known = resolve(training) if training is not None else None
        if training is None:
            wanted.append("train")
        elif isinstance(known, Scalar) and known.known:
            wanted.append("train" if known.value else "eval")
    if "reduction" in facts.parameters:
        reduction = given.get(facts.parameters.index("reduction"))
        known = resolve(reduction) if reduction is not None else None
        if isinstance(known, Scalar) and known.value == "none":
            wanted.append("unreduced")
        elif known is None or (isinstance(known, Scalar) and known.value in _REDUCED):
            wanted.append("reduced")
    if has_dim(facts, args, given):
        wanted.append("dim")
    elif not isinstance(second, (Tensor, Unknown)):
        wanted.append("no_dim")
    return facts.variant(*wanted)


def has_dim(facts: OpFacts, args: Arguments, given: dict[int, Value]) -> bool:
    """Whether a dimension is given."""
    if any(name in args.keywords for name in _DIM_NAMES):
        return True
    for name in _DIM_NAMES:
        if name in facts.parameters:
            value = given.get(facts.parameters.index(name))
            found = resolve(value) if value is not None else None
            return found is not None and not (isinstance(found, Scalar) and found.value is None)
    second = resolve(args.positional[1]) if len(args.positional) > 1 else None
    return isinstance(second, Scalar) and second.kind is Kind.INT


def alias_of(name: str, facts: OpFacts, first: Value | None, args: Arguments) -> Alias | None:
    """The kind of alias, where the operand tells more than the table."""
    if not isinstance(first, Tensor):
        return None
    if name in ("reshape", "flatten", "ravel") and methods.in_order(first):
        if name != "reshape" and first.state.rank == 1:
            return Alias.SAME if name == "flatten" else Alias.VIEW
        if name == "reshape":
            return Alias.VIEW
        if first.state.rank is not None and first.state.rank > 1:
            return Alias.VIEW
    if name.startswith("dropout") and "training" in args.keywords:
        training = resolve(args.keywords["training"])
        if isinstance(training, Scalar) and training.value is False and training.known:
            return Alias.SAME
    return None


# ---------------------------------------------------------------------- ranks


def rank_of(
    m: Machine, name: str, facts: OpFacts, args: Arguments, given: dict[int, Value]
) -> tuple[bool, int | None]:
    """Whether the arguments decide the rank of the result, and what it is then."""
    first = resolve(args.positional[0]) if args.positional else None
    rank = first.state.rank if isinstance(first, Tensor) else None
    rest = args.positional[1:]
    if name in ("view", "reshape", "expand", "repeat", "tile", "broadcast_to"):
        return True, sizes_rank(rest, args)
    if name in ("unsqueeze",):
        return True, None if rank is None else rank + 1
    if name in ("squeeze", "unfold", "split", "chunk", "where", "einsum", "tensordot"):
        return (False, None) if name in ("split", "chunk", "where") else (True, None)
    if name == "flatten":
        return True, 1 if not rest and not args.keywords else None
    if name in ("mm", "addmm", "outer", "ger"):
        return True, 2
    if name in ("bmm", "baddbmm"):
        return True, 3
    if name in ("mv", "addmv"):
        return True, 1
    if name in ("dot", "vdot"):
        return True, 0
    if name == "matmul":
        return True, tensors.matmul_rank(first, resolve(rest[0])) if first and rest else None
    if name in ("stack",):
        return True, _stacked(first)
    if name in ("select", "unbind"):
        return True, None if not rank else rank - 1
    if facts.scalar is YES and not args.star:
        return _reduced(facts, args, given, rank)
    if name in _REDUCTIONS:
        return _reduced(facts, args, given, rank)
    return False, None


_REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "prod", "std", "var", "norm", "median", "amax", "amin",
     "argmax", "argmin", "all", "any", "logsumexp", "nansum", "nanmean"}
)  # fmt: skip


def _stacked(first: Value | None) -> int | None:
    if isinstance(first, Sequence):
        items = [resolve(item) for item in first.items or ()]
        ranks = {item.state.rank for item in items if isinstance(item, Tensor)}
        if len(ranks) == 1 and all(isinstance(item, Tensor) for item in items):
            rank = ranks.pop()
            return None if rank is None else rank + 1
    return None


def _reduced(
    facts: OpFacts, args: Arguments, given: dict[int, Value], rank: int | None
) -> tuple[bool, int | None]:
    second = resolve(args.positional[1]) if len(args.positional) > 1 else None
    if isinstance(second, Tensor):
        return False, None
    if not has_dim(facts, args, given):
        if "reduction" in facts.parameters:
            reduction = given.get(facts.parameters.index("reduction"))
            known = resolve(reduction) if reduction is not None else None
            if known is not None and not (isinstance(known, Scalar) and known.value in _REDUCED):
                return False, None
            return True, 0
        if isinstance(second, Unknown):
            return True, None
        return (True, 0) if facts.scalar is YES else (True, None)
    if rank is None:
        return True, None
    keep = args.keywords.get("keepdim")
    if keep is None and "keepdim" in facts.parameters:
        keep = given.get(facts.parameters.index("keepdim"))
    if keep is not None:
        known = resolve(keep)
        if not (isinstance(known, Scalar) and known.known):
            return True, None
        if known.value:
            return True, rank
    dim = next((args.keywords[name] for name in _DIM_NAMES if name in args.keywords), second)
    found = resolve(dim) if dim is not None else None
    if isinstance(found, Scalar) and found.kind is Kind.INT:
        return True, max(rank - 1, 0)
    if isinstance(found, Sequence) and found.items is not None:
        return True, max(rank - len(found.items), 0)
    return True, None


def sizes_rank(sizes: list[Value], args: Arguments) -> int | None:
    """The rank of a result whose sizes are given, as numbers or as one tuple."""
    if args.star or any(name in args.keywords for name in ("dtype",)):
        return None
    if len(sizes) == 1:
        only = resolve(sizes[0])
        if isinstance(only, Sequence):
            return None if only.items is None else len(only.items)
        if not (isinstance(only, Scalar) and only.kind is Kind.INT):
            return None
    return len(sizes) if sizes else None


# ---------------------------------------------------------------------- factories


def make(m: Machine, facts: FactoryFacts, args: Arguments, node: cst.Call) -> Value:
    """A call that makes a new tensor."""
    site = m.site(node)
    first = resolve(args.positional[0]) if args.positional else None
    if facts.alias is not Alias.FRESH and isinstance(first, (Tensor, Unknown)):
        return _wrapped(m, facts, first, args, node)
    kind, dtype = _factory_kind(facts, args)
    rank = _factory_rank(facts, args)
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
    if asked is not None and grad is not NO:
        attributes.set_requires_grad(m, tensor, grad, "keyword", site, node)
    return tensor


def _wrapped(
    m: Machine, facts: FactoryFacts, first: Value, args: Arguments, node: cst.Call
) -> Value:
    """`as_tensor(t)` and `asarray(t)`: the tensor itself, unless it is cast."""
    if isinstance(first, Tensor):
        dtype = args.get(1, "dtype")
        if dtype is not None:
            kind, name = methods.dtype_of(dtype)
            return methods.cast(m, first, kind, name, None, node)
        if facts.alias is Alias.SAME:
            return methods.to_device(m, first, node)
    made = m.unknown(first, origin=m.site(node))
    tensor = m.autograd.vague(m.site(node), Grade.BUILT)
    tensor.state.kind = methods.dtype_of(args.get(1, "dtype") or Unknown())[0]
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
        dtype = next((value for value in there if methods.is_dtype(resolve(value))), None)
    if dtype is not None:
        known = resolve(dtype)
        if isinstance(known, Scalar) and known.known and known.value is None:
            dtype = None
        else:
            return methods.dtype_of(dtype)
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
