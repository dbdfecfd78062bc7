"""Statements: branches, loops, with, try, match, and the ways out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import libcst as cst

from autolint.autograd.heap import Changes
from autolint.autograd.objects import Instance
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NONE, Cell, GradMode, Scalar, Tri, Unknown, Value, resolve
from autolint.interpreter import assignment, calls, classes, definitions, expressions, names
from autolint.interpreter.events import Guard, LoopMark
from autolint.interpreter.iteration import items_of, iterations
from autolint.interpreter.machine import MAX_LOOP_DEPTH, Frame, LoopState, Machine
from autolint.interpreter.objects import ClassValue, FunctionValue, Manager


def run_body(m: Machine, body: cst.BaseSuite | Sequence[cst.BaseStatement]) -> bool:
    """Run statements in order; whether control reaches their end."""
    statements = body.body if isinstance(body, cst.BaseSuite) else body
    frame = m.frame
    simple = isinstance(body, cst.SimpleStatementSuite)
    for statement in statements:
        if not simple:
            frame.statement = statement
        if not run(m, statement):
            return False
    return True


def run(m: Machine, statement: cst.CSTNode) -> bool:
    """Run one statement; whether control reaches its end."""
    m.step()
    if type(statement) is cst.SimpleStatementLine:
        return all(run(m, small) for small in statement.body)
    handler = _handlers().get(type(statement))
    return True if handler is None else handler(m, statement)


# ---------------------------------------------------------------------- branches


def _if(m: Machine, node: cst.If) -> bool:
    known = expressions.truth(m, node.test, expressions.evaluate(m, node.test))
    site = m.site(node.test)

    def body() -> bool:
        with m.under(Guard(site, True)):
            narrow(m, node.test, True)
            return run_body(m, node.body)

    def orelse() -> bool:
        with m.under(Guard(site, False)):
            narrow(m, node.test, False)
            if node.orelse is None:
                return True
            if isinstance(node.orelse, cst.If):
                m.frame.statement = node.orelse
                return _if(m, node.orelse)
            return run_body(m, node.orelse.body)

    if known is Tri.YES:
        return body()
    if known is Tri.NO:
        return orelse()
    return m.branch([body, orelse])


def narrow(m: Machine, test: cst.BaseExpression, holds: bool) -> None:
    """What a test tells about a name in the branch it guards."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        narrow(m, test.expression, not holds)
    elif isinstance(test, cst.BooleanOperation) and holds == isinstance(test.operator, cst.And):
        narrow(m, test.left, holds)
        narrow(m, test.right, holds)
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        against = test.comparisons[0]
        none = isinstance(against.comparator, cst.Name) and against.comparator.value == "None"
        positive = isinstance(against.operator, (cst.Is, cst.Equal))
        if none and isinstance(test.left, cst.Name):
            _narrow_none(m, test.left.value, holds == positive)
    elif isinstance(test, cst.Name) and holds:
        _narrow_none(m, test.value, False)


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


def _match(m: Machine, node: cst.Match) -> bool:
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
                return run_body(m, case.body)

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


# ---------------------------------------------------------------------- loops


def _for(m: Machine, node: cst.For) -> bool:
    source = expressions.evaluate(m, node.iter)
    site = m.site(node.iter)
    items = iterations(m, source, site)
    known = items_of(m, source) is not None

    def bind(item: Value) -> bool:
        advance(m, source)
        assignment.assign(m, node.target, item, None)
        return True

    return _loop(m, node, items, bind, node.body, node.orelse, known=known)


_CLEARS = frozenset({"zero_grad", "zero_", "grad", "grad="})


def advance(m: Machine, source: Value) -> None:
    """Run what an iterator does between two items, as far as gradients are concerned.

    The code of a generator, or of an object's `__next__`, was run once; what it does each time may
    clear gradients. So may an unknown iterable that was given an optimizer.
    """
    found = resolve(source)
    if isinstance(found, Unknown):
        calls.weaken(m, [found])
    run = getattr(found, "source", None)
    functions = [run] if isinstance(run, FunctionValue) else []
    if isinstance(found, Instance) and isinstance(found.cls, ClassValue):
        methods = (classes.lookup(found.cls, name) for name in ("__iter__", "__next__"))
        functions += [each for each in methods if isinstance(each, FunctionValue)]
    for function in functions:
        names_used = function.context.names.get(function.qualname, frozenset())
        if not names_used.isdisjoint(_CLEARS):
            calls.weaken(m, list(m.optimizers()))


def _while(m: Machine, node: cst.While) -> bool:
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
) -> bool:
    """Run the iterations on the real state; afterwards the last one's state, joined with the
    breaks.

    `known`: the items are all there are; `forever`: only a break leads out.
    """
    heap, frame = m.heap, m.frame
    born = Cell.clock()
    loop = LoopState(heap.mark())
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
            if not begin(item):
                break
            loop.iteration_mark = heap.mark()
            loop.continues = []
            inner = Cell.clock()
            flows = run_body(m, body)
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
    flows = flows and not forever
    if orelse is not None and flows:
        flows = run_body(m, orelse.body)
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


def _break(m: Machine, node: cst.Break) -> bool:
    if m.frame.loops:
        loop = m.frame.loops[-1]
        _run_finals(m, len(m.frame.loops))
        loop.breaks.append(m.heap.changes(loop.mark))
    return False


def _continue(m: Machine, node: cst.Continue) -> bool:
    if m.frame.loops:
        loop = m.frame.loops[-1]
        _run_finals(m, len(m.frame.loops))
        loop.continues.append(m.heap.changes(loop.iteration_mark))
    return False


def _return(m: Machine, node: cst.Return) -> bool:
    value: Value = NONE
    if node.value is not None:
        value = expressions.evaluate(m, node.value)
        value = assignment.renamed(m, node.value, value, m.site(node))
    leave(m.frame, m, value)
    return False


def leave(frame: Frame, m: Machine, value: Value) -> None:
    """Note the state in which a function returns."""
    _run_finals(m, 0)
    frame.returns.append((m.heap.changes(frame.mark), value))


def _run_finals(m: Machine, loops: int) -> None:
    """Run the `finally` blocks that a jump leaves: those begun inside at least so many loops."""
    finals = m.frame.finals
    left = [item for item in finals if item[1] >= loops]
    m.frame.finals = [item for item in finals if item[1] < loops]
    try:
        for block, _ in reversed(left):
            run_body(m, block.body)
    finally:
        m.frame.finals = finals


def _raise(m: Machine, node: cst.Raise) -> bool:
    if node.exc is not None:
        expressions.evaluate(m, node.exc)
    return False


# ---------------------------------------------------------------------- with and try


def _with(m: Machine, node: cst.With) -> bool:
    before, block = m.autograd.mode, m.autograd.block
    managers: list[Manager] = []
    muted = m.muted
    for item in node.items:
        manager = _enter(m, resolve(expressions.evaluate(m, item.item)), item.item)
        managers.append(manager)
        if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
            assignment.assign(m, item.asname.name, manager.value or Unknown(), None)
    if any(manager.mutes for manager in managers):
        m.muted += 1
    heap = m.heap
    mark, born = heap.mark(), Cell.clock()
    try:
        flows = run_body(m, node.body)
    finally:
        m.muted = muted
    for manager in managers:
        if manager.value is not None:
            calls.weaken(m, [each for each in (resolve(manager.value),) if type(each) is Unknown])
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


def _try(m: Machine, node: cst.Try | cst.TryStar) -> bool:
    heap = m.heap
    mark, born = heap.mark(), Cell.clock()
    mode, block = m.autograd.mode, m.autograd.block
    finals = m.frame.finals
    if node.finalbody is not None:
        m.frame.finals = [*finals, (node.finalbody, len(m.frame.loops))]
    flows = run_body(m, node.body)
    history = heap.history(mark)
    if flows and node.orelse is not None:
        flows = run_body(m, node.orelse.body)
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
        if run_body(m, handler.body):
            ends.append(heap.take(mark))
        else:
            heap.undo(mark)
    m.autograd.mode, m.autograd.block = mode, block
    m.frame.finals = finals
    if ends:
        m.join(ends, born)
    if node.finalbody is None:
        return bool(ends)
    return run_body(m, node.finalbody.body) and bool(ends)


# ---------------------------------------------------------------------- the rest


def _expr(m: Machine, node: cst.Expr) -> bool:
    expressions.evaluate(m, node.value)
    return True


def _assert(m: Machine, node: cst.Assert) -> bool:
    expressions.evaluate(m, node.test)
    narrow(m, node.test, True)
    return True


def _global(m: Machine, node: cst.Global) -> bool:
    m.frame.globals.update(item.name.value for item in node.names)
    return True


def _nonlocal(m: Machine, node: cst.Nonlocal) -> bool:
    m.frame.nonlocals.update(item.name.value for item in node.names)
    return True


def _import(m: Machine, node: cst.Import) -> bool:
    names.run_import(m, node)
    return True


def _import_from(m: Machine, node: cst.ImportFrom) -> bool:
    names.run_import_from(m, node)
    return True


Handler = Callable[[Machine, Any], bool]


@cache
def _handlers() -> dict[type, Handler]:
    """Statement classes and what runs them; made late, since the modules need each other."""
    return {
        cst.If: _if,
        cst.For: _for,
        cst.While: _while,
        cst.With: _with,
        cst.Try: _try,
        cst.TryStar: _try,
        cst.Match: _match,
        cst.Return: _return,
        cst.Raise: _raise,
        cst.Break: _break,
        cst.Continue: _continue,
        cst.Expr: _expr,
        cst.Assert: _assert,
        cst.Assign: assignment.run_assign,
        cst.AugAssign: assignment.run_aug_assign,
        cst.AnnAssign: assignment.run_ann_assign,
        cst.Del: assignment.run_del,
        cst.FunctionDef: definitions.run_function_def,
        cst.ClassDef: definitions.run_class_def,
        cst.Global: _global,
        cst.Nonlocal: _nonlocal,
        cst.Import: _import,
        cst.ImportFrom: _import_from,
    }
