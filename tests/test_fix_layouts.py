"""Fixes of the real rules in layouts that are easy to get wrong: exact text, and what is safe."""

import ast

import pytest

from autolint.config import Config
from autolint.files import File
from autolint.runner import Fixing, Runner

from .linting import registry

HEAD = "import torch\nfrom torch import nn\n"


def fixed(text: str, fixing: Fixing) -> str:
    config = Config("/", select=tuple(entry.code for entry in registry()))
    runner = Runner(registry(), fixing, write=False)
    outcome = runner.run_bytes(File("/x.py", config), (HEAD + text).encode())
    assert not outcome.problems, [problem.message for problem in outcome.problems]
    changed = outcome.changed.get("/x.py")
    after = HEAD + text if changed is None else changed[1].text
    ast.parse(after)
    return after.removeprefix(HEAD)


TRAIN = """
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(3, 1):
"""
BUFFER = """
class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
{}
    def forward(self, x):
        return x * self.mask
"""
SAFE = [
    # AG102: the statement keeps its comments and lines, and takes the file's own indentation.
    (
        "w = nn.Parameter(torch.ones(2))\n# halve\nw.data.mul_(  # here\n    0.5\n)  # done\n",
        "w = nn.Parameter(torch.ones(2))\n# halve\nwith torch.no_grad():\n"
        "    w.mul_(  # here\n    0.5\n)  # done\n",
    ),
    (
        "def f():\n\tw = nn.Parameter(torch.ones(2))\n\tw.data[0] = 1\n",
        "def f():\n\tw = nn.Parameter(torch.ones(2))\n\twith torch.no_grad():\n\t\tw[0] = 1\n",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\n(w.data)[0] = 1\n",
        "w = nn.Parameter(torch.ones(2))\nwith torch.no_grad():\n    (w)[0] = 1\n",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\n(w.data.mul_(\n  2))\n",
        "w = nn.Parameter(torch.ones(2))\nwith torch.no_grad():\n    (w.mul_(\n  2))\n",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\nk = 1\nw.data -= 1 if k else 2;\n",
        "w = nn.Parameter(torch.ones(2))\nk = 1\nw.data -= 1 if k else 2;\n",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\nk = 1\nw.data -= 1 if k else 2  # k\n",
        "w = nn.Parameter(torch.ones(2))\nk = 1\nwith torch.no_grad():\n"
        "    w.sub_(1 if k else 2)  # k\n",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\nw.data -= (1 +  # one\n  1)\n",
        "w = nn.Parameter(torch.ones(2))\nwith torch.no_grad():\n    w.sub_((1 +  # one\n  1))\n",
    ),
    # AG104: parentheses that hold lines together stay outside.
    (
        "def f(a):\n    y = torch.sigmoid(a * nn.Parameter(torch.ones(2)))\n"
        "    s = (y  # y\n         .detach())\n    s[0] = 1\n    y.sum().backward()\n"
        "    return s\n",
        "def f(a):\n    y = torch.sigmoid(a * nn.Parameter(torch.ones(2)))\n"
        "    s = (y  # y\n         .detach().clone())\n    s[0] = 1\n    y.sum().backward()\n"
        "    return s\n",
    ),
    (
        "import torch.nn.functional as F\ny = torch.sigmoid(nn.Parameter(torch.ones(2)))\n"
        "if True: s = F.relu(y.detach(), inplace=True)\ny.sum().backward()\n",
        "import torch.nn.functional as F\ny = torch.sigmoid(nn.Parameter(torch.ones(2)))\n"
        "if True: s = F.relu(y.detach().clone(), inplace=True)\ny.sum().backward()\n",
    ),
    # AG201: the argument is added before its own comma and comment, and outside its parentheses.
    (
        "x = torch.arange(\n    5,  # five\n    requires_grad=True,  # learned\n)\n",
        "x = torch.arange(\n    5,  # five\n"
        "    requires_grad=True, dtype=torch.float32,  # learned\n)\n",
    ),
    (
        "x = torch.randint(0, 9, (4,)).requires_grad_()\n",
        "x = torch.randint(0, 9, (4,), dtype=torch.float32).requires_grad_()\n",
    ),
    (
        "x = nn.Parameter(torch.full((2,), (1)))\n",
        "x = nn.Parameter(torch.full((2,), (1), dtype=torch.float32))\n",
    ),
    (
        "k = 1; x = torch.tensor([1], requires_grad=True); y = 2\n",
        "k = 1; x = torch.tensor([1.0], requires_grad=True); y = 2\n",
    ),
    (
        "if True: x = torch.tensor([1], requires_grad=True)\n",
        "if True: x = torch.tensor([1.0], requires_grad=True)\n",
    ),
    # AG401: before the whole line, also where that holds several statements.
    (
        TRAIN + "    # go\n    model(x).sum().backward(); optimizer.step()  # both\n",
        TRAIN + "    # go\n    optimizer.zero_grad()\n"
        "    model(x).sum().backward(); optimizer.step()  # both\n",
    ),
    # AG301: comments and lines stay; type checkers keep the annotation.
    (
        BUFFER.format(
            "        self.mask = (torch.ones(2)  # ones\n                     + 1)  # m\n"
        ),
        BUFFER.format(
            '        self.register_buffer("mask", (torch.ones(2)  # ones\n'
            "                     + 1), persistent=False)  # m\n"
        ),
    ),
    (
        BUFFER.format("        self.mask: torch.Tensor = torch.ones(2)\n"),
        BUFFER.format(
            "        self.mask: torch.Tensor\n"
            '        self.register_buffer("mask", torch.ones(2), persistent=False)\n'
        ),
    ),
]


@pytest.mark.parametrize(("before", "after"), SAFE)
def test_safe_fixes(before: str, after: str) -> None:
    assert fixed(before, Fixing.SAFE) == after


OFF = "a = nn.Parameter(torch.ones(2))\n{}(a * b).sum().backward()\n"
OFFERED = [
    # AG118
    (
        "b = nn.Parameter(torch.ones(2))\nif True:\n  b.data = (a  # a\n    .data)  # b\n",
        "b = nn.Parameter(torch.ones(2))\nif True:\n  with torch.no_grad():\n"
        "    b.copy_((a  # a\n    .data))  # b\n",
    ),
    (
        "l, b = nn.Linear(1, 1), nn.Linear(1, 1)\nb.weight.data = l.weight.data  # tied\nb = a\n",
        "l, b = nn.Linear(1, 1), nn.Linear(1, 1)\nb.weight = l.weight  # tied\nb = a\n",
    ),
    # AG101: by name, on one line with the header, in parentheses of several lines.
    ("with torch.no_grad(): b = a\n", "with torch.no_grad(): b = a.detach()\n"),
    (
        "with torch.no_grad():\n    b = (a  # a\n        .to(a.dtype)\n    )\n",
        "with torch.no_grad():\n    b = (a  # a\n        .to(a.dtype).detach()\n    )\n",
    ),
]


@pytest.mark.parametrize(("before", "after"), OFFERED)
def test_offered_detaching(before: str, after: str) -> None:
    assert fixed(OFF.format(before), Fixing.SAFE) == OFF.format(before)
    assert fixed(OFF.format(before), Fixing.ALL) == OFF.format(after)


ONLY_OFFERED = [
    # AG104: the write may be meant for the source, or for another function.
    "def f(a):\n    y = torch.sigmoid(a * nn.Parameter(torch.ones(2)))\n"
    "    s = y.detach()\n    s[0] = 1\n    y.sum().backward()\n",
    "def d(y):\n    return y.detach()\ndef f(a):\n"
    "    y = torch.sigmoid(a * nn.Parameter(torch.ones(2)))\n"
    "    s = d(y)\n    s[0] = 1\n    y.sum().backward()\n    return s\n",
    # AG201: another statement has made the integers, or they were asked for.
    "x = torch.arange(3)\nx.requires_grad_()\n",
    "x = torch.ones(3, dtype=torch.long, requires_grad=True)\n",
    # AG301: the caller may give anything.
    BUFFER.format("        self.mask = given\n") + "def build():\n    return Net(torch.ones(2))\n",
]


@pytest.mark.parametrize("text", ONLY_OFFERED)
def test_offered_fixes(text: str) -> None:
    assert fixed(text, Fixing.SAFE) == text
    assert fixed(text, Fixing.ALL) != text


NOT_FIXED = [
    # AG101: bound in a tuple or by a loop; a view; backward on the alias.
    OFF.format("with torch.no_grad():\n    b, c = a, 1\n"),
    OFF.format("with torch.no_grad():\n    for b in [a]: pass\n"),
    OFF.format("with torch.no_grad():\n    b = a.view(-1)\n"),
    # AG102: shared lines.
    "w = nn.Parameter(torch.ones(2)); w.data.mul_(2)\n",
    "w = nn.Parameter(torch.ones(2))\nif True: w.data.mul_(2)\n",
    "w = nn.Parameter(torch.ones(2))\nd = w.data\nd.mul_(2)\n",
    "w = nn.Parameter(torch.ones(2))\nw.data **= 2\n",
    # AG104: a parameter is meant to change; in a copy that nothing holds the write is lost.
    "w = nn.Parameter(torch.ones(2))\nl = (w * w).sum()\nw.detach().mul_(2)\nl.backward()\n",
    "y = torch.sigmoid(nn.Parameter(torch.ones(2)))\ny.detach().zero_()\ny.sum().backward()\n",
    # AG201: the dtype may be among the arguments.
    "a = {'dtype': torch.long}\nx = torch.ones(3, **a).requires_grad_()\n",
    "x = torch.as_tensor([1], torch.long).requires_grad_()\n",
    # AG401: one-line loops; an optimizer that is bound after the backward.
    TRAIN.rstrip() + " model(x).sum().backward(); optimizer.step()\n",
    TRAIN + "    model(x).sum().backward()\n    chosen = optimizer\n    chosen.step()\n",
    TRAIN + "    if True: model(x).sum().backward()\n    optimizer.step()\n",
    # AG301: private names are mangled, shared lines and second stores.
    BUFFER.format("        self.__mask = torch.ones(2)\n").replace("self.mask", "self.__mask"),
    BUFFER.format("        self.mask = torch.ones(2); self.n = 2\n"),
    BUFFER.format("        self.mask = None\n        self.mask = torch.ones(2)\n"),
]


@pytest.mark.parametrize("text", NOT_FIXED)
def test_no_fix(text: str) -> None:
    assert fixed(text, Fixing.ALL) == text


WRITE = "w = t.nn.Parameter(t.ones(2))\nw.data.mul_(2)\n"
WRITTEN = "w = t.nn.Parameter(t.ones(2))\nwith torch.no_grad():\n    w.mul_(2)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch.nn\nimport torch as t\n", "import torch.nn\nimport torch as t\n"),
        ("import os, torch\nimport torch as t\n", "import os, torch\nimport torch as t\n"),
        (
            "try:\n    import torch\n    import torch as t\nexcept ImportError:\n    pass\n",
            "try:\n    import torch\n    import torch as t\nexcept ImportError:\n    pass\n",
        ),
        ('"""d"""\n# t\nimport torch as t\n', '"""d"""\n# t\nimport torch as t\nimport torch\n'),
        (
            "from __future__ import annotations\nimport torch as t; k = (\n  1)\n",
            "from __future__ import annotations\nimport torch\nimport torch as t; k = (\n  1)\n",
        ),
    ],
)
def test_the_import_that_a_fix_needs(before: str, after: str) -> None:
    config = Config("/", select=("AG102",))
    runner = Runner(registry(), Fixing.SAFE, write=False)
    outcome = runner.run_bytes(File("/x.py", config), (before + WRITE).encode())
    assert outcome.changed["/x.py"][1].text == after + WRITTEN


def test_an_import_inside_the_function_is_enough() -> None:
    config = Config("/", select=("AG102",))
    made = "    w = torch.nn.Parameter(torch.ones(2))\n"
    text = f"def f():\n    import torch\n{made}    w.data.mul_(2)\n"
    runner = Runner(registry(), Fixing.SAFE, write=False)
    outcome = runner.run_bytes(File("/x.py", config), text.encode())
    assert outcome.changed["/x.py"][1].text == text.replace(
        "    w.data.mul_(2)\n", "    with torch.no_grad():\n        w.mul_(2)\n"
    )
