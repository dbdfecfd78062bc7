"""Joins of every pair of abstract values, and of the facts of cells."""

from __future__ import annotations

import itertools
from collections.abc import Hashable

import pytest

from autolint.autograd.describe import describe
from autolint.autograd.joins import Joiner
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer, Parameters, Scheduler
from autolint.autograd.tensor import Array, GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Grade,
    Kind,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
)
from autolint.autograd.walking import walk
from autolint.interpreter.index import FileIndex
from autolint.interpreter.objects import FileContext, FunctionValue


def tensor(
    grad: Tri = NO,
    kind: Kind = Kind.FLOAT,
    rank: int | None = 1,
    through: Through = Through.SELF,
    grade: Grade = Grade.BUILT,
) -> Tensor:
    return Tensor(TensorState(grad, YES, kind, rank), Storage(), through=through, grade=grade)


def function(name: str) -> FunctionValue:
    return FunctionValue(name, name, FileContext(FileIndex("/x.py"), None), None, None, None)


def module(grade: Grade = Grade.BUILT) -> Module:
    return Module(None, "torch.nn.Linear", YES, YES, grade=grade)


WEIGHT = tensor(YES)
VALUES: dict[str, Value] = {
    "weight": WEIGHT,
    "input": tensor(),
    "indices": tensor(kind=Kind.INT, rank=2),
    "array": Array(WEIGHT),
    "None": NONE,
    "3": Scalar(3, known=True, kind=Kind.INT),
    "number": Scalar(kind=Kind.FLOAT),
    "pair": Sequence((WEIGHT, NONE), mutable=False),
    "list": Sequence(None, WEIGHT),
    "empty list": Sequence(()),
    "dict": Mapping({"a": WEIGHT}, open=False),
    "open dict": Mapping({"b": NONE}, open=True, rest=WEIGHT),
    "torch.sum": Qualified("torch.sum"),
    "torch.mean": Qualified("torch.mean"),
    "unknown": Unknown("x"),
    "instance": Instance(None),
    "module": module(),
    "parameters": Parameters((module(),)),
    "optimizer": Optimizer((module(),), known=True),
    "other optimizer": Optimizer((), known=False),
    "scheduler": Scheduler(),
    "scaler": GradScaler(YES),
    "f": function("f"),
    "g": function("g"),
}
PAIRS = [*itertools.combinations(VALUES, 2)]


def shape(value: Value) -> Hashable:
    """What a join must not make depend on the order of its operands."""
    if isinstance(value, Tensor):
        return ("tensor", describe(value), value.grade, value.state.words, parts(value.storage))
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(shape(item) for item in value.items)
        return ("sequence", items, value.mutable, value.rest and shape(value.rest))
    if isinstance(value, Mapping):
        inside = frozenset((key, shape(item)) for key, item in value.items.items())
        return ("mapping", inside, value.open, value.rest and shape(value.rest))
    if isinstance(value, Optimizer):
        return ("optimizer", frozenset(value.holders), value.known, value.grade)
    if isinstance(value, Unknown):
        return ("unknown", frozenset(value.inputs))
    if isinstance(value, Scalar):
        return ("scalar", value.known, value.value, value.kind)
    return value


def parts(storage: Storage) -> frozenset[Storage]:
    return frozenset(storage.parts or (storage,))


@pytest.mark.parametrize("name", VALUES)
def test_a_value_joined_with_itself_is_that_object(name: str) -> None:
    assert Joiner().values(VALUES[name], VALUES[name]) is VALUES[name]


def test_values_join_in_either_order() -> None:
    for one, two in PAIRS:
        left, right = VALUES[one], VALUES[two]
        there, back = Joiner().values(left, right), Joiner().values(right, left)
        assert shape(there) == shape(back), (one, two)


def test_a_pair_is_joined_once() -> None:
    joiner = Joiner()
    results = [joiner.values(VALUES[one], VALUES[two]) for one, two in PAIRS]
    for result, (one, two) in zip(results, PAIRS, strict=True):
        assert joiner.values(VALUES[one], VALUES[two]) is result, (one, two)


def test_a_certain_fact_of_a_join_holds_of_both_values() -> None:
    certain = ("tensor", "grad", "no-grad", "leaf", "float", "int", "rank=1", "rank=2")
    for one, two in PAIRS:
        joined = describe(Joiner().values(VALUES[one], VALUES[two])).split()
        said = [describe(VALUES[name]).split() for name in (one, two)]
        for word in set(joined).intersection(certain):
            # Of what is no tensor, nothing but that is said.
            known = said if word == "tensor" else [words for words in said if words != ["other"]]
            assert all(word in words for words in known), (one, two, word)


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        ("weight", "input", "tensor maybe-grad leaf float rank=1"),
        ("weight", "indices", "tensor maybe-grad leaf any"),
        ("weight", "None", "maybe-tensor grad leaf float rank=1"),
        ("weight", "3", "maybe-tensor grad leaf float rank=1"),
        ("weight", "unknown", "maybe-tensor maybe-grad maybe-leaf any"),
        ("weight", "optimizer", "maybe-tensor maybe-grad maybe-leaf any"),
        ("3", "number", "other"),
        ("f", "g", "maybe-tensor maybe-grad maybe-leaf any"),
    ],
)
def test_joins_are_fieldwise(one: str, two: str, said: str) -> None:
    assert describe(Joiner().values(VALUES[one], VALUES[two])) == said


@pytest.mark.parametrize(
    "name", ["array", "pair", "dict", "module", "optimizer", "scheduler", "f", "torch.sum"]
)
def test_none_leaves_what_a_name_is_otherwise(name: str) -> None:
    assert Joiner().values(NONE, VALUES[name]) is VALUES[name]


@pytest.mark.parametrize(("one", "two"), [(1, True), (1, 1.0), (1, 2), (None, False)])
def test_different_numbers_are_no_longer_known(one: object, two: object) -> None:
    joined = Joiner().values(Scalar(one, known=True), Scalar(two, known=True))
    assert isinstance(joined, Scalar)
    assert not joined.known


def test_equal_numbers_stay_known() -> None:
    joined = Joiner().values(
        Scalar(2, known=True, kind=Kind.INT), Scalar(2, known=True, kind=Kind.INT)
    )
    assert isinstance(joined, Scalar)
    assert (joined.known, joined.value, joined.kind) == (True, 2, Kind.INT)


def test_of_two_tensors_the_weaker_evidence_counts() -> None:
    joined = Joiner().values(tensor(grade=Grade.NAMED), tensor(grade=Grade.BUILT))
    assert joined.grade is Grade.NAMED


def test_how_memory_is_reached_does_not_depend_on_the_order() -> None:
    one, two = tensor(), tensor(through=Through.DATA)
    left, right = Joiner().values(one, two), Joiner().values(two, one)
    assert isinstance(left, Tensor)
    assert isinstance(right, Tensor)
    assert left.through is right.through


# ---------------------------------------------------------------------- aliases


def test_two_names_of_one_object_stay_two_names_of_one_object() -> None:
    joiner, one, two = Joiner(), tensor(YES), tensor()
    first, second = joiner.fact("a", one, two), joiner.fact("b", one, two)
    pair = joiner.values(Sequence((one, NONE)), Sequence((two, NONE)))
    assert first is second
    assert isinstance(pair, Sequence)
    assert pair.items is not None
    assert pair.items[0] is first


def test_two_references_to_one_state_are_still_references_to_it() -> None:
    one = tensor(YES)
    other = Tensor(one.state, one.storage)
    joined = Joiner().values(one, other)
    assert isinstance(joined, Tensor)
    assert joined.state is one.state
    assert joined.storage is one.storage


def test_a_view_of_one_or_the_other_shares_memory_with_both() -> None:
    one, two = tensor(), tensor()
    joined = Joiner().values(one, two)
    assert isinstance(joined, Tensor)
    assert joined.storage.parts == (one.storage, two.storage)
    assert not joined.storage.together


def test_a_gradient_reaches_both_operands_of_a_join_perhaps() -> None:
    one, two = tensor(YES), tensor(YES)
    joined = Joiner().values(one, two)
    assert isinstance(joined, Tensor)
    assert walk(joined).reached == {one.state: MAYBE, two.state: MAYBE}


def test_a_refined_unknown_joins_as_what_it_is() -> None:
    late = Unknown("x")
    late.refined = WEIGHT
    assert Joiner().values(late, WEIGHT) is WEIGHT


# ---------------------------------------------------------------------- containers


def test_lists_of_one_length_join_item_by_item() -> None:
    joined = Joiner().values(Sequence((tensor(YES), NONE)), Sequence((tensor(), NONE)))
    assert isinstance(joined, Sequence)
    assert joined.items is not None
    assert [describe(item) for item in joined.items] == [
        "tensor maybe-grad leaf float rank=1",
        "other",
    ]


def test_lists_of_different_lengths_have_a_rest_of_all_items() -> None:
    joined = Joiner().values(Sequence((tensor(YES),)), Sequence((tensor(), tensor(YES))))
    assert isinstance(joined, Sequence)
    assert joined.items is None
    assert joined.rest is not None
    assert describe(joined.rest) == "tensor maybe-grad leaf float rank=1"


def test_dicts_of_the_same_keys_stay_shut_others_are_open() -> None:
    same = Joiner().values(Mapping({"a": tensor()}, False), Mapping({"a": tensor()}, False))
    other = Joiner().values(Mapping({"a": tensor()}, False), Mapping({"b": NONE}, False))
    assert isinstance(same, Mapping)
    assert isinstance(other, Mapping)
    assert (same.open, set(same.items)) == (False, {"a"})
    assert (other.open, set(other.items)) == (True, {"a", "b"})


def test_one_of_two_optimizers_steps_what_either_was_built_with() -> None:
    one, two = GradHolder(frozenset()), GradHolder(frozenset())
    joined = Joiner().values(Optimizer((one,), True), Optimizer((two, one), True))
    assert isinstance(joined, Optimizer)
    assert joined.holders == (one, two)
    assert not joined.known
