"""The one place where facts change: a trail of writes that can be undone and joined.

State is never copied. A branch is run on the real facts, its net changes are taken and undone, the
other branch is run, and the changes of both are joined. Facts live in the dictionaries of cells
(`vars(cell)`) and in environments of names; all are written through `Heap.put`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

MISSING: Any = object()
"""Stands for 'the key was not there' in the trail."""
_NO_ARM: Any = object()
"""Stands for a value that no arm has given yet."""

Facts: TypeAlias = "dict[Any, Any]"
Changes: TypeAlias = "dict[tuple[int, Any], tuple[Facts, Any, Any]]"
"""Net changes since a mark: (id of the facts, key) -> (facts, key, new value)."""

Join: TypeAlias = "Callable[[Any, Any, Any, Changes, Changes], Any]"


def _birth(facts: Facts) -> int:
    """When the cell that these facts belong to was made; 0 for names, which may be called so."""
    birth = facts.get("birth", 0)
    return birth if type(birth) is int else 0


History: TypeAlias = "dict[tuple[int, Any], tuple[Facts, Any, list[Any]]]"
"""All values that facts had: (id of the facts, key) -> (facts, key, values in their order)."""


class Heap:
    """A trail of writes."""

    def __init__(self) -> None:
        self._trail: list[tuple[Facts, Any, Any]] = []

    def put(self, facts: Facts, key: Any, value: Any) -> None:
        """Write one fact, so that it can be undone."""
        old = facts.get(key, MISSING)
        if old is not value:
            self._trail.append((facts, key, old))
            facts[key] = value

    def drop(self, facts: Facts, key: Any) -> None:
        """Remove one fact, if it is there."""
        if key in facts:
            self._trail.append((facts, key, facts.pop(key)))

    def mark(self) -> int:
        """A point of the trail to come back to."""
        return len(self._trail)

    def changes(self, mark: int) -> Changes:
        """The net changes since a mark."""
        net: Changes = {}
        trail = self._trail
        for facts, key, _ in trail[mark:]:
            net[(id(facts), key)] = (facts, key, facts.get(key, MISSING))
        return net

    def undo(self, mark: int) -> None:
        """Go back to a mark."""
        trail = self._trail
        for facts, key, old in reversed(trail[mark:]):
            if old is MISSING:
                facts.pop(key, None)
            else:
                facts[key] = old
        del trail[mark:]

    def at(self, mark: int, facts: Facts) -> Facts:
        """What some facts were at a mark."""
        found = dict(facts)
        for changed, key, old in reversed(self._trail[mark:]):
            if changed is facts:
                if old is MISSING:
                    found.pop(key, None)
                else:
                    found[key] = old
        return found

    def history(self, mark: int) -> History:
        """All values that each fact had since a mark, the one before it included."""
        seen: History = {}
        trail = self._trail
        for position in range(mark, len(trail)):
            facts, key, old = trail[position]
            seen.setdefault((id(facts), key), (facts, key, []))[2].append(old)
        for facts, key, values in seen.values():
            values.append(facts.get(key, MISSING))
        return seen

    def take(self, mark: int) -> Changes:
        """The net changes since a mark, which are undone."""
        net = self.changes(mark)
        self.undo(mark)
        return net

    def apply(self, changes: Changes) -> None:
        """Make changes that were taken before."""
        for facts, key, value in changes.values():
            if value is MISSING:
                self.drop(facts, key)
            else:
                self.put(facts, key, value)

    def join(self, arms: list[Changes], born: int, join: Join) -> None:
        """Make the join of the changes of several arms, all taken at the present state.

        `born` is the clock (`Cell.clock`) before the arms ran: a cell made inside one arm exists
        in that arm only, so its facts are that arm's. `join(key, left, right, ours, theirs)` joins
        two values of a fact, each with the changes of the arm it is from; MISSING stands for an
        absent one.
        """
        if len(arms) == 1:
            self.apply(arms[0])
            return
        merged: Changes = {}
        for arm in arms:
            for where, first in arm.items():
                merged.setdefault(where, first)
        for where, (facts, key, _) in merged.items():
            inside = _birth(facts) > born
            present = facts.get(key, MISSING)
            value: Any = _NO_ARM
            for arm in arms:
                change = arm.get(where)
                if change is None and inside:
                    continue
                other = present if change is None else change[2]
                if value is _NO_ARM:
                    value, ours = other, arm
                elif value is not other:
                    value = join(key, value, other, ours, arm)
            if value is MISSING:
                self.drop(facts, key)
            else:
                self.put(facts, key, value)
