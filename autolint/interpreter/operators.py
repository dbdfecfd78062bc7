"""Operators: of tensors by their facts, of numbers and sequences as in Python."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.objects import Module, Parameters
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Kind, Scalar, Sequence, Value, resolve
from autolint.interpreter import gradient_reads, leaf_loss, tensors
from autolint.interpreter.events import LayersRepeated
from autolint.interpreter.iteration import surely_trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def binary(m: Machine, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """`left symbol right`."""
    left, right = resolve(left), resolve(right)
    gradient_reads.used_all(m, [left, right], node)
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
        return tensors.operate(
            m, facts, values, site, rank=tensors.matmul_rank(left, right), ranked=True
        )
    if isinstance(node, cst.BinaryOperation):
        parts = ((left, node.left), (right, node.right))
        made = [(value, part) for value, part in parts if isinstance(value, Tensor)]
        return leaf_loss.operated(m, made, _computed(m, symbol, facts, values, site), node)
    return _computed(m, symbol, facts, values, site)


def _computed(
    m: Machine, symbol: str, facts: OpFacts, values: list[tuple[int, Value]], site: Site
) -> Value:
    """The result of an operator on tensors, elementwise."""
    kind = tensors.promoted(values) if symbol == "/" else None
    if kind in (Kind.INT, Kind.BOOL):
        kind = Kind.FLOAT  # the method can be asked to round, the operator divides truly
    return tensors.operate(m, facts, values, site, kind=kind)


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
        return _repeated(m, left, right, node)
    if isinstance(right, Sequence) and symbol == "*":
        return _repeated(m, right, left, node)
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


def _repeated(m: Machine, sequence: Sequence, times: Value, node: cst.CSTNode) -> Value:
    if m.listens(LayersRepeated) and not (isinstance(times, Scalar) and times.value in (0, 1)):
        for item in map(resolve, sequence.items or ()):
            if isinstance(item, Module) and surely_trainable(m, item):
                m.change(item, "repeated", m.site(node))
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
    return tensors.operate(m, facts, [(0, value)], m.site(node))
