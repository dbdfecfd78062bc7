"""`autolint verify --model N`: the model of autograd against torch, on generated programs.

This process imports neither torch nor LibCST: programs run in batches, in processes of their own. A
program that takes its process down is named, and the others of its batch are run by the next.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from autolint.progress import Progress
from autolint.runtime.impossible import INSTALL, Impossible
from autolint.runtime.processes import Ended, Task, run_all

ENOUGH_ANSWERS = 0.6
ENOUGH_DECISIONS = 0.8
ENOUGH_PROGRAMS = 0.05

_BATCH = 100
_WORKERS = 4


@dataclass
class Tally:
    """Counts over programs: how often each question was asked, and how often answered; in how many
    programs each element of the grammar occurs.
    """

    programs: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    elements: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count what another one counted, too."""
        self.programs += other.programs
        self.asked.update(other.asked)
        self.answered.update(other.answered)
        self.elements.update(other.elements)


@dataclass(frozen=True)
class Refuted:
    """A program for which model and torch disagree, or that could not be run to its end.

    `source` is the smallest program found that shows it, with both claims beside the lines.
    """

    seed: int
    reason: str
    source: str = ""


@dataclass(frozen=True)
class Batch:
    """What one process found."""

    torch: str
    tally: Tally
    refuted: tuple[Refuted, ...]


@dataclass(frozen=True)
class Conformance:
    """What all programs showed."""

    torch: str
    first: int
    tally: Tally
    refuted: tuple[Refuted, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing that the model was sure of is false."""
        return not self.refuted


def conform(
    count: int, seed: int = 0, limit: float = 60.0, progress: Progress | None = None
) -> Conformance:
    """Compare model and torch on `count` programs, from the seed on.

    `limit` is the time in seconds for each program of a batch, on average. Raises Impossible
    without torch.
    """
    if importlib.util.find_spec("torch") is None:
        raise Impossible(f"torch is not installed; to install it: {INSTALL}")
    todo = [
        range(first, min(first + _BATCH, seed + count))
        for first in range(seed, seed + count, _BATCH)
    ]
    tally, refuted, torch = Tally(), [], ""
    while todo:
        tasks = [Task("conform", (str(seeds.start), str(seeds.stop))) for seeds in todo]
        rest: list[range] = []
        workers = min(_WORKERS, os.cpu_count() or 1)
        for number, ended in run_all(tasks, limit * _BATCH, workers):
            if ended.reason:
                crashed = _crashed(todo[number], ended)
                refuted.append(crashed)
                # Those before it are run once more: what was found of them died with the process.
                rest += _without(todo[number], crashed.seed)
            else:
                torch = ended.value.torch
                tally.add(ended.value.tally)
                refuted += ended.value.refuted
            if progress is not None:
                progress(tally.programs, count)
        todo = rest
    return Conformance(torch, seed, tally, tuple(sorted(refuted, key=lambda one: one.seed)))


def _crashed(seeds: range, ended: Ended) -> Refuted:
    if ended.note is None:
        raise Impossible(f"torch cannot be used: {ended.reason}; to install it: {INSTALL}")
    return Refuted(ended.note, ended.reason, ended.log.strip())


def _without(seeds: range, crashed: int) -> Sequence[range]:
    parts = (range(seeds.start, crashed), range(crashed + 1, seeds.stop))
    return [part for part in parts if part]
