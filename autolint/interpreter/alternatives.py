"""One value for several that may be meant: the join of alternatives."""

from __future__ import annotations

from autolint.autograd.joins import Joiner
from autolint.autograd.values import Value
from autolint.interpreter.machine import Machine


def one_of(m: Machine, left: Value, right: Value) -> Value:
    """One of two values."""
    joiner = Joiner()
    value = joiner.values(left, right)
    m.settle(joiner)
    return value


def any_of(m: Machine, values: list[Value]) -> Value | None:
    """Any one of several values; None of none."""
    if not values:
        return None
    joiner = Joiner()
    result = values[0]
    for value in values[1:]:
        result = joiner.values(result, value)
    m.settle(joiner)
    return result
