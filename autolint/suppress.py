"""Suppression comments: which findings they hide, and which of them hide nothing.

``# noqa: AG102``, ``# autolint: ignore[AG102] reason`` stand on any line of a statement's header;
``# autolint: ignore-file[AG102]`` anywhere. Without codes they hide every rule's findings. Our own
form takes rule names as well as codes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autolint.diagnostic import TextEdit

_HINT = re.compile(r"noqa|autolint:", re.IGNORECASE)
_NOQA = re.compile(
    r"#\s*noqa\b(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE
)
_OURS = re.compile(r"#\s*autolint:\s*ignore(?P<file>-file)?(?![\w-])(?:\[(?P<codes>[^\]]*)\])?")
_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. `codes` None hides all; `ours` is false for ``noqa``, which others read too."""

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...] | None
    ours: bool
    whole_file: bool


def may_be_unused(text: str, codes: Iterable[str]) -> bool:
    """Whether a comment could be of no use: it is ours, or a ``noqa`` with one of these codes.

    Reading comments means to tokenize; most files that have some have those of other tools only.
    """
    if "autolint:" not in text and "noqa" not in text.lower():
        return False
    letters = "|".join(sorted({code.rstrip("0123456789") for code in codes}))
    return re.search(rf"autolint:|noqa[^\n]*\b(?:{letters})[0-9]", text, re.IGNORECASE) is not None


class Unused(NamedTuple):
    """A code of a suppression that hid nothing; `code` None stands for all rules."""

    suppression: Suppression
    code: str | None


class Suppressions:
    """The suppression comments of one file, and what they were needed for."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self._comments = list(_comments(text)) if _HINT.search(text) else []
        self._used: set[tuple[Suppression, str | None]] = set()
        self._by_line: dict[int, list[Suppression]] = {}
        headers = Headers(text, tree) if self._comments else None
        for comment in self._comments:
            if headers is None or comment.whole_file:
                continue
            for line in headers.lines(comment.line):
                self._by_line.setdefault(line, []).append(comment)

    def __bool__(self) -> bool:
        return bool(self._comments)

    def hides(self, line: int, code: str, name: str, named: bool = False) -> bool:
        """Whether a finding that starts on `line` is suppressed; notes the comments that do so.

        `named` asks for comments with the code or name, not for those that hide everything.
        """
        hidden = False
        for comment in (*self._by_line.get(line, ()), *self._whole_file()):
            if named and comment.codes is None:
                continue
            for key in _matching(comment, code, name):
                self._used.add((comment, key))
                hidden = True
        return hidden

    def unused(self, ran: Callable[[str | None], bool]) -> Iterator[Unused]:
        """The codes that hid nothing although their rule ran.

        `ran` answers for a code or name as written, and for None: whether every rule ran. A bare
        ``noqa`` is never unused, since other tools read it too.
        """
        for comment in self._comments:
            if comment.codes is None and not comment.ours:
                continue
            for key in comment.codes if comment.codes is not None else (None,):
                if (comment, key) not in self._used and ran(key):
                    yield Unused(comment, key)

    def ours(self) -> Iterator[Suppression]:
        """The comments that are addressed to autolint alone."""
        return (comment for comment in self._comments if comment.ours)

    def _whole_file(self) -> Iterator[Suppression]:
        return (comment for comment in self._comments if comment.whole_file)


def without(comment: Suppression, key: str | None, line: str) -> TextEdit:
    """Take one key (None: everything) out of a suppression comment on a source line.

    The reason behind the last key goes with it; what other tools read on the line stays.
    """
    start, end = comment.column, comment.end_column
    rest = [each for each in comment.codes or () if each != key]
    if key is not None and rest:
        text = line[start:end]
        found = (_OURS if comment.ours else _NOQA).match(text)
        assert found is not None
        begin, stop = found.span("codes")
        return TextEdit(
            comment.line, start + begin + 1, comment.line, start + stop + 1, ", ".join(rest)
        )
    following = line.find("#", end)
    if following >= 0:
        return TextEdit(comment.line, start + 1, comment.line, following + 1, "")
    head = line[:start].rstrip()
    if not head:
        return TextEdit(comment.line, 1, comment.line + 1, 1, "")
    return TextEdit(comment.line, len(head) + 1, comment.line, len(line) + 1, "")


def _matching(comment: Suppression, code: str, name: str) -> Iterator[str | None]:
    """The keys of a comment that cover a rule."""
    if comment.codes is None:
        yield None
    else:
        names = {code, name} if comment.ours else {code}
        yield from (key for key in comment.codes if key in names)


def _comments(text: str) -> Iterator[Suppression]:
    """Read the suppression comments; text that looks like one inside a string is none."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _HINT.search(token.string):
                yield from _read(token.string, *token.start)
    except (tokenize.TokenError, SyntaxError):
        # The parser accepted the file; what stops tokenize all the same ends the comments too.
        return


def _read(comment: str, line: int, column: int) -> Iterator[Suppression]:
    for pattern in (_NOQA, _OURS):
        for match in pattern.finditer(comment):
            fields = match.groupdict()
            codes = fields["codes"]
            keys = None
            if codes is not None:
                keys = tuple(dict.fromkeys(key for key in _SEPARATOR.split(codes) if key))
            if keys is not None and pattern is _NOQA:
                keys = tuple(key.upper() for key in keys)
            start, end = column + match.start(), column + match.end()
            whole_file = fields.get("file") is not None
            yield Suppression(line, start, end, keys, pattern is _OURS, whole_file)


class Headers:
    """For each line, the lines of the smallest statement there (of a compound one, its header)."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self._lines = text.split("\n")
        self._ranges: dict[int, tuple[int, int]] = {}
        pending: list[ast.AST] = [tree]
        while pending:
            for child in ast.iter_child_nodes(pending.pop()):
                if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                    self._note(child)
                    pending.append(child)

    def lines(self, line: int) -> Sequence[int]:
        """The lines whose findings a comment on `line` is about."""
        first, last = self._ranges.get(line, (line, line))
        return range(first, last + 1)

    def _note(self, node: ast.stmt | ast.excepthandler | ast.match_case) -> None:
        """Parents come before children, so the smallest statement keeps the line."""
        first, last = self._extent(node)
        for line in range(first, last + 1):
            self._ranges[line] = (first, last)

    def _extent(self, node: ast.stmt | ast.excepthandler | ast.match_case) -> tuple[int, int]:
        first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        inner = getattr(node, "body", None) or getattr(node, "cases", None)
        if not inner:
            return first, (getattr(node, "end_lineno", None) or first)
        last = _first_line(inner[0]) - 1
        while last > first and _is_blank(self._lines[last - 1]):
            last -= 1
        return min([first, *(each.lineno for each in decorators)]), max(first, last)


def _is_blank(line: str) -> bool:
    """Whether a line between a header and its body belongs to neither."""
    content = line.strip()
    return not content or content.startswith("#")


def _first_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line: int = getattr(node, "lineno", 1)
    return min([line, *(each.lineno for each in decorators)])
