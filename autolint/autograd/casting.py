"""Autocast: while it is active, some ops work on copies of their operands in lower precision.

What such an op saves are the copies: a later write to the operand itself does not reach them.
Whether a copy is made depends on the dtypes and devices of a run, so what is saved is *maybe* the
operand.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from autolint.autograd.values import NO, Tri

Casting: TypeAlias = "frozenset[str]"
"""The device types for which autocast may be active; "" for one that is not known."""

OFF: Casting = frozenset()

_PROBED = frozenset({"cpu", "cuda"})
"""Devices whose ops were asked; of another one any of these ops may cast."""


class Autocast(NamedTuple):
    """One autocast context: its device type ("" if not known) and whether it is enabled."""

    device: str
    enabled: Tri

    def inside(self, active: Casting) -> Casting:
        """What is active inside it: a disabled one ends those around it for its device."""
        if self.enabled is NO:
            return active - {self.device}
        return active | {self.device}


def reaches(active: Casting, devices: frozenset[str]) -> bool:
    """Whether an op that autocast casts on these devices may be handed copies."""
    return bool(devices) and not active.isdisjoint(devices | (active - _PROBED))
