"""Small programs, and what chance makes of them: lines and tokens deleted, doubled, swapped."""

from __future__ import annotations

import ast
import io
import random
import tokenize
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MAX_CHANGES = 4


def programs(paths: Sequence[Path]) -> list[str]:
    """The functions and loops of files, each with all imports of its file: small, and runnable.

    A file that does not parse gives nothing.
    """
    found: list[str] = []
    for path in paths:
        text = path.read_text("utf-8", "replace")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        imports = [ast.unparse(n) for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        head = "\n".join(dict.fromkeys(["import torch", *imports]))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.For, ast.With)):
                source = ast.get_source_segment(text, node)
                if source is not None:
                    found.append(f"{head}\n\n{source}\n")
    return found


def mutants(sources: Sequence[str], seed: int) -> Iterator[str]:
    """Endless: each a program with one to four changes, mostly ones after which it still parses."""
    chance = random.Random(seed)
    while True:
        text = chance.choice(sources)
        for _ in range(chance.randint(1, MAX_CHANGES)):
            changed = _changed(text, chance)
            if chance.random() < 0.1 or _parses(changed):
                text = changed
        yield text


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _changed(text: str, chance: random.Random) -> str:
    return chance.choice(_CHANGES)(text, chance)


def _lines(text: str, chance: random.Random) -> str:
    """A line is deleted, doubled, or swapped with another."""
    lines = text.split("\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case _:
            lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _tokens(text: str, chance: random.Random) -> str:
    """A token is deleted, doubled, or replaced by another of its kind from the same program."""
    try:
        tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
            and token.start[0] == token.end[0]
        ]
    except (tokenize.TokenError, SyntaxError):
        return text
    if not tokens:
        return text
    token = chance.choice(tokens)
    match chance.randrange(4):
        case 0:
            new = ""
        case 1:
            new = f"{token.string} {token.string}"
        case _:
            new = chance.choice([each.string for each in tokens if each.type == token.type])
    lines = text.split("\n")
    row, (begin, end) = token.start[0] - 1, (token.start[1], token.end[1])
    lines[row] = lines[row][:begin] + new + lines[row][end:]
    return "\n".join(lines)


def _truncated(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


def _indented(text: str, chance: random.Random) -> str:
    """A run of lines moves into a block of its own."""
    lines = text.split("\n")
    begin = chance.randrange(len(lines))
    end = min(len(lines), begin + chance.randint(1, 4))
    margin = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
    head = chance.choice(
        ["with torch.no_grad():", "for _ in range(3):", "if x:", "try:", "def f():"]
    )
    body = [f"    {line}" for line in lines[begin:end]]
    tail = [f"{margin}finally:", f"{margin}    pass"] if head == "try:" else []
    return "\n".join([*lines[:begin], margin + head, *body, *tail, *lines[end:]])


_HEADS = ("with torch.no_grad():", "for _ in range(3):", "if x:", "try:", "def f():")
_CHANGES: Sequence[Callable[[str, random.Random], str]] = (
    _lines,
    _lines,
    _tokens,
    _tokens,
    _tokens,
    _indented,
    _truncated,
)
