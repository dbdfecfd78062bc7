"""The report of `autolint verify --model`, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from autolint.runtime.grammar import ELEMENTS
from autolint.runtime.model import (
    ENOUGH_ANSWERS,
    ENOUGH_DECISIONS,
    ENOUGH_PROGRAMS,
    Conformance,
    Tally,
)
from autolint.runtime.questions import ACTS, QUESTIONS

_WIDTH = max(len(name) for name in (*QUESTIONS, *ACTS, *ELEMENTS))


def text(found: Conformance) -> str:
    """Tables of what was asked and answered, then each program that was refuted."""
    return "\n".join(_lines(found))


def as_json(found: Conformance) -> str:
    """One object; shares are of the questions asked, or of the programs."""
    tally = found.tally
    document = {
        "version": 1,
        "torch": found.torch,
        "seed": found.first,
        "programs": tally.programs,
        "answered": {name: _answered(tally, name) for name in (*QUESTIONS, *ACTS)},
        "elements": {name: tally.elements[name] for name in ELEMENTS},
        "refuted": [
            {"seed": one.seed, "reason": one.reason, "program": one.source} for one in found.refuted
        ],
    }
    return json.dumps(document, indent=2)


def _answered(tally: Tally, name: str) -> dict[str, int]:
    return {"asked": tally.asked[name], "answered": tally.answered[name]}


def _lines(found: Conformance) -> Iterator[str]:
    tally = found.tally
    last = found.first + tally.programs - 1
    yield f"torch {found.torch}, programs of the seeds {found.first} to {last}"
    yield "\nanswered with yes or no"
    for names, enough in ((QUESTIONS, ENOUGH_ANSWERS), (ACTS, ENOUGH_DECISIONS)):
        for name in names:
            yield _share(name, tally.answered[name], tally.asked[name], enough)
    yield "\nprograms with"
    for name in ELEMENTS:
        yield _share(name, tally.elements[name], tally.programs, ENOUGH_PROGRAMS)
    for one in found.refuted:
        yield f"\nseed {one.seed}: {one.reason}"
        for line in one.source.splitlines():
            yield f"    {line}".rstrip()
    yield ""
    if found.holds:
        yield f"no contradiction in {tally.programs} programs"
    else:
        yield f"{len(found.refuted)} of {tally.programs} programs show a contradiction"


def _share(name: str, part: int, whole: int, enough: float) -> str:
    share = part / whole if whole else 0.0
    few = "" if share >= enough else f"  below {enough:.0%}"
    return f"  {name:<{_WIDTH}}  {share:>6.1%} of {whole:>6}{few}"
