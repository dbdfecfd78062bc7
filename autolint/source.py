"""From the bytes of a file to text and syntax tree, whatever the bytes are.

Two parsers read a file. CPython's own goes first: it refuses what would overflow LibCST's native
stack. What is still too deep for LibCST (whose cost is not linear in depth) is refused here.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SIZE_LIMIT = 2_000_000
"""Bytes of a file above which it is not analysed: its tree would take over half a gigabyte."""

DEPTH_LIMIT = 200
"""Nesting of an expression above which it is not analysed; real code stays below a third of it."""

OPERAND_LIMIT = 1_000
"""Operands of one ``and`` / ``or`` chain, which is flat for `ast` but nested for LibCST."""

ANALYSIS_RECURSION = 20_000
"""Recursion limit while LibCST and the interpreter work, inside a thread with a deep stack."""

_NEWLINE = re.compile(r"\r\n|\r")
_LINE_END = re.compile(r"\r\n|\r|\n")

_TORCH_WORDS = re.compile(
    rb"torch|\.backward\(|\.detach\(|\.detach_\(|requires_grad|no_grad|zero_grad|enable_grad"
    rb"|inference_mode|register_buffer|\.grad\b|grad_fn|autograd"
)


class Unparsable(Exception):
    """The file is no Python that can be analysed; carries where and why."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded file. `original` keeps its line ends, `text` has only ``\\n``.

    Both have the same lines and columns: only what ends a line differs.
    """

    path: str
    encoding: str
    original: str
    text: str

    @property
    def newline(self) -> str:
        """The line end that new lines of this file get: its first."""
        found = _LINE_END.search(self.original)
        return found.group() if found else "\n"

    @property
    def content(self) -> str:
        """All text of the file."""
        return self.original

    def encoded(self) -> bytes:
        """The bytes of the file, BOM included.

        Raises UnicodeEncodeError if the encoding lacks a character, as it may after a change.
        """
        return self.content.encode(self.encoding)

    def with_original(self, original: str) -> Source:
        """The same file with another content."""
        return Source(self.path, self.encoding, original, normalise(original))


def mentions_torch(raw: bytes) -> bool:
    """Whether a file can be about tensors: it says torch, or a word that only autograd has."""
    return _TORCH_WORDS.search(raw) is not None


def normalise(text: str) -> str:
    """The text with every line end written as ``\\n``."""
    return _NEWLINE.sub("\n", text) if "\r" in text else text


def decode(path: str, raw: bytes) -> Source:
    """Decode by BOM and coding cookie (PEP 263). Raises Unparsable."""
    if len(raw) > SIZE_LIMIT:
        size, limit = len(raw) / 1e6, SIZE_LIMIT / 1e6
        raise Unparsable(f"is not checked: {size:.1f} MB is over the limit of {limit:.0f} MB")
    try:
        encoding = _encoding(raw)
        original = raw.decode(encoding)
    except (SyntaxError, LookupError, ValueError) as error:
        # UnicodeDecodeError is a ValueError; a codec that is not for text is a LookupError.
        raise Unparsable(f"cannot be decoded: {reason_of(error)}") from error
    if encoding == "utf-8" and raw.startswith(codecs.BOM_UTF8):
        original = original.removeprefix("\ufeff")
        encoding = "utf-8-sig"
    return Source(path, encoding, original, normalise(original))


def _encoding(raw: bytes) -> str:
    """The encoding that BOM and cookie say. Raises SyntaxError if they disagree or say nonsense."""
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return tokenize.detect_encoding(io.BytesIO(raw).readline)[0]


def read_text(path: str) -> str | None:
    """The normalised text of a file; None if it cannot be read as text."""
    try:
        with open(path, "rb") as stream:
            return decode(path, stream.read(SIZE_LIMIT + 1)).text
    except (OSError, ValueError, Unparsable):
        return None


def parse(text: str) -> ast.Module:
    """Parse with the running Python's own parser. Raises Unparsable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        message = f"cannot be parsed by {version}: {reason_of(error)}"
        lines = text.count("\n") + 1
        line = min(max(error.lineno or 1, 1), lines)
        raise Unparsable(message, line, max(error.offset or 1, 1)) from error
    except (RecursionError, MemoryError) as error:
        raise Unparsable("is nested too deeply to be parsed") from error
    except ValueError as error:
        raise Unparsable(f"cannot be parsed: {error}") from error


@contextmanager
def raised_recursion_limit() -> Iterator[None]:
    """Let recursion go as deep as a checked file can need; use inside the deep-stack thread."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, ANALYSIS_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def refuse_deep(text: str, tree: ast.Module) -> None:
    """Raise Unparsable if an expression is nested deeper than LibCST can bear."""
    for statement in _long_statements(text, tree):
        pending: list[tuple[ast.AST, int]] = [(statement, 0)]
        while pending:
            node, depth = pending.pop()
            if depth > DEPTH_LIMIT:
                raise _at(
                    statement, f"is not checked: an expression nests more than {DEPTH_LIMIT} deep"
                )
            if isinstance(node, ast.BoolOp) and len(node.values) > OPERAND_LIMIT:
                raise _at(
                    statement, f"is not checked: a condition has over {OPERAND_LIMIT} operands"
                )
            pending.extend(
                (child, depth + 1)
                for child in ast.iter_child_nodes(node)
                if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
            )


def _long_statements(text: str, tree: ast.Module) -> Iterator[ast.AST]:
    """The statements (compound ones by their headers) that are long enough to hold deep nesting.

    A level takes a character at least, and few statements have so many.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        fields = vars(node)
        inner = fields.get("body") or fields.get("cases")
        if not inner:
            first, last = fields["lineno"], fields["end_lineno"]
        else:
            for name in _BLOCKS:
                pending.extend(fields.get(name, ()))
            first, last = _line(node), _line(inner[0])
        if starts[last] - starts[first - 1] > DEPTH_LIMIT:
            yield node


_BLOCKS = ("body", "cases", "handlers", "orelse", "finalbody")


def _line(node: ast.AST) -> int:
    """The line on which a statement, handler or case begins, decorators included."""
    at = node.pattern if isinstance(node, ast.match_case) else node
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line: int = vars(at)["lineno"]
    return min([line, *(each.lineno for each in decorators)])


def _at(node: ast.AST, message: str) -> Unparsable:
    return Unparsable(message, _line(node), getattr(node, "col_offset", 0) + 1)


def reason_of(error: Exception) -> str:
    """The first line of an error's text."""
    if isinstance(error, SyntaxError):
        text = error.msg
    else:
        text = str(getattr(error, "message", "") or error)
    lines = text.strip().splitlines()
    return lines[0] if lines else type(error).__name__
