"""Saved values that were changed since: by a counted write, a hidden one, or other memory."""

from __future__ import annotations

import pytest

from autolint.autograd import graph
from autolint.autograd.graph import Saved
from autolint.autograd.heap import Heap
from autolint.autograd.inplace import Autograd
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import MAYBE, NO, YES, Kind, Through, Tri, Word
from autolint.autograd.walking import walk

from .test_graph import leaf, node_of, result, saved

HERE = "here"
SAVING = [(Through.SELF, (1, 1), (0, 0)), (Through.DETACH, (1, 1), (0, 0))]
HIDING = [(Through.DATA, (0, 0), (1, 1)), (Through.NUMPY, (0, 0), (1, 1))]


@pytest.mark.parametrize(("through", "version", "hidden"), SAVING + HIDING)
def test_which_counter_a_write_bumps(
    through: Through, version: tuple[int, int], hidden: tuple[int, int]
) -> None:
    x = leaf()
    graph.write(Heap(), x, through, HERE)
    assert (x.storage.version, x.storage.hidden) == (version, hidden)


@pytest.mark.parametrize("through", [each[0] for each in SAVING + HIDING])
def test_a_value_written_since_it_was_saved_is_stale(through: Through) -> None:
    x = leaf()
    graph.write(Heap(), x, through, "before")
    y = result(x, saves=(saved(x),))
    assert walk(y).stale == []
    graph.write(Heap(), x, through, HERE)
    [(node, item, write)] = walk(y).stale
    assert (node, item) == (node_of(y), node_of(y).saved[0])
    assert (write.origin, write.through) == (HERE, through)


def test_a_write_that_may_not_happen_leaves_the_count_open() -> None:
    x = leaf()
    graph.write(Heap(), x, Through.SELF, HERE, MAYBE)
    assert x.storage.version == (0, 1)


def test_a_value_that_is_perhaps_saved_is_not_called_stale() -> None:
    x = leaf()
    y = result(x, saves=(saved(x, MAYBE),))
    graph.write(Heap(), x, Through.SELF, HERE)
    assert walk(y).stale == []


def test_a_node_that_is_perhaps_reached_or_freed_is_not_called_stale() -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    graph.write(Heap(), x, Through.SELF, HERE)
    for freed in (MAYBE, YES):
        node_of(y).freed = freed
        assert walk(y).stale == []
    node_of(y).freed = NO
    y.state.requires_grad = MAYBE
    assert walk(y).stale == []


def test_a_write_to_a_view_changes_what_its_base_saved() -> None:
    x = leaf()
    view = Tensor(TensorState(YES, NO, Kind.FLOAT, 1), x.storage, source=x)
    y = result(x, saves=(saved(x),))
    graph.write(Heap(), view, Through.SELF, HERE)
    assert [write.origin for _, _, write in walk(y).stale] == [HERE]


@pytest.mark.parametrize(("together", "version"), [(False, (0, 1)), (True, (1, 1))])
def test_a_write_to_one_of_several_memories(together: bool, version: tuple[int, int]) -> None:
    """One of two memories is perhaps written; a write to all of a set is sure for each."""
    one, two = leaf(), leaf()
    y = result(one, saves=(saved(one),))
    either = Tensor(
        TensorState(NO, YES, Kind.FLOAT, 1), Storage((one.storage, two.storage), together)
    )
    graph.write(Heap(), either, Through.SELF, HERE)
    assert one.storage.version == two.storage.version == version
    assert either.storage.version == (1, 1)
    assert [write.origin for _, _, write in walk(y).stale] == ([HERE] if together else [])


def test_only_a_write_through_an_alias_waits_for_a_use() -> None:
    event = object()
    for through, sure, waiting in (
        (Through.SELF, YES, None),
        (Through.DATA, YES, event),
        (Through.DETACH, YES, event),
        (Through.DATA, MAYBE, None),
    ):
        x = leaf()
        graph.write(Heap(), x, through, HERE, sure, event)
        assert x.storage.pending is waiting


# ---------------------------------------------------------------------- other memory


def test_other_memory_under_a_saved_operand_makes_it_stale() -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    Autograd(Heap()).rebind(x, HERE, "event")
    [(_, _, write)] = walk(y).stale
    assert (write.origin, write.through, write.event) == (HERE, Through.DATA, "event")


def test_other_memory_leaves_what_was_saved_by_memory() -> None:
    x = leaf()
    y = result(x, saves=(Saved(x, x.storage, YES, by_memory=True),))
    Autograd(Heap()).rebind(x, HERE, None)
    assert walk(y).stale == []


def test_other_memory_before_the_save_is_no_change() -> None:
    x = leaf()
    Autograd(Heap()).rebind(x, HERE, None)
    assert walk(result(x, saves=(saved(x),))).stale == []


@pytest.mark.parametrize("by_layer", [True, False])
def test_other_memory_under_a_layers_weight(by_layer: bool) -> None:
    layer = GradHolder(frozenset({Word.NONE}))
    one, two = leaf(), leaf()
    for weight in (one, two):
        if by_layer:
            weight.state.owner = layer
        else:
            weight.state.members = (layer,)
    y = result(one, saves=(saved(one),))
    Autograd(Heap()).rebind(two, HERE, None)
    assert [write.origin for _, _, write in walk(y).stale] == [HERE]
    assert layer.rebound == (1, 1)


@pytest.mark.parametrize(
    ("requires_grad", "tensor", "inference", "sure"),
    [
        (YES, YES, NO, YES),
        (YES, MAYBE, NO, MAYBE),
        (MAYBE, YES, NO, MAYBE),
        (NO, YES, NO, NO),
        (YES, YES, YES, MAYBE),
    ],
)
def test_which_operands_are_part_of_the_graph(
    requires_grad: Tri, tensor: Tri, inference: Tri, sure: Tri
) -> None:
    x = leaf(requires_grad)
    x.state.inference = inference
    x.tensor = tensor
    assert graph.recorded(x) is sure
    edges = [] if sure is NO else [(x.state, sure)]
    assert [*graph.edge(x)] == edges
