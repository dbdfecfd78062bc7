"""Events of what an optimizer was built with: parts that it does not hold, spent generators."""

from __future__ import annotations

from dataclasses import dataclass

from autolint.interpreter.events.base import Event, Scope
from autolint.interpreter.unit import Site

OPTIMIZERS = frozenset(
    {
        "optim", "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad",
        "Adadelta", "LBFGS", "Rprop", "ASGD", "Adafactor", "Muon",
    }
)  # fmt: skip
"""Names by which code builds an optimizer of torch."""


@dataclass(frozen=True, slots=True)
class PartReplaced(Event):
    """What an optimizer had taken the parameters of got new ones, and the optimizer was not told.

    The site is where that was done, in the function `owner`: `part_text` was set, or (`assigned`)
    a state dict was assigned to it. `built` is where the optimizer was. Told at the optimizer's
    step, `stepped_at`, when a backward has reached the new ones, which no optimizer holds; None at
    the end of a method of a class whose other methods step.
    """

    triggers = frozenset({"step"})
    company = frozenset({"backward"})

    part_text: str
    assigned: bool
    owner: Scope
    optimizer_text: str
    built: Site | None
    stepped_at: Site | None


@dataclass(frozen=True, slots=True)
class GeneratorReused(Event):
    """A generator of parameters, made at `made` and used up at `spent_at`, is used again.

    `name` is the name that it was given, `use` what uses it: "optimizer", "clip", "loop" or "list".
    """

    triggers = frozenset({"parameters", "named_parameters"})
    company = OPTIMIZERS | {"clip_grad_norm_", "clip_grad_value_"}

    name: str
    use: str
    made: Site
    spent_at: Site


_FREEZING = frozenset({"requires_grad", "requires_grad_"})


@dataclass(frozen=True, slots=True)
class NothingTrained(Event):
    """All that a program trains was frozen: told at a step of an optimizer that was built, at
    `built`, with frozen parameters only, or at a backward that reaches nothing (then `built` is
    None): `shown_at`.

    The site is where it was frozen, in the function `owner`. `part` is where a new part had been
    put into the model before, which was frozen with the rest.
    """

    triggers = frozenset({"step", "backward"})
    company = _FREEZING

    owner: Scope
    part: Site | None
    optimizer_text: str
    built: Site | None
    shown_at: Site


@dataclass(frozen=True, slots=True)
class FrozenMoves(Event):
    """Parameters that were frozen (the site, in the function `owner`) still have a gradient, and
    an optimizer goes on moving them: at `stepped_at`, by that gradient or (`zeroed`: it is zero)
    by what it remembers of earlier ones.
    """

    triggers = frozenset({"step"})
    company = _FREEZING

    owner: Scope
    optimizer_text: str
    stepped_at: Site
    zeroed: bool
