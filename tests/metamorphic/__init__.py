"""Mechanical rewrites of fixtures that change no behaviour: what a mark claims must still hold.

Each rewrite takes a whole fixture file, with its helpers and classes, and gives one back in which
the marks have moved with their statements. `changed_cases` tells which cases a rewrite reached.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import libcst as cst

from .flow import as_while, split_assignments
from .names import alias_imports, rename_locals
from .trees import definitions, needed
from .wrapping import into_helper, under_if, under_with

__all__ = ["REWRITES", "changed_cases", "definitions", "needed"]

Rewrite: TypeAlias = Callable[[cst.Module], cst.Module]

REWRITES: dict[str, Rewrite] = {
    "import alias": alias_imports,
    "renamed variables": rename_locals,
    "under a with": under_with,
    "under an if": under_if,
    "in a helper function": into_helper,
    "while for for": as_while,
    "split assignment": split_assignments,
}


def changed_cases(before: str, after: str, cases: Sequence[str]) -> set[str]:
    """The cases whose text changed, or that of a definition which only they and their twins use."""
    old, new = definitions(before), definitions(after)
    needs = needed(old)
    users: dict[str, set[str]] = {}
    for case in cases:
        for name in needs[case]:
            users.setdefault(name, set()).add(case.partition("_")[2])
    changed = {name for name, text in old.items() if new.get(name) != text}
    return {
        case
        for case in cases
        if case in changed or any(name in changed and len(users[name]) == 1 for name in needs[case])
    }
