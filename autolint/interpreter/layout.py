"""How statements stand to each other in the source: what a fix may move past what."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import libcst as cst

from autolint.interpreter.unit import Site


def adjacent(first: Site, second: Site) -> bool:
    """Whether the second statement directly follows the first, each alone on its lines."""
    for site in (first, second):
        statement = site.statement
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return False
    block = _block(first)
    pairs = itertools.pairwise(block)
    return any(one is first.statement and two is second.statement for one, two in pairs)


def same_block(first: Site, second: Site) -> bool:
    """Whether both are simple statements of one block."""
    return any(each is second.statement for each in _block(first))


def _block(site: Site) -> Sequence[cst.CSTNode]:
    """The statements of the block that a simple statement is in."""
    todo: list[cst.CSTNode] = [site.unit.module]
    while todo:
        node = todo.pop()
        block = isinstance(node, (cst.Module, cst.IndentedBlock))
        if block and any(each is site.statement for each in node.children):
            return node.children
        todo.extend(child for child in node.children if not isinstance(child, cst.BaseExpression))
    return ()


def line_of(site: Site) -> str | None:
    """A simple statement with its comment, None if it goes over several lines."""
    statement = site.statement
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    code = "; ".join(site.unit.module.code_for_node(small) for small in statement.body)
    comment = statement.trailing_whitespace.comment
    if "\n" in code:
        return None
    return code if comment is None else f"{code}  {comment.value}"


def periodic(test: Site) -> bool:
    """Whether a test asks for a remainder: `(i + 1) % steps == 0` holds in some iterations only."""
    todo: list[cst.CSTNode] = [test.node]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Modulo):
            return True
        todo.extend(node.children)
    return False
