"""Calls of ops: arguments to parameter positions, and the kind and alias of the result."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.op_facts import Alias, OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Kind,
    Scalar,
    Value,
    resolve,
)
from autolint.interpreter import casts, methods, ranks, tensors, writes
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.variants import variant


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
    kind = kind_of(facts, values, numbers) if dtype is None else casts.dtype_of(dtype)[0]
    ranked, rank = ranks.rank_of(m, name, facts, args, given)
    alias = alias_of(name, facts, first, args)
    result = tensors.operate(
        m, facts, values, site, kind=kind, rank=rank, ranked=ranked, alias=alias
    )
    if dtype is not None and isinstance(result, Tensor):
        result.state.dtype = casts.dtype_of(dtype)[1]
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
