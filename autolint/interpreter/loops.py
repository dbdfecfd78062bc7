"""Loops: `for` and `while`, iteration by iteration on the real state."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from autolint.autograd.heap import Changes
from autolint.autograd.objects import Instance
from autolint.autograd.values import NONE, Cell, Tri, Unknown, Value, resolve
from autolint.interpreter import assignment, classes, expressions, flow, kept, spent, unseen
from autolint.interpreter.events import LoopMark
from autolint.interpreter.iteration import items_of, iterations
from autolint.interpreter.machine import MAX_LOOP_DEPTH, LoopState, Machine
from autolint.interpreter.objects import ClassValue, FunctionValue


def run_for(m: Machine, node: cst.For) -> bool:
    """Run a `for` loop; whether control reaches its end."""
    source = expressions.evaluate(m, node.iter)
    site = m.site(node.iter)
    items = iterations(m, source, site)
    known = items_of(m, source) is not None

    def bind(item: Value) -> bool:
        advance(m, source)
        assignment.assign(m, node.target, item, None)
        return True

    return _loop(m, node, items, bind, node.body, node.orelse, known=known, source=source)


_CLEARS = frozenset({"zero_grad", "zero_", "grad", "grad="})


def advance(m: Machine, source: Value) -> None:
    """Run what an iterator does between two items, as far as gradients are concerned.

    The code of a generator, or of an object's `__next__`, was run once; what it does each time may
    clear gradients. So may an unknown iterable that was given an optimizer.
    """
    found = resolve(source)
    if isinstance(found, Unknown):
        unseen.weaken(m, [found])
    run = getattr(found, "source", None)
    functions = [run] if isinstance(run, FunctionValue) else []
    if isinstance(found, Instance) and isinstance(found.cls, ClassValue):
        methods = (classes.lookup(found.cls, name) for name in ("__iter__", "__next__"))
        functions += [each for each in methods if isinstance(each, FunctionValue)]
    for function in functions:
        names_used = function.context.names.get(function.qualname, frozenset())
        if not names_used.isdisjoint(_CLEARS):
            unseen.weaken(m, list(m.optimizers()))


def run_while(m: Machine, node: cst.While) -> bool:
    """Run a `while` loop, at most two iterations; whether control reaches its end."""
    forever = isinstance(node.test, cst.Name) and node.test.value == "True"
    forever = forever or (isinstance(node.test, cst.Integer) and node.test.value == "1")

    def test(item: Value) -> bool:
        known = expressions.truth(m, node.test, expressions.evaluate(m, node.test))
        return known is not Tri.NO

    return _loop(m, node, [NONE, NONE], test, node.body, node.orelse, forever)


def _loop(
    m: Machine,
    node: cst.For | cst.While,
    items: list[Value],
    begin: Callable[[Value], bool],
    body: cst.BaseSuite,
    orelse: cst.Else | None,
    forever: bool = False,
    known: bool = False,
    source: Value = NONE,
) -> bool:
    """Run the iterations on the real state; afterwards the last one's state, joined with the
    breaks.

    `known`: the items are all there are, of `source`; `forever`: only a break leads out.
    """
    heap, frame = m.heap, m.frame
    born = Cell.clock()
    loop = LoopState(heap.mark(), node)
    site = m.site(node)
    loops, guards, mode = m.loops, m.guards, m.autograd.mode
    if len(loops) >= MAX_LOOP_DEPTH:
        items = items[:1]
    frame.loops.append(loop)
    m.loop_births.append(0 if known else born)
    flows = True
    try:
        for number, item in enumerate(items, 1):
            m.loops, m.guards = (*loops, LoopMark(site, number)), ()
            m.autograd.stamp = m.stamp()
            frame.statement = node
            loop.entries.append(heap.mark())
            if not begin(item):
                break
            loop.iteration_mark = heap.mark()
            loop.continues = []
            inner = Cell.clock()
            flows = flow.run_body(m, body)
            m.autograd.mode = mode
            if loop.continues:
                ends = list(loop.continues)
                if flows:
                    ends.append(heap.take(loop.iteration_mark))
                else:
                    heap.undo(loop.iteration_mark)
                m.join(ends, inner)
                flows = True
            if not flows:
                break
    finally:
        frame.loops.pop()
        m.loop_births.pop()
        m.loops, m.guards = loops, guards
        m.autograd.stamp = m.stamp()
    if flows:
        kept.finished(m, loop, site)
        if isinstance(node, cst.For):
            spent.used(m, source, "loop", site._replace(node=node.iter))
    flows = flows and not forever
    if orelse is not None and flows:
        flows = flow.run_body(m, orelse.body)
    return _leave(m, loop.mark, loop.breaks, flows, born)


def _leave(m: Machine, mark: int, others: list[Changes], flows: bool, born: int) -> bool:
    """Join the present state (if control reaches here) with states that jumped here."""
    if not others:
        if not flows:
            m.heap.undo(mark)
        return flows
    ends = list(others)
    if flows:
        ends.append(m.heap.take(mark))
    else:
        m.heap.undo(mark)
    m.join(ends, born)
    return True
