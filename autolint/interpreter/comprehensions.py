"""Comprehensions: their loops, run like others, and what they collect."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from autolint.autograd.values import (
    Mapping,
    Scalar,
    Sequence,
    Tri,
    Value,
    resolve,
)
from autolint.interpreter import (
    alternatives,
    assignment,
    expressions,
    spent,
)
from autolint.interpreter.events import Guard, LoopMark
from autolint.interpreter.iteration import items_of, iterations
from autolint.interpreter.machine import MAX_LOOP_DEPTH, Machine


def comprehension(m: Machine, node: cst.BaseComp) -> Value:
    """A list, set or generator: its elements, run as a loop."""
    collected: list[Value] = []
    assert isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp))
    source = expressions.evaluate(m, node.for_in.iter)
    if isinstance(node, cst.GeneratorExp):
        spent.perhaps_used(m, source)
    else:
        spent.used(m, source, "loop", m.site(node.for_in.iter))

    def element() -> None:
        collected.append(expressions.evaluate(m, node.elt))

    fixed = _run_comp(m, node.for_in, source, element)
    made = Sequence(tuple(collected))
    if not fixed:
        made = Sequence(None, alternatives.any_of(m, collected))
    if isinstance(node, cst.GeneratorExp):
        made.source = source
    return made


def dict_comprehension(m: Machine, node: cst.DictComp) -> Value:
    """A dict comprehension: its items, if all keys are known."""
    collected: list[tuple[Value, Value]] = []

    def element() -> None:
        collected.append(
            (resolve(expressions.evaluate(m, node.key)), expressions.evaluate(m, node.value))
        )

    source = expressions.evaluate(m, node.for_in.iter)
    spent.used(m, source, "loop", m.site(node.for_in.iter))
    fixed = _run_comp(m, node.for_in, source, element)
    if fixed and all(isinstance(key, Scalar) and key.known for key, _ in collected):
        return Mapping({key.value: v for key, v in collected if isinstance(key, Scalar)}, False)
    return Mapping({}, True, alternatives.any_of(m, [value for _, value in collected]))


def _run_comp(m: Machine, comp: cst.CompFor, source: Value, element: Callable[[], None]) -> bool:
    """Run the loops of a comprehension over its source; whether the elements are all there are."""
    fixed = items_of(m, source) is not None and not comp.ifs
    items = iterations(m, source, m.site(comp.iter))
    loops, guards, mode = m.loops, m.guards, m.autograd.mode
    if len(loops) >= MAX_LOOP_DEPTH:
        fixed, items = fixed and len(items) == 1, items[:1]
    before = dict(m.frame.names)
    site = m.site(comp)
    for number, item in enumerate(items, 1):
        m.loops, m.guards = (*loops, LoopMark(site, number)), ()
        m.autograd.stamp = m.stamp()
        m.step()
        assignment.assign(m, comp.target, item, None)
        if not _kept(m, comp):
            continue
        if comp.inner_for_in is not None:
            inner = expressions.evaluate(m, comp.inner_for_in.iter)
            fixed = _run_comp(m, comp.inner_for_in, inner, element) and fixed
        else:
            element()
        m.autograd.mode = mode
    m.loops, m.guards = loops, guards
    m.autograd.stamp = m.stamp()
    for name in _bound_by(comp.target):  # a comprehension's names are its own
        if name in before:
            m.heap.put(m.frame.names, name, before[name])
        else:
            m.heap.drop(m.frame.names, name)
    return fixed


def _kept(m: Machine, comp: cst.CompFor) -> bool:
    """Whether an item may pass the tests, which guard what is made of it from here on."""
    for test in comp.ifs:
        known = expressions.truth(m, test.test, expressions.evaluate(m, test.test))
        if known is Tri.NO:
            return False
        if known is Tri.MAYBE:
            m.guards = (*m.guards, Guard(m.site(test.test), True))
    return True


def _bound_by(target: cst.BaseExpression) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _bound_by(element.value)]
    return []
