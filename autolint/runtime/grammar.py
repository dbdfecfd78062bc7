"""The sentences that generated programs are made of, and the elements of autograd they belong to.

In a template {new} is bound by the statement, {x} and {y} are tensors made before, {n} is a number,
{m} and {o} are a module and an optimizer made before, {module} and {optimizer} are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PROLOGUE = """\
import json

import torch
from torch import nn

from autolint.testing import reveal


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen = self.seen + 1
        return torch.tanh(self.first(x)) * self.scale


"""
"""What every program begins with."""

ELEMENTS = (
    "operation",
    "view",
    "detach or .data",
    "in-place write",
    "grad mode",
    "branch",
    "loop",
    "backward",
    "retain_graph",
    "autograd.grad",
    "requires_grad set",
    ".grad read",
    ".grad cleared",
    "module",
    "optimizer step",
)
"""The elements of the grammar that are counted: each must be in a fair part of the programs."""


@dataclass(frozen=True)
class Statement:
    """One line of a program; for a compound statement its header, and the statements inside.

    `orelse` stands under an `else:`; `element` is the element of the grammar that it shows.
    """

    text: str
    body: tuple[Statement, ...] = ()
    orelse: tuple[Statement, ...] = ()
    element: str = ""

    def lines(self, indent: str = "") -> Iterator[str]:
        """The source lines."""
        yield indent + self.text
        for statement in self.body:
            yield from statement.lines(indent + "    ")
        if self.orelse:
            yield indent + "else:"
            for statement in self.orelse:
                yield from statement.lines(indent + "    ")


Program = tuple[Statement, ...]


def source_of(program: Program) -> str:
    """The program as Python source, with the imports it needs."""
    return PROLOGUE + text_of(program)


def text_of(statements: Iterable[Statement]) -> str:
    """The source of statements, without what a program begins with."""
    return "".join(f"{line}\n" for statement in statements for line in statement.lines())


def elements_of(program: Iterable[Statement]) -> Counter[str]:
    """How often each element of the grammar occurs."""
    found: Counter[str] = Counter()
    for statement in program:
        if statement.element:
            found[statement.element] += 1
        if "retain_graph=True" in statement.text:
            found["retain_graph"] += 1
        found += elements_of((*statement.body, *statement.orelse))
    return found


@dataclass(frozen=True)
class Family:
    """Templates of one purpose; `weight` is how often it is chosen.

    `changes`: it changes tensors made before, so they are looked at again. `results`: it is about
    results with history rather than about leaves. `leaves`: about leaves that require grad.
    """

    weight: float
    element: str
    templates: tuple[str, ...]
    changes: bool = False
    results: bool = False
    leaves: bool = False


def _family(weight: float, element: str, text: str, about: str = "") -> Family:
    words = about.split()
    unknown = set(words) - {"changes", "results", "leaves"}
    assert not unknown, unknown
    templates = tuple(line.strip() for line in text.strip().splitlines())
    return Family(
        weight, element, templates, "changes" in words, "results" in words, "leaves" in words
    )


TRAINABLE = _family(
    1,
    "",
    """
    {new} = torch.ones(2, 3, requires_grad=True)
    {new} = torch.rand(3, requires_grad=True)
    {new} = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    """,
)
"""What a program starts with."""

MODULES = _family(
    1.5,
    "module",
    """
    {module} = nn.Linear(3, 3)
    {module} = nn.Linear(3, 3, bias=False)
    {module} = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))
    {module} = nn.LayerNorm(3)
    {module} = Net()
    {module} = nn.Dropout(0.5)
""",
)
"""What builds modules."""

OPTIMIZERS = _family(
    0.8,
    "",
    """
    {optimizer} = torch.optim.SGD([{x}], lr=0.1)
    {optimizer} = torch.optim.SGD([{x}, {y}], lr=0.1)
    {optimizer} = torch.optim.SGD({m}.parameters(), lr=0.1)
    {optimizer} = torch.optim.Adam({m}.parameters())
""",
    "leaves",
)
"""What builds optimizers."""

FAMILIES = (
    _family(
        3,
        "",
        """
    {new} = torch.ones(2, 3, requires_grad=True)
    {new} = torch.rand(3, requires_grad=True)
    {new} = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    {new} = torch.tensor({n}, requires_grad=True)
    {new} = torch.nn.Parameter(torch.ones(2, 3))
    {new} = torch.zeros(2, 3)
    {new} = torch.ones(3)
    {new} = torch.full((2, 3), {n})
    {new} = torch.tensor({n})
    {new} = torch.arange(3)
    {new} = torch.tensor([1, 2, 3])
    {new} = torch.tensor([True, False, True])
    {new} = torch.ones(3, dtype=torch.complex64)
    {new} = torch.zeros_like({x})
    {new} = torch.ones_like({x})
    """,
    ),
    _family(
        8,
        "operation",
        """
    {new} = {x} + {y}
    {new} = {x} - {y}
    {new} = {x} * {y}
    {new} = {x} / {y}
    {new} = {x} @ {y}
    {new} = {x} * {n}
    {new} = {n} - {x}
    {new} = {x} / {n}
    {new} = {x} ** 2
    {new} = {n} ** {x}
    {new} = -{x}
    {new} = {x} > {n}
    {new} = {x} == {y}
    {new} = torch.maximum({x}, {y})
    {new} = torch.where({x} > {n}, {x}, {y})
    {new} = {x}.exp()
    {new} = {x}.sin()
    {new} = torch.tanh({x})
    {new} = torch.sigmoid({x})
    {new} = torch.relu({x})
    {new} = torch.nn.functional.gelu({x})
    {new} = torch.nn.functional.softplus({x})
    {new} = {x}.abs()
    {new} = {x}.sqrt()
    {new} = {x}.round()
    {new} = {x}.sign()
    {new} = {x}.clamp(min=0)
    {new} = {x}.softmax(0)
    {new} = {x}.cumsum(0)
    {new} = {x}.clone()
    {new} = torch.cat([{x}, {y}])
    {new} = torch.stack([{x}, {y}])
    {new} = torch.addcmul({x}, {x}, {y})
    {new} = torch.lerp({x}, {y}, 0.5)
    {new} = {x}.masked_fill({x} > {n}, 0.0)
    {new} = {x}.sum()
    {new} = {x}.mean()
    {new} = {x}.prod()
    {new} = {x}.max()
    {new} = {x}.sum(0)
    {new} = {x}.argmax()
    {new} = {x}.long()
    {new} = {x}.float()
    {new} = {x}.double()
    {new} = {x}.bool()
    {new} = torch.nn.functional.mse_loss({x}, {y})
    {new}, indices = {x}.max(0)
    {new} = {x}.sum().item() * {y}
    """,
    ),
    _family(
        3,
        "view",
        """
    {new} = {x}.view(-1)
    {new} = {x}.view(3, -1)
    {new} = {x}.reshape(-1)
    {new} = {x}[0]
    {new} = {x}[:1]
    {new} = {x}.unsqueeze(0)
    {new} = {x}.squeeze(0)
    {new} = {x}.t()
    {new} = {x}.transpose(0, 1)
    {new} = {x}.flatten()
    {new} = {x}.contiguous()
    {new} = {x}.expand(2, -1)
    {new}, *rest = {x}.unbind(0)
    {new}, *rest = {x}.chunk(2)
    """,
    ),
    _family(
        1.5,
        "detach or .data",
        """
    {new} = {x}.detach()
    {new} = {x}.data
    {new} = {x}.detach().clone()
    """,
    ),
    _family(
        1,
        "",
        """
    {new} = {x}
    {new} = torch.as_tensor({x})
    {new} = torch.clone({x})
    """,
    ),
    _family(
        5,
        "in-place write",
        """
    {x}.add_({n})
    {x}.mul_({n})
    {x}.add_({y})
    {x}.mul_({y})
    {x}.copy_({y})
    {x}.zero_()
    {x}.exp_()
    {x}.sigmoid_()
    torch.relu_({x})
    {x} += {n}
    {x} += {y}
    {x} *= {y}
    {x}[0] = {n}
    {x}[0] = {y}
    {x}[:1] += {y}
    {x}.data.mul_({n})
    {x}.data[0] = {n}
    {x}.data += {y}
    {x}.detach().add_({n})
    {x}.data = {y}.data
    {x}.data = torch.zeros_like({x})
    {new} = {x}.mul_({n})
    """,
        "changes results",
    ),
    _family(
        1,
        "requires_grad set",
        """
    {x}.requires_grad_()
    {x}.requires_grad_(False)
    {x}.requires_grad = True
    {x}.detach_()
    {x}.retain_grad()
    """,
        "changes",
    ),
    _family(
        2.2,
        "backward",
        """
    {x}.backward()
    {x}.sum().backward()
    {x}.sum().backward()
    {x}.sum().backward(retain_graph=True)
    ({x} * {y}).sum().backward()
    {x}.backward(torch.ones_like({x}))
    """,
        "changes results",
    ),
    _family(
        1.2,
        "autograd.grad",
        """
    ({new},) = torch.autograd.grad({x}.sum(), [{y}])
    ({new},) = torch.autograd.grad({x}.sum(), [{y}], retain_graph=True)
    {new} = torch.autograd.grad(({x} * {y}).sum(), {y})[0]
    {new} = torch.autograd.grad({x}.sum(), {y}, allow_unused=True)[0]
    """,
        "changes results",
    ),
    _family(
        0.8,
        ".grad read",
        """
    {new} = {x}.grad
    {new} = {x}.grad.clone()
    {new} = {x}.grad * {n}
    {x}.data -= {x}.grad
    {x}.grad.mul_({n})
    """,
        "changes leaves",
    ),
    _family(
        0.8,
        ".grad cleared",
        """
    {x}.grad = None
    {x}.grad.zero_()
    {x}.grad = torch.zeros_like({x})
    {m}.zero_grad()
    {m}.zero_grad(set_to_none=False)
    {o}.zero_grad()
    for p in {m}.parameters(): p.grad = None
    """,
        "changes leaves",
    ),
    MODULES,
    _family(
        2.5,
        "module",
        """
    {new} = {m}({x})
    {new} = {m}({x}) + {y}
    {m}({x}).sum().backward()
    {m}.eval()
    {m}.requires_grad_(False)
    {m}.requires_grad_(True)
    for p in {m}.parameters(): p.requires_grad_(False)
    for p in {m}.parameters(): p.data.mul_({n})
    """,
        "changes",
    ),
    _family(
        1,
        "module",
        """
    {new} = {m}.weight
    {new} = {m}.bias
    {new} = {m}[0].weight
    {new} = {m}.first.weight
    {new} = {m}.scale
    {new} = {m}.seen
    """,
    ),
    OPTIMIZERS,
    _family(
        2.5,
        "optimizer step",
        """
    {o}.step()
    """,
        "changes",
    ),
)

HEADERS = (*("torch.no_grad",) * 3, "torch.enable_grad", "torch.inference_mode")
"""Grad modes of `with` blocks, as often as they are chosen."""

DECIDED = ('json.loads("true")', 'json.loads("false")')
"""Tests whose outcome the model cannot know."""
