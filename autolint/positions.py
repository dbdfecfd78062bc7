"""Where nodes stand in the source, without LibCST's metadata.

`libcst.metadata.PositionProvider` copies the tree and follows every node: twice the cost of
parsing. Here the module's code is generated once, noting how many tokens were out before and after
the wanted nodes. The results are those of PositionProvider (tested); the hooks are private to
LibCST.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import libcst as cst
from libcst._nodes.internal import CodegenState

_UNNOTED: AbstractContextManager[None] = nullcontext()


class Span(NamedTuple):
    """A range of source: 1-based lines, 0-based columns in code points, exclusive end."""

    line: int
    column: int
    end_line: int
    end_column: int


def spans(module: cst.Module, nodes: Iterable[cst.CSTNode]) -> dict[int, Span]:
    """The spans of `nodes` in `module`, by ``id(node)``; a node that is not in it has none."""
    state = _NotingState(module, nodes)
    module._codegen(state)
    return state.spans()


class _NotingState(CodegenState):
    """Generates code and notes between which tokens the wanted nodes are."""

    def __init__(self, module: cst.Module, nodes: Iterable[cst.CSTNode]) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self._wanted = {id(node) for node in nodes}
        self._asked = frozenset(self._wanted)
        self._starts: dict[int, int] = {}
        self._noted: dict[int, tuple[int, int]] = {}

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self._wanted:
            self._starts[id(node)] = len(self.tokens)

    def after_codegen(self, node: cst.CSTNode) -> None:
        key = id(node)
        if key in self._wanted and key not in self._noted:
            self._noted[key] = (self._starts[key], len(self.tokens))

    def record_syntactic_position(  # type: ignore[override]  # one shared object for most nodes
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        if id(node) not in self._wanted:
            return _UNNOTED
        return self._note(node, start_node, end_node)

    @contextmanager
    def _note(
        self, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> Iterator[None]:
        # These are generated inside the block: wanting them now is early enough.
        self._wanted.update(id(edge) for edge in (start_node, end_node) if edge is not None)
        start = len(self.tokens)
        yield
        end = len(self.tokens)
        if start_node is not None:
            start = self._noted[id(start_node)][0]
        if end_node is not None:
            end = self._noted[id(end_node)][1]
        self._noted[id(node)] = (start, end)

    def spans(self) -> dict[int, Span]:
        """Turn token counts into lines and columns, in one pass over the tokens."""
        noted = {key: pair for key, pair in self._noted.items() if key in self._asked}
        places: dict[int, tuple[int, int]] = {}
        line, column, done = 1, 0, 0
        for index in sorted({edge for pair in noted.values() for edge in pair}):
            chunk = "".join(self.tokens[done:index])
            breaks = chunk.count("\n")
            line += breaks
            column = len(chunk) - chunk.rfind("\n") - 1 if breaks else column + len(chunk)
            done = index
            places[index] = (line, column)
        return {key: Span(*places[start], *places[end]) for key, (start, end) in noted.items()}
