"""The model of autograd agrees with torch on generated programs."""

import json
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

from autolint.cli import main
from autolint.runtime import conformance, model, worker
from autolint.runtime.claims import ask_model
from autolint.runtime.conformance import Verdict, explain, explore, shrink
from autolint.runtime.grammar import (
    ELEMENTS,
    PROLOGUE,
    Program,
    Statement,
    elements_of,
    source_of,
    text_of,
)
from autolint.runtime.model import Tally
from autolint.runtime.processes import Ended, Task
from autolint.runtime.programs import generate
from autolint.runtime.questions import (
    ACTS,
    QUESTIONS,
    Claimed,
    Decision,
    Observed,
    Raised,
    contradictions,
)
from autolint.runtime.truths import run_torch

PROGRAMS = 250
FIRST_LINE = PROLOGUE.count("\n") + 1


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return list(explore(range(PROGRAMS)))


@pytest.fixture(scope="module")
def tally(verdicts: list[Verdict]) -> Tally:
    tally = Tally()
    for seed, verdict in enumerate(verdicts):
        conformance.count(tally, generate(seed), verdict)
    return tally


def test_no_program_contradicts_the_model(verdicts: list[Verdict]) -> None:
    wrong = [seed for seed, verdict in enumerate(verdicts) if verdict.contradictions()]
    assert not wrong, "\n\n".join([f"seeds {wrong}", *(explain(generate(s)) for s in wrong[:2])])


@pytest.mark.parametrize("question", QUESTIONS)
def test_most_questions_are_answered(tally: Tally, question: str) -> None:
    assert tally.asked[question] > PROGRAMS
    assert tally.answered[question] >= model.ENOUGH_ANSWERS * tally.asked[question]


@pytest.mark.parametrize("act", ACTS)
def test_most_acts_are_decided(tally: Tally, act: str) -> None:
    assert tally.asked[act] > PROGRAMS / 2
    assert tally.answered[act] >= model.ENOUGH_DECISIONS * tally.asked[act]


@pytest.mark.parametrize("element", ELEMENTS)
def test_each_element_occurs(tally: Tally, element: str) -> None:
    assert tally.elements[element] >= model.ENOUGH_PROGRAMS * PROGRAMS


@pytest.mark.parametrize(
    "message",
    ["modified by an inplace operation", "second time", "does not require grad", "leaf Variable"],
)
def test_errors_of_autograd_are_foreseen(verdicts: list[Verdict], message: str) -> None:
    ends = [(verdict.claimed, verdict.observed.raised) for verdict in verdicts]
    # autograd.grad raises the same, but no decision is asked of it.
    asked = [
        claimed.decisions[raised.place]
        for claimed, raised in ends
        if raised and message in raised.error and raised.place in claimed.decisions
    ]
    foreseen = [decisions for decisions in asked if any(each.raises for each in decisions)]
    assert asked
    assert len(foreseen) >= 0.6 * len(asked)


def test_a_seed_gives_the_same_program_again() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def program_of(*lines: str) -> str:
    return PROLOGUE + "\n".join(lines) + "\n"


def test_torch_side_ends_at_the_line_that_raises() -> None:
    seen = run_torch(
        program_of(
            "w = torch.ones(2, requires_grad=True)",
            "reveal(w)",
            "with torch.enable_grad():",
            "    w.add_(1)",
            "reveal(w)",
        )
    )
    assert seen.raised is not None
    assert seen.raised.ours
    assert seen.raised.place == (FIRST_LINE + 3, ())
    assert list(seen.answers) == [(FIRST_LINE + 1, ())]
    assert seen.answers[(FIRST_LINE + 1, ())] == {
        "tensor": True,
        "requires grad": True,
        "leaf": True,
        "dtype kind": "float",
        "rank": 1,
        "inference": False,
        "grad is None": True,
        "gradient state": "none",
    }


FORESEEN = {
    "indices are saved": """
w = torch.ones(3, requires_grad=True)
top, indices = w.max(0)
for _ in range(2):
    top.backward()
""",
    "the mask of dropout is kept": """
w = torch.ones(3, requires_grad=True)
x = nn.Dropout(0.5)(w)
x.sum().backward()
x.sum().backward()
""",
    "a write of one element is wrapped": """
w = torch.ones(3, requires_grad=True)
x = -w
x[0] = 1
x.sum().backward()
x.sum().backward()
""",
}


@pytest.mark.parametrize("text", FORESEEN.values(), ids=FORESEEN)
def test_a_second_backward_is_foreseen(text: str) -> None:
    source = PROLOGUE + text.lstrip()
    claimed, seen = ask_model(source), run_torch(source)
    assert seen.raised is not None
    assert "second time" in seen.raised.error
    assert claimed.decisions[seen.raised.place] == (Decision("backward", True),)


ALLOWED_OR_NOT = {
    "one of several views, perhaps": """
w = torch.ones(3, requires_grad=True)
x, *rest = w.chunk(2)
if json.loads("false"):
    x = x.cumsum(0)
torch.relu_(x)
""",
    "a view of a leaf, perhaps": """
w = torch.ones(3, requires_grad=True).view(-1)
if json.loads("false"):
    w, *rest = w.unbind(0)
torch.relu_(w)
""",
    "memory of inference tensors": """
with torch.inference_mode():
    x = torch.ones(3)
for _ in range(2):
    if json.loads("true"):
        y = x.data
y *= y
""",
    "a tensor that took the memory of an inference tensor": """
w = torch.ones(3)
with torch.inference_mode():
    w.data = torch.zeros_like(w)
w.add_(1)
""",
    "a view whose base was written": """
w = torch.ones(3, requires_grad=True).sin()
with torch.no_grad():
    x = w.view(-1)
w.copy_(x)
w.add_(x)
""",
    "a part of a gradient": """
w = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad(w.sum(), [w], retain_graph=True)
g[:1] += w
""",
}


@pytest.mark.parametrize("text", ALLOWED_OR_NOT.values(), ids=ALLOWED_OR_NOT)
def test_the_model_is_not_sure_of_a_write(text: str) -> None:
    source = PROLOGUE + text.lstrip()
    claimed, seen = ask_model(source), run_torch(source)
    last = source.count("\n")
    assert claimed.decisions[last, ()] == (Decision("in-place write", None),)
    assert not contradictions(claimed, seen)


def test_both_sides_count_iterations() -> None:
    source = program_of(
        "w = torch.ones(2, requires_grad=True)",
        "for i in range(2):",
        "    for x in (w, w * 2):",
        "        reveal(x)",
        '    if json.loads("false"):',
        "        reveal(w)",
    )
    claimed, seen = ask_model(source), run_torch(source)
    reveal = FIRST_LINE + 3
    assert set(seen.answers) == {(reveal, (outer, inner)) for outer in (1, 2) for inner in (1, 2)}
    assert set(claimed.answers) > set(seen.answers)
    assert claimed.answers[(reveal, (2, 2))]["leaf"] is False
    assert (FIRST_LINE + 5, (1,)) not in seen.reached


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (["w.sum().backward()"], "fresh"),
        (["w.sum().backward()", "o.step()"], "used"),
        (["w.sum().backward()", "o.step()", "w.sum().backward()"], "stale"),
        (["w.sum().backward()", "o.step()", "o.zero_grad()"], "none"),
        (["w.sum().backward()", "o.step()", "o.zero_grad()", "w.sum().backward()"], "fresh"),
        (["o.step()"], "none"),
    ],
)
def test_both_sides_follow_gradients(lines: list[str], state: str) -> None:
    begin = ["w = torch.ones(2, requires_grad=True)", "o = torch.optim.SGD([w])"]
    source = program_of(*begin, *lines, "reveal(w)")
    for answers in (ask_model(source).answers, run_torch(source).answers):
        [answer] = answers.values()
        assert answer["gradient state"] == state
        assert answer["grad is None"] is (state == "none")


@pytest.mark.parametrize(
    ("other", "same"), [("w.detach()[0]", True), ("w.clone()", False), ("w.t()", True)]
)
def test_both_sides_know_shared_memory(other: str, same: bool) -> None:
    source = program_of("w = torch.ones(2, 2)", f"v = {other}", "reveal((w, v))")
    for answers in (ask_model(source).answers, run_torch(source).answers):
        assert list(answers.values()) == [{"same storage": same}]


PLACE = (1, ())


def observed(raised: Raised | None = None) -> Observed:
    truth: dict[str, object] = {"tensor": True, "leaf": True, "rank": 1}
    return Observed({PLACE: truth}, frozenset({PLACE, (2, ())}), raised)


def claimed(line: int = 2, raises: bool | None = None, **answers: object) -> Claimed:
    return Claimed({PLACE: {"tensor": True, **answers}}, {(line, ()): (Decision("x", raises),)})


def test_a_wrong_answer_is_a_contradiction() -> None:
    [wrong] = contradictions(claimed(leaf=False), observed())
    assert wrong.place == PLACE
    assert contradictions(Claimed({}, {}), observed())


def test_an_open_answer_contradicts_nothing() -> None:
    assert not contradictions(claimed(leaf=None, rank=None), observed())


@pytest.mark.parametrize(
    ("raises", "raised", "holds"),
    [
        (True, Raised((2, ()), "RuntimeError: leaf", True), True),
        (True, Raised((1, ()), "RuntimeError: leaf", True), False),
        (True, None, False),
        (False, Raised((2, ()), "RuntimeError: leaf", True), False),
        (False, Raised((2, ()), "RuntimeError: shapes", False), True),
        (False, None, True),
        (None, Raised((2, ()), "RuntimeError: leaf", True), True),
    ],
)
def test_decisions_are_compared_with_errors(
    raises: bool | None, raised: Raised | None, holds: bool
) -> None:
    assert bool(contradictions(claimed(raises=raises), observed(raised))) is not holds
    assert not contradictions(claimed(line=9, raises=True), observed())  # never reached


def test_shrinking_keeps_what_is_needed() -> None:
    def wrong(program: Program) -> bool:
        return {"b", "c"} <= set(text_of(program).split())

    inner = Statement("with torch.no_grad():", (Statement("b"), Statement("d")))
    other = Statement("if x:", (Statement("e"),), (Statement("c"),))
    assert shrink((Statement("a"), inner, other), wrong) == (Statement("b"), Statement("c"))


def test_elements_are_counted_inside_blocks() -> None:
    call = Statement("x.backward(retain_graph=True)", element="backward")
    block = Statement("for i in x:", (Statement("if y:", (), (call,)),), element="loop")
    assert elements_of((block, call)) == {"loop": 1, "backward": 2, "retain_graph": 2}
    assert source_of((block,)).endswith("    else:\n        x.backward(retain_graph=True)\n")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(["verify", *args])
    assert isinstance(caught.value.code, int)
    return caught.value.code, capsys.readouterr().out


def test_the_command_reports_in_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "--model", "3", "--seed", "7", "--format", "json")
    found = json.loads(out)
    assert (status, found["seed"], found["programs"], found["refuted"]) == (0, 7, 3, [])
    assert set(found["answered"]) == {*QUESTIONS, *ACTS}
    status, out = run(capsys, "--model", "3", "--seed", "7")
    assert (status, out.splitlines()[-1]) == (0, "no contradiction in 3 programs")
    assert "programs of the seeds 7 to 9" in out


def test_a_program_that_ends_its_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_all(tasks: list[Task], *more: object) -> object:
        for number, task in enumerate(tasks):
            seeds = range(*map(int, task.arguments))
            if 5 in seeds:
                yield number, Ended(reason="a crash", note=5)
            else:
                batch = model.Batch("2.0", Tally(len(seeds)), ())
                yield number, Ended(batch)

    monkeypatch.setattr(model, "run_all", run_all)
    found = model.conform(9, seed=1)
    assert [(one.seed, one.reason) for one in found.refuted] == [(5, "a crash")]
    assert found.tally.programs == 8
    assert not found.holds


def test_a_wrong_model_is_refuted_with_a_small_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_a_leaf(ask: Callable[[str], Claimed]) -> Callable[[str], Claimed]:
        def wrong(source: str) -> Claimed:
            found = ask(source)
            answers = {place: {**said, "leaf": False} for place, said in found.answers.items()}
            return Claimed(answers, found.decisions)

        return wrong

    monkeypatch.setattr(conformance, "ask_model", never_a_leaf(ask_model))
    batch = worker.conform(lambda seed: None, "1", "2")
    [refuted] = batch.refuted
    assert refuted.seed == 1
    assert len(refuted.source.splitlines()) == 2
    assert "model: leaf: False; torch: True" in refuted.source
