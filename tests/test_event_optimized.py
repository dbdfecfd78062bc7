"""What an optimizer was built with, as events: parts it does not hold, spent generators, frozen
parameters.
"""

from __future__ import annotations

import pytest

from autolint.interpreter.events import FrozenMoves, GeneratorReused, NothingTrained, PartReplaced

from .running import line, run

NET = "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\n"
SGD = "sgd = torch.optim.SGD(net.parameters(), lr=0.1)\n"
TRAIN = (
    "for x in torch.ones(9, 1, 2):\n"
    "    sgd.zero_grad()\n    net(x).sum().backward()\n    sgd.step()"
)
NEW = "nn.Linear(2, 2)\n"


# ---------------------------------------------------------------------- replaced parts


def test_a_part_that_is_replaced_is_told_of_at_the_step() -> None:
    first, second = run(NET + SGD + "net[1] = " + NEW + TRAIN).of(PartReplaced)
    assert first.site == second.site
    assert (line(first.site), first.part_text, first.assigned) == (3, "net[1]", False)
    assert first.built is not None
    assert first.stepped_at is not None
    assert (line(first.built), line(first.stepped_at), first.optimizer_text) == (2, 7, "sgd")


@pytest.mark.parametrize(
    "change",
    [
        "net[1] = nn.ReLU()\n",
        "net[1] = " + NEW + "sgd.add_param_group({'params': net[1].parameters()})\n",
        "net[1] = " + NEW + "other = torch.optim.SGD(net[1].parameters(), lr=0.1)\n",
        "net[1] = " + NEW + "hand_over(sgd, net)\n",
        "net[1] = " + NEW + "other = torch.optim.SGD(unseen(), lr=0.1)\n",
        "net[1] = " + NEW + "net[1].requires_grad_(False)\n",
        "net[1] = " + NEW + "net[1] = net[0]\n",
        "net.to('cuda')\n",
        "net.load_state_dict(state())\n",
        "net.load_state_dict(state(), strict=False, assign=True)\n",
        "if c():\n    net[1] = " + NEW,
    ],
)
def test_what_is_trained_or_needs_no_training_is_not_told(change: str) -> None:
    assert not run(NET + SGD + change + TRAIN).of(PartReplaced)


def test_a_model_that_is_new_each_time_while_its_optimizer_stays() -> None:
    loop = TRAIN.replace("torch.ones(9, 1, 2)", "data").replace("\n", "\n    ")
    program = NET + SGD + "for k in range(5):\n    net = " + NEW + "    " + loop
    told = run("def f(data):\n    " + program.replace("\n", "\n    ")).of(PartReplaced)
    assert {line(event.site) for event in told} == {5}


@pytest.mark.parametrize("flags", ["assign=True", "strict=True, assign=True", "True, True"])
def test_a_state_dict_that_is_assigned_makes_new_parameters(flags: str) -> None:
    program = NET + SGD + f"net.load_state_dict(state(), {flags})\n" + TRAIN
    assert {(line(e.site), e.assigned) for e in run(program).of(PartReplaced)} == {(3, True)}


CLASS = """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 2)
        self.sgd = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def reset(self):
        self.net = {new}
    def fit(self, x):
        self.sgd.zero_grad()
        self.net(x).sum().backward()
        self.sgd.step()
{more}
"""


def test_the_end_of_a_method_that_replaces_what_others_train() -> None:
    event = run(CLASS.format(new="nn.Linear(2, 2)", more="")).one(PartReplaced)
    assert (line(event.site), event.stepped_at, event.optimizer_text) == (6, None, "self.sgd")
    assert (event.part_text, event.owner.name) == ("self.net", "reset")


@pytest.mark.parametrize(
    ("new", "more"),
    [
        ("nn.Linear(2, 2).eval()", ""),
        ("nn.ReLU()", ""),
        ("unseen()", ""),
        ("nn.Linear(2, 2)", "    def tune(self):\n        self.sgd = build(self.net)"),
    ],
)
def test_methods_that_replace_what_need_not_be_trained(new: str, more: str) -> None:
    assert not run(CLASS.format(new=new, more=more)).of(PartReplaced)


# ---------------------------------------------------------------------- spent generators

PARAMS = NET + "params = net.parameters()\n"


@pytest.mark.parametrize(
    ("use", "again", "how"),
    [
        ("torch.optim.SGD(params)", "torch.optim.Adam(params)", "optimizer"),
        ("torch.optim.SGD([{'params': params}])", "list(params)", "list"),
        ("list(params)", "nn.utils.clip_grad_norm_(params, 1.0)", "clip"),
        ("[p for p in params]", "for p in params: pass", "loop"),
        ("sum(p.numel() for p in params)", "{p: 1 for p in params}", "loop"),
        ("for p in params: pass", "sgd = 0; other = torch.optim.SGD(params)", "optimizer"),
        ("trained = filter(f, params); list(trained)", "set(trained)", "list"),
    ],
)
def test_a_generator_that_is_used_again(use: str, again: str, how: str) -> None:
    event = run(f"{PARAMS}{use}\n{again}").one(GeneratorReused)
    assert (line(event.spent_at), line(event.site), event.use) == (3, 4, how)
    assert (line(event.made), event.name) == (3 if "filter" in use else 2, event.name)
    assert event.name in ("params", "trained")


@pytest.mark.parametrize(
    "program",
    [
        "list(params)\nparams = net.parameters()\nlist(params)",
        "params = list(params)\nlist(params)\nlist(params)",
        "next(params)\nlist(params)",
        "any(p.requires_grad for p in params)\nlist(params)",
        "for p in params:\n    if c():\n        break\nlist(params)",
        "if c():\n    list(params)\nelse:\n    set(params)",
        "if c():\n    list(params)\nlist(params)",
        "unseen(params)\nlist(params)",
        "list(net.parameters())\nlist(net.parameters())",
    ],
)
def test_a_generator_that_may_have_something_left(program: str) -> None:
    assert not run(PARAMS + program).of(GeneratorReused)


# ---------------------------------------------------------------------- frozen parameters

FREEZE = "for p in net.parameters():\n    p.requires_grad = False\n"
BACKWARD = "net(torch.ones(2)).sum().backward()\n"


def test_a_new_part_that_is_frozen_with_the_rest() -> None:
    event = run(NET + "net[1] = " + NEW + FREEZE + BACKWARD).one(NothingTrained)
    assert event.part is not None
    assert (line(event.part), line(event.site), line(event.shown_at)) == (2, 4, 5)
    assert (event.built, event.optimizer_text) == (None, "")


def test_an_optimizer_over_frozen_parameters_only() -> None:
    program = NET + "net[0].requires_grad_(False)\nsgd = torch.optim.SGD(net[0].parameters())\n"
    event = run(program + TRAIN).one(NothingTrained)
    assert event.built is not None
    assert (line(event.site), line(event.built), line(event.shown_at)) == (2, 3, 7)
    assert (event.part, event.optimizer_text) == (None, "sgd")


@pytest.mark.parametrize(
    "program",
    [
        FREEZE + BACKWARD,
        FREEZE + "net[1] = " + NEW + BACKWARD,
        "net[1] = " + NEW + FREEZE,
        "net[1] = " + NEW + FREEZE + "net[1].requires_grad_(True)\n" + BACKWARD,
        "net[1] = " + NEW + FREEZE + "if c():\n    net[1].requires_grad_(True)\n" + BACKWARD,
        "net[1] = " + NEW + FREEZE + "net(torch.ones(2, requires_grad=True)).sum().backward()",
        "net[1] = " + NEW + FREEZE + "with torch.no_grad():\n    y = net(x)\ny.backward()",
        "net[1] = " + NEW + "net[1].requires_grad_(False)\n" + BACKWARD,
        "net[0].requires_grad_(False)\n" + SGD + TRAIN,
        "net.requires_grad_(flag)\n" + SGD + TRAIN,
        FREEZE + SGD + "net.requires_grad_(True)\n" + TRAIN,
        FREEZE + SGD + TRAIN + "\n    net.requires_grad_(True)",
        FREEZE + SGD + "for p in net.parameters():\n    p.grad = g()\nsgd.step()",
    ],
)
def test_freezes_that_leave_something_to_train_or_train_nothing(program: str) -> None:
    assert not run(NET + program).of(NothingTrained)


def moving(optimizer: str, between: str) -> str:
    return (
        f"{NET}sgd = torch.optim.{optimizer}\n{BACKWARD}sgd.step()\n{between}"
        f"net[0].requires_grad_(False)\n{BACKWARD}sgd.step()"
    )


@pytest.mark.parametrize(
    ("optimizer", "zeroed"),
    [
        ("SGD(net.parameters(), lr=0.1)", False),
        ("SGD(net.parameters(), lr=0.1, momentum=0.9)", True),
        ("SGD(net.parameters(), lr=0.1, weight_decay=0.9)", True),
        ("AdamW(net.parameters())", True),
    ],
)
def test_frozen_parameters_that_an_optimizer_moves(optimizer: str, zeroed: bool) -> None:
    clear = "sgd.zero_grad(set_to_none=False)\n" if zeroed else ""
    event = run(moving(optimizer, clear)).one(FrozenMoves)
    assert (line(event.site), line(event.stepped_at)) == (5 + zeroed, 7 + zeroed)
    assert (event.zeroed, event.optimizer_text) == (zeroed, "sgd")


@pytest.mark.parametrize(
    ("optimizer", "between"),
    [
        ("Adam(net.parameters())", "sgd.zero_grad()\n"),
        ("Adam(net.parameters())", "net.zero_grad()\n"),
        ("Adam(net.parameters())", "sgd.zero_grad(set_to_none=flag)\n"),
        ("SGD(net.parameters(), lr=0.1)", "sgd.zero_grad(set_to_none=False)\n"),
        ("SGD(net.parameters(), momentum=m)", "sgd.zero_grad(set_to_none=False)\n"),
        ("SGD(net[1].parameters(), lr=0.1)", ""),
    ],
)
def test_frozen_parameters_that_stay(optimizer: str, between: str) -> None:
    assert not run(moving(optimizer, between)).of(FrozenMoves)
