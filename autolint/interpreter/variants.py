"""Variants: which of an op's facts hold for the arguments of a call."""

from __future__ import annotations

from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Kind,
    Scalar,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter.objects import Arguments

REDUCED = ("mean", "sum", "batchmean")
"""The reductions of a loss that leave one number."""


DIM_NAMES = ("dim", "axis", "dims")
"""The names under which ops take the dimension that they work along."""


def variant(facts: OpFacts, name: str, args: Arguments, given: dict[int, Value]) -> OpFacts:
    """The facts for what is known of the arguments."""
    if not facts.variants or args.star:
        return facts
    wanted: list[str] = []
    second = resolve(args.positional[1]) if len(args.positional) > 1 else None
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
        elif known is None or (isinstance(known, Scalar) and known.value in REDUCED):
            wanted.append("reduced")
    if has_dim(facts, args, given):
        wanted.append("dim")
    elif not isinstance(second, (Tensor, Unknown)):
        wanted.append("no_dim")
    return facts.variant(*wanted)


def has_dim(facts: OpFacts, args: Arguments, given: dict[int, Value]) -> bool:
    """Whether a dimension is given."""
    if any(name in args.keywords for name in DIM_NAMES):
        return True
    for name in DIM_NAMES:
        if name in facts.parameters:
            value = given.get(facts.parameters.index(name))
            found = resolve(value) if value is not None else None
            return found is not None and not (isinstance(found, Scalar) and found.value is None)
    second = resolve(args.positional[1]) if len(args.positional) > 1 else None
    return isinstance(second, Scalar) and second.kind is Kind.INT
