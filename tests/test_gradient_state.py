"""The table of gradient states: what backward, step and clear make of each word."""

from __future__ import annotations

import itertools

import pytest

from autolint.autograd import graph
from autolint.autograd.heap import Heap
from autolint.autograd.tensor import GradHolder
from autolint.autograd.values import MAYBE, NO, YES, Word

HERE, EARLIER = "here", "earlier"
NONE, FRESH, USED, STALE, DROPPED, UNKNOWN = Word


def holder(*words: Word, read: bool = False) -> GradHolder:
    made = GradHolder(frozenset(words))
    made.read = read
    return made


SURE_BACKWARD = {
    NONE: FRESH,
    FRESH: FRESH,
    USED: STALE,
    STALE: STALE,
    DROPPED: FRESH,
    UNKNOWN: FRESH,
}
STEP = {
    NONE: NONE,
    FRESH: USED,
    USED: USED,
    STALE: USED,
    DROPPED: DROPPED,
    UNKNOWN: USED,
}
CLEAR = {
    NONE: NONE,
    FRESH: DROPPED,
    USED: NONE,
    STALE: DROPPED,
    DROPPED: NONE,
    UNKNOWN: NONE,
}


@pytest.mark.parametrize("word", Word)
def test_a_backward_that_surely_reaches_a_set(word: Word) -> None:
    found = holder(word, read=True)
    graph.reach(Heap(), found, YES, HERE)
    assert found.words == {SURE_BACKWARD[word]}
    assert found.absent is NO
    assert found.read is False


@pytest.mark.parametrize("word", Word)
def test_a_backward_that_may_reach_a_set_adds_to_its_words(word: Word) -> None:
    found = holder(word)
    graph.reach(Heap(), found, MAYBE, HERE)
    assert found.words == {word, SURE_BACKWARD[word]}
    assert found.absent is MAYBE


@pytest.mark.parametrize("word", Word)
def test_a_backward_notes_where_gradients_became_stale(word: Word) -> None:
    found = holder(word)
    found.stale_at = EARLIER
    graph.reach(Heap(), found, YES, HERE)
    assert found.stale_at == (HERE if word in (USED, STALE) else EARLIER)


@pytest.mark.parametrize("word", Word)
def test_a_step_uses_what_is_there(word: Word) -> None:
    found = holder(word)
    graph.step(Heap(), found)
    assert found.words == {STEP[word]}


@pytest.mark.parametrize("word", Word)
def test_a_clear_drops_what_no_step_used(word: Word) -> None:
    found = holder(word)
    graph.clear(Heap(), found, HERE)
    assert found.words == {CLEAR[word]}
    assert found.dropped_at == (HERE if CLEAR[word] is DROPPED else None)


@pytest.mark.parametrize("word", Word)
def test_a_clear_sets_gradients_to_none_or_to_zero(word: Word) -> None:
    for to_none, absent in ((YES, YES), (MAYBE, MAYBE), (NO, NO)):
        found = holder(word)
        found.absent = NO
        graph.clear(Heap(), found, HERE, to_none)
        assert found.absent is absent
        assert found.cleared is (to_none is not NO)


def test_a_gradient_that_was_read_is_not_dropped_by_a_clear() -> None:
    found = holder(FRESH, read=True)
    graph.clear(Heap(), found, HERE)
    assert found.words == {NONE}
    assert found.dropped_at is None


def test_a_stale_gradient_that_was_read_is_dropped_by_a_clear() -> None:
    found = holder(STALE, read=True)
    graph.clear(Heap(), found, HERE)
    assert found.words == {DROPPED}


@pytest.mark.parametrize("word", Word)
def test_unseen_code_leaves_nothing_known(word: Word) -> None:
    found = holder(word)
    graph.forget(Heap(), found)
    assert found.words == {UNKNOWN}
    assert found.absent is MAYBE


@pytest.mark.parametrize(("one", "two"), [*itertools.combinations(Word, 2)])
def test_a_set_in_two_states_goes_through_the_table_word_by_word(one: Word, two: Word) -> None:
    reached, stepped, cleared = holder(one, two), holder(one, two), holder(one, two)
    graph.reach(Heap(), reached, YES, HERE)
    graph.step(Heap(), stepped)
    assert reached.words == {SURE_BACKWARD[one], SURE_BACKWARD[two]}
    assert stepped.words == {STEP[one], STEP[two]}
    if DROPPED not in (one, two):
        graph.clear(Heap(), cleared, HERE)
        assert cleared.words == {CLEAR[one], CLEAR[two]}


def test_all_changes_of_a_gradient_state_can_be_undone() -> None:
    heap, found = Heap(), holder(USED)
    before = dict(vars(found))
    graph.reach(heap, found, YES, HERE)
    graph.clear(heap, found, HERE)
    graph.step(heap, found)
    graph.forget(heap, found)
    heap.undo(0)
    assert vars(found) == before
