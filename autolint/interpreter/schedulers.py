"""Learning-rate schedulers: which optimizer they serve, and whether they step before it."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import Optimizer, Scheduler
from autolint.autograd.values import Grade, Value, resolve
from autolint.interpreter.events import SchedulerTooEarly
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

_BY_METRIC = "ReduceLROnPlateau"


def build(name: str, args: Arguments) -> Scheduler:
    """A scheduler of torch. One that goes on from an earlier run may step at once."""
    given = args.get(0, "optimizer")
    optimizer = resolve(given) if given is not None else None
    if not isinstance(optimizer, Optimizer) or optimizer.grade is not Grade.BUILT:
        return Scheduler()
    if name.endswith(_BY_METRIC) or "last_epoch" in args.keywords or args.star:
        return Scheduler()
    return Scheduler(optimizer)


def step(m: Machine, scheduler: Scheduler, args: Arguments, node: cst.Call) -> Value:
    """`scheduler.step()`: too early if its optimizer has not stepped yet."""
    optimizer = scheduler.optimizer
    plain = not args.positional and not args.keywords and not args.star
    if optimizer is not None and plain and not optimizer.has_stepped and optimizer.early is None:
        m.change(optimizer, "early", m.moment(m.site(node)))
    return m.unknown()


def stepped(m: Machine, optimizer: Optimizer, site: Site, text: str) -> None:
    """The optimizer steps: for the first time, perhaps after a scheduler of it."""
    early = optimizer.early
    if not optimizer.has_stepped:
        m.change(optimizer, "has_stepped", True)
        # Only in a loop: a step before the whole training may be meant.
        loops = {id(mark.loop.node) for mark in m.loops}
        inside = early is not None and early.loops and id(early.loops[-1].loop.node) in loops
        if early is not None and inside and not early.guards:
            m.emit(SchedulerTooEarly, early.site, optimizer_text=text, stepped_at=site)
