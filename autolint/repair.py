"""From a rule's fix, which speaks of nodes, to edits of the file's text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from autolint.api import Edit, Fix
from autolint.diagnostic import Repair, TextEdit
from autolint.positions import Span


class Repairs:
    """Makes the text edits of one file's fixes."""

    def __init__(self, text: str, tree: ast.Module, spans: Mapping[int, Span]) -> None:
        """`spans` has the nodes of this file that fixes speak of, by ``id(node)``."""
        self._lines = text.split("\n")
        self._tree = tree
        self._spans = spans

    def repair(self, fix: Fix) -> Repair | None:
        """The fix as text edits; None if it cannot be made here.

        That is so where it reaches into another file, or where a statement that must have its lines
        to itself shares them.
        """
        edits: list[TextEdit] = []
        for edit in fix.edits:
            span = self._spans.get(id(edit.node))
            made = None if span is None else self._edit(edit, span)
            if made is None:
                return None
            edits.append(made)
        first = min((edit.line for edit in edits), default=1)
        edits.extend(self._imports(fix.imports, first))
        return Repair(fix.title, fix.safe, tuple(sorted(edits)))

    def _edit(self, edit: Edit, span: Span) -> TextEdit | None:
        whole = (span.line, span.column + 1, span.end_line, span.end_column + 1)
        if edit.kind == "replace" and edit.until is not None:
            until = self._spans[id(edit.until)]
            return TextEdit(*whole[:2], until.line, until.column + 1, edit.text)
        if edit.kind == "replace":
            return TextEdit(*whole, edit.text)
        if edit.kind == "append":
            return TextEdit(*whole[2:], *whole[2:], edit.text)
        if not self._alone(span):
            return None
        if edit.kind == "delete":
            if self._only_statement(span.line):
                return TextEdit(*whole, "pass")
            return TextEdit(span.line, 1, span.end_line + 1, 1, "")
        indent = self._lines[span.line - 1][: span.column]
        if edit.kind == "wrap":
            text = f"{edit.text}\n{indent}{self._step()}"
            return TextEdit(*whole[:2], *whole[:2], text)
        statements = [indent + line if line else "" for line in edit.text.split("\n")]
        if edit.kind == "insert_before":
            text = "\n".join(statements).removeprefix(indent) + "\n" + indent
            return TextEdit(*whole[:2], *whole[:2], text)
        end = (span.end_line, len(self._lines[span.end_line - 1]) + 1)
        return TextEdit(*end, *end, "\n" + "\n".join(statements))

    def _alone(self, span: Span) -> bool:
        """Whether nothing but a comment shares the first and the last line of a statement."""
        before = self._lines[span.line - 1][: span.column]
        after = self._lines[span.end_line - 1][span.end_column :].strip()
        return not before.strip() and (not after or after.startswith("#"))

    def _step(self) -> str:
        """What the file indents by, as its first block has it."""
        for node in ast.walk(self._tree):
            block = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(block, list):
                first: ast.stmt = block[0]
                indent = self._lines[first.lineno - 1][: first.col_offset]
                if indent.isspace() and len(indent) > node.col_offset:
                    return indent[node.col_offset :]
        return "    "

    def _only_statement(self, line: int) -> bool:
        """Whether the statement on a line is the only one of its block, which may not be empty."""
        for node in ast.walk(self._tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and len(block) == 1 and block[0].lineno == line:
                    return not isinstance(node, ast.Module)
        return False

    def _imports(self, wanted: tuple[str, ...], first: int) -> Iterator[TextEdit]:
        """Insertions of the imports that the file lacks, for use from line `first` on."""
        present = set(_imports(self._tree.body))
        for node in ast.walk(self._tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if node.lineno <= first <= (node.end_lineno or 0):
                present.update(_imports(node.body))
        missing = [line for line in wanted if line not in present]
        if missing:
            line = self._import_line(first)
            yield TextEdit(line, 1, line, 1, "".join(f"{each}\n" for each in missing))

    def _import_line(self, first: int) -> int:
        """Where an import is inserted: after the first one, whose comment stays with it.

        Without one above line `first`: before the first statement that is neither docstring nor
        ``__future__`` import.
        """
        others = [node for node in self._tree.body if not _is_future(node)]
        for node, following in zip(others, [*others[1:], None], strict=True):
            end = node.end_lineno or node.lineno
            shared = following is not None and following.lineno <= end
            if _is_import(node) and end < first and not shared:
                return end + 1
        for position, node in enumerate(self._tree.body):
            if not (_is_future(node) or (position == 0 and _is_docstring(node))):
                decorators: list[ast.expr] = getattr(node, "decorator_list", [])
                return min([node.lineno, *(each.lineno for each in decorators)])
        return len(self._lines) + 1


def _imports(body: list[ast.stmt]) -> Iterator[str]:
    """The imports of a module or function, each in the form ``import a`` or ``from a import b``."""
    for node in body:
        if isinstance(node, ast.Import):
            for each in node.names:
                # `import a.b` binds `a` as well.
                head = each.name.partition(".")[0]
                yield f"import {each.name} as {each.asname}" if each.asname else f"import {head}"
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"from {module} import {ast.unparse(each)}" for each in node.names)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            # Under a test or in a `try`: where it fails, the line of the fix is not reached either.
            for block in ("body", "orelse", "finalbody"):
                yield from _imports(getattr(node, block, []))


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
