"""For people: findings with their source line, the way that led there, and what would mend them."""

from __future__ import annotations

from collections.abc import Iterator

from autolint.diagnostic import Diagnostic, Outcome
from autolint.paths import in_cell, relative
from autolint.report.figures import by_code, last_line
from autolint.report.paint import Paint

WIDTH = 120
"""Columns of a source line that are shown; of a longer one, those around the finding."""


def full(outcome: Outcome, base: str, paint: Paint) -> Iterator[str]:
    """The lines of ``--format text``."""
    for each in outcome.findings:
        yield from _finding(each, base, paint)
        yield ""
    yield last_line(outcome)


def concise(outcome: Outcome, base: str, paint: Paint) -> Iterator[str]:
    """The lines of ``--format concise``: one per finding."""
    for each in outcome.findings:
        yield _head(each, base, paint) + _fix_mark(each)
    yield last_line(outcome)


def statistics(outcome: Outcome, paint: Paint) -> Iterator[str]:
    """The lines of ``--statistics``: one per code, the most frequent first."""
    names = {each.code: each.name for each in outcome.findings}
    counts = by_code(outcome)
    width = max((len(str(count)) for count in counts.values()), default=0)
    for code, count in counts.items():
        yield f"{count:>{width}}  {paint.bold(code)}  {names[code]}"
    yield last_line(outcome)


def _finding(each: Diagnostic, base: str, paint: Paint) -> Iterator[str]:
    yield _head(each, base, paint)
    width = len(str(each.line))
    margin = " " * width
    line, before, marked = _window(each)
    yield paint.dim(f"{margin} |")
    yield f"{paint.dim(f'{each.line} |')} {line}".rstrip()
    yield f"{paint.dim(f'{margin} |')} {before}{paint.severity('^' * marked, each.severity)}"
    for place in each.because:
        where = f"{in_cell(place.cell)}line {place.line}"
        if place.path != each.path:
            where = f"{relative(place.path, base)}:{place.line}"
        yield f"{margin} {paint.dim('=')} {where}: {place.message}"
    if each.fix is not None:
        flag = "--fix" if each.fix.safe else "--fix --unsafe-fixes"
        yield f"{margin} {paint.dim('=')} {paint.good('fix')} ({flag}): {each.fix.title}"


def _head(each: Diagnostic, base: str, paint: Paint) -> str:
    cell = "" if each.cell is None else f"cell {each.cell}:"
    place = paint.bold(f"{relative(each.path, base)}:{cell}{each.line}:{each.column}")
    severity = paint.severity(str(each.severity), each.severity)
    return f"{place}: {severity} {paint.bold(each.code)} {each.name}: {each.message}"


def _fix_mark(each: Diagnostic) -> str:
    if each.fix is None:
        return ""
    return " [fixable]" if each.fix.safe else " [fixable with --unsafe-fixes]"


def _window(each: Diagnostic) -> tuple[str, str, int]:
    """The source line as shown, what stands before the caret below it, and the caret's width."""
    line = "".join(c if c.isprintable() or c == "\t" else " " for c in each.excerpt)
    start = min(each.column - 1, len(line))
    end = each.end_column - 1 if each.end_line == each.line else len(line.rstrip())
    end = min(max(end, start + 1), max(len(line), start + 1))
    if len(line) > WIDTH:
        first = max(0, min(start - WIDTH // 4, len(line) - WIDTH))
        last = first + WIDTH
        head, tail = "…" if first else "", "…" if last < len(line) else ""
        line = head + line[first:last] + tail
        start, end = start - first + len(head), min(end, last) - first + len(head)
    before = "".join("\t" if c == "\t" else " " * _columns(c) for c in line[:start])
    return line, before, max(1, sum(_columns(c) for c in line[start:end]))


def _columns(character: str) -> int:
    """Columns of a terminal that a character takes."""
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
