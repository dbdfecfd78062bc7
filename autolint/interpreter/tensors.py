"""Results of ops by their facts: the operands taken, the kind, the rank and the node made."""

from __future__ import annotations

from autolint.autograd.graph import Node, edge
from autolint.autograd.objects import Instance
from autolint.autograd.op_facts import EITHER, MANY, Alias, OpFacts
from autolint.autograd.recording import Operand
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import alias_use, kept_aliases
from autolint.interpreter.behind import behind
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def operands_of(m: Machine, values: list[tuple[int, Value]]) -> tuple[list[Operand], bool]:
    """The tensors among the operands, and whether an operand may hide one."""
    found: list[Operand] = []
    unseen = False
    for position, value in values:
        value = resolve(value)
        if isinstance(value, Tensor):
            found.append((position, value))
        elif isinstance(value, Sequence):
            items = [*(value.items or ()), *(() if value.rest is None else (value.rest,))]
            inner, hidden = operands_of(m, [(position, item) for item in items])
            found.extend(inner)
            # One that is empty was filled out of sight: no operation takes nothing.
            unseen = unseen or hidden or value.items is None or not items
        elif isinstance(value, (Unknown, Instance, Mapping)):
            unseen = True
    return found, unseen


def hidden_node(m: Machine, values: list[tuple[int, Value]], site: Site) -> Node | None:
    """A node for what comes in through operands that are not known: all its edges are maybe."""
    edges: list[tuple[Node | GradHolder, Tri]] = []
    opaque = False
    for _, value in values:
        value = resolve(value)
        if isinstance(value, (Unknown, Instance)):
            opaque = True
            for item in behind(value):
                if isinstance(item, Tensor):
                    edges.extend((target, sure & MAYBE) for target, sure in edge(item))
                else:
                    edges.append((item, MAYBE))
    if not opaque:
        return None
    return Node("a call", tuple(edges), (), site, m.autograd.stamp, opaque=True)


def operate(
    m: Machine,
    facts: OpFacts,
    values: list[tuple[int, Value]],
    site: Site,
    *,
    kind: Kind | None = None,
    rank: int | None = None,
    ranked: bool = False,
    alias: Alias | None = None,
) -> Value:
    """The result of an op on these operands (by parameter position)."""
    found, unseen = operands_of(m, values)
    claims = alias_use.use(m, found, site)
    kept_aliases.computed(m, found, site)
    if kind is None:
        kind = facts.result_kind([promoted(values)])
    if not ranked:
        rank = rank_of(facts, found, unseen)
    outputs = facts.outputs
    if outputs == 0:
        return m.unknown(*(value for _, value in values), origin=site)
    if outputs == EITHER:
        return m.unknown(*(value for _, value in values), origin=site)
    hidden = hidden_node(m, values, site) if unseen and not m.autograd.mode.off else None
    if outputs == 1:
        result = m.autograd.apply(facts, found, kind, rank, site, unseen=unseen, alias=alias)
        _attach(result, hidden, facts)
        if claims and isinstance(result.state.node, Node):
            m.change(result.state.node, "claims", (*result.state.node.claims, *claims))
        return result
    return _several(m, facts, found, kind, rank, site, unseen, hidden, alias)


def _several(
    m: Machine,
    facts: OpFacts,
    found: list[Operand],
    kind: Kind,
    rank: int | None,
    site: Site,
    unseen: bool,
    hidden: Node | None,
    alias: Alias | None,
) -> Value:
    node: Node | None = None
    grads = [tensor.state.requires_grad for _, tensor in found]
    if not m.autograd.mode.off and (unseen or any(grad is not NO for grad in grads)):
        node = m.autograd.node(facts, found, site)
    if facts.outputs == MANY:
        item = m.autograd.apply(
            facts, found, kind, rank, site, unseen=unseen, alias=alias, node=node
        )
        _attach(item, hidden, facts)
        return Sequence(None, item, mutable=False)
    items: list[Value] = []
    for output in range(facts.outputs):
        able = facts.can_require_grad(output)
        item = m.autograd.apply(
            facts,
            found,
            kind if able is not NO else Kind.INT,
            rank,
            site,
            unseen=unseen,
            alias=alias,
            output=output,
            node=node,
        )
        _attach(item, hidden, facts)
        items.append(item)
    return Sequence(tuple(items), mutable=False)


def _attach(result: Tensor, hidden: Node | None, facts: OpFacts) -> None:
    """Let a fresh result's node lead to what came in through unknown operands."""
    node = result.state.node
    if hidden is None or not isinstance(node, Node) or node.operation != facts.name:
        return
    if all(target is not hidden for target, _ in node.inputs):
        node.inputs = (*node.inputs, (hidden, MAYBE))


def promoted(values: list[tuple[int, Value]], *, numbers: bool = True) -> Kind:
    """The kind that the operands promote to."""
    kind: Kind | None = None
    scalar: Kind | None = None
    vague = False
    for _, value in values:
        value = resolve(value)
        if isinstance(value, Tensor):
            kind = value.state.kind if kind is None else Kind.promote(kind, value.state.kind)
        elif isinstance(value, Scalar):
            if not numbers:
                continue
            if value.kind is not Kind.UNKNOWN:
                scalar = value.kind if scalar is None else Kind.promote(scalar, value.kind)
            elif not value.known:
                vague = True
        elif isinstance(value, Sequence):
            inside = [*(value.items or ()), *(() if value.rest is None else (value.rest,))]
            # A tuple of numbers is sizes or dimensions.
            items = [item for item in inside if not isinstance(resolve(item), Scalar)]
            if items:
                inner = promoted([(0, item) for item in items], numbers=numbers)
                kind = inner if kind is None else Kind.promote(kind, inner)
        else:
            kind = Kind.UNKNOWN if kind is None else Kind.promote(kind, Kind.UNKNOWN)
    if kind is None:
        return scalar or Kind.UNKNOWN
    if vague and kind in (Kind.INT, Kind.BOOL):
        return Kind.UNKNOWN  # a number that is not known may be a float
    return kind if scalar is None else Kind.promote(kind, scalar)


def rank_of(facts: OpFacts, operands: list[Operand], unseen: bool) -> int | None:
    """The rank of a result that its operands' ranks decide."""
    if facts.rank == "0":
        return 0
    if facts.rank != "same" or unseen or not operands:
        return None
    ranks = [tensor.state.rank for _, tensor in operands]
    return None if None in ranks else max(rank for rank in ranks if rank is not None)


def matmul_rank(left: Value, right: Value) -> int | None:
    """The rank of a matrix product."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return None
    one, two = left.state.rank, right.state.rank
    if one is None or two is None or 0 in (one, two):
        return None
    if one == 1 and two == 1:
        return 0
    if one == 1 or two == 1:
        return max(one, two) - 1
    return max(one, two)
