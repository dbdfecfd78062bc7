"""Steps, aliases made under no_grad, and modules, as events."""

from __future__ import annotations

import pytest

from autolint.autograd.describe import describe
from autolint.autograd.values import MAYBE, NO, YES, Word
from autolint.interpreter.class_facts import ClassFacts
from autolint.interpreter.events import (
    GradientClipped,
    LoopFinished,
    ModuleBuilt,
    OffAliasUsed,
    OptimizerStep,
    SchedulerTooEarly,
)

from .running import line, run

W = "w = torch.ones(2, requires_grad=True)\n"
LOSS = "(w * w).sum().backward()\n"
SGD = W + "optimizer = torch.optim.SGD([w], lr=0.1)\n"


def words(event: OptimizerStep) -> list[set[Word]]:
    return [set(each.words) for each in event.sets]


# ---------------------------------------------------------------------- steps


def test_a_step_in_a_loop_without_a_clear() -> None:
    program = f"for i in range(99):\n    {LOSS}    optimizer.step()"
    first, second = run(SGD + program).of(OptimizerStep)
    assert (words(first), words(second)) == ([{Word.FRESH}], [{Word.STALE}])
    assert first.sets[0].stale_at is None
    assert second.sets[0].stale_at is not None
    assert line(second.sets[0].stale_at) == 4
    for event in (first, second):
        assert (line(event.site), event.optimizer_text) == (5, "optimizer")
        assert (event.backwards_in_loop, event.optimizers_in_loop) == (1, 1)


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("", Word.NONE),
        (LOSS, Word.FRESH),
        (LOSS + "optimizer.step()\n", Word.USED),
        (LOSS + "optimizer.step()\n" + LOSS, Word.STALE),
        (LOSS + "optimizer.step()\noptimizer.zero_grad()\n" + LOSS, Word.FRESH),
        (LOSS + "optimizer.zero_grad()\n", Word.DROPPED),
        (LOSS + "w.grad = None\n", Word.DROPPED),
        (LOSS + "x = w.grad\noptimizer.zero_grad()\n", Word.NONE),
        (LOSS + "w.grad = torch.ones(2)\n", Word.UNKNOWN),
        (LOSS + "w.grad *= 2\n", Word.UNKNOWN),
        (LOSS + "track(optimizer)\n", Word.UNKNOWN),
    ],
)
def test_the_state_of_gradients_at_a_step(before: str, word: Word) -> None:
    last = run(SGD + before + "optimizer.step()").of(OptimizerStep)[-1]
    assert words(last) == [{word}]


def test_gradients_that_a_branch_filled_are_in_two_states() -> None:
    event = run(SGD + f"if c():\n    {LOSS}optimizer.step()").one(OptimizerStep)
    assert words(event) == [{Word.NONE, Word.FRESH}]


def test_a_step_after_a_clear_tells_where_it_was() -> None:
    event = run(SGD + LOSS + "optimizer.zero_grad()\noptimizer.step()").one(OptimizerStep)
    assert event.sets[0].dropped_at is not None
    assert line(event.sets[0].dropped_at) == 4


def test_optimizers_that_step_in_one_loop_are_counted() -> None:
    program = (
        "other = torch.optim.SGD([w], lr=0.1)\nfor i in range(99):\n"
        f"    {LOSS}    optimizer.step()\n    {LOSS}    other.step()"
    )
    found = run(SGD + program).of(OptimizerStep)
    counted = [
        (event.optimizer_text, event.backwards_in_loop, event.optimizers_in_loop) for event in found
    ]
    assert counted[:2] == [("optimizer", 1, 1), ("other", 2, 2)]


def test_a_step_through_a_scaler_names_the_optimizer() -> None:
    event = run(SGD + "scaler = torch.amp.GradScaler()\nscaler.step(optimizer)").one(OptimizerStep)
    assert (event.optimizer_text, line(event.site)) == ("optimizer", 4)


def test_at_the_entry_of_a_method_nothing_is_known_of_gradients() -> None:
    program = """
    class Trainer:
        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)
            self.optimizer = torch.optim.SGD([self.w], lr=0.1)
        def fit(self):
            self.optimizer.step()
            self.optimizer.step()
            self.w.sum().backward()
    """
    first, second = run(program).of(OptimizerStep)
    assert (words(first), words(second)) == ([{Word.UNKNOWN}], [{Word.USED}])
    assert first.scope.qualname == "Trainer.fit"


def test_no_step() -> None:
    program = "s = torch.optim.lr_scheduler.StepLR(optimizer, 1)\ns.step()\nenv.step(3)"
    assert run(SGD + program).of(OptimizerStep) == []


# ---------------------------------------------------------------------- clips and scalers

CLIP = "torch.nn.utils.clip_grad_norm_([w], {})\n"
SCALER = "scaler = torch.amp.GradScaler()\n"


@pytest.mark.parametrize(
    ("before", "word", "limit", "unlimited"),
    [
        ("", Word.NONE, "1.0", False),
        (LOSS, Word.FRESH, "1.0", False),
        (LOSS + "optimizer.step()\n", Word.USED, "float('inf')", True),
    ],
)
def test_a_clip_tells_what_it_finds(before: str, word: Word, limit: str, unlimited: bool) -> None:
    event = run(SGD + before + CLIP.format(limit)).one(GradientClipped)
    assert [set(each.words) for each in event.sets] == [{word}]
    assert (event.function, event.unlimited) == ("clip_grad_norm_", unlimited)


def test_a_step_tells_of_a_clip_on_scaled_gradients() -> None:
    loss = "scaler.scale((w * w).sum()).backward()\n"
    end = CLIP.format("1.0") + "scaler.step(optimizer)"
    [late] = run(SGD + SCALER + loss + end).one(OptimizerStep).sets
    assert late.clipped is not None
    assert (line(late.clipped.moment.site), late.clipped.empty, late.scaled) == (5, False, YES)
    unscale = "scaler.unscale_(optimizer)\n"
    [right] = run(SGD + SCALER + loss + unscale + end).one(OptimizerStep).sets
    assert (right.clipped, right.scaled) == (None, MAYBE)


def test_a_step_tells_whether_the_scaler_was_updated() -> None:
    body = f"    {LOSS}    scaler.step(optimizer)\n"
    found = run(SGD + SCALER + "for i in range(99):\n" + body).of(OptimizerStep)
    assert [event.awaits_update for event in found] == [NO, YES]
    updated = run(SGD + SCALER + "for i in range(99):\n" + body + "    scaler.update()")
    assert [event.awaits_update for event in updated.of(OptimizerStep)] == [NO, NO]


# ---------------------------------------------------------------------- aliases


@pytest.mark.parametrize(
    ("make", "use", "view", "how"),
    [
        ("v = w.view(2)", "(v * 2).sum().backward()", True, "operation"),
        ("v = w", "(v * 2).sum().backward()", False, "operation"),
        ("v = w.sum(0, keepdim=True).view(1) if 0 else w[0]", "v.backward()", True, "backward"),
    ],
)
def test_an_alias_made_under_no_grad_is_used(make: str, use: str, view: bool, how: str) -> None:
    event = run(W + f"with torch.no_grad():\n    {make}\n{use}").one(OffAliasUsed)
    assert (line(event.site), line(event.made)) == (4, 3)
    assert (event.alias.view, event.alias.name, event.target_text) == (view, "v", "v")
    assert event.how == how
    assert describe(event.tensor).startswith("tensor grad leaf float")


@pytest.mark.parametrize(
    "quiet",
    [
        "with torch.no_grad():\n    v = w.view(2)\n    y = v * 2",
        "with torch.no_grad():\n    v = w.clone()\ny = v * 2",
        "with torch.no_grad():\n    v = w.detach().view(2)\ny = v * 2",
        "v = w.view(2)\ny = v * 2",
        "x = torch.ones(2)\nwith torch.no_grad():\n    v = x.view(2)\ny = v * 2",
        "with torch.no_grad():\n    v = w.view(2)\nwith torch.no_grad():\n    y = v + 1",
    ],
)
def test_no_alias_is_used_as_if_it_were_detached(quiet: str) -> None:
    assert run(W + quiet).of(OffAliasUsed) == []


# ---------------------------------------------------------------------- modules

MODULE = """
class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.scale = torch.ones(2)
        self.scale = torch.zeros(2, 2)
        self.placed = torch.ones(2, device=device)
        self.register_buffer("table", torch.ones(2))
        self.layer = nn.Linear(2, 2)
        self.size = 3
    def forward(self, x):
        return self.layer(x) * self.scale
"""


def test_a_module_is_built() -> None:
    event = run(MODULE.strip("\n") + "\nnet = Net('cpu')").one(ModuleBuilt)
    assert (line(event.site), event.class_name) == (12, "Net")
    scale, placed = event.tensors
    assert (scale.name, scale.assignments, scale.initialised, scale.placed) == (
        "scale",
        2,
        True,
        False,
    )
    assert describe(scale.tensor) == "tensor no-grad leaf float rank=2"
    assert (line(scale.site), scale.scope.qualname) == (4, "Net.__init__")
    assert (placed.name, placed.assignments, placed.placed) == ("placed", 1, True)
    assert isinstance(event.facts(), ClassFacts)


def test_a_module_that_nobody_builds_is_built_once() -> None:
    event = run(MODULE.strip("\n")).one(ModuleBuilt)
    assert [stored.name for stored in event.tensors] == ["scale", "placed"]


@pytest.mark.parametrize(
    "quiet",
    [
        MODULE.replace("(nn.Module)", "").replace("super().__init__()", "pass"),
        "class Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.w = nn.Parameter(torch.ones(2))\nNet()",
        "net = nn.Linear(2, 2)",
    ],
)
def test_no_module_with_plain_tensors(quiet: str) -> None:
    found = run(quiet.strip("\n")).of(ModuleBuilt)
    plain = [
        stored.name
        for event in found
        for stored in event.tensors
        if stored.tensor.state.parameter is not YES
    ]
    assert plain == []


@pytest.mark.parametrize(
    ("value", "unfilled"),
    [
        ("torch.empty(n)", True),
        ("torch.empty(2, n).t()", True),
        ("torch.empty_like(torch.ones(2))", True),
        ("torch.ones(2).new_empty(n)", True),
        ("torch.Tensor(n, 3)", True),
        ("torch.Tensor(3)", True),
        ("torch.Tensor(n)", False),
        ("torch.Tensor([n, 3])", False),
        ("torch.Tensor()", False),
        ("torch.empty(0)", False),
        ("torch.empty(n, device='meta')", False),
        ("torch.zeros(n)", False),
        ("torch.empty(n).normal_()", False),
        ("torch.empty(n) * 2", False),
        ("nn.init.ones_(torch.empty(n))", False),
        ("torch.empty(n)\n        other(self.w)", False),
        ("torch.empty(n)\n        self.w.data.fill_(1)", False),
        ("torch.empty(n)\n        if n: nn.init.ones_(self.w)", False),
    ],
)
def test_whether_the_memory_of_an_attribute_was_written(value: str, unfilled: bool) -> None:
    init = f"        super().__init__()\n        self.w = {value}\n"
    program = f"from m import other\nclass Net(nn.Module):\n    def __init__(self, n):\n{init}"
    [stored] = run(program).one(ModuleBuilt).tensors
    assert stored.tensor.storage.unfilled is unfilled


# ---------------------------------------------------------------------- what outlives a loop


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("loss.backward(); total = total + loss", ["total"]),
        ("loss.backward(); d['a'] = d['a'] + loss", ["d['a']"]),
        ("loss.backward(); total = total + loss.detach()", []),
        ("total = total + loss", []),
        ("total = total + loss; total.backward(retain_graph=True)", []),
        ("loss.backward(); total = loss", []),
        ("loss.backward(); xs.append(loss)", ["xs"]),
        ("loss.backward(); xs.append((i, loss / 2))", ["xs"]),
        ("loss.backward(); xs.append(loss.detach())", []),
        ("xs.append(loss)", []),
        ("loss.backward(); xs.append(loss); xs.pop()", []),
        ("loss.backward(); xs.append(loss); unseen(xs)", []),
        ("loss.backward(); d[i] = loss", ["d"]),
        ("loss.backward(); d['b'] = loss", []),
    ],
)
def test_what_gathers_the_graphs_of_a_loop(body: str, kept: list[str]) -> None:
    program = (
        "total = torch.zeros(())\nd = {'a': torch.zeros(())}\nxs = []\nfor i in range(99):\n"
        f"    loss = (w * w).sum()\n    {body}"
    )
    found = run(W + program).of(LoopFinished)
    assert [each.text for event in found for each in event.kept] == kept


def test_a_scheduler_that_steps_first_is_told_at_the_optimizer() -> None:
    scheduler = SGD + "s = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n"
    loop = "for i in range(9):\n    s.step()\n    w.sum().backward()\n    optimizer.step()\n"
    event = run(scheduler + loop).one(SchedulerTooEarly)
    assert event.site.text == "s.step()"
    assert event.stepped_at.text == "optimizer.step()"
    assert event.optimizer_text == "optimizer"
    stepped = scheduler + "optimizer.step()\n" + loop
    assert not run(stepped, SchedulerTooEarly).events
