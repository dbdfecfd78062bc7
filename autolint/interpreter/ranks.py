"""Ranks: what the arguments of an op tell of the number of dimensions of its result."""

from __future__ import annotations

from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    YES,
    Kind,
    Scalar,
    Sequence,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import tensors
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.variants import DIM_NAMES, REDUCED, has_dim


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
            if known is not None and not (isinstance(known, Scalar) and known.value in REDUCED):
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
    dim = next((args.keywords[name] for name in DIM_NAMES if name in args.keywords), second)
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
