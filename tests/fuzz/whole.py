"""Files as they are, but about torch: each gets an import of it where it has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from autolint.source import Unparsable, decode, parse

from .checking import Input

IMPORT = "import torch\n"


def whole(paths: Sequence[Path]) -> Iterator[Input]:
    """The Python files of files and folders, in order."""
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.is_file():
                yield Input(str(file), with_torch(file.read_bytes()))


def with_torch(raw: bytes) -> bytes:
    """The file with torch imported where the first line of code may stand.

    What cannot be read as Python stays as it is.
    """
    if b"import torch" in raw:
        return raw
    try:
        source = decode("", raw)
        tree = parse(source.text)
    except Unparsable:
        return raw
    after = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            after = statement.end_lineno or after
    lines = source.original.splitlines(keepends=True)
    # A line of `original` may end where one of the parser does not: then there is no safe place.
    if len(lines) != len(source.text.split("\n")) - (source.text[-1:] in ("", "\n")):
        return raw
    if after == 0:
        # The first two lines may say which encoding the file has.
        while after < min(2, len(lines)) and lines[after].startswith("#"):
            after += 1
    changed = "".join([*lines[:after], IMPORT, *lines[after:]])
    return source.with_original(changed).encoded()
