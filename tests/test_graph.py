"""What a backward meets in the graph, and what it frees."""

from __future__ import annotations

import pytest

from autolint.autograd import graph
from autolint.autograd.graph import Node, Saved
from autolint.autograd.heap import Heap
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import MAYBE, NO, YES, Kind, Tri, Word
from autolint.autograd.walking import free, walk


def holder() -> GradHolder:
    return GradHolder(frozenset({Word.NONE}))


def leaf(grad: Tri = YES) -> Tensor:
    return Tensor(TensorState(grad, YES, Kind.FLOAT, 1), Storage())


def result(*inputs: Tensor, saves: tuple[Saved, ...] = (), opaque: bool = False) -> Tensor:
    edges = tuple(edge for tensor in inputs for edge in graph.edge(tensor))
    node = Node("mul", edges, saves, opaque=opaque)
    return Tensor(TensorState(YES, NO, Kind.FLOAT, 1, node), Storage())


def node_of(tensor: Tensor) -> Node:
    assert isinstance(tensor.state.node, Node)
    return tensor.state.node


# ---------------------------------------------------------------------- the walk


def test_a_backward_reaches_the_leaves_that_require_grad() -> None:
    one, two, data = leaf(), leaf(MAYBE), leaf(NO)
    found = walk(result(result(one, data), two))
    assert found.reached == {one.state: YES, two.state: MAYBE}
    assert [sure for _, sure in found.nodes] == [YES, YES]


def test_a_backward_from_a_leaf_reaches_that_leaf() -> None:
    one = leaf()
    assert walk(one).reached == {one.state: YES}
    assert walk(leaf(NO)).reached == {}


def test_the_surest_of_several_ways_counts() -> None:
    one = leaf()
    sure = result(one)
    unsure = result(one)
    unsure.state.requires_grad = MAYBE
    for order in ((sure, unsure), (unsure, sure)):
        assert walk(result(*order)).reached == {one.state: YES}
    assert walk(unsure).reached == {one.state: MAYBE}


def test_what_lies_behind_a_maybe_edge_is_maybe() -> None:
    one = leaf()
    middle = result(one)
    branch = Node("a branch", ((node_of(middle), MAYBE),))
    top = Tensor(TensorState(YES, NO, Kind.FLOAT, 1, branch), Storage())
    found = walk(top)
    assert found.reached == {one.state: MAYBE}
    assert dict(found.nodes) == {branch: YES, node_of(middle): MAYBE}


def test_a_value_that_may_be_no_tensor_is_reached_perhaps() -> None:
    one = leaf()
    perhaps = Tensor(one.state, one.storage, tensor=MAYBE)
    assert walk(result(perhaps)).reached == {one.state: MAYBE}


def test_a_view_made_without_recording_receives_no_gradient() -> None:
    view = leaf()
    view.state.accumulates = False
    assert walk(result(view)).reached == {}


def test_gradients_of_a_layers_weight_belong_to_the_layer() -> None:
    layer = holder()
    weight = leaf()
    weight.state.owner = layer
    assert walk(result(weight)).reached == {layer: YES}


def test_a_summary_of_one_set_is_sure_and_of_several_is_maybe() -> None:
    one, two = holder(), holder()
    parameter = leaf()
    parameter.state.members = (one,)
    assert walk(result(parameter)).reached == {one: YES}
    parameter.state.members = (one, two)
    assert walk(result(parameter)).reached == {one: MAYBE, two: MAYBE}


def test_unseen_code_in_the_graph_is_told() -> None:
    assert walk(result(result(leaf(), opaque=True))).opaque is YES
    assert walk(result(leaf())).opaque is NO


# ---------------------------------------------------------------------- freed graphs


def saved(tensor: Tensor, sure: Tri = YES) -> Saved:
    return Saved(tensor, tensor.storage, sure)


def test_a_backward_frees_what_it_walked_once() -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    heap = Heap()
    free(heap, walk(y), NO)
    assert node_of(y).freed is YES
    assert walk(y).freed == [(node_of(y), node_of(y), None)]
    heap.undo(0)
    assert walk(y).freed == []


@pytest.mark.parametrize(("retain", "freed"), [(NO, YES), (MAYBE, MAYBE), (YES, NO)])
def test_a_retained_graph_is_not_freed(retain: Tri, freed: Tri) -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    free(Heap(), walk(y), retain)
    assert node_of(y).freed is freed
    assert (walk(y).freed != []) is (freed is YES)


def test_a_node_behind_a_maybe_edge_is_perhaps_freed() -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    branch = Node("a branch", ((node_of(y), MAYBE),))
    top = Tensor(TensorState(YES, NO, Kind.FLOAT, 1, branch), Storage())
    free(Heap(), walk(top), NO)
    assert (branch.freed, node_of(y).freed) == (YES, MAYBE)


def test_what_is_freed_stays_freed() -> None:
    x = leaf()
    y = result(x, saves=(saved(x),))
    node_of(y).freed = YES
    free(Heap(), walk(y), MAYBE)
    assert node_of(y).freed is YES


@pytest.mark.parametrize("saves", [(), (saved(leaf(), MAYBE),)])
def test_a_node_that_saved_nothing_for_sure_can_be_run_again(saves: tuple[Saved, ...]) -> None:
    y = result(leaf(), saves=saves)
    free(Heap(), walk(y), NO)
    assert walk(y).freed == []
