"""Blocks: `with`, the grad modes and other contexts it enters, and `try`."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.heap import Changes
from autolint.autograd.values import Cell, GradMode, Scalar, Unknown, Value, resolve
from autolint.interpreter import (
    assignment,
    autocasts,
    definitions,
    expressions,
    flow,
    grad_modes,
    names,
    unseen,
)
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Manager

_SHORT = 2
"""Statements of a block that only tries something out."""


def run_with(m: Machine, node: cst.With) -> bool:
    """Run a `with` block in its contexts; whether control reaches its end."""
    before, block = m.autograd.mode, m.autograd.block
    casting = m.autograd.casting
    managers: list[Manager] = []
    muted = m.muted
    opened = 0
    for item in node.items:
        around = m.autograd.mode
        entered = resolve(expressions.evaluate(m, item.item))
        grad_modes.uncalled(m, entered, item.item)
        manager = _enter(m, entered, item.item)
        managers.append(manager)
        autocast = autocasts.entered(entered, item.item)
        if autocast is not None:
            m.autograd.casting = autocast.inside(m.autograd.casting)
        opened += manager.mode is not None and grad_modes.opened(m, around, m.site(item.item))
        if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
            assignment.assign(m, item.asname.name, manager.value or Unknown(), None)
    if any(manager.mutes for manager in managers):
        m.muted += 1
    trial = m.trial
    if any(manager.swallows for manager in managers):
        _try_out(m, node.body)
    heap = m.heap
    mark, born = heap.mark(), Cell.clock()
    try:
        flows = flow.run_body(m, node.body)
    finally:
        m.muted, m.trial = muted, trial
        m.autograd.casting = casting
        if opened:
            del m.frame.mode_blocks[-opened:]
    for manager in managers:
        if manager.value is not None:
            unseen.weaken(m, [each for each in (resolve(manager.value),) if type(each) is Unknown])
    for manager in managers:
        if manager.before is not None:
            before = manager.before
            break
    m.autograd.mode, m.autograd.block = before, block
    if any(manager.swallows for manager in managers):
        changes = heap.take(mark)
        m.join([changes, {}], born)
        return True
    return flows


def _enter(m: Machine, value: Value, node: cst.CSTNode) -> Manager:
    """Enter a context: a grad mode, something that swallows, or anything else."""
    manager = value if isinstance(value, Manager) else definitions.enter(m, value, node)
    inside = m.autograd.mode is GradMode.INFERENCE
    if manager.mode is not None and (not inside or manager.leaves_inference):
        if m.autograd.mode is not manager.mode:
            m.autograd.block = object()
        m.autograd.mode = manager.mode
    return manager


def _try_out(m: Machine, body: cst.BaseSuite) -> None:
    """Enter a block that catches: if it is short, whether it raises may be all that is asked."""
    m.trial = (m.frame, m.loops) if len(body.body) <= _SHORT else None


def run_try(m: Machine, node: cst.Try | cst.TryStar) -> bool:
    """Run a `try` with its handlers, `else` and `finally`; whether control reaches its end."""
    heap = m.heap
    mark, born = heap.mark(), Cell.clock()
    mode, block = m.autograd.mode, m.autograd.block
    finals = m.frame.finals
    if node.finalbody is not None:
        m.frame.finals = [*finals, (node.finalbody, len(m.frame.loops))]
    trial = m.trial
    _try_out(m, node.body)
    flows = flow.run_body(m, node.body)
    m.trial = trial
    history = heap.history(mark)
    if flows and node.orelse is not None:
        flows = flow.run_body(m, node.orelse.body)
    ends: list[Changes] = []
    if flows:
        ends.append(heap.take(mark))
    else:
        heap.undo(mark)
    for handler in node.handlers:
        m.autograd.mode, m.autograd.block = mode, block
        m.any_moment(history)
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            names.bind(m, handler.name.name.value, Scalar())
        if flow.run_body(m, handler.body):
            ends.append(heap.take(mark))
        else:
            heap.undo(mark)
    m.autograd.mode, m.autograd.block = mode, block
    m.frame.finals = finals
    if ends:
        m.join(ends, born)
    if node.finalbody is None:
        return bool(ends)
    return flow.run_body(m, node.finalbody.body) and bool(ends)
