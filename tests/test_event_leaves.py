"""Leaves and their gradients, as events."""

from __future__ import annotations

import pytest

from autolint.autograd.values import NO, YES
from autolint.interpreter.events import GradRead, LeafLost, LeafRebound

from .running import line, run

W = "w = torch.ones(2, requires_grad=True)\n"
Y = W + "y = w * 2\n"


# ---------------------------------------------------------------------- reads of .grad


def test_a_read_of_a_computed_tensors_gradient() -> None:
    read = run(Y + "y.sum().backward()\ny.grad.abs()").one(GradRead)
    assert (read.leaf, read.retains_grad, read.use, read.target_text) == (NO, NO, "attribute", "y")
    assert read.passed_at is not None
    assert (line(read.passed_at), line(read.site), read.cleared_at) == (3, 4, None)


def test_a_read_after_a_clear() -> None:
    read = run(W + "w.sum().backward()\nw.grad = None\n1 + w.grad").one(GradRead)
    assert (read.leaf, read.use, read.passed_at) == (YES, "operand", None)
    assert read.cleared_at is not None
    assert line(read.cleared_at) == 3


def test_the_read_is_told_where_it_was_and_where_it_is_used() -> None:
    read = run(W + "g = w.grad\nx = 3\ng.zero_()").one(GradRead)
    assert (line(read.site), line(read.used)) == (2, 4)


@pytest.mark.parametrize(
    "use",
    [
        "w.grad.zero_()", "w.grad.data", "w.grad[0]", "w.grad + 1", "2 * w.grad", "-w.grad",
        "w.grad *= 2", "torch.sign(w.grad)", "w.copy_(w.grad)", "w.detach().sub_(w.grad)",
    ],
)  # fmt: skip
def test_what_counts_as_a_use(use: str) -> None:
    assert len(run(W + use).of(GradRead)) == 1


@pytest.mark.parametrize(
    "rest",
    [
        "w.grad is None", "w.grad is not None and w.grad.zero_()", "not w.grad", "g = w.grad",
        "print(w.grad)", "w.grad.zero_() if w.grad is not None else 0",
        "[p.grad.sum() for p in [w] if p.grad is not None]",
        "w.sum().backward()\nw.grad.zero_()", "w.grad = torch.ones(2)\nw.grad.zero_()",
        "track(w)\nw.grad.zero_()", "x = torch.ones(2)\nx.grad.zero_()",
        "def f():\n    w.grad.zero_()",
        "if x:\n    w = torch.ones(2, requires_grad=True)\nw.grad + 1",
        "f(w_of(x)).backward()\nw.grad.zero_()",
    ],
)  # fmt: skip
def test_what_is_no_use_of_a_missing_gradient(rest: str) -> None:
    assert run(W + rest).of(GradRead) == []


@pytest.mark.parametrize(
    "rest",
    [
        "y.retain_grad()\ny.sum().backward()\ny.grad.abs()",
        "y.register_hook(keep)\ny.sum().backward()\ny.grad.abs()",
        "y.grad = torch.ones(2)\ny.grad.abs()",
        "y = y.detach().requires_grad_()\ny.sum().backward()\ny.grad.abs()",
        "if x:\n    y = w\ny.sum().backward()\ny.grad.abs()",
    ],
)
def test_computed_tensors_that_have_a_gradient(rest: str) -> None:
    assert run(Y + rest).of(GradRead) == []


# ---------------------------------------------------------------------- leaves that are lost

LEAF = "torch.ones(2, requires_grad=True)"


@pytest.mark.parametrize(
    ("expression", "device"),
    [
        (f"{LEAF} * 0.1", False),
        (f"0.1 * {LEAF}", False),
        (f"{LEAF}.double()", False),
        (f"{LEAF}.double() + 1", False),
        (f"{LEAF}.view(1, 2)", False),
        ("nn.Parameter(torch.tensor([x])).double()", False),
        (f"{LEAF}.cuda()", True),
        (f"{LEAF}.to(device)", True),
    ],
)
def test_a_leaf_lost_in_the_expression_that_made_it(expression: str, device: bool) -> None:
    lost = run(f"w = {expression}\ntorch.optim.SGD([w], lr=1)").one(LeafLost)
    assert (lost.device, lost.use, lost.target_text) == (device, "optimizer", lost.site.text)
    assert (line(lost.lost_at), line(lost.site)) == (1, 2)
    assert lost.lost_at.text == expression
    assert lost.leaf.state.leaf is YES


@pytest.mark.parametrize(
    "program",
    [
        f"leaf = {LEAF}\nw = leaf * 0.1",
        f"w = {LEAF}.float()",
        f"w = {LEAF}.to('cpu')",
        "w = torch.ones(2, requires_grad=True, device=device).to(device)",
        f"w = ({LEAF} * 2).detach().requires_grad_()",
        "w = (torch.ones(2) * 2).requires_grad_()",
        f"with torch.no_grad():\n    w = {LEAF} * 2",
        f"w = {LEAF}.to(other.dtype)",
    ],
)
def test_leaves_that_are_not_lost(program: str) -> None:
    found = run(f"{program}\nw.sum().backward()\nw.grad.abs()\ntorch.optim.SGD([w], lr=1)")
    assert found.of(LeafLost) == []


def test_a_lost_parameter_on_a_module() -> None:
    lost = run(
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(2)).double()
                self.v = torch.ones(2, requires_grad=True) * 2
        """
    ).one(LeafLost)
    assert (lost.use, lost.target_text, line(lost.site)) == ("parameter", "self.w", 4)


# ---------------------------------------------------------------------- leaves that are replaced


def test_a_leaf_replaced_under_its_own_name() -> None:
    found = run(W + "w.sum().backward()\nw = w - w.grad\nw.grad.zero_()").one(LeafRebound)
    assert (line(found.site), found.target_text, found.by_gradient) == (3, "w", True)
    assert found.used is not None
    assert line(found.used) == 4


def test_an_attribute_outlives_the_code() -> None:
    head = "class A:\n    pass\na = A()\na.w = torch.ones(2, requires_grad=True)\n"
    update = "a.w.sum().backward()\na.w = a.w - a.w.grad"
    found = run(head + update).one(LeafRebound)
    assert (line(found.site), found.target_text, found.used) == (6, "a.w", None)
    assert run(head + "a.w = a.w * 2").of(LeafRebound) == []


@pytest.mark.parametrize(
    "update",
    [
        "w = (w - w.grad).detach().requires_grad_()",
        "with torch.no_grad():\n    w = w - w.grad\nw.requires_grad_()",
        "v = w - w.grad",
        "w = torch.ones(2, requires_grad=True) - w.grad",
    ],
)
def test_updates_that_keep_a_leaf_or_its_name(update: str) -> None:
    program = W + f"w.sum().backward()\n{update}\nw.sum().backward()\nw.grad.zero_()"
    assert run(program).of(LeafRebound) == []
