"""What every event says of its place in the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from autolint.autograd.values import GradMode
from autolint.interpreter.events import (
    Backward,
    InPlaceWrite,
    RequiresGradSet,
    Revealed,
)

from .running import HEAD, line, run, run_file

W = "w = torch.ones(2, requires_grad=True)\n"


def test_loops_carry_their_line_and_iteration() -> None:
    found = run("for a in x:\n    while b:\n        reveal(1)\nreveal(2)").of(Revealed)
    loops = [[(line(mark.loop), mark.iteration) for mark in event.loops] for event in found]
    assert loops == [[(1, i), (2, j)] for i in (1, 2) for j in (1, 2)] + [[]]


def test_guards_are_the_tests_inside_the_innermost_loop() -> None:
    program = """
    if a:
        for i in x:
            if b:
                reveal(1)
            elif c:
                reveal(2)
            else:
                reveal(3)
            reveal(4)
    else:
        reveal(5)
    """
    found = run(program).of(Revealed)
    guards = {
        line(event.site): [(line(guard.test), guard.holds) for guard in event.guards]
        for event in found
    }
    assert guards == {
        4: [(3, True)],
        6: [(3, False), (5, True)],
        8: [(3, False), (5, False)],
        9: [],
        11: [(1, False)],
    }


CALLS = """
def outer(w):
    inner(w)

def inner(w):
    w.data.add_(1)

w = torch.ones(2, requires_grad=True)
for i in range(99):
    if c():
        outer(w)
outer(w)
"""


def test_an_event_in_a_followed_function_tells_the_way_there() -> None:
    first, second, alone = run(CALLS).of(InPlaceWrite)
    for event in (first, second, alone):
        assert (line(event.site), event.scope.name, event.scope.qualname) == (5, "inner", "inner")
    calls = [[(line(call), call.text) for call in each.scope.calls] for each in (first, alone)]
    assert calls == [
        [(10, "outer(w)"), (2, "inner(w)")],
        [(11, "outer(w)"), (2, "inner(w)")],
    ]
    assert [(line(mark.loop), mark.iteration) for mark in second.loops] == [(8, 2)]
    assert [(line(guard.test), guard.holds) for guard in first.guards] == [(9, True)]
    assert first.scope.function == alone.scope.function
    assert first.scope.context == second.scope.context != alone.scope.context


def test_a_function_of_another_file_is_followed_one_level(tmp_path: Path) -> None:
    library = tmp_path / "lib.py"
    library.write_text(
        HEAD + "def change(w):\n    w.data.add_(1)\n    again(w)\n"
        "def again(w):\n    w.data.zero_()\n"
    )
    path = tmp_path / "x.py"
    event = run_file(path, HEAD + "import lib\n" + W + "lib.change(w)\n", InPlaceWrite).one(
        InPlaceWrite
    )
    assert (Path(event.site.unit.path), line(event.site)) == (library, 2)
    assert [(Path(call.unit.path), line(call)) for call in event.scope.calls] == [(path, 3)]


def test_a_function_that_nobody_calls_has_an_unknown_mode_unless_it_records() -> None:
    program = (
        "def f(w):\n    w.data\n    reveal(w)\ndef g(loss):\n    reveal(1)\n    loss.backward()"
    )
    modes = {event.scope.name: event.mode for event in run(program).of(Revealed)}
    assert modes == {"f": GradMode.UNKNOWN, "g": GradMode.ON}


@pytest.mark.parametrize(
    ("name", "purpose"),
    [("init_weights", True), ("reset_parameters", True), ("scale_", True), ("train", False)],
)
def test_functions_whose_purpose_is_to_write_parameters(name: str, purpose: bool) -> None:
    event = run(f"def {name}(w: torch.Tensor):\n    w.data.zero_()").one(InPlaceWrite)
    assert event.scope.optimizer_code is purpose


@pytest.mark.parametrize(
    ("program", "framework", "clears"),
    [
        ("def f(x):\n    reveal(x)", False, False),
        ("def f(x):\n    reveal(x)\n    accelerator.backward(x)", True, False),
        ("def f(x):\n    reveal(x)\ndef g(o):\n    o.zero_grad()", False, True),
    ],
)
def test_guards_of_the_whole_function_and_file(program: str, framework: bool, clears: bool) -> None:
    event = run(program).one(Revealed)
    assert (event.scope.framework, event.scope.clears) == (framework, clears)


def test_a_block_that_is_there_to_raise_is_silent() -> None:
    program = """
    import pytest
    def change(w):
        w.data.add_(1)
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        w.data.add_(1)
        change(w)
        w.sum().backward()
        torch.ones(2, dtype=torch.int64).requires_grad_()
    def f(w):
        with pytest.raises(RuntimeError):
            return w.data.add_(1)
    f(w)
    w.data.add_(2)
    """
    found = run(program, InPlaceWrite, Backward, RequiresGradSet)
    assert [line(event.site) for event in found.events] == [4, 14]


@pytest.mark.parametrize(
    ("manager", "mode"),
    [
        ("torch.no_grad()", GradMode.OFF),
        ("torch.inference_mode()", GradMode.INFERENCE),
        ("torch.enable_grad()", GradMode.ON),
        ("torch.set_grad_enabled(False)", GradMode.OFF),
        ("torch.set_grad_enabled(c())", GradMode.EITHER),
        ("open('x')", GradMode.ON),
    ],
)
def test_an_event_has_the_grad_mode_of_its_place(manager: str, mode: GradMode) -> None:
    found = run(f"with {manager}:\n    reveal(1)\nreveal(2)").of(Revealed)
    assert [(line(event.site), event.mode) for event in found] == [(2, mode), (3, GradMode.ON)]
