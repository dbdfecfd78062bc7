"""Events of custom autograd functions: each with its fields, and what must not give it."""

from __future__ import annotations

from textwrap import indent

import pytest

from autolint.interpreter.events import (
    ConstantGiven,
    Event,
    FunctionCalled,
    GradientForgotten,
    GradientsMiscounted,
    InputWritten,
    KeptOnContext,
)
from autolint.interpreter.events.functions import FUNCTION_BASES

from .running import Run, line, run


def function(forward: str, backward: str, inputs: str = "x", gradients: str = "g") -> str:
    """A custom function; its forward begins in line 2, its backward after that."""
    return (
        "class F(torch.autograd.Function):\n"
        f"    def forward(ctx, {inputs}):\n{indent(forward, ' ' * 8)}\n"
        f"    def backward(ctx, {gradients}):\n{indent(backward, ' ' * 8)}\n"
    )


def counts(found: Run) -> list[tuple[int, int, int]]:
    """Inputs, gradients and line of what is miscounted."""
    events = found.of(GradientsMiscounted)
    return [(each.inputs, each.returned, line(each.site)) for each in events]


@pytest.mark.parametrize(
    ("inputs", "backward", "expected"),
    [
        ("x, k", "return g * 2", [(2, 1, 5)]),
        ("x, k", "return (g * 2)", [(2, 1, 5)]),
        ("x, k", "return g", [(2, 1, 5)]),
        ("x, k", "return g.clone()", [(2, 1, 5)]),
        ("x, k", "h = -g\nh += 1\nreturn h", [(2, 1, 7)]),
        ("x, k", "g = g.contiguous()\nreturn g", [(2, 1, 6)]),
        ("x, k", "if ctx.f:\n    h = g * 2\nelse:\n    h = g * 3\nreturn h", [(2, 1, 9)]),
        ("x, k", "with torch.no_grad():\n    return g * 2", [(2, 1, 6)]),
        ("x, y, k", "found = g, None\nreturn found", [(3, 2, 6)]),
        ("x, y, k", "if ctx.f:\n    return None, None\nreturn g, g, g", [(3, 2, 6)]),
        ("x, k=1", "return g, None, g * 2", [(2, 3, 5)]),
        ("x, *more", "return ()", []),
        ("x, y, *more", "return g * 2", [(2, 1, 5)]),
        ("x, k", "return g * 2, None", []),
        ("x, k=1", "return g * 2", []),
        ("x", "return g, None, None", []),
        ("x", "h = None\nif ctx.f:\n    h = g * 2\nreturn g, h", []),
        ("x, *more", "return g, g * 2", []),
        ("x, k", "return helper(g)", []),
        ("x, k", "return (g, *rest)", []),
        ("x, k", "return (g,) * 2", []),
        ("x, k", "return g.unbind()", []),
        ("x, k", "h = helper(g)\nreturn h", []),
        ("x, k", "for h in g:\n    return h", []),
        ("x, k", "with helper(g) as g:\n    return g", []),
        ("x, k", "def inner():\n    return g * 2\nreturn inner()", []),
        ("x, k", "return grads", []),
    ],
)
def test_gradients_that_are_miscounted(
    inputs: str, backward: str, expected: list[tuple[int, int, int]]
) -> None:
    assert counts(run(function("return x * 2", backward, inputs))) == expected


@pytest.mark.parametrize(
    ("decorator", "counted"),
    [("torch.autograd.function.once_differentiable", 1), ("staticmethod", 1), ("helper", 0)],
)
def test_decorators_of_backward(decorator: str, counted: int) -> None:
    program = function("return x * k", "return g * 2", "x, k")
    program = program.replace("    def backward", f"    @{decorator}\n    def backward")
    assert len(counts(run(program))) == counted


def test_a_default_counts_where_it_is_given() -> None:
    program = function("return x * k", "return g * 2", "x, k=1")
    assert counts(run(program + "F.apply(torch.ones(1))")) == []
    event = run(program + "F.apply(torch.ones(1), 2)").one(GradientsMiscounted)
    assert (event.inputs, line(event.site), line(event.inputs_at)) == (2, 5, 6)


def test_gradients_of_tensors_that_lack() -> None:
    for saved, of_tensors in (("x", False), ("x, y", True)):
        program = function(f"ctx.save_for_backward({saved})\nreturn x", "return g * 2", "x, y")
        assert run(program).one(GradientsMiscounted).of_tensors is of_tensors


def test_setup_context_means_a_forward_without_context() -> None:
    program = function("return x * 2", "return g * 2").replace("forward(ctx, x)", "forward(x, k)")
    setup = "    def setup_context(ctx, inputs, output):\n        ctx.{}\n"
    kept = run(program + setup.format("result = output"))
    assert counts(kept) == [(2, 1, 5)]
    assert kept.one(KeptOnContext).attribute == "ctx.result"
    assert run(program + setup.format("k = inputs[1]")).of(KeptOnContext) == []


@pytest.mark.parametrize(
    ("backward", "given", "lines"),
    [
        ("return g, g.sum()", "2.0", [5]),
        ("return g, g * 2", "3", [5]),
        ("return g, None", "2.0", []),
        ("return g, g.sum()", "torch.ones(1)", []),
        ("return g, g.sum()", "some()", []),
        ("return g, helper(g)", "2.0", []),
    ],
)
def test_a_gradient_for_a_number(backward: str, given: str, lines: list[int]) -> None:
    program = function("return x * k", backward, "x, k")
    found = run(f"{program}F.apply(torch.ones(1), {given})").of(ConstantGiven)
    assert [line(each.site) for each in found] == lines
    assert all((each.name, line(each.call)) == ("k", 6) for each in found)


@pytest.mark.parametrize(
    ("backward", "forgotten"),
    [
        ("g * 2", True),
        ("h = g * 2\nif h.sum() > 0:\n    h.zero_()", True),
        ("pass", False),
        ("raise NotImplementedError(g)", False),
        ("return None", False),
        ("ctx.y.backward(g)", False),
        ("if g.sum() > 0:\n    return g", False),
    ],
)
def test_a_backward_that_returns_nothing(backward: str, forgotten: bool) -> None:
    found = run(function("return x * 2", backward)).of(GradientForgotten)
    assert [(each.function, line(each.site)) for each in found] == [("F", 4)] * forgotten


TESTED = "if ctx.a.sum():\n    g = -g\nreturn g"
DROPPED = "h = ctx.a\nctx.a = None\nreturn h * g"


@pytest.mark.parametrize(
    ("forward", "backward", "kept"),
    [
        ("ctx.a = x\nreturn x * 2", "return ctx.a * g", [("ctx.a", False, True)]),
        ("y = x * 2\nctx.a = y\nreturn y", "return g", [("ctx.a", True, True)]),
        ("ctx.a = x * 2\nreturn ctx.a", "return g", [("ctx.a", True, False)]),
        (
            "ctx.save_for_backward(x)\ny = x * 2\nctx.a = y\nreturn y",
            "return g",
            [("ctx.a", True, False)],
        ),
        ("ctx.a = x\nreturn x * 2", TESTED, [("ctx.a", False, True)]),
        ("ctx.a = x\nreturn x * 2", DROPPED, [("ctx.a", False, False)]),
        ("ctx.a = x\nreturn x * 2", "f(ctx)\nreturn ctx.a * g", [("ctx.a", False, False)]),
        ("ctx.a = x\nreturn x * 2", "return ctx.a.shape[0] * g", []),
        ("ctx.a = x\nreturn x * 2", "return g", []),
        ("ctx.a = x\nreturn x * 2", "return None", []),
        ("ctx.a = x.shape\nreturn x * 2", "return g * ctx.a[0]", []),
        ("x = x + 1\nctx.a = x\nreturn x * 2", "return g * ctx.a", []),
        ("ctx.a = x > 0\nreturn x * 2", "return g * ctx.a", []),
        ("y = x * 2\nctx.a = y\ny = y + 1\nreturn y", "return g", []),
        ("y = x * 2\nctx.a = y\nreturn y, x.shape", "return g", []),
        ("y = x * 2\nctx.a = y\nctx.mark_non_differentiable(y)\nreturn y", "return g", []),
        ("y = x * 2\nctx.a = y.detach()\nreturn y", "return g", []),
    ],
)
def test_what_is_kept_on_the_context(
    forward: str, backward: str, kept: list[tuple[str, bool, bool]]
) -> None:
    found = run(function(forward, backward)).of(KeptOnContext)
    assert [(each.attribute, each.output, each.alone) for each in found] == kept


@pytest.mark.parametrize(
    ("write", "written"),
    [
        ("x.mul_(2)", True),
        ("x.mul_(2).add_(1)", True),
        ("x += 1", True),
        ("x[0] = 1", True),
        ("y = x.relu_()", True),
        ("x.mul_(2)\nctx.mark_dirty(x)", False),
        ("x = x.clone()\nx.mul_(2)", False),
        ("x.mul(2)", False),
        ("x.requires_grad_()", False),
        ("x.__len__()", False),
        ("k.mul_(2)", False),
    ],
)
def test_an_input_that_is_written(write: str, written: bool) -> None:
    found = run(function(f"{write}\nreturn x", "return g * 2, None", "x, k")).of(InputWritten)
    assert [(each.name, line(each.site)) for each in found] == [("x", 3)] * written


NUMBER = function("return x * 2", "return g * 2")
INIT = NUMBER + "    def __init__(self, k):\n        self.k = k\n"
LEAF = "w = torch.ones(1, requires_grad=True)\n"


@pytest.mark.parametrize(
    ("program", "by"),
    [
        (f"{NUMBER}F()(torch.ones(1))", ["instance"]),
        (f"{NUMBER}f = F()\nf(torch.ones(1))", ["instance"]),
        (INIT, ["constructor"]),
        (f"{INIT}F(1)(torch.ones(1))", ["constructor"]),
        (f"{LEAF}{NUMBER}F.forward(None, w)", ["forward"]),
        (f"{LEAF}{NUMBER}F.apply(w)", []),
        (f"{LEAF}{NUMBER}F.forward(None, w.detach())", []),
        (f"{LEAF}{NUMBER}with torch.no_grad():\n    F.forward(None, w)", []),
        (INIT.replace("def __init__(self, k)", "def __init__(self)"), []),
        (INIT.replace("    def forward", "    @staticmethod\n    def forward"), []),
    ],
)
def test_how_a_function_is_called(program: str, by: list[str]) -> None:
    assert [each.by for each in run(program).of(FunctionCalled)] == by


ANY = {GradientsMiscounted, KeptOnContext, InputWritten, GradientForgotten, FunctionCalled}


@pytest.mark.parametrize("base", ["Function", "object", "torch.nn.Module", "Unknown"])
def test_only_functions_of_torch(base: str) -> None:
    program = function("x.mul_(2)\nctx.x = x\nreturn x", "return ctx.x * g", "x, k")
    found = run(program.replace("torch.autograd.Function", base))
    assert not ANY & {type(each) for each in found.events}


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("import torch.autograd as ag\n", "ag.Function"),
        ("from torch.autograd import Function as Fn\n", "Fn"),
        ("from torch.autograd.function import InplaceFunction\n", "InplaceFunction"),
        ("class Base(torch.autograd.Function):\n    pass\n", "Base"),
    ],
)
def test_functions_of_torch_by_any_name(head: str, base: str) -> None:
    program = head + function("return x", "return g * 2", "x, k")
    wanted: frozenset[type[Event]] = frozenset({GradientsMiscounted})
    found = run(program.replace("F(torch.autograd.Function)", f"F({base})"))
    assert wanted <= {type(each) for each in found.events}
    assert FUNCTION_BASES
