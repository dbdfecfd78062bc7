"""Logic: `and` and `or`, whose right side may not run, and comparisons."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import Instance
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Kind,
    Scalar,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    alternatives,
    expressions,
    literals,
    operators,
)
from autolint.interpreter.events import Guard
from autolint.interpreter.machine import Machine

_COMPARE: dict[type, str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
}


def boolean(m: Machine, node: cst.BooleanOperation) -> Value:
    """`left and right`, `left or right`: the right side is a branch unless the left decides."""
    left = expressions.evaluate(m, node.left)
    known = expressions.truth(m, node.left, left)
    is_and = isinstance(node.operator, cst.And)
    if known is not Tri.MAYBE:
        return left if (known is Tri.NO) == is_and else expressions.evaluate(m, node.right)
    found: list[Value] = []

    def right() -> bool:
        with m.under(Guard(m.site(node.left), is_and)):
            found.append(expressions.evaluate(m, node.right))
        return True

    m.branch([right, lambda: True])
    if all(isinstance(resolve(value), Scalar) for value in (left, *found)):
        return Scalar(kind=Kind.BOOL)
    return alternatives.one_of(m, left, found[0])


def comparison(m: Machine, node: cst.Comparison) -> Value:
    """`left < right` and the like; of a chain only that it is a truth value."""
    left = expressions.evaluate(m, node.left)
    result: Value = Scalar(kind=Kind.BOOL)
    for target in node.comparisons:
        right = expressions.evaluate(m, target.comparator)
        operator = type(target.operator)
        result = _compare(m, operator, resolve(left), resolve(right), node)
        left = right
    return result if len(node.comparisons) == 1 else Scalar(kind=Kind.BOOL)


def _compare(m: Machine, operator: type, left: Value, right: Value, node: cst.CSTNode) -> Value:
    if operator in (cst.Is, cst.IsNot):
        same = _identical(left, right)
        if same is Tri.MAYBE:
            return Scalar(kind=Kind.BOOL)
        return literals.TRUE if (same is Tri.YES) == (operator is cst.Is) else literals.FALSE
    symbol = _COMPARE.get(operator)
    if symbol is None:
        return Scalar(kind=Kind.BOOL)
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        if left.known and right.known and operator in (cst.Equal, cst.NotEqual):
            equal = bool(left.value == right.value)
            return literals.TRUE if equal == (operator is cst.Equal) else literals.FALSE
        return Scalar(kind=Kind.BOOL)
    return operators.binary(m, symbol, left, right, node)


def _identical(left: Value, right: Value) -> Tri:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Scalar) and one.known and one.value is None:
            if isinstance(other, Scalar):
                return Tri.of(other.value is None) if other.known else Tri.NO
            if isinstance(other, Tensor):
                return Tri.NO if other.tensor is Tri.YES else Tri.MAYBE
            return Tri.MAYBE if isinstance(other, (Unknown, Instance)) else Tri.NO
    return Tri.MAYBE
