"""`train()` and `eval()`: which modules a step trains while they are in evaluation mode."""

from __future__ import annotations

from autolint.autograd.objects import Module, Optimizer
from autolint.autograd.values import MAYBE, NO, YES, Scalar, Tri, resolve
from autolint.interpreter.events import SteppedInEval
from autolint.interpreter.iteration import holders_of, modules_in
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site


def switch(m: Machine, module: Module, name: str, args: Arguments, site: Site) -> None:
    """`module.train(...)` or `module.eval()`, for the module and what is in it."""
    on = name == "train"
    training = Tri.of(on)
    given = args.get(0, "mode") if on else None
    if given is not None:
        asked = resolve(given)
        if not isinstance(asked, Scalar) or not asked.known or args.star:
            on, training = True, MAYBE  # restored to what it was
        else:
            on = bool(asked.value)
            training = Tri.of(on)
    moment = None if on else m.moment(site)
    for part in {id(each): each for each in (module, *holders_of(m, module))}.values():
        if isinstance(part, Module):
            if on:
                m.change(part, "trained", YES)
            m.change(part, "evaluated", moment)
    for layer in modules_in(module):
        m.change(layer, "training", training)


def stepped(m: Machine, optimizer: Optimizer, site: Site) -> None:
    """An optimizer steps: are its modules in evaluation mode, by a call in a loop that runs?"""
    if not m.listens(SteppedInEval):
        return
    running = {id(mark.loop.node) for mark in m.loops}
    for holder in optimizer.sets():
        if not isinstance(holder, Module) or holder.evaluated is None or holder.trained is NO:
            continue  # Never switched to training: it is meant to be trained as it is.
        loops = holder.evaluated.loops
        if loops and id(loops[-1].loop.node) in running:
            m.emit(SteppedInEval, holder.evaluated.site, stepped_at=site)
            return
