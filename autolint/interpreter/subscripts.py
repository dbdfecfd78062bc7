"""Subscripts and unpacking: the part of a value that an index or a target's place picks."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.objects import Module, Parameters, StateDict
from autolint.autograd.op_facts import Alias
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Through,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import expressions, names, snapshots, tensors
from autolint.interpreter.machine import Machine


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
    if isinstance(receiver, StateDict):
        return snapshots.again(m, receiver)
    if isinstance(receiver, Unknown):
        if isinstance(key, Scalar) and key.known:
            return child(m, receiver, f"[{literal!r}]")
        return m.unknown(receiver, origin=m.site(node))
    return m.unknown(receiver)


def held(container: Value, key: Value | None) -> Value:
    """What a list or dict holds under a literal key; unknown for any other."""
    literal = key.value if isinstance(key, Scalar) and key.known else None
    if isinstance(container, Mapping) and isinstance(literal, str):
        return container.items.get(literal, Unknown())
    items = container.items if isinstance(container, Sequence) else None
    if items is not None and isinstance(literal, int) and -len(items) <= literal < len(items):
        return items[literal]
    return Unknown()


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
        return tensors.operate(
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
    return tensors.operate(
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
