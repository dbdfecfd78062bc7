"""The marks in the comments of fixtures and cases: one grammar, read with tokenize.

A comment holds marks separated by `;`, each `word: payload`, optionally ended by a condition on
the version, `[torch>=2.14]`:

    expect, expect-missing, expect-wrong, or, may   AG102, AG104[info] "part of message"
    reveal                                          tensor grad leaf float rank=1
    observe                                         a literal; nan and inf are allowed
    raises, warns                                   RuntimeError "part of message"

A mark belongs to the smallest statement on its line; of a compound statement that is the header.
"""

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from autolint.testing.answers import Answer
from autolint.testing.literals import literal

CodeWord = Literal["expect", "expect-missing", "expect-wrong", "or", "may"]
CODE_WORDS = ("expect", "expect-missing", "expect-wrong", "or", "may")
WORDS = (*CODE_WORDS, "reveal", "observe", "raises", "warns")

_STRING = r'"(?:[^"\\]|\\.)*"'
_WORD = re.compile(r"\s*([a-z][a-z-]*):(?:\s|$)")
_CONDITION = re.compile(r"\s*\[torch\s*(>=|<=|==|<|>)\s*(\d+(?:\.\d+)*)\]\s*$")
_CODE = re.compile(rf"\s*([A-Z]+\d+)(\[info\])?\s*({_STRING})?\s*(,|$)")
_ERROR = re.compile(rf"\s*([A-Za-z_][\w.]*)\s*({_STRING})?\s*$")


class MarkError(ValueError):
    """A mark that cannot be read, named with file and line."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")


@dataclass(frozen=True)
class Condition:
    """The torch versions for which a mark is meant."""

    operator: str
    version: tuple[int, ...]

    def holds(self, torch_version: str) -> bool:
        """Whether `torch_version` (local parts like `+cpu` are ignored) meets the condition."""
        release = re.match(r"\d+(?:\.\d+)*", torch_version)
        if release is None:
            raise ValueError(f"not a torch version: {torch_version!r}")
        width = len(self.version)
        numbers = [int(part) for part in release.group().split(".")]
        actual = tuple((numbers + [0] * width)[:width])
        return {
            ">=": actual >= self.version,
            "<=": actual <= self.version,
            "==": actual == self.version,
            "<": actual < self.version,
            ">": actual > self.version,
        }[self.operator]


@dataclass(frozen=True)
class Mark:
    """One mark: the file and line it is written in, and the lines of its statement."""

    path: str
    line: int
    first: int
    last: int
    condition: Condition | None

    def applies(self, torch_version: str) -> bool:
        """Whether the mark is meant for this torch."""
        return self.condition is None or self.condition.holds(torch_version)

    def covers(self, line: int) -> bool:
        """Whether `line` lies in the marked statement."""
        return self.first <= line <= self.last


@dataclass(frozen=True)
class CodeMark(Mark):
    """A claim about the linter: `code` is reported on the statement (what exactly, `word` says)."""

    word: CodeWord
    code: str
    info: bool
    message: str

    def __str__(self) -> str:
        part = f' "{self.message}"' if self.message else ""
        return f"{self.word}: {self.code}{'[info]' if self.info else ''}{part}"


@dataclass(frozen=True)
class ObserveMark(Mark):
    """The case returns `value` (tensors as nested lists)."""

    value: object


@dataclass(frozen=True)
class ErrorMark(Mark):
    """The statement raises or warns this class, or one derived from it, with this message part."""

    name: str
    message: str

    def __str__(self) -> str:
        return f'{self.name} "{self.message}"' if self.message else self.name


@dataclass(frozen=True)
class RaisesMark(ErrorMark):
    """The statement raises, and the case ends there."""


@dataclass(frozen=True)
class WarnsMark(ErrorMark):
    """The statement warns, and the case goes on."""


@dataclass(frozen=True)
class RevealMark(Mark):
    """What the linter says of the revealed value, and torch does not contradict."""

    answer: Answer


def read_marks(source: str, path: str) -> list[Mark]:
    """All marks of a file, in the order of their lines.

    Raises MarkError for a malformed mark, a word that looks like a mistyped mark, and a mark beside
    no statement; SyntaxError if the source is no Python.
    """
    owners = statement_lines(ast.parse(source))
    marks: list[Mark] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            marks.extend(_comment_marks(token.string, token.start[0], owners, path))
    return marks


def statement_lines(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Line -> first and last line of the smallest statement on it; of compound ones, the header."""
    owners: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        first, last = _extent(node)
        for line in range(first, last + 1):
            known = owners.get(line)
            if known is None or last - first < known[1] - known[0]:
                owners[line] = (first, last)
    return owners


def _extent(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> tuple[int, int]:
    start = node.pattern if isinstance(node, ast.match_case) else node
    first = _first_line(start)
    if isinstance(node, ast.Match):
        return first, max(first, node.cases[0].pattern.lineno - 1)
    body: list[ast.stmt] = getattr(node, "body", [])
    if body:
        return first, max(start.lineno, _first_line(body[0]) - 1)
    return first, cast(int, start.end_lineno)


def _first_line(node: ast.stmt | ast.ExceptHandler | ast.pattern) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _comment_marks(
    comment: str, line: int, owners: dict[int, tuple[int, int]], path: str
) -> Iterator[Mark]:
    for part in _split(comment, "#"):
        pieces = _split(part, ";")
        if not pieces or not _is_mark(pieces[0], path, line):
            continue
        if line not in owners:
            raise MarkError(path, line, f"the mark {part.strip()!r} stands beside no statement")
        for piece in pieces:
            if not _is_mark(piece, path, line):
                raise MarkError(path, line, f"{piece.strip()!r} after a mark is no mark")
            try:
                yield from _parse(piece, (path, line, *owners[line]))
            except (ValueError, SyntaxError) as error:
                raise MarkError(path, line, f"in {piece.strip()!r}: {error}") from None


def _split(text: str, separator: str) -> list[str]:
    """The non-blank pieces between separators that stand outside double quotes."""
    quoted = [match.span() for match in re.finditer(_STRING, text)]
    pieces, start = [], 0
    for index, character in enumerate(text):
        if character == separator and not any(a <= index < b for a, b in quoted):
            pieces.append(text[start:index])
            start = index + 1
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def _is_mark(piece: str, path: str, line: int) -> bool:
    match = _WORD.match(piece)
    if match is None:
        return False
    word = match.group(1)
    if word in WORDS:
        return True
    close = difflib.get_close_matches(word, WORDS, n=1, cutoff=0.8)
    if close:
        raise MarkError(path, line, f"unknown mark {word!r}; did you mean {close[0]!r}?")
    return False


def _parse(piece: str, place: tuple[str, int, int, int]) -> Iterator[Mark]:
    word, _, payload = piece.partition(":")
    word = word.strip()
    condition: Condition | None = None
    if match := _CONDITION.search(payload):
        version = tuple(int(part) for part in match.group(2).split("."))
        condition = Condition(match.group(1), version)
        payload = payload[: match.start()]
    if word in CODE_WORDS:
        for code, info, message in _codes(payload):
            yield CodeMark(*place, condition, cast(CodeWord, word), code, info, message)
    elif word == "reveal":
        yield RevealMark(*place, condition, Answer.parse(payload))
    elif word == "observe":
        yield ObserveMark(*place, condition, literal(payload))
    else:
        match = _ERROR.match(payload)
        if match is None:
            raise ValueError('needs a class, then optionally "part of the message"')
        kind = RaisesMark if word == "raises" else WarnsMark
        yield kind(*place, condition, match.group(1), _text(match.group(2)))


def _codes(payload: str) -> Iterator[tuple[str, bool, str]]:
    position, more = 0, True
    while more:
        match = _CODE.match(payload, position)
        if match is None:
            raise ValueError(
                f'{payload[position:].strip()!r} is not CODE, CODE[info] or CODE "part of message"'
            )
        yield match.group(1), match.group(2) is not None, _text(match.group(3))
        position, more = match.end(), match.group(4) == ","


def _text(quoted: str | None) -> str:
    return cast(str, ast.literal_eval(quoted)) if quoted else ""
