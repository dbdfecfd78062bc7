"""Which loops are around the lines of a program, and which lines are in functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator


class Layout:
    """The loops of a program by line. Loops on one line count as no loop: they are one place.

    `inner` are the lines inside functions and classes.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.inner = frozenset(_inner(tree))
        self.loops: dict[int, int] = {}
        """First line -> last line of each loop."""
        for node in ast.walk(tree):
            if isinstance(node, ast.For | ast.While) and node.lineno not in self.inner:
                last = node.end_lineno or node.lineno
                if last > node.lineno:
                    self.loops[node.lineno] = last

    def around(self, line: int) -> tuple[int, ...]:
        """The first lines of the loops in whose bodies a line is, outermost first."""
        return tuple(first for first, last in sorted(self.loops.items()) if first < line <= last)


def _inner(tree: ast.Module) -> Iterator[int]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
