"""Joins of the facts of cells, by the name of the fact."""

from __future__ import annotations

from typing import Any

import pytest

from autolint.autograd.graph import Node
from autolint.autograd.heap import MISSING
from autolint.autograd.joins import Joiner
from autolint.autograd.tensor import Storage, Tensor, TensorState
from autolint.autograd.values import MAYBE, NO, NONE, YES, Kind, Word

TENSOR = Tensor(TensorState(YES, YES, Kind.FLOAT, 1), Storage())
ORIGIN, OTHER = object(), object()
NODE = Node("mul", ())


@pytest.mark.parametrize(
    ("key", "left", "right", "result"),
    [
        ("requires_grad", YES, NO, MAYBE),
        ("kind", Kind.FLOAT, Kind.INT, Kind.UNKNOWN),
        ("words", frozenset({Word.NONE}), frozenset({Word.USED}), {Word.NONE, Word.USED}),
        ("version", (1, 3), (2, 2), (1, 3)),
        ("hidden", (0, 0), (1, 1), (0, 1)),
        ("rank", 1, 2, None),
        ("rank", None, 2, None),
        ("dtype", "float32", "float64", None),
        ("pending", ORIGIN, None, None),
        ("stale_at", None, ORIGIN, ORIGIN),
        ("dropped_at", ORIGIN, None, ORIGIN),
        ("last_write", None, ORIGIN, ORIGIN),
        ("items", (NONE,), None, None),
        ("cleared", True, False, False),
        ("read", True, False, False),
    ],
)
def test_facts_join_in_either_order(key: str, left: Any, right: Any, result: Any) -> None:
    assert Joiner().fact(key, left, right) == result
    assert Joiner().fact(key, right, left) == result


def test_a_fact_that_only_one_path_has_is_taken() -> None:
    assert Joiner().fact("x", MISSING, TENSOR) is TENSOR
    assert Joiner().fact("x", TENSOR, MISSING) is TENSOR


def test_a_node_on_one_path_is_a_maybe_edge() -> None:
    for left, right in ((NODE, None), (None, NODE)):
        assert Joiner().fact("node", left, right).inputs == ((NODE, MAYBE),)
    other = Node("sum", ())
    assert Joiner().fact("node", NODE, other).inputs == ((NODE, MAYBE), (other, MAYBE))


def test_what_was_collected_on_two_paths_is_all_there() -> None:
    assert Joiner().fact("views", (1, 2), (2, 3)) == (1, 2, 3)
    assert Joiner().fact("savers", (1,), (2, 1)) == (1, 2)


def test_a_container_that_is_open_on_one_path_is_open() -> None:
    assert Joiner().fact("open", True, False) is True


def test_the_rest_of_a_list_does_not_depend_on_the_order() -> None:
    assert Joiner().fact("rest", None, TENSOR) is Joiner().fact("rest", TENSOR, None)


def test_a_retained_gradient_does_not_depend_on_the_order() -> None:
    state = TENSOR.state
    assert Joiner().fact("retained", None, state) is Joiner().fact("retained", state, None)
