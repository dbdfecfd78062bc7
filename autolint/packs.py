"""Where rules come from: the entry points of installed packages."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

GROUP = "autolint.rules"


class Pack(NamedTuple):
    """A pack of rules: its name, its package, and the folder that this lies in."""

    name: str
    package: str
    folder: str


def points() -> list[tuple[str, str]]:
    """The name and the package of every installed pack, sorted by name."""
    found = importlib.metadata.entry_points(group=GROUP)
    return sorted(((each.name, each.value) for each in found), key=lambda each: each[0])
