"""Graphs that are walked again: which part was freed before, by what, and how it came here."""

from __future__ import annotations

from collections.abc import Iterator

from autolint.autograd.graph import Node, Stamp
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Sequence, Value, resolve
from autolint.autograd.walking import Freed, Walk
from autolint.interpreter.events import Age, Carried, FreedNode
from autolint.interpreter.machine import Frame, LoopState, Machine


def met(m: Machine, found: Walk) -> tuple[FreedNode, ...]:
    """The freed nodes that a backward meets; those of an earlier iteration come first."""
    told = [_told(m, freed) for freed in found.freed]
    return tuple(sorted(told, key=lambda each: each.age is not Age.ITERATION))


def _told(m: Machine, freed: Freed) -> FreedNode:
    node, leading = freed.node, freed.leading
    age, depth = _age(node.stamp, m.stamp())
    loop = m.loops[depth].loop if age is not Age.SAME else None
    carried = loop is not None and age is Age.ITERATION
    return FreedNode(
        operation=node.operation,
        made=node.origin,
        freed_at=node.freed_at,
        taken=None if leading is None else leading.origin,
        age=age,
        loop=loop,
        carried=_carried(m, loop.node, freed.border) if carried and loop is not None else (),
    )


def _age(made: Stamp, now: Stamp) -> tuple[Age, int]:
    """How old a node is, and the depth of the loop that tells."""
    for depth, (here, there) in enumerate(zip(now, made, strict=False)):
        if here[0] is not there[0]:
            return Age.BEFORE, depth
        if here[1] != there[1]:
            return Age.ITERATION, depth
    if len(made) < len(now):
        return Age.BEFORE, len(made)
    return Age.SAME, 0


def _carried(m: Machine, loop: object, border: Node) -> tuple[Carried, ...]:
    """The names through which the iteration got a node: bound before the loop, and since."""
    for frame, state in _running(m):
        if state.node is not loop:
            continue
        first, last = state.entries[0], state.entries[-1]
        started, held = m.heap.at(first, frame.names), m.heap.at(last, frame.names)
        return tuple(
            Carried(name, value, started[name], frame is m.frame)
            for name, value in held.items()
            if name in started and _is_result(value, border)
        )
    return ()


def _running(m: Machine) -> Iterator[tuple[Frame, LoopState]]:
    frame: Frame | None = m.frame
    while frame is not None:
        for state in reversed(frame.loops):
            yield frame, state
        frame = frame.caller


def _is_result(value: Value, node: Node) -> bool:
    """Whether a value, or one in a tuple, is what a node computed."""
    found = resolve(value)
    if isinstance(found, Sequence):
        return any(_is_result(item, node) for item in found.items or ())
    return isinstance(found, Tensor) and found.state.node is node
