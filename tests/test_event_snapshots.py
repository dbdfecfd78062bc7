"""State dicts that are kept, as events."""

from __future__ import annotations

import pytest

from autolint.autograd.values import MAYBE, NO, YES, Tri
from autolint.interpreter.events import AliasKept, SnapshotUsed

from .running import line, run

NET = "net = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
KEPT = NET + "kept = net.state_dict()\noptimizer.step()\n"


def test_a_state_that_is_loaded_after_a_step() -> None:
    used = run(KEPT + "net.load_state_dict(kept)").one(SnapshotUsed)
    assert (used.how, used.text, line(used.site)) == ("load", "kept", 5)
    assert (line(used.made), line(used.step.site)) == (3, 4)
    assert (used.own, used.stepped, used.looped, used.moved) == (YES, YES, False, "")


@pytest.mark.parametrize(
    ("use", "how", "own"),
    [
        ("torch.save(kept, 'file')", "save", NO),
        ("torch.save({'model': kept}, 'file')", "save", NO),
        ("nn.Linear(2, 2).load_state_dict(kept)", "load", NO),
        ("net.load_state_dict({'weight': kept['weight']})", "load", YES),
        (
            "def f():\n    state = net.state_dict()\n    optimizer.step()\n    return state",
            "return",
            NO,
        ),
    ],
)
def test_uses(use: str, how: str, own: Tri) -> None:
    used = run(KEPT + use).one(SnapshotUsed)
    assert (used.how, used.own) == (how, own)


@pytest.mark.parametrize(
    "kept",
    [
        "dict(net.state_dict())",
        "net.state_dict().copy()",
        "copy.copy(net.state_dict())",
        "collections.OrderedDict(net.state_dict())",
        "{k: v for k, v in net.state_dict().items()}",
        "{k: v.detach() for k, v in net.state_dict().items()}",
        "{k: v.data for k, v in net.state_dict().items()}",
        "{'a': {'b': net.state_dict()}}",
        "net.state_dict() if torch.rand(1) > 0.5 else None",
        "net.state_dict() if torch.rand(1) > 0.5 else torch.load('file')",
    ],
)
def test_what_shares_memory_with_the_parameters(kept: str) -> None:
    program = f"import copy, collections\n{NET}kept = {kept}\noptimizer.step()\n"
    assert run(program + "net.load_state_dict(kept)").one(SnapshotUsed).moved == ""


@pytest.mark.parametrize("move", ["cpu()", "to('cpu')", "detach().cpu()", "cpu().detach()"])
def test_what_may_be_a_copy_on_another_device(move: str) -> None:
    kept = f"kept = {{k: v.{move} for k, v in net.state_dict().items()}}\noptimizer.step()\n"
    used = run(NET + kept + "net.load_state_dict(kept)").one(SnapshotUsed)
    assert used.moved in ("cpu", "to")


@pytest.mark.parametrize(
    "kept",
    [
        "copy.deepcopy(net.state_dict())",
        "{k: v.clone() for k, v in net.state_dict().items()}",
        "{k: v.numpy() for k, v in net.state_dict().items()}",
        "{k: v * 1 for k, v in net.state_dict().items()}",
        "filtered(net.state_dict())",
        "optimizer.state_dict()",
        "nn.Linear(2, 2).state_dict()",
        "list(net.state_dict())",
    ],
)
def test_what_does_not_follow_the_parameters(kept: str) -> None:
    program = f"import copy\n{NET}kept = {kept}\noptimizer.step()\nnet.load_state_dict(kept)"
    assert not run(program, SnapshotUsed).of(SnapshotUsed)


@pytest.mark.parametrize(
    "change",
    ["kept['weight'] = torch.ones(2)", "kept.update(x)", "kept.pop('bias')", "edit(kept)"],
)
def test_a_dict_that_is_changed_by_hand_is_no_snapshot(change: str) -> None:
    assert not run(KEPT + f"{change}\nnet.load_state_dict(kept)", SnapshotUsed).of(SnapshotUsed)


def test_before_a_step_it_is_what_was_kept() -> None:
    program = NET + "optimizer.step()\nkept = net.state_dict()\nnet.load_state_dict(kept)"
    assert not run(program, SnapshotUsed).of(SnapshotUsed)


def test_containers_and_classes_have_state_dicts_too() -> None:
    net = NET.replace("nn.Linear(2, 2)", "nn.Sequential(nn.Linear(2, 2), nn.ReLU())")
    kept = "kept = net.state_dict()\noptimizer.step()\nnet.load_state_dict(kept)"
    assert run(net + kept).one(SnapshotUsed).own is YES
    own = "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    own += "        self.a = nn.Linear(2, 2)\n" + NET.replace("nn.Linear(2, 2)", "N()")
    assert run(own + kept).one(SnapshotUsed).own is YES


def test_frozen_parameters_do_not_change() -> None:
    program = NET + "net.requires_grad_(False)\nkept = net.state_dict()\noptimizer.step()\n"
    assert not run(program + "net.load_state_dict(kept)", SnapshotUsed).of(SnapshotUsed)


def test_the_same_loop_keeps_and_steps() -> None:
    program = NET + (
        "best = None\nfor i in range(9):\n    optimizer.step()\n"
        "    if torch.rand(1) > 0.5:\n        best = net.state_dict()\n"
        "net.load_state_dict(best)"
    )
    used = run(program).one(SnapshotUsed)
    assert used.looped
    assert (line(used.made), line(used.step.site)) == (7, 5)
    renewed = program.replace("    if torch.rand(1) > 0.5:\n    ", "")
    assert not run(renewed, SnapshotUsed).of(SnapshotUsed)


ARGUMENTS = "def train(model, optimizer, other):\n    optimizer.zero_grad()\n"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "state = model.state_dict(); optimizer.step(); model.load_state_dict(state)",
            [(YES, MAYBE)],
        ),
        (
            "state = model.state_dict(); optimizer.step(); other.load_state_dict(state)",
            [(NO, MAYBE)],
        ),
        (
            "other.zero_grad(); state = model.state_dict(); optimizer.step(); other.step();"
            " model.load_state_dict(state)",
            [(YES, MAYBE)],
        ),
    ],
)
def test_a_model_and_an_optimizer_that_are_arguments(
    lines: str, found: list[tuple[Tri, Tri]]
) -> None:
    events = run(ARGUMENTS + f"    {lines}\n", SnapshotUsed).of(SnapshotUsed)
    assert [(each.own, each.stepped) for each in events] == found


def test_of_two_unknown_optimizers_neither_is_taken_to_be_the_models() -> None:
    program = (
        "def train(model, optimizer_a, optimizer_b):\n"
        "    optimizer_a.zero_grad()\n    optimizer_b.zero_grad()\n"
        "    state = model.state_dict()\n    optimizer_a.step()\n    optimizer_b.step()\n"
        "    model.load_state_dict(state)\n"
    )
    assert not run(program, SnapshotUsed).of(SnapshotUsed)


# ---------------------------------------------------------------------- aliases


@pytest.mark.parametrize(
    ("kept", "through"), [("net.weight.data", "data"), ("net.weight.detach()", "detach")]
)
@pytest.mark.parametrize(
    "use", ["kept - net.weight", "torch.equal(kept, net.weight)", "net.weight.data.copy_(kept)"]
)
def test_an_alias_that_a_step_changes(kept: str, through: str, use: str) -> None:
    found = run(NET + f"kept = {kept}\noptimizer.step()\n{use}").one(AliasKept)
    assert (found.through, line(found.made), line(found.changed)) == (through, 3, 4)
    assert line(found.site) == 5


@pytest.mark.parametrize(
    "lines",
    [
        "kept = net.weight.detach().clone()\noptimizer.step()\nkept + 1",
        "optimizer.step()\nkept = net.weight.detach()\nkept + 1",
        "kept = net.weight.detach()\nkept + 1\noptimizer.step()",
        "kept = nn.Linear(2, 2).weight.detach()\noptimizer.step()\nkept + 1",
        "net.requires_grad_(False)\nkept = net.weight.detach()\noptimizer.step()\nkept + 1",
        "kept = net(torch.ones(2)).detach()\noptimizer.step()\nkept + 1",
    ],
)
def test_what_a_step_does_not_change(lines: str) -> None:
    assert not run(NET + lines, AliasKept).of(AliasKept)


FILLED = "net(torch.ones(2)).sum().backward()\n"


@pytest.mark.parametrize(
    ("between", "changed"),
    [
        (FILLED, True),
        ("", False),
        ("optimizer.zero_grad()\n" + FILLED, False),
        ("optimizer.zero_grad(set_to_none=False)\n" + FILLED, True),
        ("net.zero_grad()\n" + FILLED, False),
        ("net.weight.grad = None\n" + FILLED, False),
        (FILLED + "optimizer.zero_grad()\n", True),
        ("nn.Linear(2, 2)(torch.ones(2)).sum().backward()\n", False),
    ],
)
def test_a_gradient_that_is_added_to(between: str, changed: bool) -> None:
    program = NET + FILLED + "kept = net.weight.grad\n" + between + "kept + 1"
    assert bool(run(program, AliasKept).of(AliasKept)) is changed
