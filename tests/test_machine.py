"""What of a program is run, how often, and where it stops: bounds, ways out, contexts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from autolint.engine import Engine
from autolint.interpreter import machine
from autolint.interpreter.events import OptimizerStep, Revealed
from autolint.interpreter.machine import MAX_DEPTH, MAX_LOOP_DEPTH, MAX_RECURSION, MAX_STEPS
from autolint.interpreter.project import Project
from autolint.selection import Selection

from .linting import EVERYTHING, registry
from .running import line, run

NO_GRAD = "tensor no-grad leaf float rank=1"
GRAD = "tensor grad non-leaf float rank=1"
W = "w = torch.ones(2, requires_grad=True)\n"


def lines(text: str) -> list[int]:
    """Where something is revealed, in order."""
    return [line(event.site) for event in run(text, Revealed).of(Revealed)]


def indented(text: str, by: int = 4) -> str:
    return "".join(" " * by + each + "\n" for each in text.splitlines())


# ---------------------------------------------------------------------- bounds


def test_the_bounds_are_those_of_the_design() -> None:
    assert (MAX_STEPS, MAX_DEPTH, MAX_RECURSION, MAX_LOOP_DEPTH) == (4_000, 6, 2, 3)


@pytest.mark.parametrize(
    ("statements", "complete"), [(MAX_STEPS // 2 - 1, True), (MAX_STEPS, False)]
)
def test_a_function_that_needs_too_many_steps_is_not_followed(
    statements: int, complete: bool
) -> None:
    long = "def f(x):\n    reveal(1)\n" + "    x = x\n" * statements
    found = run(long + "def g(x):\n    reveal(2)\n", Revealed)
    assert found.finished == [True, complete, True]
    assert (found.analysis.roots, found.analysis.not_followed) == (3, 0 if complete else 1)
    assert found.numbers() == [1, 2]


def test_what_stands_behind_a_module_body_that_is_too_long_is_still_run() -> None:
    program = "reveal(1)\n" + "x = 1\n" * MAX_STEPS + "reveal(2)\n"
    found = run(program + "def f(x):\n    reveal(torch.ones(2))\n", Revealed)
    assert found.finished == [False, True]
    assert found.said() == ["other", NO_GRAD]


def test_steps_in_a_followed_function_count_for_its_root() -> None:
    program = "def f(x):\n" + "    x = x\n" * 700 + "f(1)\n" * 3
    assert run(program, Revealed).finished == [False]
    assert run(program.replace("f(1)\n" * 3, "f(1)\nf(1)\n"), Revealed).finished == [True]


def test_what_long_statements_evaluate_is_bounded_for_a_root_and_for_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = "def f{}(x):\n" + f"    y = [{'x, ' * 50}]\n" * 4 + "    reveal(x)\n"
    program = "".join(function.format(number) for number in range(6))

    def finished() -> list[bool]:
        return run(program, Revealed).finished[1:]

    assert finished() == [True] * 6
    monkeypatch.setattr(machine, "MAX_EVALUATED_IN_FILE", 700)
    assert finished() == [True] * 3 + [False] * 3
    monkeypatch.setattr(machine, "MAX_EVALUATED", 150)
    assert finished() == [False] * 6


def test_a_file_that_takes_too_long_is_an_error_and_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(registry(), Project(lambda path: None))
    selection = Selection(registry(), EVERYTHING, ())
    lines = "".join("x.data.add_(1)\n" for _ in range(200))
    text = b"import torch\nx = torch.ones(3, requires_grad=True)\n" + lines.encode()
    assert engine.check("/x.py", text, selection).diagnostics
    reads = iter([0.0, 0.0, 59.0, *[61.0] * 9])
    monkeypatch.setattr(machine, "time", SimpleNamespace(thread_time=lambda: next(reads)))
    ended = engine.check("/x.py", text, selection)
    assert not ended.diagnostics
    assert [each.message for each in ended.problems] == [
        "is not checked: that takes more than 60 s of processor time"
    ]


def test_functions_without_statements_take_steps_as_well() -> None:
    lambdas = "".join(
        f"{name} = lambda x: [{f'{inner}(x), ' * 20}]\n" for inner, name in ("ab", "bc", "cd", "de")
    )
    found = run("a = lambda x: x\n" + lambdas + "e(1)\n", Revealed)
    assert found.finished == [False]


@pytest.mark.parametrize(
    "program",
    [
        "class A: pass\nA.__call__ = A()\nA()(1)",
        "class A:\n    @property\n    def __call__(self): return self\nA()(1)",
        "class A:\n    def __init__(self): self.__call__ = self\nA()(1)",
    ],
)
def test_an_object_that_is_its_own_call_is_called_for_no_longer_than_others(program: str) -> None:
    found = run(f"{program}\nreveal(torch.ones(2))", Revealed)
    assert found.finished == [True]
    assert found.said() == [NO_GRAD]


def test_calls_are_followed_six_deep() -> None:
    names = "abcdefgh"
    program = "".join(
        f"def {name}(x):\n    reveal(x)\n    {after}(x)\n"
        for name, after in zip(names, names[1:] + "z", strict=True)
    )
    found = run(program + "a(1)", Revealed).of(Revealed)
    followed = [
        event.scope.name for event in found if event.scope.calls[:1] == found[0].scope.calls
    ]
    assert followed == list("abcdef")
    unknown = [event.scope.name for event in found if not event.scope.calls]
    assert unknown == ["g"]


def test_a_function_is_twice_on_the_stack_at_most() -> None:
    found = run("def f(n):\n    reveal(n)\n    f(n)\nf(1)", Revealed).of(Revealed)
    assert [len(event.scope.calls) for event in found] == [1, 2]


@pytest.mark.parametrize("source", ["range(99)", "[1, 2]"])
@pytest.mark.parametrize(("depth", "times"), [(1, 2), (3, 8), (4, 8), (5, 8)])
def test_loops_deeper_than_three_run_once(source: str, depth: int, times: int) -> None:
    program = "reveal(0)"
    for _ in range(depth):
        program = f"for i in {source}:\n" + indented(program)
    assert len(lines(program)) == times


@pytest.mark.parametrize(("length", "times"), [(0, 0), (1, 1), (6, 6), (7, 2)])
def test_short_sequences_are_unrolled(length: int, times: int) -> None:
    assert len(lines(f"for i in {list(range(length))}:\n    reveal(i)")) == times


# ---------------------------------------------------------------------- contexts


def test_a_function_runs_once_for_each_call() -> None:
    program = "def f(x):\n    reveal(x)\nf(1)\nf(2)\nfor i in range(99):\n    f(3)"
    found = run(program, Revealed)
    assert found.numbers() == [1, 2, 3, 3]
    assert len({event.scope.context for event in found.of(Revealed)}) == 3
    assert found.analysis.roots == 1


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    reveal(x)",
        "def g():\n    def f(x):\n        reveal(x)",
        "def f(x):\n    reveal(x)\nrun_later(f)",
        "def f(x: torch.Tensor):\n    reveal(x)",
    ],
)
def test_a_function_that_nobody_calls_runs_once_with_unknown_arguments(program: str) -> None:
    found = run(program, Revealed)
    assert len(found.said()) == 1
    assert found.one(Revealed).scope.name == "f"
    assert "maybe-grad" in found.said()[0]


def test_callers_run_before_what_they_call() -> None:
    program = "def helper(x):\n    reveal(x)\ndef train():\n    helper(torch.ones(2))"
    assert run(program, Revealed).said() == [NO_GRAD]


def test_a_function_without_a_trigger_is_no_root() -> None:
    assert run("def f(x):\n    return x\ndef g(x):\n    reveal(x)", Revealed).analysis.roots == 2


def test_methods_run_on_an_object_whose_constructor_ran() -> None:
    program = """
    class A:
        def __init__(self):
            self.x = torch.ones(2)
        def f(self):
            reveal(self.x)
        def g(self):
            self.f()
    """
    assert run(program, Revealed).said() == [NO_GRAD]


def test_what_one_root_does_is_forgotten_before_the_next() -> None:
    program = W + "def f():\n    w.requires_grad_(False)\n    reveal(w)\ndef g():\n    reveal(w)"
    assert run(program, Revealed).said() == [NO_GRAD, "tensor grad leaf float rank=1"]


# ---------------------------------------------------------------------- what is not run


@pytest.mark.parametrize(
    ("program", "run_lines"),
    [
        ("def f():\n    return 1\n    reveal(0)\nf()\nreveal(0)", [5]),
        ("raise SystemExit\nreveal(0)", []),
        ("for i in x:\n    reveal(0)\n    break\n    reveal(0)\nreveal(0)", [2, 5]),
        ("for i in [1, 2]:\n    reveal(0)\n    continue\n    reveal(0)", [2, 2]),
        ("while True:\n    reveal(0)\nreveal(0)", [2, 2]),
        ("while True:\n    if c():\n        break\nreveal(0)", [4]),
        ("if True:\n    reveal(0)\nelse:\n    reveal(0)", [2]),
        ("for i in x:\n    break\nelse:\n    reveal(0)\nreveal(0)", [5]),
        ("try:\n    raise E\n    reveal(0)\nexcept E:\n    reveal(0)\nreveal(0)", [5, 6]),
        ("try:\n    f()\nexcept E:\n    raise\nelse:\n    reveal(0)\nreveal(0)", [6, 7]),
        ("try:\n    raise E\nfinally:\n    reveal(0)\nreveal(0)", [4]),
    ],
)
def test_only_what_control_reaches_is_run(program: str, run_lines: list[int]) -> None:
    assert lines(program) == run_lines


def test_a_comprehension_leaves_names_as_they_were() -> None:
    program = """
    i = torch.ones(2)
    a = [reveal(i) for i in [1, 2]]
    b = {i: i for i in [1, 2]}
    c = {reveal(i) for i in [3]}
    reveal(i)
    reveal(list(i for i in [5])[0])
    reveal(i)
    """
    found = run(program, Revealed)
    assert found.numbers()[:3] == [1, 2, 3]
    assert (found.said()[3], found.said()[5]) == (NO_GRAD, NO_GRAD)


# ---------------------------------------------------------------------- grad mode


@pytest.mark.parametrize(
    "block",
    [
        "with torch.no_grad():\n    x = 1",
        "with torch.no_grad(), open('x'):\n    x = 1",
        "def f():\n    with torch.no_grad():\n        return 1\nf()",
        "@torch.no_grad()\ndef f():\n    return 1\nf()",
        "for i in x:\n    with torch.no_grad():\n        break",
        "for i in x:\n    with torch.no_grad():\n        if c:\n            continue\n        f()",
        "try:\n    with torch.no_grad():\n        raise E\nexcept E:\n    pass",
        "if c():\n    with torch.no_grad():\n        x = 1",
    ],
)
def test_the_grad_mode_is_restored_on_every_way_out(block: str) -> None:
    assert run(W + block + "\nreveal(w * 2)", Revealed).said() == [GRAD]


def test_inner_modes_end_where_outer_ones_go_on() -> None:
    program = """
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        reveal(w * 2)
        with torch.enable_grad():
            reveal(w * 2)
        try:
            with torch.enable_grad():
                f()
        except E:
            reveal(w * 2)
        reveal(w * 2)
    """
    assert run(program, Revealed).said() == [NO_GRAD, GRAD, NO_GRAD, NO_GRAD]


@pytest.mark.parametrize(
    "block",
    [
        "for i in x:\n    torch.set_grad_enabled(False)\n    y = w * 2",
        "def f():\n    torch.set_grad_enabled(False)\nf()",
        "with open('x'):\n    torch.set_grad_enabled(False)",
    ],
)
def test_a_mode_that_a_statement_sets_ends_with_its_iteration_call_or_block(block: str) -> None:
    assert run(W + block + "\nreveal(w * 2)", Revealed).said() == [GRAD]


def test_a_mode_that_only_one_branch_switches_is_open() -> None:
    program = W + "if c():\n    torch.set_grad_enabled(False)\nreveal(w * 2)"
    assert run(program, Revealed).said() == ["tensor maybe-grad maybe-leaf float rank=1"]


def test_a_step_bound_inside_a_block_does_not_reach_the_next_root() -> None:
    long = "def f(x):\n    with torch.no_grad():\n" + "        x = x\n" * MAX_STEPS
    program = W + long + "        reveal(x)\ndef g():\n    reveal(w * 2)\n    w.backward()"
    assert run(program, Revealed, OptimizerStep).said() == [GRAD]
