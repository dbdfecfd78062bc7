"""Branches: `if` and `match`, and what the test of a branch tells about a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NONE, Tri, Unknown, Value, resolve
from autolint.interpreter import expressions, flow, names
from autolint.interpreter.events import Guard
from autolint.interpreter.machine import Machine


def run_if(m: Machine, node: cst.If) -> bool:
    """Run an `if`: the branch known to be taken, else each; whether control reaches its end."""
    known = expressions.truth(m, node.test, expressions.evaluate(m, node.test))
    site = m.site(node.test)
    open_ = known is Tri.MAYBE  # a test that always holds guards nothing

    def body() -> bool:
        with m.under(Guard(site, True) if open_ else None):
            narrow(m, node.test, True)
            return flow.run_body(m, node.body)

    def orelse() -> bool:
        with m.under(Guard(site, False) if open_ else None):
            narrow(m, node.test, False)
            if node.orelse is None:
                return True
            if isinstance(node.orelse, cst.If):
                m.frame.statement = node.orelse
                return run_if(m, node.orelse)
            return flow.run_body(m, node.orelse.body)

    if known is Tri.YES:
        return body()
    if known is Tri.NO:
        return orelse()
    return m.branch([body, orelse])


def narrow(m: Machine, test: cst.BaseExpression, holds: bool) -> None:
    """What a test tells about a name in the branch it guards."""
    # Any: the class of a node is compared by identity, which costs less than `isinstance` of an
    # abstract class, and by which no type checker narrows.
    node: Any = test
    kind = type(test)
    if kind is cst.Name:
        if holds:
            _narrow_none(m, node.value, False)
    elif kind is cst.UnaryOperation:
        if type(node.operator) is cst.Not:
            narrow(m, node.expression, not holds)
    elif kind is cst.BooleanOperation:
        if holds == (type(node.operator) is cst.And):
            narrow(m, node.left, holds)
            narrow(m, node.right, holds)
    elif kind is cst.Comparison and len(node.comparisons) == 1 and type(node.left) is cst.Name:
        against = node.comparisons[0]
        if type(against.comparator) is cst.Name and against.comparator.value == "None":
            positive = type(against.operator) in (cst.Is, cst.Equal)
            _narrow_none(m, node.left.value, holds == positive)


def _narrow_none(m: Machine, name: str, is_none: bool) -> None:
    value = resolve(names.read(m, name))
    if is_none and (isinstance(value, Unknown) or _perhaps(value)):
        names.bind(m, name, NONE)
    elif not is_none and isinstance(value, Tensor) and value.tensor is Tri.MAYBE:
        sure = Tensor(
            value.state,
            value.storage,
            value.origin,
            value.grade,
            value.through,
            value.source,
            value.off,
        )
        names.bind(m, name, sure)


def _perhaps(value: Value) -> bool:
    return isinstance(value, Tensor) and value.tensor is Tri.MAYBE


def run_match(m: Machine, node: cst.Match) -> bool:
    """Run a `match`: each case is a branch; whether control reaches its end."""
    subject = expressions.evaluate(m, node.subject)
    arms: list[Callable[[], bool]] = []
    exhaustive = False
    for case in node.cases:
        catches_all = isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None
        exhaustive = exhaustive or (catches_all and case.guard is None)

        def arm(case: cst.MatchCase = case) -> bool:
            site = m.site(case.pattern)
            _bind_pattern(m, case.pattern, subject)
            with m.under(Guard(site, True)):
                if case.guard is not None:
                    expressions.evaluate(m, case.guard)
                return flow.run_body(m, case.body)

        arms.append(arm)
    if not exhaustive:
        arms.append(lambda: True)
    return m.branch(arms)


def _bind_pattern(m: Machine, pattern: cst.CSTNode, subject: Value) -> None:
    """Bind the names of a pattern: the whole subject where it is that, else something of it."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.name is not None:
            names.bind(m, pattern.name.value, subject)
        if pattern.pattern is not None:
            _bind_pattern(m, pattern.pattern, subject)
        return
    if isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        for position, item in enumerate(pattern.patterns):
            inner = names.element(m, subject, position)
            if isinstance(item, cst.MatchStar):
                if item.name is not None:
                    names.bind(m, item.name.value, m.unknown(subject))
            else:
                _bind_pattern(m, item.value, inner)
        return
    todo: list[cst.CSTNode] = list(pattern.children)
    while todo:
        part = todo.pop()
        if isinstance(part, (cst.MatchAs, cst.MatchStar)) and part.name is not None:
            names.bind(m, part.name.value, m.unknown(subject))
        todo.extend(part.children)
