"""The concrete syntax tree of a source: what loads LibCST, and so is loaded last."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import libcst as cst

from autolint.notebook import BETWEEN
from autolint.source import Unparsable, reason_of, refuse_deep


def parse_concrete(text: str, tree: ast.Module) -> cst.Module:
    """Parse with LibCST a text that `parse` made `tree` of. Raises Unparsable."""
    refuse_deep(text, tree)
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        message = f"cannot be parsed by LibCST: {reason_of(error)}"
        raise Unparsable(message, error.raw_line, error.raw_column + 1) from error
    except (RecursionError, MemoryError) as error:
        raise Unparsable("is nested too deeply to be analysed") from error


def displayed(module: cst.Module) -> Iterator[cst.CSTNode]:
    """The last statement of each cell: if it is an expression, its value is shown."""
    before: cst.CSTNode | None = None
    for statement in module.body:
        if before is not None and _has_end(getattr(statement, "leading_lines", ())):
            yield before
        before = statement
    if before is not None:
        yield before


def _has_end(lines: Iterable[cst.EmptyLine]) -> bool:
    """Whether a cell ends somewhere on lines without code."""
    return any(line.comment is not None and line.comment.value == BETWEEN for line in lines)
