"""Notebooks as source: their code cells make one module, and fixes go back into the cells.

Only the text of changed cells is replaced in the file: everything else keeps its bytes, whatever
the order of keys, the indentation, the outputs or the last line end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from autolint.diagnostic import Diagnostic, Place, Repair, TextEdit
from autolint.source import Source, Unparsable, normalise

SUFFIX = ".ipynb"
BETWEEN = "#\ue000"
"""The line after each cell, by which an edited text is taken apart again."""

_SPACE = re.compile(r"[ \t\r\n]*")
_MAGIC = re.compile(r"\s*(?:[%!]|\?|,\S|;\S|/\S)")
"""How a line of IPython begins that is not Python."""
_ASSIGNED_MAGIC = re.compile(r"(?P<head>\s*[\w.,\[\] \t]+=\s*)[%!]")
_HELP = re.compile(r"\s*[\w.*\[\]'\"]+\s*\?{1,2}\s*\Z")
_OTHER_LANGUAGES = re.compile(
    r"\s*%%(?:bash|sh|script|cmd|html|HTML|javascript|js|latex|markdown|svg|SVG|perl|ruby|R\b|"
    r"writefile|file|cython|sql|system|sx|!|cache)"
)
"""Magics after which a cell is not Python of this module."""


class CodeCell(NamedTuple):
    """A code cell: where its text stands in the file (a JSON string or list), and the text."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Notebook(Source):
    """A notebook. `original` holds the cells as they are, `text` with what is not Python masked.

    `raw` is the file's JSON, `cells` its code cells.
    """

    raw: str = ""
    cells: tuple[CodeCell, ...] = ()

    def with_original(self, original: str) -> Notebook:
        """The same notebook with other code cells, as many as before."""
        return replace(self, original=original, text=_masked(original))

    @property
    def content(self) -> str:
        """The JSON of the file, with the cells as they are now."""
        pieces: list[str] = []
        done = 0
        for cell, text in zip(self.cells, _apart(self.original), strict=True):
            if cell.text.endswith(("\n", "\r")):
                text += "\n"
            if text != normalise(cell.text):
                old = self.raw[cell.begin : cell.end]
                pieces += [self.raw[done : cell.begin], _as_json(text, old, self.raw.isascii())]
                done = cell.end
        pieces.append(self.raw[done:])
        return "".join(pieces)

    def in_cells(self, found: Diagnostic) -> Diagnostic:
        """A finding of the whole module, told by cell and line inside it."""
        cell, line = self._cell(found.line)
        return replace(
            found,
            cell=cell,
            line=line,
            end_line=line + found.end_line - found.line,
            because=tuple(self._place(each) for each in found.because),
            fix=None if found.fix is None else self._repair(found.fix),
        )

    def _place(self, place: Place) -> Place:
        if place.path != self.path:
            return place
        cell, line = self._cell(place.line)
        return place._replace(line=line, cell=cell)

    def _repair(self, fix: Repair) -> Repair:
        return replace(fix, edits=tuple(self._edit(each) for each in fix.edits))

    def _edit(self, edit: TextEdit) -> TextEdit:
        cell, line = self._cell(edit.line)
        return edit._replace(cell=cell, line=line, end_line=line + edit.end_line - edit.line)

    def _cell(self, line: int) -> tuple[int, int]:
        """The code cell, and the line inside it, of a line of the module; both from 1."""
        lines = self.text.split("\n")[: line - 1]
        before = [number for number, each in enumerate(lines, 1) if each == BETWEEN]
        return len(before) + 1, line - (before[-1] if before else 0)


def is_notebook(path: str) -> bool:
    """Whether a file is read as a notebook."""
    return path.endswith(SUFFIX)


def read(path: str, raw: bytes) -> Notebook:
    """Read a notebook of format 3 or 4. Raises Unparsable: broken, no notebook, not Python."""
    encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8"
    try:
        text = raw.decode(encoding)
        document = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"is no notebook: {error.msg}"
        raise Unparsable(reason, error.lineno, error.colno) from error
    except UnicodeDecodeError as error:
        raise Unparsable(f"cannot be decoded: {error}") from error
    except RecursionError as error:
        raise Unparsable("is no notebook: its JSON is nested too deeply") from error
    if not isinstance(document, dict) or not isinstance(document.get("nbformat"), int):
        raise Unparsable("is no notebook: it lacks `nbformat`")
    if document["nbformat"] not in (3, 4):
        raise Unparsable(f"is a notebook of format {document['nbformat']}; 3 and 4 are known")
    language = _language(document)
    if language not in ("python", "ipython", "python3", None):
        raise Unparsable(f"is a notebook in {language}, not in Python")
    cells = tuple(_cells(text, document["nbformat"]))
    original = "".join(f"{_whole(normalise(cell.text))}{BETWEEN}\n" for cell in cells)
    return Notebook(path, encoding, original, _masked(original), text, cells)


def _language(document: dict[str, Any]) -> str | None:
    """The language of the kernel, in lower case; None where the file does not say."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        for part, key in (("language_info", "name"), ("kernelspec", "language")):
            inner = metadata.get(part)
            if isinstance(inner, dict) and isinstance(inner.get(key), str):
                return str(inner[key]).lower()
    return None


def _whole(text: str) -> str:
    """A cell's text with a line end at its end."""
    return text if text.endswith("\n") else f"{text}\n"


def _apart(original: str) -> Iterator[str]:
    """The texts of the cells, as `_whole` left them but for the last line end."""
    for part in original.split(f"{BETWEEN}\n")[:-1]:
        yield part.removesuffix("\n")


# ---------------------------------------------------------------------- where the cells are


def _cells(text: str, version: int) -> Iterator[CodeCell]:
    """The code cells in the order of the file."""
    for begin, _ in _found(text, _skip(text, 0), "worksheets" if version == 3 else "cells"):
        if version == 4:
            yield from _in_list(text, begin, "source")
            continue
        for sheet, _ in _items(text, begin):
            for cells, _ in _found(text, sheet, "cells"):
                yield from _in_list(text, cells, "input")


def _in_list(text: str, begin: int, key: str) -> Iterator[CodeCell]:
    for at, end in _items(text, begin):
        cell = json.loads(text[at:end])
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        if str(cell.get("language", "python")).lower() not in ("python", "ipython"):
            continue
        for where, stop in _found(text, at, key):
            value = cell[key]
            if isinstance(value, list) and all(isinstance(each, str) for each in value):
                value = "".join(value)
            if not isinstance(value, str):
                line = text.count("\n", 0, where) + 1
                raise Unparsable(f"is no notebook: the {key} of a cell is no text", line)
            yield CodeCell(where, stop, value)


def _found(text: str, at: int, key: str) -> Iterator[tuple[int, int]]:
    """Where the value of a key of the object at `at` begins and ends; nothing if it has none."""
    if text[at] != "{":
        return
    places: dict[str, tuple[int, int]] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, begin)
        places[name] = (begin, end)  # of two equal keys JSON takes the last
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    if key in places:
        yield places[key]


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the elements of the list at `at` begin and end."""
    if text[at] != "[":
        return
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match is not None else at


def _as_json(text: str, old: str, ascii_only: bool) -> str:
    """A cell's text in the form of the value that it replaces: a string, or lines in a list."""
    if not old.startswith("["):
        return json.dumps(text, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in text.splitlines(keepends=True)]
    first = re.match(r"\[([ \t\r\n]*)", old)
    last = re.search(r"([ \t\r\n]*)\]\Z", old)
    before = first.group(1) if first is not None else ""
    after = last.group(1) if last is not None else ""
    comma = re.search(r'",(?P<space>[ \t\r\n]*)"', old)
    between = before or (comma.group("space") if comma is not None else " ")
    return f"[{before}{f',{between}'.join(lines)}{after}]"


# ---------------------------------------------------------------------- what is not Python


def _masked(original: str) -> str:
    """The module's text: magics, shell lines and questions replaced, line by line."""
    parts: list[str] = []
    for part in original.split(f"{BETWEEN}\n")[:-1]:
        parts.append(f"{_without_magics(part)}{BETWEEN}\n")
    return "".join(parts)


def _without_magics(cell: str) -> str:
    lines = cell.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].lstrip().startswith("%%"):
        if _OTHER_LANGUAGES.match(lines[first]):
            return "\n".join("" for _ in lines)
        lines[first] = "pass"  # %%time and the like: the rest is run as it stands
    masked: list[str] = []
    continued = False
    inside = _Strings()
    for line in lines:
        if continued:
            continued = line.rstrip().endswith("\\")
            masked.append("")
        elif inside.open:
            masked.append(line)
            inside.feed(line)
        elif _MAGIC.match(line) or _HELP.match(line):
            indent = line[: len(line) - len(line.lstrip())]
            continued = line.rstrip().endswith("\\") and line.lstrip()[0] in "%!"
            masked.append(f"{indent}pass")
        elif (assigned := _ASSIGNED_MAGIC.match(line)) is not None:
            masked.append(f"{assigned.group('head')}get_ipython()")
        else:
            masked.append(line)
            inside.feed(line)
    return "\n".join(masked)


class _Strings:
    """Whether a line begins inside a string of several lines or inside brackets.

    There a `%` is an operator and a `!` is text.
    """

    _TOKEN = re.compile(r"'''|\"\"\"|\\.|'|\"|#|[()\[\]{}]")

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0

    @property
    def open(self) -> bool:
        """Whether the next line goes on with what was begun."""
        return bool(self._quote) or self._depth > 0

    def feed(self, line: str) -> None:
        """Take the next line into account."""
        for match in self._TOKEN.finditer(line):
            token = match.group()
            if self._quote:
                if token == self._quote:
                    self._quote = ""
            elif token[0] in "'\"":
                self._quote = token
            elif token == "#":
                break
            elif token in "([{":
                self._depth += 1
            elif token in ")]}":
                self._depth -= 1
        if len(self._quote) == 1:
            self._quote = ""  # a string in single quotes ends with its line
