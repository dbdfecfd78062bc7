"""What of the project an analysis looked at: the things that its findings depend on.

What is computed once and asked for again keeps the set of what it looked at, and hands it to
everyone who asks: so the set of a file is complete, whoever asked first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Import(NamedTuple):
    """A module looked up for the files of a folder; relative ones have leading dots."""

    folder: str
    module: str


class Probe(NamedTuple):
    """The question whether a folder that exists has an entry of some name."""

    folder: str
    name: str


_RACY = 2_000_000_000
"""Nanoseconds within which something can change twice without its time showing it."""


def settled(changed: int) -> int:
    """The time of a last change; 0 if it is so young that another change may have the same."""
    return changed if time.time_ns() - changed > _RACY else 0


Token = str | Import
"""A file that was read, or looked for (its absolute path), or an import."""


class Touched:
    """Collects tokens for whoever is computing something now."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current: set[Token] = set()

    def recorded(self, work: Callable[[], T]) -> tuple[T, frozenset[Token]]:
        """What `work` gives, and what it looked at; who asked for it has looked at that too."""
        outer = self.current
        self.current = set()
        try:
            return work(), frozenset(self.current)
        finally:
            outer |= self.current
            self.current = outer
