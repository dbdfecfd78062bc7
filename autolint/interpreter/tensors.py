"""Operations on tensors: operators, indexing, and calls of ops with known facts."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.graph import Node, edge
from autolint.autograd.objects import Instance, Module, Parameters
from autolint.autograd.op_facts import EITHER, MANY, Alias, OpFacts
from autolint.autograd.recording import Operand
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import expressions, names
from autolint.interpreter.behind import behind
from autolint.interpreter.events import OffAliasUsed, SourceUsed
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
            unseen = unseen or hidden or value.items is None
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


def use(m: Machine, operands: list[Operand], site: Site) -> tuple[OffAliasUsed, ...]:
    """What a recorded operation takes that was tampered with.

    A tensor whose memory was written through a detached alias is told to the rules at once. An
    alias made under no_grad matters where a backward runs through the result: that is given back,
    to be told then.
    """
    if m.autograd.mode.off:
        return ()
    claims: list[OffAliasUsed] = []
    for _, tensor in operands:
        claim = off_alias_used(m, tensor, "operation", site)
        if claim is not None:
            claims.append(claim)
        pending = tensor.storage.pending
        if pending is not None and tensor.through is Through.SELF:
            m.change(tensor.storage, "pending", None)
            m.emit(SourceUsed, site, tensor=tensor, write=pending)
    return tuple(claims)


def off_alias_used(m: Machine, tensor: Tensor, how: str, site: Site) -> OffAliasUsed | None:
    """The use of an alias made under no_grad, outside its block, as if it were detached."""
    for alias in tensor.sources():
        off = alias.off
        if alias.through is not Through.SELF:
            return None
        if off is None:
            continue
        inside = off.block is m.autograd.block and m.autograd.mode.off
        if inside or off.written or not m.listens(OffAliasUsed):
            return None
        if tensor.tensor is not YES or off.source.state.requires_grad is not YES:
            return None
        return m.build(
            OffAliasUsed,
            site,
            alias=off,
            tensor=tensor,
            how=how,
            made=off.made,
            target_text=off.name or off.made.text,
        )
    return None


# ---------------------------------------------------------------------- ops


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
    claims = use(m, found, site)
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


def binary(m: Machine, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """`left symbol right`."""
    left, right = resolve(left), resolve(right)
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return _no_tensor(m, symbol, left, right, node)
    site = m.site(node)
    reflected = isinstance(left, Scalar) and isinstance(right, Tensor)
    if reflected:
        facts = ops.operator(symbol, reflected=True)
        values: list[tuple[int, Value]] = [(0, right), (-1, left)]
    else:
        facts = ops.operator(symbol)
        values = [(0, left), (1, right)]
        if facts is not None and isinstance(right, Scalar):
            facts = facts.variant("number")
    if facts is None:
        return m.unknown(left, right, origin=site)
    if symbol == "@":
        return operate(m, facts, values, site, rank=matmul_rank(left, right), ranked=True)
    kind = promoted(values) if symbol == "/" else None
    if kind in (Kind.INT, Kind.BOOL):
        kind = Kind.FLOAT  # the method can be asked to round, the operator divides truly
    return operate(m, facts, values, site, kind=kind)


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


def _no_tensor(m: Machine, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        if symbol in _COMPARISONS:
            return Scalar(kind=Kind.BOOL)
        kind = Kind.promote(left.kind, right.kind)
        if symbol == "/" and kind in (Kind.INT, Kind.BOOL):
            kind = Kind.FLOAT
        return _folded(symbol, left, right, kind)
    if isinstance(left, Parameters) and isinstance(right, Parameters) and symbol == "+":
        return Parameters(tuple(dict.fromkeys((*left.holders, *right.holders))))
    if isinstance(left, Sequence) and isinstance(right, Sequence) and symbol == "+":
        if left.items is not None and right.items is not None:
            return Sequence((*left.items, *right.items), mutable=left.mutable)
        known = [
            item
            for side in (left, right)
            for item in (*(side.items or ()), *(() if side.rest is None else (side.rest,)))
        ]
        return Sequence(None, m.unknown(*known), mutable=left.mutable)
    if isinstance(left, Sequence) and symbol == "*":
        return _repeated(left, right)
    return m.unknown(left, right, origin=m.site(node))


_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def _folded(symbol: str, left: Scalar, right: Scalar, kind: Kind) -> Scalar:
    """Integer arithmetic on known small numbers; anything else is a number of that kind."""
    one, two = left.value, right.value
    if left.known and right.known and type(one) is int and type(two) is int:
        if symbol == "+":
            return Scalar(one + two, known=True, kind=Kind.INT)
        if symbol == "-":
            return Scalar(one - two, known=True, kind=Kind.INT)
        if symbol == "*" and abs(one) < 1 << 32 and abs(two) < 1 << 32:
            return Scalar(one * two, known=True, kind=Kind.INT)
    return Scalar(kind=kind)


def _repeated(sequence: Sequence, times: Value) -> Value:
    if sequence.items is not None and isinstance(times, Scalar) and times.known:
        count = times.value
        if isinstance(count, int) and 0 <= count * len(sequence.items) <= 64:
            return Sequence(sequence.items * count, mutable=sequence.mutable)
    if sequence.items is not None and len(sequence.items) == 1:
        return Sequence(None, sequence.items[0], sequence.mutable)
    return Sequence(None, sequence.rest, sequence.mutable)


def unary(m: Machine, symbol: str, value: Value, node: cst.CSTNode) -> Value:
    """`-x`, `+x`, `~x`."""
    if not isinstance(value, Tensor):
        return m.unknown(value, origin=m.site(node))
    facts = ops.operator(symbol)
    assert facts is not None
    return operate(m, facts, [(0, value)], m.site(node))


# ---------------------------------------------------------------------- indexing


def subscript(m: Machine, receiver: Value, node: cst.Subscript) -> Value:
    """`receiver[index]`."""
    keys: list[Value | None] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            keys.append(resolve(expressions.evaluate(m, element.slice.value)))
        elif isinstance(element.slice, cst.Slice):
            for bound in (element.slice.lower, element.slice.upper, element.slice.step):
                if bound is not None:
                    expressions.evaluate(m, bound)
            keys.append(None)
    if isinstance(receiver, Tensor):
        return index(m, receiver, keys, node)
    key = keys[0] if len(keys) == 1 else None
    literal = key.value if isinstance(key, Scalar) and key.known else None
    if isinstance(receiver, Mapping):
        if isinstance(key, Scalar) and key.known:
            found = receiver.items.get(literal)
            if found is not None:
                return found
            return receiver.rest if receiver.rest is not None else m.unknown(receiver)
        every = [*receiver.items.values(), *(() if receiver.rest is None else (receiver.rest,))]
        return _one(m, every)
    if isinstance(receiver, Sequence):
        if keys == [None]:
            return Sequence(None, names.element(m, receiver), receiver.mutable)
        return names.element(m, receiver, literal if isinstance(literal, int) else None)
    if isinstance(receiver, Parameters) and not _is_literal(node):
        # An index that runs through the list reaches every parameter, one by one.
        return names.element(m, receiver)
    if isinstance(receiver, Module):
        children = receiver.attributes.get("[]")
        if children is not None:
            inner = resolve(children)
            if isinstance(inner, Mapping) and isinstance(key, Scalar) and key.known:
                return inner.items.get(literal) or m.unknown(receiver)
            if isinstance(inner, Mapping):
                return _one(m, list(inner.items.values()))
            return names.element(m, inner, literal if isinstance(literal, int) else None)
        return m.unknown(receiver)
    if isinstance(receiver, Unknown):
        if isinstance(key, Scalar) and key.known:
            return child(m, receiver, f"[{literal!r}]")
        return m.unknown(receiver, origin=m.site(node))
    return m.unknown(receiver)


def _is_literal(node: cst.Subscript) -> bool:
    """Whether the index is written out: it picks one element, whatever runs around it."""
    index = node.slice[0].slice
    return isinstance(index, cst.Index) and isinstance(
        index.value, cst.Integer | cst.UnaryOperation
    )


def child(m: Machine, parent: Unknown, key: str) -> Value:
    """A part of an unknown value, the same one each time."""
    found = parent.attributes.get(key)
    if found is None:
        found = Unknown(key, parent.inputs or (parent,), parent.origin)
        m.heap.put(parent.attributes, key, found)
    return found


def _one(m: Machine, values: list[Value]) -> Value:
    if values and all(value is values[0] for value in values):
        return values[0]
    return m.unknown(*values)


def index(m: Machine, tensor: Tensor, keys: list[Value | None], node: cst.CSTNode) -> Value:
    """`tensor[index]`: a view for numbers, slices, None and ellipsis; a copy for tensors and
    lists.
    """
    facts = ops.method("__getitem__")
    assert facts is not None
    flat: list[Value | None] = []
    for key in keys:
        if isinstance(key, Sequence) and not key.mutable and key.items is not None:
            flat.extend(resolve(item) for item in key.items)
        else:
            flat.append(key)
    site = m.site(node)
    if all(_basic(key) for key in flat):
        rank = _indexed_rank(tensor, flat)
        return operate(
            m,
            facts.variant("basic"),
            [(0, tensor)],
            site,
            kind=tensor.state.kind,
            rank=rank,
            ranked=True,
            alias=Alias.VIEW,
        )
    operands: list[tuple[int, Value]] = [(0, tensor)]
    operands += [(1, key) for key in flat if isinstance(key, Tensor)]
    known = any(isinstance(key, (Tensor, Sequence)) for key in flat)
    return operate(
        m,
        facts.variant("advanced") if known else facts,
        operands,
        site,
        kind=tensor.state.kind,
        ranked=True,
        alias=Alias.FRESH if known else Alias.VIEW | Alias.FRESH,
    )


def _basic(key: Value | None) -> bool:
    if key is None:
        return True
    if not isinstance(key, Scalar) or isinstance(key.value, bool):
        return False
    return key.known or key.kind is Kind.INT


def _indexed_rank(tensor: Tensor, keys: list[Value | None]) -> int | None:
    rank = tensor.state.rank
    if rank is None:
        return None
    for key in keys:
        if isinstance(key, Scalar):
            if key.known and key.value is None:
                rank += 1
            elif not (key.known and key.value is ...):
                rank -= 1
    return rank if rank >= 0 else None


def unpacked(m: Machine, value: Value, position: int, node: cst.CSTNode) -> Value:
    """The item that one target of an unpacking gets."""
    found = resolve(value)
    if isinstance(found, Tensor) and found.through is not Through.NUMPY:
        facts = ops.method("unbind")
        assert facts is not None
        rank = found.state.rank
        return m.autograd.view(
            found, facts.name, found.state.kind, None if not rank else rank - 1, m.site(node)
        )
    if isinstance(found, Unknown):
        return child(m, found, f"[{position}]")
    return names.element(m, value, position)
