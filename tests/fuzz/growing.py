"""Programs grown at random: every form of Python's grammar, filled with the words of torch.

They mean nothing. What is asked of the linter is only that nothing about them stops it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from random import Random

DEPTH = 3
"""Levels of expressions, and of blocks, in one another."""


def grown(seed: int) -> Iterator[str]:
    """Endless: programs of some dozen statements."""
    chance = Random(seed)
    while True:
        yield program(chance)


def program(chance: Random) -> str:
    """One program; nearly all of them parse."""
    return Grower(chance).program()


def _column(table: str, column: str) -> list[str]:
    lines = files("autolint.autograd").joinpath(table).read_text("utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return sorted({name for row in rows for name in row[column].split()})


NAMES = ("x", "y", "xs", "k", "loss", "model", "optimizer", "scaler", "scheduler", "self", "T", "_")
OPS = _column("ops.csv", "names")
METHODS = (
    *(name.removeprefix(".") for name in OPS if name.isidentifier() or name[:1] == "."),
    *(
        name[1:]
        for table in ("factories.csv", "names.csv")
        for name in _column(table, "name")
        if name[0] == "."
    ),
    *("backward", "zero_grad", "step", "parameters", "named_parameters", "train", "eval", "update"),
    *("append", "extend", "items", "keys", "copy", "pop", "add_module", "register_parameter"),
    *("register_buffer", "state_dict", "load_state_dict", "apply", "to", "scale", "unscale_"),
)
ATTRIBUTES = ("grad", "data", "shape", "weight", "bias", "param_groups", "requires_grad", "T", "z")
FACTORIES, LAYERS, KNOWN = (
    [f"torch.{name}" for name in _column(f"{table}.csv", "name") if name[0] != "."]
    for table in ("factories", "layers", "names")
)
BUILTINS = ("len", "range", "zip", "enumerate", "sum", "list", "dict", "print", "getattr", "super")
KEYWORDS = ("requires_grad", "dtype", "device", "lr", "inplace", "dim", "out", "retain_graph", "k")
CONSTANTS = ("0", "1", "-1", "2.5", "1e9", "3j", "None", "True", "False", "...", "'s'", "b's'")
BINARY = ("+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^")
COMPARISONS = ("<", ">", "<=", ">=", "==", "!=", "is", "is not", "in", "not in")
MODES = (
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.inference_mode()",
    "torch.autocast('cpu')",
)
DECORATORS = ("torch.no_grad()", "staticmethod", "property", "classmethod", "functools.wraps(k)")
BASES = ("torch.nn.Module", "torch.autograd.Function", "nn.Module", "object", "A", "B", "x.y")
IMPORTS = (
    "import torch.nn as nn",
    "import torch, functools",
    "from torch import *",
    "from torch.nn import functional as F",
    "from torch import optim, nn as y",
    "from . import x",
    "from .a.b import A as B",
    "import x.y.z",
)
HEAD = "import functools\nimport torch\nfrom torch import nn\n"

Lines = list[str]


class Grower:
    """Grows one program; how it is nested decides which statements are allowed."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._functions: list[str] = []
        self._loops = 0

    def program(self) -> str:
        """The program, with imports in front of it."""
        lines = self._block(0, 8)
        return HEAD + "\n".join(lines) + "\n"

    # Statements

    def _block(self, depth: int, most: int = 3) -> Lines:
        forms = _SIMPLE if depth >= DEPTH else (*_SIMPLE, *_COMPOUND)
        lines: Lines = []
        for _ in range(self._chance.randint(1, most)):
            lines += self._chance.choice(forms)(self, depth)
        return lines

    def _indented(self, depth: int) -> Lines:
        return [f"    {line}" for line in self._block(depth + 1)]

    def _looped(self, depth: int) -> Lines:
        self._loops += 1
        lines = self._indented(depth)
        self._loops -= 1
        return lines

    def _expression_statement(self, depth: int) -> Lines:
        return [self.expression()]

    def _call_statement(self, depth: int) -> Lines:
        return [self._call(1)]

    def _assignment(self, depth: int) -> Lines:
        targets = [self._target() for _ in range(self._chance.choice((1, 1, 1, 2)))]
        return [" = ".join([*targets, self.expression()])]

    def _augmented(self, depth: int) -> Lines:
        return [f"{self._place()} {self._chance.choice(BINARY)}= {self.expression()}"]

    def _annotated(self, depth: int) -> Lines:
        value = f" = {self.expression()}" if self._chance.random() < 0.7 else ""
        place = self._chance.choice(
            (self._name(), f"{self._name()}.{self._chance.choice(ATTRIBUTES)}")
        )
        return [f"{place}: {self._annotation()}{value}"]

    def _small(self, depth: int) -> Lines:
        forms = [
            "pass",
            f"del {self._place()}, ({self._name()},)",
            f"assert {self.expression()}, {self.expression(2)}",
            f"raise {self.expression(1)} from {self.expression(2)}",
            "raise",
            self._chance.choice(IMPORTS),
            f"{self._name()} = {self._name()}; {self._call(2)};",
        ]
        if self._loops:
            forms += ["break", "continue"]
        if self._functions:
            forms += [f"return {self.expression()}", "return", f"global {self._name()}"]
            forms += [f"nonlocal {self._name()}", f"yield {self.expression(1)}"]
            forms += [f"{self._name()} = yield", f"yield from {self.expression(1)}"]
        if self._functions[-1:] == ["async def"]:
            forms = [*forms[:-1], f"await {self.expression(1)}"]
        return [self._chance.choice(forms)]

    def _if(self, depth: int) -> Lines:
        lines = [f"if {self._condition()}:", *self._indented(depth)]
        while self._chance.random() < 0.3:
            lines += [f"elif {self._condition()}:", *self._indented(depth)]
        if self._chance.random() < 0.5:
            lines += ["else:", *self._indented(depth)]
        return lines

    def _for(self, depth: int) -> Lines:
        head = f"for {self._target()} in {self.expression()}:"
        return [self._maybe_async() + head, *self._looped(depth), *self._else(depth)]

    def _while(self, depth: int) -> Lines:
        return [f"while {self._condition()}:", *self._looped(depth), *self._else(depth)]

    def _else(self, depth: int) -> Lines:
        return ["else:", *self._indented(depth)] if self._chance.random() < 0.2 else []

    def _with(self, depth: int) -> Lines:
        items = [
            f"{self._chance.choice((*MODES, self.expression(1)))}"
            + (f" as {self._target()}" if self._chance.random() < 0.3 else "")
            for _ in range(self._chance.choice((1, 1, 2)))
        ]
        return [f"{self._maybe_async()}with {', '.join(items)}:", *self._indented(depth)]

    def _try(self, depth: int) -> Lines:
        lines = ["try:", *self._indented(depth)]
        group = "*" if sys.version_info >= (3, 11) and self._chance.random() < 0.1 else ""
        handlers = self._chance.randint(0, 2)
        for _ in range(handlers):
            named = f" as {self._name()}" if self._chance.random() < 0.5 else ""
            lines += [f"except{group} {self.expression(2)}{named}:"]
            # A group takes neither of these.
            loops, functions = self._loops, self._functions
            if group:
                self._loops, self._functions = 0, []
            lines += self._indented(depth)
            self._loops, self._functions = loops, functions
        if handlers:
            lines += self._else(depth)
        if not handlers or self._chance.random() < 0.3:
            lines += ["finally:", *self._indented(depth)]
        return lines

    def _match(self, depth: int) -> Lines:
        lines = [f"match {self.expression()}:"]
        for _ in range(self._chance.randint(1, 3)):
            guard = f" if {self._condition()}" if self._chance.random() < 0.3 else ""
            lines += [f"    case {self._pattern(2)}{guard}:"]
            lines += [f"    {line}" for line in self._indented(depth)]
        return lines

    def _pattern(self, depth: int) -> str:
        name = self._chance.choice(("x", "y", "k"))
        forms = ["0", "-1", "'s'", "None", "nn.Module", "[*_]", "{}", "A()", "_"]
        if depth:
            one, other = self._pattern(depth - 1), self._pattern(depth - 1)
            forms += [f"[{one}, *_]", f"({one}, {other})", f"A({one}, k={other})"]
            forms += [f"{{'s': {one}, **rest}}", "0 | 1 | None", f"(1 | 2) as {name}", name]
        return self._chance.choice(forms)

    def _def(self, depth: int) -> Lines:
        name = self._chance.choice(("forward", "f", "train", "__init__", "backward", "__call__"))
        return self._function(name, depth)

    def _function(self, name: str, depth: int) -> Lines:
        lines = []
        if self._chance.random() < 0.3:
            lines.append(f"@{self._chance.choice((*DECORATORS, self._call(2)))}")
        word = self._chance.choice(("def", "def", "def", "async def"))
        returns = f" -> {self._annotation()}" if self._chance.random() < 0.2 else ""
        lines.append(f"{word} {name}({self._parameters()}){returns}:")
        loops, self._loops = self._loops, 0
        self._functions.append(word)
        lines += self._indented(depth)
        self._functions.pop()
        self._loops = loops
        return lines

    def _parameters(self) -> str:
        chance = self._chance
        names = iter(chance.sample(("x", "y", "xs", "k", "model", "optimizer", "loss"), 7))
        parts = ["self"] if chance.random() < 0.5 else []
        parts += [self._maybe_annotated(next(names)) for _ in range(chance.randint(0, 2))]
        if parts and chance.random() < 0.2:
            parts.append("/")
        parts += [f"{next(names)}={self.expression(2)}" for _ in range(chance.choice((0, 0, 1)))]
        star = chance.random()
        if star < 0.2:
            parts += ["*args", next(names)]
        elif star < 0.3:
            parts += ["*", f"{next(names)}={self.expression(2)}"]
        if chance.random() < 0.2:
            parts.append("**kwargs")
        return ", ".join(parts)

    def _maybe_annotated(self, name: str) -> str:
        return f"{name}: {self._annotation()}" if self._chance.random() < 0.3 else name

    def _class(self, depth: int) -> Lines:
        chance = self._chance
        bases = chance.sample(BASES, chance.randint(0, 2))
        if chance.random() < 0.1:
            bases += [f"metaclass={self._name()}", "**k"]
        lines = [f"@{self._call(2)}"] if chance.random() < 0.1 else []
        lines.append(f"class {chance.choice('AB')}({', '.join(bases)}):")
        functions, self._functions = self._functions, []
        loops, self._loops = self._loops, 0
        for name in chance.sample(("__init__", "forward", "train", "f"), chance.randint(0, 3)):
            lines += [f"    {line}" for line in self._function(name, depth + 1)]
        lines += self._indented(depth)
        self._functions, self._loops = functions, loops
        return lines

    def _maybe_async(self) -> str:
        inside = self._functions[-1:] == ["async def"]
        return "async " if inside and self._chance.random() < 0.5 else ""

    # Targets

    def _name(self) -> str:
        return self._chance.choice(NAMES)

    def _place(self) -> str:
        """What one value can be stored in."""
        match self._chance.randrange(4):
            case 0:
                return f"{self._primary(2)}.{self._chance.choice(ATTRIBUTES)}"
            case 1:
                return f"{self._primary(2)}[{self._subscript(2)}]"
            case _:
                return self._name()

    def _target(self) -> str:
        match self._chance.randrange(6):
            case 0:
                return f"{self._place()}, {self._place()}"
            case 1:
                return f"({self._place()}, [*{self._name()}, {self._place()}])"
            case _:
                return self._place()

    # Expressions

    def expression(self, depth: int = 0) -> str:
        """Any expression, without commas outside of brackets."""
        forms = _LEAVES if depth >= DEPTH else (*_LEAVES, *_EXPRESSIONS)
        return self._chance.choice(forms)(self, depth)

    def _condition(self) -> str:
        return self._chance.choice((self.expression(1), self._comparison(1), "__debug__", "k % 2"))

    def _annotation(self) -> str:
        return self._chance.choice(
            ("torch.Tensor", "'Tensor'", "int | None", "nn.Module", "list[A]")
        )

    def _leaf(self, depth: int) -> str:
        return self._chance.choice((*CONSTANTS, *NAMES, *NAMES))

    def _known(self, depth: int) -> str:
        return self._chance.choice(self._chance.choice((FACTORIES, LAYERS, KNOWN, BUILTINS)))

    def _primary(self, depth: int) -> str:
        match self._chance.randrange(5):
            case 0:
                return f"({self.expression(depth + 1)})"
            case 1 if depth < DEPTH:
                return self._call(depth + 1)
            case _:
                return self._name()

    def _attribute(self, depth: int) -> str:
        return f"{self._primary(depth)}.{self._chance.choice((*ATTRIBUTES, *METHODS))}"

    def _call(self, depth: int) -> str:
        chance = self._chance
        match chance.randrange(5):
            case 0:
                called = self._known(depth)
            case 1:
                called = f"torch.{chance.choice(METHODS)}"
            case 2:
                called = chance.choice(
                    ("f", "A", "self.f", "super().__init__", "forward", "B.apply")
                )
            case _:
                called = f"{self._primary(depth)}.{chance.choice(METHODS)}"
        return f"{called}({self._arguments(depth + 1)})"

    def _arguments(self, depth: int) -> str:
        chance = self._chance
        parts = [self.expression(depth) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
        if chance.random() < 0.1:
            parts.append(f"*{self._name()}")
        words = chance.sample(KEYWORDS, chance.choice((0, 0, 0, 1, 2)))
        parts += [f"{word}={self.expression(depth)}" for word in words]
        if chance.random() < 0.05:
            parts.append(f"**{self._name()}")
        return ", ".join(parts)

    def _subscripted(self, depth: int) -> str:
        return f"{self._primary(depth)}[{self._subscript(depth)}]"

    def _subscript(self, depth: int) -> str:
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        return self._chance.choice(
            (one, f"{one}:{other}", "::-1", ":", f"..., {one}", f"({other},)")
        )

    def _binary(self, depth: int) -> str:
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        return f"({one}) {self._chance.choice(BINARY)} ({other})"

    def _unary(self, depth: int) -> str:
        return f"{self._chance.choice(('-', '+', '~', 'not '))}({self.expression(depth + 1)})"

    def _logic(self, depth: int) -> str:
        parts = [f"({self.expression(depth + 1)})" for _ in range(self._chance.randint(2, 3))]
        return self._chance.choice((" and ", " or ")).join(parts)

    def _comparison(self, depth: int) -> str:
        text = f"({self.expression(depth + 1)})"
        for _ in range(self._chance.choice((1, 1, 2))):
            text += f" {self._chance.choice(COMPARISONS)} ({self.expression(depth + 1)})"
        return text

    def _conditional(self, depth: int) -> str:
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        return f"(({one}) if ({self.expression(depth + 1)}) else ({other}))"

    def _lambda(self, depth: int) -> str:
        functions, self._functions = self._functions, [*self._functions, "lambda"]
        names = self._chance.choice(("", "x", "*xs, k=1", "x, /, y=None, **k"))
        text = f"(lambda {names}: {self.expression(depth + 1)})"
        self._functions = functions
        return text

    def _display(self, depth: int) -> str:
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        forms = (f"[{one}, {other}]", f"({one}, *{self._name()})", f"{{{one}: {other}, **k}}")
        return self._chance.choice(
            (*forms, f"{{{one}, {other}}}", f"[{one}] * k", "[]", "()", "{}")
        )

    def _comprehension(self, depth: int) -> str:
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        tail = f"for {self._chance.choice(('x', 'x, y', '(k, *xs)'))} in ({other})"
        if self._chance.random() < 0.3:
            tail += f" if ({self.expression(depth + 1)})"
        if self._chance.random() < 0.2:
            tail += " for y in x"
        forms = (f"[{one} {tail}]", f"{{{one} {tail}}}", f"({one} {tail})", f"{{x: {one} {tail}}}")
        return self._chance.choice(forms)

    def _walrus(self, depth: int) -> str:
        return f"({self._name()} := {self.expression(depth + 1)})"

    def _formatted(self, depth: int) -> str:
        return f"f'a{{{self._name()}.item():.{{k}}f}}b{{{self._name()}!r}}' 'c'"


_SIMPLE: Sequence[Callable[[Grower, int], Lines]] = (
    Grower._expression_statement,
    Grower._call_statement,
    Grower._call_statement,
    Grower._assignment,
    Grower._assignment,
    Grower._assignment,
    Grower._augmented,
    Grower._annotated,
    Grower._small,
)
_COMPOUND: Sequence[Callable[[Grower, int], Lines]] = (
    Grower._if,
    Grower._for,
    Grower._while,
    Grower._with,
    Grower._try,
    Grower._match,
    Grower._def,
    Grower._class,
)
_LEAVES: Sequence[Callable[[Grower, int], str]] = (Grower._leaf, Grower._leaf, Grower._known)
_EXPRESSIONS: Sequence[Callable[[Grower, int], str]] = (
    Grower._attribute,
    Grower._call,
    Grower._call,
    Grower._call,
    Grower._subscripted,
    Grower._binary,
    Grower._unary,
    Grower._logic,
    Grower._comparison,
    Grower._conditional,
    Grower._lambda,
    Grower._display,
    Grower._comprehension,
    Grower._walrus,
    Grower._formatted,
)
