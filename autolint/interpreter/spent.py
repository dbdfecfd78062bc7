"""Generators of parameters: what uses them up, and who uses one again."""

from __future__ import annotations

from autolint.autograd.objects import Parameters
from autolint.autograd.values import MAYBE, NO, YES, Sequence, Value, resolve
from autolint.interpreter.events import GeneratorReused
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def used(m: Machine, value: Value, use: str, site: Site) -> None:
    """Something runs through an iterable: a generator is used up by that."""
    found = resolve(value)
    if isinstance(found, Sequence) and isinstance(found.source, Value):
        found = resolve(found.source)  # What a generator expression runs over, now that it runs.
    if not isinstance(found, Parameters) or not isinstance(found.made, Site):
        return  # Of a list every use begins at the front.
    if found.spent is YES and found.name and isinstance(found.spent_at, Site):
        m.emit(
            GeneratorReused,
            site,
            name=found.name,
            use=use,
            made=found.made,
            spent_at=found.spent_at,
        )
    elif found.spent is not YES:
        m.change(found, "spent", YES)
        m.change(found, "spent_at", site)


def perhaps_used(m: Machine, value: Value) -> None:
    """Something may run through a generator, or take some of its items."""
    found = resolve(value)
    if isinstance(found, Parameters) and found.spent is NO:
        m.change(found, "spent", MAYBE)


def named(m: Machine, value: Value, text: str) -> None:
    """A generator gets a name. One without is used once, where it is made."""
    if isinstance(value, Parameters) and value.made is not None and not value.name:
        m.change(value, "name", text)
