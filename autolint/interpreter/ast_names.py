"""Names and literals in `ast` expressions."""

from __future__ import annotations

import ast


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` for such an expression, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def last_name(node: ast.AST) -> str | None:
    """The last part of a name, seen through subscripts: `opts` for `self.opts[0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def is_true(node: ast.expr) -> bool:
    """Whether an expression is the literal True."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.expr) -> bool:
    """Whether an expression is the literal False."""
    return isinstance(node, ast.Constant) and node.value is False
