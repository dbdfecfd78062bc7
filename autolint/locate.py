"""Where sites stand in their files: asked for together, since one pass over a module finds all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from autolint.interpreter.unit import Site, Unit
from autolint.positions import Span, spans


class Locator:
    """The spans of sites, in lines and columns of the files that they are in."""

    def __init__(self, sites: Iterable[Site]) -> None:
        by_unit: dict[int, tuple[Unit, list[cst.CSTNode]]] = {}
        for site in sites:
            _, nodes = by_unit.setdefault(id(site.unit), (site.unit, []))
            nodes.extend((site.node, *_ends(site.node)))
        self._spans: dict[int, Span] = {}
        for unit, nodes in by_unit.values():
            for key, span in spans(unit.module, nodes).items():
                self._spans[key] = _in_file(span, unit)

    def span(self, site: Site) -> Span:
        """What a report underlines: the node; of a compound statement its header, or its name."""
        first, last = _ends(site.node)
        start, end = self._spans[id(first)], self._spans[id(last)]
        if first is site.node is last and isinstance(site.node, cst.BaseCompoundStatement):
            # try, match, else: the keyword stands for all.
            return Span(start.line, start.column, start.line, start.column + 3)
        return Span(start.line, start.column, end.end_line, end.end_column)

    @property
    def whole(self) -> Mapping[int, Span]:
        """The spans of the nodes as they are, by ``id(node)``."""
        return self._spans


def _ends(node: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode]:
    """The first and last node of what is shown of a node."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return node.name, node.name
    if isinstance(node, cst.For):
        return node, node.iter
    if isinstance(node, (cst.While, cst.If)):
        return node, node.test
    if isinstance(node, cst.With):
        return node, node.items[-1]
    return node, node


def _in_file(span: Span, unit: Unit) -> Span:
    down, right = unit.first_line - 1, unit.indent
    return Span(
        span.line + down, span.column + right, span.end_line + down, span.end_column + right
    )
