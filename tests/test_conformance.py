"""The model of autograd agrees with torch on generated programs."""

import pytest

pytest.importorskip("torch")

from autolint.runtime.conformance import (
    Claimed,
    Observed,
    Raised,
    Verdict,
    explore,
    is_contradicted,
    judge,
    run_torch,
    shrink,
)
from autolint.runtime.programs import Program, Statement, generate, source_of
from autolint.testing import Answer

PROGRAMS = 500


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return list(explore(range(PROGRAMS)))


def test_no_program_contradicts_the_model(verdicts: list[Verdict]) -> None:
    wrong = [seed for seed, verdict in enumerate(verdicts) if verdict.contradictions()]
    minimal = [str(judge(shrink(generate(seed), is_contradicted))) for seed in wrong[:3]]
    assert not wrong, "\n\n".join([f"seeds {wrong}", *minimal])


def test_the_model_says_most_of_what_there_is_to_say(verdicts: list[Verdict]) -> None:
    answers = [answer for verdict in verdicts for answer in verdict.claimed.answers.values()]
    definite = sum(answer.is_definite for answer in answers)
    assert len(answers) > 10 * PROGRAMS
    assert definite > 0.8 * len(answers)


@pytest.mark.parametrize(
    "message",
    [
        "modified by an inplace operation",
        "backward through the graph a second time",
        "does not require grad",
    ],
)
def test_errors_of_autograd_are_foreseen(verdicts: list[Verdict], message: str) -> None:
    raised = [
        (verdict, verdict.observed.raised.line)
        for verdict in verdicts
        if verdict.observed.raised and message in str(verdict.observed.raised.error)
    ]
    foreseen = [line for verdict, line in raised if line in verdict.claimed.errors]
    assert len(raised) >= 5
    assert len(foreseen) >= 0.6 * len(raised)


def test_every_kind_of_statement_occurs() -> None:
    text = "".join(source_of(generate(seed)) for seed in range(100))
    for part in (
        "requires_grad=True",
        ".view(",
        ".detach()",
        ".data",
        ".add_(",
        "+=",
        "with torch.no_grad():",
        "with torch.inference_mode():",
        ".requires_grad_(",
        ".backward()",
        "retain_graph=True",
        ".grad)",
    ):
        assert part in text, part


def test_a_seed_gives_the_same_program_again() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_torch_side_ends_at_the_line_that_raises() -> None:
    seen = run_torch(
        "import torch\n"
        "from autolint.testing import reveal\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "reveal(w)\n"
        "w.add_(1)\n"
        "reveal(w)\n"
    )
    assert seen.raised is not None
    assert seen.raised.line == 5
    assert {line: str(answer) for line, answer in seen.answers.items()} == {
        4: "tensor grad leaf float rank=1 grad-is-none"
    }


def verdict_of(claimed: Claimed, raised: Raised | None = None) -> Verdict:
    truth = Answer.parse("tensor grad leaf float rank=1 grad-is-none")
    return Verdict("a\nb\nc\n", claimed, Observed({1: truth}, raised))


def test_a_wrong_word_is_a_contradiction() -> None:
    claim = Answer.parse("tensor no-grad leaf float rank=1")
    (wrong,) = verdict_of(Claimed({1: claim}, {})).contradictions()
    assert wrong.line == 1


def test_an_open_word_contradicts_nothing() -> None:
    claim = Answer.parse("tensor maybe-grad maybe-leaf any")
    assert not verdict_of(Claimed({1: claim}, {})).contradictions()


def test_a_missing_answer_is_a_contradiction() -> None:
    assert verdict_of(Claimed({}, {})).contradictions()


@pytest.mark.parametrize(("line", "holds"), [(1, False), (2, True), (3, True)])
def test_a_foreseen_error_must_come(line: int, holds: bool) -> None:
    claim = Answer.parse("tensor grad leaf float rank=1")
    claimed = Claimed({1: claim}, {line: "because"})
    raised = Raised(2, RuntimeError("at line 2"))
    assert bool(verdict_of(claimed, raised).contradictions()) is not holds
    assert verdict_of(claimed).contradictions()


def test_shrinking_keeps_what_is_needed() -> None:
    def wrong(program: Program) -> bool:
        return "b" in source_of(program).split() and "c" in source_of(program).split()

    inner = Statement("with torch.no_grad():", (Statement("b"), Statement("d")))
    assert shrink((Statement("a"), inner, Statement("c")), wrong) == (
        Statement("b"),
        Statement("c"),
    )
