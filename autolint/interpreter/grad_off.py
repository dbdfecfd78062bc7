"""Where gradient recording is switched off, told by the text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autolint.interpreter.ast_names import is_true, last_name

_OFF_NAMES = frozenset({"no_grad", "inference_mode"})


def turns_recording_off(expression: ast.expr) -> bool:
    """Whether a context manager or decorator switches recording off, at least in one case."""
    if isinstance(expression, ast.IfExp):
        return turns_recording_off(expression.body) or turns_recording_off(expression.orelse)
    if not isinstance(expression, ast.Call):
        return last_name(expression) in _OFF_NAMES
    name = last_name(expression.func)
    mode = expression.args[0] if expression.args else None
    for keyword in expression.keywords:
        if keyword.arg == "mode":
            mode = keyword.value
    literal = mode.value if isinstance(mode, ast.Constant) else None
    if name == "set_grad_enabled":
        return literal is False
    return name in _OFF_NAMES and literal is not False


def calls_under(body: Iterable[ast.AST], after: int = 0) -> set[str]:
    """Bare names of what is called in statements below line `after`, without nested functions."""
    called: set[str] = set()
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue  # defined here, called elsewhere
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(
            _enables(item.context_expr) for item in node.items
        ):
            continue
        if isinstance(node, ast.Call) and node.lineno > after:
            name = last_name(node.func)
            if name is not None:
                called.add(name)
        stack.extend(ast.iter_child_nodes(node))
    return called


def _enables(expression: ast.expr) -> bool:
    if not isinstance(expression, ast.Call):
        return False
    name = last_name(expression.func)
    return name == "enable_grad" or (
        name == "set_grad_enabled" and bool(expression.args) and is_true(expression.args[0])
    )
