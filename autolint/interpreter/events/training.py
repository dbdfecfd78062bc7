"""Events of training: backward and steps."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from autolint.autograd.graph import Saved
from autolint.autograd.objects import GradScaler, Optimizer
from autolint.autograd.tensor import GradHolder, Tensor, TensorState
from autolint.autograd.values import Lost, Through, Tri, Value, Word
from autolint.interpreter.events.base import Event, Moment
from autolint.interpreter.events.memory import DataRebind, InPlaceWrite
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class StaleSaved:
    """A saved value that was changed since: `through` tells whether autograd can see that.

    `write` is the event of the (last) change, None where it was not seen to happen in one place:
    a step is one of the optimizer that the value is a parameter of.
    """

    saved: Saved
    operation: str
    origin: Site | None
    write: InPlaceWrite | DataRebind | OptimizerStep | None
    through: Through


class Age(enum.Enum):
    """When a node was made that a backward meets."""

    SAME = "same"
    """In this iteration of each loop, or outside loops."""
    ITERATION = "iteration"
    """In another iteration of a loop that is still running."""
    BEFORE = "before"
    """Before the loop began."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A name through which an iteration got something from the one before.

    `value` is what it held when this iteration began, `start` when the first one did; `local`: it
    is a name of the function in which the event is.
    """

    name: str
    value: Value
    start: Value
    local: bool


@dataclass(frozen=True, slots=True)
class FreedNode:
    """A node that a backward meets after an earlier one (`freed_at`) freed what it saved.

    `made` is where it was recorded, `taken` where what is still whole was computed from it (None:
    nothing is). `loop` is the loop that `age` is about, `carried` are the names that brought it
    into this iteration.
    """

    operation: str
    made: Site | None
    freed_at: Site | None
    taken: Site | None
    age: Age
    loop: Site | None
    carried: tuple[Carried, ...]


@dataclass(frozen=True, slots=True)
class Backward(Event):
    """`backward()` runs over a graph, or `torch.autograd.grad` does.

    `loss` is the tensor it starts from, `loss_text` as it is written, `history` whether it requires
    grad; `stale` are saved
    values changed since they were saved, for sure; `freed` the nodes met whose saved values an
    earlier backward freed, for sure. `lost` is where the history of the loss
    ended, `marked` the leaf that is all it reaches: a result that was told to require grad.
    """

    triggers = frozenset({"backward"})

    loss: Tensor
    loss_text: str
    history: Tri
    stale: tuple[StaleSaved, ...]
    freed: tuple[FreedNode, ...]
    lost: Lost | None
    marked: TensorState | None


@dataclass(frozen=True, slots=True)
class Clip:
    """Gradients were clipped: when, by which function, and whether there were none (`empty`) or
    they were still multiplied by a scaler's factor.
    """

    moment: Moment
    function: str
    empty: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """What gathered the graphs of several iterations: as the program names it, and where the last
    one was added.

    `put`: it is a list or dict, and `added` is the value that was put in. `local`: that is written
    in the loop itself, not in a function that it calls.
    """

    text: str
    added: Site | None
    put: bool
    local: bool


@dataclass(frozen=True, slots=True)
class LoopFinished(Event):
    """A loop ran; `kept` is what was there before it and now leads to graphs of several
    iterations, which backward has freed already.
    """

    triggers = frozenset({"backward"})

    kept: tuple[Kept, ...]


@dataclass(frozen=True, slots=True)
class SetState:
    """One parameter set of an optimizer at a step: its states before, and where they arose.

    `filled` is when a backward last reached it, `emptied` when it was last cleared, `wiped` when a
    clear last took gradients that no step had used. `clipped` is a clip since the last step that
    did not clip what the step uses. `scaled` says whether the gradients are multiplied by the
    factor of `scaler`.
    """

    holder: GradHolder
    words: frozenset[Word]
    stale_at: Site | None
    dropped_at: Site | None
    filled: Moment | None
    emptied: Moment | None
    wiped: Moment | None
    stepped: Moment | None
    clipped: Clip | None
    scaled: Tri
    scaler: GradScaler | None


@dataclass(frozen=True, slots=True)
class OptimizerStep(Event):
    """An optimizer steps: the states of its parameter sets before the step.

    `backwards` counts the backward calls in the innermost loop's body so far, `optimizers` the
    optimizers that stepped in it. `scaler` is what calls the step, if not the program itself;
    `awaits_update`: it stepped this optimizer before and was not updated since;
    `calls_update`: the function calls something of that name.
    """

    triggers = frozenset({"step"})
    company = frozenset({"backward", "zero_grad"})

    optimizer: Optimizer
    optimizer_text: str
    sets: tuple[SetState, ...]
    backwards_in_loop: int
    optimizers_in_loop: int
    scaler: GradScaler | None
    awaits_update: Tri
    calls_update: bool


@dataclass(frozen=True, slots=True)
class SchedulerTooEarly(Event):
    """A scheduler steps in a loop before its optimizer has ever stepped, which it does there too.

    Told when the optimizer does, at `stepped_at`; the site is the scheduler's step.
    """

    triggers = frozenset({"step"})
    company = frozenset({"backward"})

    optimizer_text: str
    stepped_at: Site


@dataclass(frozen=True, slots=True)
class SteppedInEval(Event):
    """An optimizer steps, at `stepped_at`, while modules of it are in evaluation mode.

    They were in training mode before; the site is the `eval()`, in a loop that still runs.
    """

    triggers = frozenset({"eval"})
    company = frozenset({"step"})

    stepped_at: Site


@dataclass(frozen=True, slots=True)
class GradientClipped(Event):
    """Gradients are clipped by `function`, of sets in these states.

    `unlimited`: nothing is clipped, only the norm is wanted.
    """

    triggers = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"})

    function: str
    sets: tuple[SetState, ...]
    unlimited: bool
