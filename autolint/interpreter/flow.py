"""Statements: which code runs each of them, the jumps, and the simple ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import libcst as cst

from autolint.autograd.values import NONE, Value
from autolint.interpreter import (
    assignment,
    blocks,
    branches,
    definitions,
    discards,
    expressions,
    gradient_reads,
    loops,
    names,
    snapshots,
)
from autolint.interpreter.machine import Frame, Machine


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


# ---------------------------------------------------------------------- jumps


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
        gradient_reads.used(m, value, "return", node)
        snapshots.used(m, value, "return", node.value)
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


# ---------------------------------------------------------------------- simple statements


def _expr(m: Machine, node: cst.Expr) -> bool:
    discards.evaluate(m, node.value)
    return True


def _assert(m: Machine, node: cst.Assert) -> bool:
    expressions.evaluate(m, node.test)
    branches.narrow(m, node.test, True)
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


# ---------------------------------------------------------------------- dispatch


Handler = Callable[[Machine, Any], bool]


@cache
def _handlers() -> dict[type, Handler]:
    """Statement classes and what runs them; made late, since the modules need each other."""
    return {
        cst.If: branches.run_if,
        cst.For: loops.run_for,
        cst.While: loops.run_while,
        cst.With: blocks.run_with,
        cst.Try: blocks.run_try,
        cst.TryStar: blocks.run_try,
        cst.Match: branches.run_match,
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
