"""Random straight-line programs over tensors, from a seed.

A program is grown by executing it: a statement that torch refuses for a reason that is no matter of
autograd (shapes, kinds) is not taken, so what remains is a program somebody could have written. The
same seed gives the same program on the same torch.
"""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

PROLOGUE = ("import torch", "from autolint.testing import reveal")
_HEADERS: dict[str, type[AbstractContextManager[Any]]] = {
    "with torch.no_grad():": torch.no_grad,
    "with torch.enable_grad():": torch.enable_grad,
    "with torch.inference_mode():": torch.inference_mode,
}


@dataclass(frozen=True)
class Statement:
    """One line of a program; for a `with` block its header, and the statements inside."""

    text: str
    body: tuple[Statement, ...] = ()

    def lines(self, indent: str = "") -> Iterator[str]:
        """The source lines."""
        yield indent + self.text
        for statement in self.body:
            yield from statement.lines(indent + "    ")


Program = tuple[Statement, ...]


def source_of(program: Program) -> str:
    """The program as Python source, with the imports it needs."""
    lines = [line for statement in program for line in statement.lines()]
    return "\n".join([*PROLOGUE, *lines, ""])


# {new} is bound by the statement, {x} and {y} are tensors made before, {n} is a number.
_FACTORIES = """
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
"""
_OPERATIONS = """
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
"""
_ALIASES = """
    {new} = {x}
    {new} = {x}.detach()
    {new} = {x}.data
    {new} = {x}.detach().clone()
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
    {new} = torch.as_tensor({x})
    {new}, *rest = {x}.unbind(0)
    {new}, *rest = {x}.chunk(2)
"""
_WRITES = """
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
"""
_FLAGS = """
    {x}.requires_grad_()
    {x}.requires_grad_(False)
    {x}.requires_grad = True
    {x}.detach_()
    {x}.retain_grad()
    {x}.grad = None
"""
_BACKWARDS = """
    {x}.backward()
    {x}.sum().backward()
    {x}.sum().backward()
    {x}.sum().backward(retain_graph=True)
    ({x} * {y}).sum().backward()
    {x}.backward(torch.ones_like({x}))
"""


def _templates(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


_FAMILIES = {
    "factory": (3, _templates(_FACTORIES)),
    "operation": (8, _templates(_OPERATIONS)),
    "alias": (4, _templates(_ALIASES)),
    "write": (5, _templates(_WRITES)),
    "flag": (1, _templates(_FLAGS)),
    "backward": (3, _templates(_BACKWARDS)),
}
_CHANGING = frozenset({"write", "flag", "backward"})
"""Families that change tensors made before: what they touch is revealed again."""
_KEPT_ERRORS = (
    (re.compile("modified by an inplace operation|through the graph a second time"), 1.0),
    (re.compile("leaf|require|inference|no_grad|multiple views|scalar outputs"), 0.15),
)
"""How often an error that a statement raises is kept, and ends the program, by its message."""
_LENGTH = (8, 18)


def generate(seed: int) -> Program:
    """A program of some dozen statements, with `reveal` on what each of them made or changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Grower(random.Random(seed)).grow()


class _Grower:
    """Grows one program while executing it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.globals: dict[str, Any] = {"torch": torch}
        self.modes: list[type[AbstractContextManager[Any]]] = []
        self.names: list[str] = []
        self.ended = False

    def grow(self) -> Program:
        torch.manual_seed(self.rng.randrange(2**31))
        program = self._statements(("factory", self.rng.choice(_FAMILIES["factory"][1][:3])))
        program += self._block(self.rng.randint(*_LENGTH))
        if not self.ended:
            program += [Statement(f"reveal({name})") for name in self.names]
            program += [
                Statement(f"reveal({name}.grad)") for name in self.names if self._leaf(name)
            ]
        return tuple(program)

    def _block(self, length: int) -> list[Statement]:
        found: list[Statement] = []
        for _ in range(length):
            if self.ended:
                break
            if self.rng.random() < 0.12 and len(self.modes) < 2:
                found.append(self._with())
            else:
                found += self._statements(self._choice())
        return found

    def _with(self) -> Statement:
        header = self.rng.choice(("with torch.no_grad():",) * 3 + tuple(_HEADERS))
        self.modes.append(_HEADERS[header])
        body = self._block(self.rng.randint(1, 4))
        self.modes.pop()
        return Statement(header, tuple(body) or (Statement("pass"),))

    def _choice(self) -> tuple[str, str]:
        families = list(_FAMILIES)
        weights = [weight for weight, _ in _FAMILIES.values()]
        family = self.rng.choices(families, weights)[0]
        return family, self.rng.choice(_FAMILIES[family][1])

    def _statements(self, choice: tuple[str, str]) -> list[Statement]:
        """The statement made from a template, if torch takes it, and what to reveal after it."""
        family, template = choice
        fill = {
            "x": self._target(family),
            "y": self._name(),
            "new": self._new(),
            "n": self._number(),
        }
        text = template.format(**fill)
        error = self._execute(text)
        if error is None:
            if "{new}" in template and fill["new"] not in self.names:
                self.names.append(fill["new"])
            return [Statement(text), *self._reveals(family, template, fill)]
        if self._keeps(error):
            self.ended = True
            return [Statement(text)]
        return []

    def _keeps(self, error: Exception) -> bool:
        if not isinstance(error, RuntimeError):
            return False
        rates = [rate for pattern, rate in _KEPT_ERRORS if pattern.search(str(error))]
        return bool(rates) and self.rng.random() < rates[0]

    def _execute(self, text: str) -> Exception | None:
        before = dict(self.globals)
        with contextlib.ExitStack() as stack:
            for mode in self.modes:
                stack.enter_context(mode())
            try:
                exec(text, self.globals)
            except Exception as error:
                self.globals = before
                return error
        return None

    def _reveals(self, family: str, template: str, fill: dict[str, str]) -> list[Statement]:
        shown = [fill["new"]] if "{new}" in template else []
        if family in _CHANGING:
            shown += [fill["x"], *self.rng.sample(self.names, min(2, len(self.names)))]
        found = [Statement(f"reveal({name})") for name in dict.fromkeys(shown)]
        if family == "backward":
            found += [Statement(f"reveal({name}.grad)") for name in self.names if self._leaf(name)]
        return found

    def _leaf(self, name: str) -> bool:
        return self._is(name, leaf=True)

    def _is(self, name: str, *, leaf: bool) -> bool:
        """Whether a tensor requires grad, and is a leaf or not."""
        tensor = self.globals[name]
        try:
            return bool(tensor.requires_grad and tensor.is_leaf == leaf)
        except RuntimeError:
            # One of several views of a base that was written: torch refuses to look at it.
            return False

    def _target(self, family: str) -> str:
        """The tensor a statement is about: rather a result with history for writes, backwards."""
        if family in ("write", "backward") and self.rng.random() < 0.7:
            results = [name for name in self.names if self._is(name, leaf=False)]
            if results:
                return self.rng.choice(results)
        return self._name()

    def _name(self) -> str:
        """A tensor made before, rather a late one."""
        late = self.names[-4:] if self.rng.random() < 0.6 else self.names
        return self.rng.choice(late or ["nothing"])

    def _new(self) -> str:
        if self.names and self.rng.random() < 0.15:
            return self.rng.choice(self.names)
        return f"t{len(self.names)}"

    def _number(self) -> str:
        return self.rng.choice(("2.0", "0.5", "3.0", "2", "1"))
