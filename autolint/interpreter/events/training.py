"""Events of training: backward and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autolint.autograd.graph import Saved
from autolint.autograd.objects import Optimizer
from autolint.autograd.tensor import GradHolder
from autolint.autograd.values import Through, Value, Word
from autolint.interpreter.events.base import Event, Moment
from autolint.interpreter.events.memory import DataRebind, InPlaceWrite
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class StaleSaved:
    """A saved value that was changed since: `through` tells whether autograd can see that.

    `write` is the event of the (last) change, None where it was not seen to happen in one place.
    """

    saved: Saved
    operation: str
    origin: Site | None
    write: InPlaceWrite | DataRebind | None
    through: Through


@dataclass(frozen=True, slots=True)
class Backward(Event):
    """`backward()` runs over a graph.

    `loss` is the value it is called on; `stale` are saved values changed since they were saved, for
    sure; `freed` the nodes met whose saved values an earlier backward freed, for sure.
    """

    triggers = frozenset({"backward"})

    loss: Value
    stale: tuple[StaleSaved, ...]
    freed: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SetState:
    """One parameter set of an optimizer at a step: its states before, and where they arose.

    `filled` is when a backward last reached it, `emptied` when it was last cleared, `wiped` when a
    clear last took gradients that no step had used.
    """

    holder: GradHolder
    words: frozenset[Word]
    stale_at: Site | None
    dropped_at: Site | None
    filled: Moment | None
    emptied: Moment | None
    wiped: Moment | None


@dataclass(frozen=True, slots=True)
class OptimizerStep(Event):
    """An optimizer steps: the states of its parameter sets before the step.

    `backwards` counts the backward calls in the innermost loop's body so far, `optimizers` the
    optimizers that stepped in it.
    """

    triggers = frozenset({"step"})
    company = frozenset({"backward", "zero_grad"})

    optimizer: Optimizer
    optimizer_text: str
    sets: tuple[SetState, ...]
    backwards_in_loop: int
    optimizers_in_loop: int
