"""Fixes as edits of text: applied in order, checked by parsing, written atomically."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autolint.atomic import replace
from autolint.diagnostic import Diagnostic, TextEdit
from autolint.source import Source, Unparsable, parse

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True, slots=True)
class Applied:
    """A file after one round of fixes.

    `rejected` are findings whose fix cannot be used, each with the reason.
    """

    source: Source
    fixed: tuple[Diagnostic, ...]
    rejected: tuple[tuple[Diagnostic, str], ...]


def apply(source: Source, findings: Iterable[Diagnostic]) -> Applied:
    """Apply the fixes of `findings` in source order; one that overlaps an earlier one waits.

    A fix after which the file would not parse, or could not be encoded, is rejected.
    """
    fixed: list[Diagnostic] = []
    edits: list[TextEdit] = []
    rejected: list[tuple[Diagnostic, str]] = []
    for finding in sorted(findings, key=lambda each: each.order):
        if finding.fix is None:
            continue
        added = [edit for edit in finding.fix.edits if edit not in edits]
        if any(_overlap(old, new) for old in edits for new in added):
            continue
        reason = _unusable(source, [*edits, *added])
        if reason is not None:
            rejected.append((finding, reason))
            continue
        edits.extend(added)
        fixed.append(finding)
    changed = source.with_original(edited(source, edits))
    return Applied(changed, tuple(fixed), tuple(rejected))


def edited(source: Source, edits: Sequence[TextEdit]) -> str:
    """The file's text, its line ends kept, after edits that do not overlap."""
    text = source.original
    starts = _line_starts(text)
    newline = source.newline
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits):
        begin = _offset(starts, edit.line, edit.column, len(text))
        end = _offset(starts, edit.end_line, edit.end_column, len(text))
        pieces += [text[done:begin], edit.text.replace("\n", newline)]
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


def write(source: Source, read: bytes) -> None:
    """Replace the file's content in one step, keeping its mode.

    Raises OSError, also if the file is not any more as it was `read`: what somebody else wrote
    meanwhile, or removed, is not ours to undo.
    """
    with open(source.path, "rb") as stream:
        if stream.read() != read:
            raise OSError("it was changed while it was checked")
    replace(source.path, source.encoded())


def diff(before: str, after: str, path: str) -> str:
    """A unified diff, as patch and git read it."""
    import difflib

    lines: list[str] = []
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}"):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def _unusable(source: Source, edits: Sequence[TextEdit]) -> str | None:
    """Why these edits may not be made."""
    changed = source.with_original(edited(source, edits))
    try:
        parse(changed.text)
        changed.encoded()
    except Unparsable as error:
        return f"the fixed file {error.message}"
    except UnicodeEncodeError:
        return f"the file's encoding {source.encoding} lacks a character of the fix"
    return None


def _overlap(one: TextEdit, other: TextEdit) -> bool:
    """Whether two edits touch the same text; insertions at one place have no order of their own."""
    if one[:2] == other[:2]:
        return True
    first, second = sorted((one, other))
    return second[:2] < first[2:4]


def _lines(text: str) -> list[str]:
    """The lines with their ends; unlike ``splitlines``, only what ends a line in Python counts."""
    return [line for line in _LINE.findall(text) if line]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in _lines(text):
        starts.append(starts[-1] + len(line))
    return starts


def _offset(starts: Sequence[int], line: int, column: int, size: int) -> int:
    if line > len(starts):
        return size
    return min(starts[line - 1] + column - 1, size)
