"""The laws of three-valued facts and kinds, tried on every combination; the words of `describe`."""

from __future__ import annotations

import itertools

import pytest

from autolint.autograd.describe import describe
from autolint.autograd.objects import Parameters
from autolint.autograd.tensor import Array, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    GradMode,
    Kind,
    Qualified,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)

TRIS = tuple(Tri)
KINDS = tuple(Kind)
PAIRS = tuple(itertools.product(TRIS, TRIS))


def tensor(
    grad: Tri = NO,
    leaf: Tri = YES,
    kind: Kind = Kind.FLOAT,
    rank: int | None = None,
    sure: Tri = YES,
) -> Tensor:
    return Tensor(TensorState(grad, leaf, kind, rank), Storage(), tensor=sure)


# ---------------------------------------------------------------------- Tri


@pytest.mark.parametrize("one", TRIS)
def test_a_fact_joined_with_itself_stays(one: Tri) -> None:
    assert Tri.join(one, one) is one
    assert one & one is one
    assert one | one is one


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_facts_combine_in_either_order(one: Tri, two: Tri) -> None:
    assert Tri.join(one, two) is Tri.join(two, one)
    assert one & two is two & one
    assert one | two is two | one


def test_facts_combine_in_any_grouping() -> None:
    for one, two, three in itertools.product(TRIS, TRIS, TRIS):
        assert Tri.join(Tri.join(one, two), three) is Tri.join(one, Tri.join(two, three))
        assert (one & two) & three is one & (two & three)
        assert (one | two) | three is one | (two | three)


@pytest.mark.parametrize("one", TRIS)
def test_maybe_absorbs_in_a_join(one: Tri) -> None:
    assert Tri.join(one, MAYBE) is MAYBE


def test_yes_and_no_join_to_maybe() -> None:
    assert Tri.join(YES, NO) is MAYBE


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_what_is_certain_agrees_with_two_valued_logic(one: Tri, two: Tri) -> None:
    """Each answer is the join over all truths that the operands may have."""
    for combined, truth in ((one & two, bool.__and__), (one | two, bool.__or__)):
        possible = {Tri.of(truth(a, b)) for a in truths(one) for b in truths(two)}
        assert combined is (possible.pop() if len(possible) == 1 else MAYBE)


@pytest.mark.parametrize("one", TRIS)
def test_a_negation_negates_every_truth(one: Tri) -> None:
    assert truths(~one) == {not truth for truth in truths(one)}
    assert ~~one is one


def truths(fact: Tri) -> set[bool]:
    return {YES: {True}, NO: {False}, MAYBE: {True, False}}[fact]


# ---------------------------------------------------------------------- Kind


@pytest.mark.parametrize("one", KINDS)
def test_a_kind_joined_with_itself_stays_and_the_unknown_one_absorbs(one: Kind) -> None:
    assert Kind.join(one, one) is one
    assert Kind.join(one, Kind.UNKNOWN) is Kind.UNKNOWN
    assert Kind.promote(one, one) is one


@pytest.mark.parametrize(("one", "two"), [*itertools.product(KINDS, KINDS)])
def test_kinds_combine_in_either_order(one: Kind, two: Kind) -> None:
    assert Kind.join(one, two) is Kind.join(two, one)
    assert Kind.promote(one, two) is Kind.promote(two, one)
    if one is not two:
        assert Kind.join(one, two) is Kind.UNKNOWN


def test_kinds_combine_in_any_grouping() -> None:
    for one, two, three in itertools.product(KINDS, KINDS, KINDS):
        assert Kind.join(Kind.join(one, two), three) is Kind.join(one, Kind.join(two, three))
        left = Kind.promote(Kind.promote(one, two), three)
        assert left is Kind.promote(one, Kind.promote(two, three))


@pytest.mark.parametrize(
    ("one", "two", "result"),
    [
        (Kind.BOOL, Kind.INT, Kind.INT),
        (Kind.INT, Kind.FLOAT, Kind.FLOAT),
        (Kind.FLOAT, Kind.COMPLEX, Kind.COMPLEX),
        (Kind.BOOL, Kind.COMPLEX, Kind.COMPLEX),
        (Kind.UNKNOWN, Kind.FLOAT, Kind.UNKNOWN),  # it may be complex
        (Kind.UNKNOWN, Kind.COMPLEX, Kind.COMPLEX),
    ],
)
def test_the_wider_kind_wins(one: Kind, two: Kind, result: Kind) -> None:
    assert Kind.promote(one, two) is result


@pytest.mark.parametrize(
    ("kind", "able"),
    [
        (Kind.BOOL, NO),
        (Kind.INT, NO),
        (Kind.FLOAT, YES),
        (Kind.COMPLEX, YES),
        (Kind.UNKNOWN, MAYBE),
    ],
)
def test_only_floating_and_complex_kinds_require_grad(kind: Kind, able: Tri) -> None:
    assert kind.differentiable is able


def test_a_mode_is_off_only_where_nothing_is_recorded_for_sure() -> None:
    assert {mode for mode in GradMode if mode.off} == {GradMode.OFF, GradMode.INFERENCE}


# ---------------------------------------------------------------------- what is said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (tensor(YES, YES, Kind.FLOAT, 2), "tensor grad leaf float rank=2"),
        (tensor(NO, YES, Kind.INT, 0), "tensor no-grad leaf int rank=0"),
        (tensor(YES, NO, Kind.COMPLEX), "tensor grad non-leaf complex"),
        (
            tensor(MAYBE, MAYBE, Kind.UNKNOWN, sure=MAYBE),
            "maybe-tensor maybe-grad maybe-leaf any",
        ),
        (tensor(kind=Kind.BOOL, sure=MAYBE), "maybe-tensor no-grad leaf bool"),
        (tensor(sure=NO), "other"),
        (NONE, "other"),
        (Scalar(3, known=True), "other"),
        (Sequence((tensor(),)), "other"),
        (Array(tensor()), "other"),
        (Qualified("torch.sum"), "other"),
        (Parameters(()), "other"),
        (Unknown("x"), "maybe-tensor maybe-grad maybe-leaf any"),
    ],
)
def test_values_are_described_in_the_words_of_the_marks(value: Value, said: str) -> None:
    assert describe(value) == said


def test_an_inference_tensor_is_called_so_only_if_it_is_one_for_sure() -> None:
    value = tensor()
    value.state.inference = MAYBE
    assert describe(value) == "tensor no-grad leaf float"
    value.state.inference = YES
    assert describe(value) == "tensor no-grad leaf float inference"


def test_a_missing_gradient_is_mentioned_only_where_it_was_cleared() -> None:
    value = tensor(YES)
    assert value.state.absent is YES
    assert describe(value) == "tensor grad leaf float"
    value.state.cleared = True
    assert describe(value) == "tensor grad leaf float grad-is-none"
    value.state.absent = MAYBE
    assert describe(value) == "tensor grad leaf float"


def test_an_unknown_value_is_what_it_turned_out_to_be() -> None:
    first, second, known = Unknown("x"), Unknown("y"), tensor(YES)
    first.refined, second.refined = second, known
    assert resolve(first) is known
    assert describe(first) == "tensor grad leaf float"


def test_the_base_is_at_the_end_of_all_aliases() -> None:
    base = tensor()
    view = Tensor(base.state, base.storage, source=base)
    data = Tensor(base.state, base.storage, source=view, through=Through.DATA)
    assert data.base is base
    assert list(data.sources()) == [data, view, base]
    assert base.base is base
