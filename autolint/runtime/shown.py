"""What the fixture of a rule lets torch show, as the last lines of the rule's page."""

from __future__ import annotations

import textwrap
from collections import Counter

from autolint.config import NEWEST_TORCH
from autolint.runtime.packs import PackError, fixture_of
from autolint.testing import (
    Case,
    Fixture,
    MarkError,
    ObserveMark,
    RaisesMark,
    WarnsMark,
    read_fixture,
)

_OURS = "autolint"
_WIDTH = 100


def shown(code: str, module: str) -> str:
    """A paragraph on the rule `code` of `module`, made from the marks of its fixture."""
    try:
        found = fixture_of(module)
        if found is None:
            return f"Not verified: no fixture of {code} is installed."
        path, distribution = found
        fixture = read_fixture(path)
    except (PackError, MarkError, SyntaxError, OSError) as error:
        return f"Not verified: the fixture of {code} cannot be read: {error}"
    # Whoever made another pack knows with which torch its marks were made.
    version = f" The marks were made with torch {NEWEST_TORCH}." if distribution == _OURS else ""
    return textwrap.fill(_paragraph(code, fixture) + version, _WIDTH)


def _paragraph(code: str, fixture: Fixture) -> str:
    bad = [case for case in fixture.cases if case.is_bad]
    good = len(fixture.cases) - len(bad)
    kinds = Counter(kind for case in bad for kind in sorted(_observables(case)))
    seen = ", ".join(f"{kind} ({number})" for kind, number in kinds.most_common())
    return (
        f"Verified: `autolint verify {code}` runs {len(bad)} bad and {good} good cases in torch. "
        f"The bad ones are known by: {seen or 'nothing'}."
    )


def _observables(case: Case) -> set[str]:
    """By what a case differs from its good twin, in words."""
    kinds = set()
    for mark in case.marks:
        if mark.applies(NEWEST_TORCH):
            match mark:
                case ObserveMark():
                    kinds.add("the value returned")
                case RaisesMark(name=name):
                    kinds.add(f"{name} raised")
                case WarnsMark(name=name):
                    kinds.add(f"{name} issued")
    return kinds
