"""Events of statements without effect: each by a program that gives it, and one that must not."""

from __future__ import annotations

import pytest

from autolint.autograd.values import Grade
from autolint.interpreter.events import (
    Discarded,
    FlagMissed,
    GivenToNumpy,
    GradModeUnused,
    YieldedInMode,
)

from .running import line, run

X = "x = torch.ones(2)\n"


@pytest.mark.parametrize(
    ("program", "kind", "operation", "called"),
    [
        (X + "x.detach()", "tensor", "detach", True),
        (X + "torch.clamp(x, 0)", "tensor", "clamp", True),
        (X + "x.view(2).float()", "tensor", "float", True),
        (X + "x.requires_grad_", "tensor", "requires_grad_", False),
        ("nn.Linear(1, 1).eval", "module", "eval", False),
        ("torch.optim.SGD([torch.ones(1)], 1).step", "optimizer", "step", False),
        ("import u\nu.optimizer.step", "optimizer", "step", False),
        ("import u\nu.scheduler.step", "scheduler", "step", False),
        ("import u\nu.thing.step", "unknown", "step", False),
        ("import u\nu.loss.backward", "unknown", "backward", False),
    ],
)
def test_a_statement_without_effect(program: str, kind: str, operation: str, called: bool) -> None:
    event = run(program, Discarded).one(Discarded)
    assert (event.kind, event.operation, event.called) == (kind, operation, called)
    assert not event.trial
    assert event.local


@pytest.mark.parametrize(
    "statement",
    [
        "nn.Linear(1, 1).to('cpu')",
        "x.clamp_(0)",
        "torch.clamp(x, 0, out=x)",
        "torch.zeros(1).cuda()",  # What a call made is computed for its own sake.
        "torch.stack([x]).to('cpu')",
        "x.expand_as(x)",
        "x.item()",
        "import u\nu.x.detach()",  # The use that is judged proves nothing.
        "y = x.detach()",
        "print(x.detach())",
    ],
)
def test_a_statement_that_may_have_an_effect(statement: str) -> None:
    assert not run(X + statement, Discarded).events


def test_evidence_is_that_of_before_the_call() -> None:
    event = run("def f(x: torch.Tensor):\n    x.detach()\n", Discarded).one(Discarded)
    assert event.grade is Grade.ANNOTATED


def test_a_name_of_another_scope() -> None:
    event = run(X + "def f():\n    x.detach()\nf()\n", Discarded).one(Discarded)
    assert not event.local


@pytest.mark.parametrize(
    ("program", "trial"),
    [
        (X + "try:\n    x.view(3)\nexcept RuntimeError:\n    pass\n", True),
        (X + "import contextlib\nwith contextlib.suppress(ValueError):\n    x.view(3)\n", True),
        (X + "try:\n    for i in (1,):\n        x.view(3)\nexcept OSError:\n    pass\n", False),
    ],
)
def test_statements_that_are_tried_out(program: str, trial: bool) -> None:
    assert {event.trial for event in run(program, Discarded).of(Discarded)} == {trial}


# ---------------------------------------------------------------------- grad modes and flags


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("torch.no_grad()", "dropped"),
        ("from torch import inference_mode\ninference_mode()", "dropped"),
        ("with torch.no_grad:\n    pass", "uncalled"),
        ("torch.no_grad().__enter__()", "entered"),
        ("def f():\n    torch.set_grad_enabled(False)\nf()", "switched"),
    ],
)
def test_a_grad_mode_without_the_wanted_effect(program: str, how: str) -> None:
    assert run(program, GradModeUnused).one(GradModeUnused).how == how


@pytest.mark.parametrize(
    "program",
    [
        "with torch.no_grad():\n    pass",
        "torch.set_grad_enabled(False)",  # A script: for all that follows.
        "def f():\n    torch.set_grad_enabled(False)\n    torch.set_grad_enabled(True)\nf()",
        "c = torch.no_grad()\nc.__enter__()\nc.__exit__(None, None, None)",
        "@torch.no_grad\ndef f():\n    pass",
    ],
)
def test_a_grad_mode_that_is_used(program: str) -> None:
    assert not run(program, GradModeUnused).events


def test_yield_inside_a_block() -> None:
    program = "def g():\n    with torch.no_grad():\n        yield 1\n    yield 2\ng()\n"
    event = run(program, YieldedInMode).one(YieldedInMode)
    assert (line(event.site), line(event.block)) == (3, 2)
    assert not event.evaluation


@pytest.mark.parametrize(
    "program",
    [
        "def g():\n    with torch.enable_grad():\n        yield 1\ng()\n",
        "import contextlib\n@contextlib.contextmanager\n"
        "def g():\n    with torch.no_grad():\n        yield 1\ng()\n",
        "@torch.no_grad()\ndef g():\n    yield 1\ng()\n",
    ],
)
def test_yield_that_leaks_nothing(program: str) -> None:
    assert not run(program, YieldedInMode).events


@pytest.mark.parametrize(
    ("program", "kind", "own"),
    [
        ("nn.Linear(1, 1).requires_grad = False", "module", False),
        (X + "x.require_grad = True", "tensor", False),
        (
            "class M(nn.Module):\n    requires_grad = True\nM().requires_grad = False",
            "module",
            True,
        ),
    ],
)
def test_a_flag_that_is_missed(program: str, kind: str, own: bool) -> None:
    event = run(program, FlagMissed).one(FlagMissed)
    assert (event.kind, event.own) == (kind, own)


def test_the_flag_of_a_tensor_is_not_missed() -> None:
    assert not run(X + "x.requires_grad = True", FlagMissed).events


# ---------------------------------------------------------------------- numpy

W = "import numpy as np\nw = torch.ones(2, requires_grad=True)\n"


@pytest.mark.parametrize(
    ("call", "function", "listed"),
    [
        ("w.numpy()", None, False),
        ("np.sqrt(w)", "sqrt", False),
        ("np.mean([w, w])", "mean", True),
    ],
)
def test_a_tensor_given_to_numpy(call: str, function: str | None, listed: bool) -> None:
    event = run(W + call, GivenToNumpy).one(GivenToNumpy)
    assert (event.function, event.listed) == (function, listed)


@pytest.mark.parametrize(
    "call", ["w.detach().numpy()", "np.ndim(w)", "w.numpy(force=True)", "np.mean([1, 2])"]
)
def test_what_numpy_can_take(call: str) -> None:
    assert not run(W + call, GivenToNumpy).events
