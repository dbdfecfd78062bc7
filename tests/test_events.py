"""Each event: a small program that gives it, with its fields, and one that must not."""

from __future__ import annotations

import pytest

from autolint.autograd.describe import describe
from autolint.autograd.values import MAYBE, NO, YES, GradMode, Kind, Through, Tri
from autolint.interpreter.events import (
    Age,
    AliasKept,
    AliasReshaped,
    Attempt,
    Backward,
    ClassDecorated,
    ConstantGiven,
    DataRebind,
    Discarded,
    Event,
    FlagMissed,
    FlagRefused,
    FreshLayerCalled,
    FrozenMoves,
    FunctionalDropout,
    FunctionCalled,
    GeneratorReused,
    GivenToNumpy,
    GradientClipped,
    GradientForgotten,
    GradientsMiscounted,
    GradModeUnused,
    GradRead,
    InitMissing,
    InPlaceWrite,
    InputWritten,
    KeptOnContext,
    LayersRepeated,
    LeafLost,
    LeafRebound,
    LeafWritten,
    LoopFinished,
    LossApplied,
    ModuleBuilt,
    NothingTrained,
    OffAliasUsed,
    OptimizerStep,
    PartReplaced,
    PartsHidden,
    PartTooEarly,
    RequiresGradSet,
    Revealed,
    SavedBy,
    SavedWritten,
    SchedulerTooEarly,
    SnapshotUsed,
    SourceUsed,
    SteppedInEval,
    YieldedInMode,
)

from .running import EVERY_EVENT, line, run

W = "w = torch.ones(2, requires_grad=True)\n"


def saving(found: tuple[SavedBy, ...]) -> set[tuple[str, int, Tri]]:
    """Operation, line and certainty of those that saved a value."""
    return {
        (each.operation, line(each.origin), each.sure) for each in found if each.origin is not None
    }


def test_every_event_is_tested_here() -> None:
    tested = {
        Attempt,
        AliasKept,
        AliasReshaped,
        Backward,
        ClassDecorated,
        ConstantGiven,
        DataRebind,
        FunctionCalled,
        GradientForgotten,
        GradientsMiscounted,
        InputWritten,
        KeptOnContext,
        GradRead,
        GradientClipped,
        Discarded,
        FlagMissed,
        GeneratorReused,
        GivenToNumpy,
        GradModeUnused,
        FlagRefused,
        InPlaceWrite,
        LeafLost,
        LeafRebound,
        LeafWritten,
        LoopFinished,
        FreshLayerCalled,
        FrozenMoves,
        FunctionalDropout,
        InitMissing,
        LayersRepeated,
        PartReplaced,
        PartsHidden,
        PartTooEarly,
        LossApplied,
        ModuleBuilt,
        NothingTrained,
        OffAliasUsed,
        OptimizerStep,
        SchedulerTooEarly,
        SteppedInEval,
        RequiresGradSet,
        Revealed,
        SavedWritten,
        SnapshotUsed,
        SourceUsed,
        YieldedInMode,
    }
    assert tested == EVERY_EVENT


@pytest.mark.parametrize("kind", sorted(EVERY_EVENT, key=str))
def test_an_event_that_nobody_wants_is_not_given(kind: type[Event]) -> None:
    """A program full of events tells a sink only what it asked for."""
    program = W + (
        "u = torch.ones(2, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([w], lr=0.1)\n"
        "with torch.no_grad():\n    v = w.view(2)\n"
        "w.data.mul_(2)\nw.data = torch.zeros(2)\n(v * w).sum().backward()\noptimizer.step()\n"
        "torch.nn.utils.clip_grad_norm_([w], 1.0)\n"
        "reveal(w)\nw.add_(1)\ny = w.exp()\ny += 1\n"
        "w.grad = None\nw.grad.zero_()\nw = w * 2\n"
        "torch.optim.SGD([w, torch.ones(2, requires_grad=True).double()])\n"
        "w.detach()\ntorch.no_grad()\nnn.Linear(1, 1).requires_grad = False\n"
        "w.numpy()\n"
        "def g():\n    with torch.no_grad():\n        yield 1\ng()\n"
        "reveal(w)\nw.add_(1)\ny = w.exp()\ny += 1\ny.requires_grad = True\n"
        "class M(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.t = torch.ones(2)\n"
        "M()\ntotal = 0.0\n"
        "for i in range(9):\n    z = (u * u).sum()\n    z.backward()\n    total = total + z\n"
        "M()\n"
        "@torch.no_grad()\nclass N:\n    pass\n"
        "nn.ModuleList([nn.Linear(2, 2)] * 2)\n"
        "class F(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return nn.Linear(2, 2)(nn.functional.dropout(x))\n"
        "class H(nn.Module):\n"
        "    def __init__(self):\n        self.a = [nn.Linear(2, 2), nn.Linear(2, 2)]\n"
        "        self.b = nn.Linear(2, 2)\n    def forward(self, x):\n        return x\nH()\n"
        "nn.functional.cross_entropy(w.softmax(0), w)\n"
        "u.data.t_()\n"
        "net = nn.Linear(2, 2)\nnet.train()\n"
        "fit = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "kept, alias = net.state_dict(), net.weight.detach()\n"
        "for i in range(9):\n    net.eval()\n    fit.step()\n"
        "net.load_state_dict(kept)\nalias + 1\n"
        "late = torch.optim.SGD([u], lr=0.1)\n"
        "scheduler = torch.optim.lr_scheduler.StepLR(late, 1)\n"
        "for i in range(9):\n    scheduler.step()\n    late.step()\n"
        "params = net.parameters()\nlist(params)\nlist(params)\n"
        "old = nn.Linear(2, 2)\nheld = torch.optim.SGD(old.parameters(), lr=0.1)\n"
        "old = nn.Linear(2, 2)\nold(w).sum().backward()\nheld.step()\n"
        "kept = nn.Linear(2, 2)\nmoves = torch.optim.SGD(kept.parameters(), lr=0.1)\n"
        "kept(w).sum().backward()\nmoves.step()\nkept.requires_grad_(False)\nmoves.step()\n"
        "none = torch.optim.SGD(nn.Linear(2, 2).requires_grad_(False).parameters())\nnone.step()\n"
        "class P(torch.autograd.Function):\n"
        "    def forward(ctx, x, k):\n        x.mul_(k)\n        ctx.x = x\n        return x\n"
        "    def backward(ctx, g):\n        if ctx.x.sum() > 0:\n            return 2 * g\n"
        "        return g * 2, g * 3\n"
        "class Q(torch.autograd.Function):\n"
        "    def forward(ctx, x):\n        return x * 2\n"
        "    def backward(ctx, g):\n        2 * g\n"
        "P.apply(u, 3)\nQ()(u)\n"
    )
    assert {type(event) for event in run(program, kind).events} == {kind}


# ---------------------------------------------------------------------- attempts


@pytest.mark.parametrize(
    ("lines", "attempts"),
    [
        ("w.add_(1)", [("in-place write", YES)]),
        ("with torch.no_grad():\n    w.add_(1)", [("in-place write", NO)]),
        ("w[0].add_(1)", [("in-place write", YES)]),
        ("v = w.unbind()[0]\nv.add_(1)", [("in-place write", YES)]),
        ("x = w * 2\nv = x.unbind()[0]\nv.add_(1)", [("in-place write", YES)]),
        ("v = torch.ones(2).unbind()[0]\nv.add_(1)", [("in-place write", NO)]),
        ("v = torch.ones(2).chunk(2)[0]\nv[:1].add_(w)", [("in-place write", YES)]),
        ("w.detach().add_(1)", [("in-place write", NO)]),
        ("def f(x):\n    x.add_(1)", []),
        ("w.sum().backward()", [("backward", NO)]),
        ("w.backward()", [("backward", MAYBE)]),
        ("w.backward(torch.ones(2))", [("backward", NO)]),
        ("w.detach().sum().backward()", [("backward", YES)]),
        ("y = (w * 2).sum()\ny.backward()\ny.backward()", [("backward", NO), ("backward", YES)]),
        ("y = w.exp()\ny.add_(1)\ny.sum().backward()", [("in-place write", NO), ("backward", YES)]),
        ("y = w.exp()\nif f():\n    y.add_(1)\ny.sum().backward()", None),
        ("def f(x):\n    x.backward()", []),
    ],
)
def test_an_attempt_says_whether_torch_refuses(
    lines: str, attempts: list[tuple[str, Tri]] | None
) -> None:
    if attempts is None:
        attempts = [("in-place write", NO), ("backward", MAYBE)]
    found = run(W + lines, Attempt).events
    assert [(each.act, each.raises) for each in found if isinstance(each, Attempt)] == attempts


# ---------------------------------------------------------------------- writes


@pytest.mark.parametrize(
    ("write", "through", "target", "operation"),
    [
        ("w.data.mul_(2)", Through.DATA, "w.data", "mul_"),
        ("w.detach().mul_(2)", Through.DETACH, "w.detach()", "mul_"),
        ("w.data += 1", Through.DATA, "w.data", "+="),
        ("w.data[0] = 1", Through.DATA, "w.data", "[...] ="),
    ],
)
def test_a_write_through_an_alias(
    write: str, through: Through, target: str, operation: str
) -> None:
    event = run(W + "y = (w * w).sum()\n" + write).one(InPlaceWrite)
    assert line(event.site) == 3
    assert (event.through, event.target_text) == (through, target)
    assert event.operation == operation
    assert describe(event.target) == "tensor no-grad leaf float rank=1"
    assert describe(event.base) == "tensor grad leaf float rank=1"
    assert saving(event.saved_by) == {(".mul", 2, YES)}
    assert event.parameter is NO


def test_a_write_through_numpy() -> None:
    event = run(W + "y = w.exp()\na = y.detach().numpy()\na += 1").one(InPlaceWrite)
    assert (line(event.site), event.through, event.target_text) == (4, Through.NUMPY, "a")
    assert saving(event.saved_by) == {(".exp", 2, YES)}


def test_a_write_tells_where_the_alias_was_made() -> None:
    event = run(W + "d = w.data\n\nd.add_(1)").one(InPlaceWrite)
    assert event.made is not None
    assert (line(event.site), line(event.made), event.made.text) == (4, 2, "w.data")
    assert event.saved_by == ()


def test_a_write_to_a_parameter_of_a_module() -> None:
    event = run("m = nn.Linear(2, 2)\nm.weight.data.zero_()").one(InPlaceWrite)
    assert (event.parameter, event.target_text) == (YES, "m.weight.data")


@pytest.mark.parametrize(
    ("between", "sure"),
    [
        ("y.backward()", None),
        ("y.backward(retain_graph=True)", YES),
        ("c() and y.backward()", None),
    ],
)
def test_what_a_freed_graph_saved_is_not_counted(between: str, sure: Tri | None) -> None:
    event = run(W + f"y = (w * w).sum()\n{between}\nw.data.add_(1)").one(InPlaceWrite)
    certain = {found for *_, found in saving(event.saved_by)}
    assert (YES in certain) is (sure is YES)


@pytest.mark.parametrize(
    "quiet",
    [
        "w.add_(1)",  # autograd sees it
        "with torch.no_grad():\n    w.add_(1)",
        "w.data.add(1)",  # not in place
        "w.clone().data.shape",
        "a = w.detach().clone()\nb = a + 1",
    ],
)
def test_no_write_through_an_alias(quiet: str) -> None:
    assert all(event.through is Through.SELF for event in run(W + quiet).of(InPlaceWrite))


def test_the_source_of_a_written_alias_is_used() -> None:
    found = run(
        W + "y = w.exp()\ny.detach().zero_()\nz = y * 2\nu = y * 3", SourceUsed, InPlaceWrite
    )
    event = found.one(SourceUsed)
    assert line(event.site) == 4
    assert event.write is found.one(InPlaceWrite)
    assert describe(event.tensor) == "tensor grad non-leaf float rank=1"


@pytest.mark.parametrize(
    "quiet",
    [
        "y.detach().zero_()",  # never used
        "y.detach().zero_()\nwith torch.no_grad():\n    z = y * 2",
        "y.clone().detach().zero_()\nz = y * 2",  # other memory
        "y.detach().zero_()\ny = w.exp()\nz = y * 2",  # another tensor of that name
    ],
)
def test_no_use_of_what_was_written(quiet: str) -> None:
    assert run(W + "y = w.exp()\n" + quiet).of(SourceUsed) == []


@pytest.mark.parametrize(
    ("write", "operation"),
    [
        ("y += 1", "+="),
        ("y.mul_(2)", "mul_"),
        ("y[0] = 1", "[...] ="),
        ("y.view(2).neg_()", "neg_"),
    ],
)
def test_a_saved_value_is_written_itself(write: str, operation: str) -> None:
    event = run(W + "y = w.exp()\n" + write).one(SavedWritten)
    assert (line(event.site), event.through, event.operation) == (3, Through.SELF, operation)
    assert saving(event.saved_by) == {(".exp", 2, YES)}
    assert describe(event.base).startswith("tensor grad non-leaf")


@pytest.mark.parametrize(
    "quiet",
    [
        "y = w + 1\ny += 1",  # saved by nobody
        "y = w.exp()\ny = y * 2\ny += 1",  # another tensor of that name
        "y = w.exp()\ny.sum().backward()\ny += 1",  # freed
        "y = w.exp()\nz = y.clone()\nz += 1",
        "y = torch.ones(2).exp()\ny += 1",
    ],
)
def test_no_saved_value_is_written(quiet: str) -> None:
    assert run(W + quiet).of(SavedWritten) == []


@pytest.mark.parametrize(
    ("write", "target"),
    [
        ("w += 1", "w"),
        ("w.view(2).add_(1)", "w.view(2)"),
        ("w[0] = 1", "w"),
        ("torch.relu_(w)", "w"),
        ("nn.functional.relu(w, inplace=True)", "w"),
        ("torch.add(torch.ones(2), 1, out=w)", "w"),
    ],
)
def test_a_leaf_is_written(write: str, target: str) -> None:
    event = run(W + write).one(LeafWritten)
    assert (line(event.site), event.target_text, event.mode) == (2, target, GradMode.ON)


@pytest.mark.parametrize(
    "quiet",
    [
        "with torch.no_grad():\n    w += 1",
        "w.data += 1",
        "nn.init.zeros_(w)",
        "w = w.clone()\nw[0] = 1",
        "w.requires_grad_(False)\nw += 1",
        "w = w * 2\nw += 1",
    ],
)
def test_no_leaf_is_written(quiet: str) -> None:
    assert run(W + quiet).of(LeafWritten) == []


# ---------------------------------------------------------------------- backward


def test_a_backward_over_a_good_graph() -> None:
    event = run(W + "y = (w * w).sum()\ny.backward()").one(Backward)
    assert (line(event.site), event.stale, event.freed) == (3, (), ())
    assert describe(event.loss) == "tensor grad non-leaf float rank=0"


@pytest.mark.parametrize(
    ("change", "through"),
    [
        ("w.data.mul_(2)", Through.DATA),
        ("w.detach().mul_(2)", Through.DETACH),
        ("w.detach().numpy()[0] = 1", Through.NUMPY),
    ],
)
def test_a_backward_meets_a_changed_value(change: str, through: Through) -> None:
    found = run(W + f"y = (w * w).sum()\n{change}\ny.backward()", Backward, InPlaceWrite)
    event = found.one(Backward)
    assert {(each.operation, each.through) for each in event.stale} == {(".mul", through)}
    assert all(each.write is found.one(InPlaceWrite) for each in event.stale)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ("y += 1", SavedWritten),
        ("with torch.no_grad():\n    y.zero_()", SavedWritten),
        ("nn.init.zeros_(m.weight)", SavedWritten),
        ("m.load_state_dict(c())", SavedWritten),
        ("y.sum().backward(retain_graph=True)\noptimizer.step()", OptimizerStep),
    ],
)
def test_a_backward_meets_a_value_that_was_written(change: str, kind: type[Event]) -> None:
    text = (
        W + "m = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(m.parameters(), lr=1)\n"
        f"y = m(w.tanh()).exp()\n{change}\ny.sum().backward()"
    )
    event = run(text).of(Backward)[-1]
    assert {type(each.write) for each in event.stale} == {kind}
    assert {each.through for each in event.stale} == {Through.SELF}


@pytest.mark.parametrize(
    "change",
    [
        "nn.init.zeros_(m.bias)",  # saved by nobody
        "optimizer.step()",  # no gradient yet: nothing is written
        "torch.optim.SGD([w], lr=1).step()",
    ],
)
def test_a_backward_meets_no_value_that_was_written(change: str) -> None:
    text = (
        W + "m = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(m.parameters(), lr=1)\n"
        f"y = m(w.tanh()).exp()\n{change}\ny.sum().backward()"
    )
    assert run(text).one(Backward).stale == ()


def test_a_backward_meets_other_memory() -> None:
    found = run(W + "y = (w * w).sum()\nw.data = torch.zeros(2)\ny.backward()")
    assert {each.through for each in found.one(Backward).stale} == {Through.DATA}
    assert all(each.write is found.one(DataRebind) for each in found.one(Backward).stale)


def test_a_second_backward_meets_freed_nodes() -> None:
    first, second = run(W + "y = (w * w).sum()\ny.backward()\ny.backward()").of(Backward)
    assert first.freed == ()
    [node] = second.freed
    assert node.made is not None
    assert node.freed_at is first.site
    assert (node.operation, line(node.made), node.taken, node.age) == (".mul", 2, None, Age.SAME)


@pytest.mark.parametrize(
    ("body", "age", "names"),
    [
        ("h = (h * w).exp()\n    h.sum().backward()", Age.ITERATION, ["h"]),
        ("y = h + w\n    (y * 2).sum().backward()", Age.BEFORE, []),
        ("h.sum().backward()\n    h.sum().backward()", Age.BEFORE, []),
        ("y = w.exp()\n    y.sum().backward()\n    (y + 1).sum().backward()", Age.SAME, []),
    ],
)
def test_how_old_a_freed_node_is(body: str, age: Age, names: list[str]) -> None:
    events = run(W + f"h = w.exp()\nfor i in range(99):\n    {body}").of(Backward)
    last = [event for event in events if event.freed][-1].freed[0]
    assert (last.age, [each.name for each in last.carried]) == (age, names)


@pytest.mark.parametrize(
    ("first", "second", "met"),
    [
        ("torch.autograd.grad(y, w)", "y.backward()", True),
        ("torch.autograd.grad(y, [w], retain_graph=True)", "y.backward()", False),
        ("torch.autograd.grad(y, a)", "a.sum().backward()", False),
        ("y.backward(inputs=[v])", "a.sum().backward()", False),
        ("y.backward(inputs=[w])", "a.sum().backward()", True),
        ("y.backward(inputs=which())", "a.sum().backward()", False),
        ("torch.autograd.backward([y, a.sum()])", "z = 1", False),
    ],
)
def test_only_what_leads_to_the_inputs_is_freed(first: str, second: str, met: bool) -> None:
    program = f"v = torch.ones(2, requires_grad=True)\na = w.exp()\ny = (a * v).sum()\n{first}\n"
    events = run(W + program + second).of(Backward)
    assert bool(events[-1].freed) is met


@pytest.mark.parametrize(
    "program",
    [
        "y = (w * w).sum()\ny.backward(retain_graph=True)\ny.backward()",
        "y = (w * w).sum()\ny.backward()\ny = (w * w).sum()\ny.backward()",
        "y = (w + 1).sum()\ny.backward()\ny.backward()",  # saves nothing
        "y = (w + 1).sum()\nw.data.mul_(2)\ny.backward()",
        "y = (w * w).sum()\nif c():\n    y.backward()\ny.backward()",
        "w.data.mul_(2)\ny = (w * w).sum()\ny.backward()",
    ],
)
def test_a_backward_that_meets_nothing_wrong(program: str) -> None:
    for event in run(W + program).of(Backward):
        assert (event.stale, event.freed) == ((), ())


def test_no_backward() -> None:
    assert run("def backward():\n    pass\nbackward()").of(Backward) == []


# ---------------------------------------------------------------------- other memory


def test_a_rebind_of_data() -> None:
    event = run(W + "y = (w * w).sum()\nw.data = torch.zeros(3, 3)").one(DataRebind)
    assert (line(event.site), event.target_text, event.ties) == (3, "w", None)
    assert describe(event.target).startswith("tensor grad leaf float")
    assert describe(event.value) == "tensor no-grad leaf float rank=2"
    assert saving(event.saved_by) == {(".mul", 2, YES)}
    assert event.parameter is NO


def test_a_rebind_that_ties_two_weights() -> None:
    text = "a, b = nn.Linear(2, 2), nn.Linear(2, 2)\na.weight.data = b.weight.data"
    event = run(text).one(DataRebind)
    assert (event.target_text, event.parameter) == ("a.weight", YES)
    assert event.ties is not None
    assert describe(event.ties) == "tensor grad leaf float"


@pytest.mark.parametrize("quiet", ["w.data[:] = 0", "x = w.data", "box.data = 3"])
def test_no_rebind(quiet: str) -> None:
    assert run(W + quiet).of(DataRebind) == []


# ---------------------------------------------------------------------- flags


@pytest.mark.parametrize(
    ("program", "how", "value", "target"),
    [
        ("n.requires_grad_()", "method", YES, "n"),
        ("n.requires_grad_(False)", "method", NO, "n"),
        ("n.requires_grad_(c())", "method", MAYBE, "n"),
        ("n.requires_grad = True", "attribute", YES, "n"),
        ("nn.Parameter(n)", "parameter", YES, "n"),
        ("nn.Parameter(n, requires_grad=False)", "parameter", NO, "n"),
    ],
)
def test_a_tensor_is_asked_to_require_grad(program: str, how: str, value: Tri, target: str) -> None:
    event = run(f"n = torch.ones(2, dtype=torch.int64)\n{program}").one(RequiresGradSet)
    assert line(event.site) == 2
    assert (event.how, event.value, event.target_text) == (how, value, target)
    assert event.kind is Kind.INT
    assert event.made is not None
    assert line(event.made) == 1


def test_a_factory_is_asked_to_require_grad() -> None:
    event = run("w = torch.arange(3, requires_grad=True)").one(RequiresGradSet)
    assert (event.how, event.value, event.kind) == ("keyword", YES, Kind.INT)


@pytest.mark.parametrize(
    "quiet", ["torch.ones(2)", "n = torch.ones(2).requires_grad", "nn.Linear(1, 1)"]
)
def test_nothing_is_asked_to_require_grad(quiet: str) -> None:
    assert run(quiet).of(RequiresGradSet) == []


@pytest.mark.parametrize(
    ("change", "how"),
    [
        ("y.requires_grad = False", "attribute"),
        ("y.requires_grad = True", "attribute"),
        ("y.requires_grad_(False)", "method"),
        ("y[0:1].detach_()", "detach_"),
    ],
)
def test_a_flag_of_a_result_is_refused(change: str, how: str) -> None:
    event = run(W + "y = w * 2\n" + change).one(FlagRefused)
    assert (line(event.site), event.how) == (3, how)


@pytest.mark.parametrize(
    "quiet", ["w.requires_grad = False", "y.requires_grad_()", "y.detach_()", "y.clone().detach_()"]
)
def test_no_flag_is_refused(quiet: str) -> None:
    assert run(W + "y = w * 2\n" + quiet).of(FlagRefused) == []
