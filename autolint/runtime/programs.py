"""Random programs over tensors and small modules, from a seed.

A program is grown by executing it: a statement that torch refuses for a reason that is no matter of
autograd (shapes, kinds) is not taken, so what remains is a program somebody could have written. The
same seed gives the same program on the same torch.

Which way a branch goes, and how often a loop runs, is decided by shapes and constants, never by
random values. A loop whose length is hidden from the model runs twice: the model, too, runs two
iterations of such loops and takes the second for all later ones (DESIGN §5).
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
import warnings
from typing import Any

import torch

from autolint.runtime.grammar import (
    DECIDED,
    FAMILIES,
    HEADERS,
    MODULES,
    OPTIMIZERS,
    PROLOGUE,
    TRAINABLE,
    Family,
    Program,
    Statement,
    text_of,
)

_KEPT_ERRORS = (
    (re.compile("modified by an inplace operation|through the graph a second time"), 1.0),
    (re.compile("leaf|require|inference|no_grad|multiple views|scalar outputs"), 0.15),
)
"""How often an error that a statement raises is kept, and ends the program, by its message."""
_LENGTH = (8, 16)
_MAX_DEPTH = 2
_UNEXECUTED = tuple(
    family
    for family in FAMILIES
    if family.element in ("operation", "view", "detach or .data", "in-place write", "backward")
)


class _Abandoned(Exception):
    """A block cannot be run as often as it must: the program is better off without it."""


def generate(seed: int) -> Program:
    """A program of some dozen statements, with `reveal` on what each of them made or changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Grower(random.Random(seed)).grow()


@functools.cache
def _prologue() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "program"}
    exec(PROLOGUE, names)
    return names


class _Grower:
    """Grows one program while executing it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.seed = rng.randrange(2**31)
        self.globals = dict(_prologue())
        self.modes: list[str] = []
        self.names: list[str] = []
        self.modules: list[str] = []
        self.optimizers: list[str] = []
        self.made = 0
        self.depth = 0
        self.ended = False

    def grow(self) -> Program:
        torch.manual_seed(self.seed)
        program = self._statements(TRAINABLE, self.rng.choice(TRAINABLE.templates))
        for _ in range(self.rng.randint(*_LENGTH)):
            if self.ended:
                break
            kept = (list(self.names), list(self.modules), list(self.optimizers))
            try:
                program += self._next()
            except _Abandoned:
                self.names, self.modules, self.optimizers = kept
                self.modes, self.depth = [], 0
                self._again(program)
        if not self.ended:
            program += self._last_looks()
        return tuple(program)

    def _again(self, program: list[Statement]) -> None:
        """Execute the program from its start."""
        torch.manual_seed(self.seed)
        self.globals = dict(_prologue())
        exec(text_of(program), self.globals)

    def _last_looks(self) -> list[Statement]:
        looks = [f"reveal({name})" for name in self.names]
        looks += [f"reveal({name}.grad)" for name in self.names if self._is(name, leaf=True)]
        for _ in range(4):
            looks.append(f"reveal(({self._name()}, {self._name()}))")
        return [Statement(look) for look in dict.fromkeys(looks)]

    # ------------------------------------------------------------------ blocks

    def _next(self) -> list[Statement]:
        if self.depth < _MAX_DEPTH:
            compound = self.rng.choices((self._with, self._branch, self._loop, None), (5, 5, 5, 40))
            if compound[0] is not None:
                return compound[0]()
        return self._statements(*self._choice(FAMILIES))

    def _block(self, length: int) -> tuple[Statement, ...]:
        found: list[Statement] = []
        self.depth += 1
        for _ in range(length):
            if not self.ended:
                found += self._next()
        self.depth -= 1
        return tuple(found) or (Statement("pass"),)

    def _with(self) -> list[Statement]:
        mode = self.rng.choice(HEADERS)
        self.modes.append(mode)
        body = self._block(self.rng.randint(1, 4))
        self.modes.pop()
        return [Statement(f"with {mode}():", body, element="grad mode")]

    def _branch(self) -> list[Statement]:
        test = self.rng.choice((*DECIDED, f"{self._name()}.numel() > 3"))
        if self._execute(f"taken = {test}") is not None:
            return []
        taken = self.globals["taken"]
        other = self._unexecuted(self.rng.randint(1, 3))
        if not taken and self.rng.random() < 0.3:
            return [Statement(f"if {test}:", other, element="branch")]
        arm = self._block(self.rng.randint(1, 4))
        if taken:
            orelse = other if self.rng.random() < 0.6 else ()
            return [Statement(f"if {test}:", arm, orelse, element="branch")]
        return [Statement(f"if {test}:", other, arm, element="branch")]

    def _unexecuted(self, length: int) -> tuple[Statement, ...]:
        """An arm that is not taken: it only binds names that are bound already."""
        found = []
        for _ in range(length):
            family, template = self._choice(_UNEXECUTED)
            text = template.format(**{**self._fill(family), "new": self._name()})
            found.append(Statement(text, element=family.element))
        return tuple(found)

    def _loop(self) -> list[Statement]:
        number = self.made
        self.made += 1
        if self.rng.random() < 0.3:
            items = [self._name(), self._name()]
            variable, shown = f"e{number}", f"({', '.join(items)})"
        else:
            items = ["0", "1"]
            variable, shown = f"i{number}", self.rng.choice(("range(2)", 'range(json.loads("2"))'))
        self._run(f"{variable} = {items[0]}")
        body = self._block(self.rng.randint(1, 5))
        leaves = self.rng.random() < 0.15
        if leaves and not self.ended:
            body = (*body, Statement(f"if {self.rng.choice(DECIDED)}:", (Statement("break"),)))
        header = f"for {variable} in {shown}:"
        loop = Statement(header, body, element="loop")
        if not self.ended and DECIDED[0] not in body[-1].text:
            self._second(loop, f"for {variable} in ({items[1]},):")
        return [loop]

    def _second(self, loop: Statement, header: str) -> None:
        """Run the second iteration of a loop."""
        error = self._execute(text_of([Statement(header, loop.body)]))
        if error is not None:
            if not self._keeps(error):
                raise _Abandoned
            self.ended = True

    # ------------------------------------------------------------------ statements

    def _choice(self, families: tuple[Family, ...]) -> tuple[Family, str]:
        family = self.rng.choices(families, [family.weight for family in families])[0]
        return family, self.rng.choice(family.templates)

    def _fill(self, family: Family) -> dict[str, str]:
        number = len(self.names)
        new = f"t{number}"
        if self.names and self.rng.random() < 0.15:
            new = self.rng.choice(self.names)
        return {
            "x": self._target(family),
            "y": self._name(),
            "new": new,
            "n": self.rng.choice(("2.0", "0.5", "3.0", "2", "1")),
            "m": self.rng.choice(self.modules or ["nothing"]),
            "o": self.rng.choice(self.optimizers or ["nothing"]),
            "module": f"m{len(self.modules)}",
            "optimizer": f"o{len(self.optimizers)}",
        }

    def _statements(self, family: Family, template: str) -> list[Statement]:
        """The statement made from a template, if torch takes it, and what to reveal after it."""
        needed = self._needed(template)
        fill = self._fill(family)
        text = template.format(**fill)
        error = self._execute(text)
        if error is None:
            self._remember(template, fill)
            looks = self._looks(family, template, fill)
            return [*needed, Statement(text, element=family.element), *looks]
        if self._keeps(error):
            self.ended = True
            return [*needed, Statement(text, element=family.element)]
        return needed

    def _needed(self, template: str) -> list[Statement]:
        """The module or optimizer that a template is about, if there is none yet."""
        if "{m}" in template and not self.modules:
            return self._statements(MODULES, self.rng.choice(MODULES.templates))
        if "{o}" in template and not self.optimizers:
            return self._statements(OPTIMIZERS, self.rng.choice(OPTIMIZERS.templates))
        return []

    def _remember(self, template: str, fill: dict[str, str]) -> None:
        for word, known in (("module", self.modules), ("optimizer", self.optimizers)):
            if f"{{{word}}}" in template:
                known.append(fill[word])
        if "{new}" in template:
            name = fill["new"]
            tensor = isinstance(self.globals[name], torch.Tensor)
            if tensor and name not in self.names:
                self.names.append(name)
            elif not tensor and name in self.names:
                self.names.remove(name)

    def _keeps(self, error: Exception) -> bool:
        if not isinstance(error, RuntimeError):
            return False
        rates = [rate for pattern, rate in _KEPT_ERRORS if pattern.search(str(error))]
        return bool(rates) and self.rng.random() < rates[0]

    def _execute(self, text: str) -> Exception | None:
        before = dict(self.globals)
        try:
            self._run(text)
        except Exception as error:
            self.globals = before
            return error
        return None

    def _run(self, text: str) -> None:
        with contextlib.ExitStack() as stack:
            for mode in self.modes:
                stack.enter_context(getattr(torch, mode.partition(".")[2])())
            exec(text, self.globals)

    def _looks(self, family: Family, template: str, fill: dict[str, str]) -> list[Statement]:
        shown = [fill["new"]] if "{new}" in template else []
        if family.changes:
            shown += [fill["x"], *self.rng.sample(self.names, min(2, len(self.names)))]
        looks = [f"reveal({name})" for name in dict.fromkeys(shown) if name in self.globals]
        if family.changes and "backward" in template:
            looks += [f"reveal({name}.grad)" for name in self.names if self._is(name, leaf=True)]
        if "{new}" in template and self.rng.random() < 0.3:
            looks.append(f"reveal(({fill['new']}, {self._name()}))")
        return [Statement(look) for look in looks]

    # ------------------------------------------------------------------ names

    def _is(self, name: str, *, leaf: bool) -> bool:
        """Whether a tensor requires grad, and is a leaf or not."""
        tensor = self.globals.get(name)
        try:
            return isinstance(tensor, torch.Tensor) and bool(
                tensor.requires_grad and tensor.is_leaf == leaf
            )
        except RuntimeError:
            # One of several views of a base that was written: torch refuses to look at it.
            return False

    def _target(self, family: Family) -> str:
        """The tensor a statement is about, as its family wants it most of the time."""
        if (family.results or family.leaves) and self.rng.random() < 0.7:
            wanted = [name for name in self.names if self._is(name, leaf=family.leaves)]
            if wanted:
                return self.rng.choice(wanted)
        return self._name()

    def _name(self) -> str:
        """A tensor made before, rather a late one."""
        late = self.names[-4:] if self.rng.random() < 0.6 else self.names
        return self.rng.choice(late or ["nothing"])
