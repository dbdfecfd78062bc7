"""The trail of writes: what is undone, taken, applied, and joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolint.autograd.heap import MISSING, Heap
from autolint.autograd.values import Cell


def either(key: Any, left: Any, right: Any, *arms: Any) -> Any:
    """A join that shows what it was asked."""
    return (key, left, right)


def never(key: Any, left: Any, right: Any, *arms: Any) -> Any:
    raise AssertionError(f"{key}: nothing is to be joined")


def arms(heap: Heap, *each: Callable[[], None]) -> list[Any]:
    taken = []
    for arm in each:
        mark = heap.mark()
        arm()
        taken.append(heap.take(mark))
    return taken


def test_writes_are_undone_down_to_a_mark() -> None:
    heap, facts = Heap(), {"a": 1}
    heap.put(facts, "a", 2)
    mark = heap.mark()
    heap.put(facts, "a", 3)
    heap.put(facts, "b", 4)
    heap.put(facts, "a", 5)
    heap.undo(mark)
    assert facts == {"a": 2}
    heap.undo(0)
    assert facts == {"a": 1}


def test_what_was_dropped_comes_back() -> None:
    heap, facts = Heap(), {"a": 1}
    heap.drop(facts, "a")
    heap.drop(facts, "never there")
    assert facts == {}
    heap.undo(0)
    assert facts == {"a": 1}


def test_a_write_of_what_is_there_leaves_no_trace() -> None:
    value: list[int] = []
    heap, facts = Heap(), {"a": value}
    heap.put(facts, "a", value)
    assert heap.mark() == 0
    heap.put(facts, "a", [])  # equal, but another object
    assert heap.mark() == 1


def test_an_absent_fact_is_written_even_if_it_is_none() -> None:
    heap = Heap()
    facts: dict[str, object] = {}
    heap.put(facts, "a", None)
    assert facts == {"a": None}
    heap.undo(0)
    assert facts == {}


def test_changes_are_net_and_leave_the_facts_alone() -> None:
    heap, facts = Heap(), {"a": 1}
    for value in (2, 3):
        heap.put(facts, "a", value)
    assert list(heap.changes(0).values()) == [(facts, "a", 3)]
    assert facts == {"a": 3}


def test_what_was_taken_can_be_applied_again() -> None:
    heap, facts = Heap(), {"a": 1, "gone": 1}

    def arm() -> None:
        heap.put(facts, "a", 2)
        heap.put(facts, "new", 3)
        heap.drop(facts, "gone")

    [taken] = arms(heap, arm)
    assert facts == {"a": 1, "gone": 1}
    heap.apply(taken)
    assert facts == {"a": 2, "new": 3}
    heap.undo(0)
    assert facts == {"a": 1, "gone": 1}


def test_facts_of_equal_dictionaries_are_kept_apart() -> None:
    heap, one, two = Heap(), {"a": 1}, {"a": 1}
    heap.put(one, "a", 2)
    heap.put(two, "a", 3)
    taken = heap.take(0)
    assert (one, two) == ({"a": 1}, {"a": 1})
    heap.apply(taken)
    assert (one, two) == ({"a": 2}, {"a": 3})


def test_an_arm_that_writes_is_joined_with_what_was_there() -> None:
    heap = Heap()
    facts: dict[str, object] = {"a": "old", "b": "old"}
    taken = arms(heap, lambda: heap.put(facts, "a", "new"), lambda: heap.put(facts, "b", "new"))
    heap.join(taken, Cell.clock(), either)
    assert facts == {"a": ("a", "new", "old"), "b": ("b", "old", "new")}
    heap.undo(0)
    assert facts == {"a": "old", "b": "old"}


def test_arms_that_agree_are_not_joined() -> None:
    heap, facts, value = Heap(), {"a": "old"}, object()
    taken = arms(heap, lambda: heap.put(facts, "a", value), lambda: heap.put(facts, "a", value))
    heap.join(taken, Cell.clock(), never)
    assert facts == {"a": value}


def test_a_single_arm_is_simply_applied() -> None:
    heap, facts = Heap(), {"a": "old"}
    heap.join(arms(heap, lambda: heap.put(facts, "a", "new")), Cell.clock(), never)
    assert facts == {"a": "new"}


def test_three_arms_are_joined_one_after_the_other() -> None:
    heap = Heap()
    facts: dict[str, object] = {"a": 0}

    def write(value: int) -> Callable[[], None]:
        return lambda: heap.put(facts, "a", value)

    taken = arms(heap, write(1), lambda: None, write(2))
    heap.join(taken, Cell.clock(), either)
    assert facts == {"a": ("a", ("a", 1, 0), 2)}


def test_a_name_bound_in_one_arm_is_joined_with_its_absence() -> None:
    heap = Heap()
    facts: dict[str, object] = {}
    taken = arms(heap, lambda: heap.put(facts, "a", 1), lambda: None)
    heap.join(taken, Cell.clock(), either)
    assert facts == {"a": ("a", 1, MISSING)}


def test_a_name_deleted_in_one_arm_is_joined_with_its_absence() -> None:
    heap = Heap()
    facts: dict[str, object] = {"a": 1}
    taken = arms(heap, lambda: heap.drop(facts, "a"), lambda: None)
    heap.join(taken, Cell.clock(), either)
    assert facts == {"a": ("a", MISSING, 1)}


def test_a_name_deleted_in_all_arms_is_gone() -> None:
    heap, facts = Heap(), {"a": 1}
    taken = arms(heap, lambda: heap.drop(facts, "a"), lambda: heap.drop(facts, "a"))
    heap.join(taken, Cell.clock(), never)
    assert facts == {}


class Thing(Cell):
    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state


def test_a_cell_born_in_an_arm_has_the_facts_of_that_arm() -> None:
    heap = Heap()
    names: dict[str, Thing] = {}
    born = Cell.clock()

    def arm() -> None:
        heap.put(names, "made", Thing("first"))
        heap.put(vars(names["made"]), "state", "second")

    def only_names(key: Any, left: Any, right: Any, *sides: Any) -> Any:
        assert key == "made"
        return left if right is MISSING else right

    heap.join(arms(heap, arm, lambda: None), born, only_names)
    assert names["made"].state == "second"


def test_a_cell_that_is_older_than_the_arms_is_joined() -> None:
    heap, thing = Heap(), Thing("first")
    born = Cell.clock()
    taken = arms(heap, lambda: heap.put(vars(thing), "state", "second"), lambda: None)
    heap.join(taken, born, either)
    assert thing.state == ("state", "second", "first")  # type: ignore[comparison-overlap]


def test_the_clock_tells_the_order_of_birth() -> None:
    one = Thing("")
    before = Cell.clock()
    two = Thing("")
    assert one.birth == before < two.birth == Cell.clock()


def test_what_facts_were_at_a_mark() -> None:
    heap = Heap()
    names: dict[str, int] = {"a": 1}
    heap.put(names, "b", 2)
    mark = heap.mark()
    heap.put(names, "a", 3)
    heap.put(names, "c", 4)
    heap.drop(names, "b")
    heap.put({}, "a", 5)
    assert heap.at(mark, names) == {"a": 1, "b": 2}
    assert names == {"a": 3, "c": 4}
