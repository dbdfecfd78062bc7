"""Pieces of parsed source, and places in them."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst


class Unit:
    """Source that was parsed in one piece: a whole file, or one function cut out of another file.

    `first_line` is the line of the file at which `module` begins (1-based); `indent` is the number
    of columns that were cut off at the left of every line. `displayed` are the statements of a
    notebook whose value is shown, by `id`.
    """

    __slots__ = ("displayed", "first_line", "indent", "module", "path")

    def __init__(
        self,
        path: str,
        module: cst.Module,
        first_line: int = 1,
        indent: int = 0,
        displayed: frozenset[int] = frozenset(),
    ) -> None:
        self.displayed = displayed
        self.path = path
        self.module = module
        self.first_line = first_line
        self.indent = indent


class Site(NamedTuple):
    """Where something happens: a node, the statement around it, and the piece of source they are
    in.
    """

    unit: Unit
    node: cst.CSTNode
    statement: cst.CSTNode

    @property
    def text(self) -> str:
        """The node's source on one line, for messages."""
        return " ".join(self.unit.module.code_for_node(self.node).split())
