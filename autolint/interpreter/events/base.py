"""What all events have: where, in which function, under which grad mode, loops and tests."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from autolint.autograd.values import Cell, GradMode, Tri
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class LoopMark:
    """An enclosing loop (its site) and the iteration of it that is being run (1 or 2)."""

    loop: Site
    iteration: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A test that holds (or not) where the event is, inside the innermost loop.

    `since` tells what is older than the test: cells that were born up to then.
    """

    test: Site
    holds: bool
    since: int = field(default_factory=Cell.clock, compare=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happened: where, in which iterations of which loops, under which tests."""

    site: Site
    loops: tuple[LoopMark, ...]
    guards: tuple[Guard, ...]

    def earlier_iteration(self, loops: tuple[LoopMark, ...]) -> bool:
        """Whether a loop that still runs has begun another iteration since."""
        for mine, now in zip(self.loops, loops, strict=False):
            if mine != now:
                return mine.loop == now.loop
        return False


@dataclass(frozen=True, slots=True)
class Scope:
    """The function an event happens in.

    `function` identifies the function, `context` the chain of calls it was reached by.
    `framework`: somebody else's engine owns the training loop here (CATALOGUE's framework guard);
    `optimizer_code`: writing parameters is the purpose here (optimizer guard). `clears` says
    whether anything in this file clears gradients.
    """

    name: str
    qualname: str
    function: Hashable
    context: Hashable
    calls: tuple[Site, ...]
    framework: bool
    optimizer_code: bool
    clears: bool


@dataclass(frozen=True, slots=True)
class Event:
    """What all events have."""

    triggers: ClassVar[frozenset[str]] = frozenset()
    company: ClassVar[frozenset[str]] = frozenset()
    in_forward: ClassVar[bool] = False
    """Only where the forward of a module leads to can the event be: no other function is run."""
    at_construction: ClassVar[bool] = False
    """Only the construction of a module can be the event: its class is built, and that is all."""
    by_arguments: ClassVar[bool] = False
    """In a function of another file, whose own check tells the rest, only a tensor that the call
    gives it can bring the event about."""

    site: Site
    scope: Scope
    mode: GradMode
    loops: tuple[LoopMark, ...]
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Attempt(Event):
    """Something begins that torch may refuse: a "backward", or an "in-place write".

    `raises` says whether it does. For `autolint verify --model`, which asks torch the same: it
    triggers nothing.
    """

    act: str
    raises: Tri
