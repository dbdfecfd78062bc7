"""Findings against marks, compared exactly in both directions."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from autolint.testing.marks import CodeMark, Mark


class Reported(NamedTuple):
    """A finding, as far as marks speak about it."""

    path: str
    line: int
    code: str
    info: bool
    message: str


def mismatches(marks: Iterable[Mark], findings: Iterable[Reported]) -> list[str]:
    """What differs, one line each; empty if every claim holds and no finding is left over.

    Each mark stands for one finding. `expect` and `expect-wrong` must be met (at their own
    statement, or for `expect` at one that carries `or` with the code), `expect-missing` must not
    be. `may` takes whatever comes, and so does `or`: two lines that share the blame may both be
    reported.
    """
    claims = [mark for mark in marks if isinstance(mark, CodeMark)]
    problems: list[str] = []
    rest = sorted(findings)
    # Marks that say more choose first, so that a looser one does not take their finding.
    due = sorted(
        (mark for mark in claims if mark.word in ("expect", "expect-wrong")),
        key=lambda mark: (-len(mark.message), mark.path, mark.line),
    )
    unmet = [mark for mark in due if not _take(mark, [mark], rest)]
    elsewhere = [mark for mark in claims if mark.word == "or"]
    for mark in unmet:
        places = [other for other in elsewhere if other.code == mark.code]
        if mark.word == "expect-wrong":
            problems.append(
                f"{mark.path}:{mark.line}: no longer a false alarm, remove the mark: {mark}"
            )
        elif not _take(mark, places, rest):
            problems.append(f"{mark.path}:{mark.line}: not reported: {mark}")
    for mark in claims:
        if mark.word == "expect-missing" and _take(mark, [mark], rest):
            problems.append(f"{mark.path}:{mark.line}: no longer missed, make it expect: {mark}")
    tolerated = [mark for mark in claims if mark.word in ("may", "or")]
    for finding in rest:
        if not any(_at(mark, finding) for mark in tolerated):
            seen = f"{finding.code}{'[info]' if finding.info else ''} {finding.message}"
            problems.append(f"{finding.path}:{finding.line}: not expected: {seen}")
    return problems


def _take(claim: CodeMark, places: Sequence[CodeMark], findings: list[Reported]) -> bool:
    for index, finding in enumerate(findings):
        says = finding.info == claim.info and claim.message in finding.message
        if says and any(_at(place, finding) for place in places):
            del findings[index]
            return True
    return False


def _at(mark: CodeMark, finding: Reported) -> bool:
    place = mark.path == finding.path and mark.covers(finding.line)
    return place and mark.code == finding.code
