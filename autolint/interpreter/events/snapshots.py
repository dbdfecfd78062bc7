"""Events of snapshots: values that were kept, and that changed with what they share memory with."""

from __future__ import annotations

from dataclasses import dataclass

from autolint.autograd.values import Tri
from autolint.interpreter.events.base import Event, Moment
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class SnapshotUsed(Event):
    """A module's `state_dict()` that was kept is used after an optimizer changed the parameters.

    `how`: load, save or return; `text` is what is used as it is written. `made` is the call of
    `state_dict` and `step` the last step since. `looped`: both are in one loop. `own` says whether
    it is loaded into the module that it came from, `stepped` whether that optimizer surely holds
    its parameters; `moved` is the method that made no copy only where the tensors were on the CPU.
    """

    triggers = frozenset({"state_dict"})
    company = frozenset({"step"})

    how: str
    text: str
    made: Site
    step: Moment
    looped: bool
    own: Tri
    stepped: Tri
    moved: str


@dataclass(frozen=True, slots=True)
class AliasKept(Event):
    """An alias of a parameter, or its gradient, is computed with after its memory changed.

    `through` is data, detach or grad; `made` is where it was taken, `changed` the step, or the
    backward that added to the gradient, since then.
    """

    triggers = frozenset({"data", "detach", "grad"})
    company = frozenset({"step"})

    through: str
    made: Site
    changed: Site
