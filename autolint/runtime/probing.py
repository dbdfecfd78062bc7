"""Has torch asked for all tables, part by part in processes of their own.

This process imports no torch: see `processes` for where torch runs.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence

from autolint.progress import Progress
from autolint.runtime import tables
from autolint.runtime.findings import Part, Probed, Row, Tables
from autolint.runtime.impossible import INSTALL, Impossible
from autolint.runtime.processes import Ended, Task, run_all

_OPS, _LAYERS, _CASTS = 24, 6, 8
FIRST = (
    *(f"ops {number}/{_OPS}" for number in range(_OPS)),
    *(f"layers {number}/{_LAYERS}" for number in range(_LAYERS)),
    "factories",
    "names",
    *(f"casts {number}/{_CASTS}" for number in range(_CASTS)),
)
LAST = ("methods",)
"""They leave out what the others cover."""

_TABLES = {"ops": "ops.csv", "methods": "ops.csv", "layers": "layers.csv", "casts": "names.csv"}
_LIMIT = 180.0
"""Seconds after which a part, which takes a few, is taken to hang."""

_TRIES = 5
_EXTRA = "what the probe needs: pip install 'autolint[runtime]'"


def probe(progress: Progress | None = None) -> Probed:
    """The tables of the installed torch. Raises Impossible without torch."""
    for module in ("torch", "numpy", "expecttest"):
        if importlib.util.find_spec(module) is None:
            to_do = f"to install it: {INSTALL}" if module == "torch" else _EXTRA
            raise Impossible(f"{module} is not installed; {to_do}")
    return _Probe(progress).run()


class _Probe:
    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0
        self._torch = ""
        self._reasons: dict[tuple[str, str], str] = {}

    def run(self) -> Probed:
        first = self._parts(FIRST, ())
        covered = [
            name
            for part in FIRST
            if _table(part) == "ops.csv"
            for row in first[part].rows
            for name in (row["names"] + " " + row["inplace"]).split()
        ]
        parts = {**first, **self._parts(LAST, covered)}
        rows: dict[str, list[Row]] = {}
        for name, part in parts.items():
            rows.setdefault(_table(name), []).extend(part.rows)
        for name, part in parts.items():
            for asked, reason in part.reasons.items():
                self._reasons[_table(name), asked] = reason
        found = Tables(self._torch.partition("+")[0], rows)
        return Probed(found, self._reasons, self._present(found))

    def _parts(self, names: Sequence[str], covered: Sequence[str]) -> dict[str, Part]:
        """Each part; one that comes to no end is asked again without the name it ended at."""
        found: dict[str, Part] = {}
        skip: dict[str, list[str]] = {name: [] for name in names}
        while waiting := [name for name in names if name not in found]:
            tasks = [
                Task("probe", (name, " ".join(covered), " ".join(skip[name]))) for name in waiting
            ]
            for number, ended in self._run(tasks):
                name = waiting[number]
                if ended.reason:
                    self._leave_out(name, ended, skip[name])
                    continue
                self._torch, found[name] = ended.value
                self._done += 1
                if self._progress is not None:
                    self._progress(self._done, len(FIRST) + len(LAST))
        return {name: found[name] for name in names}

    def _leave_out(self, part: str, ended: Ended, skip: list[str]) -> None:
        if ended.note is None or ended.note in skip or len(skip) == _TRIES:
            raise Impossible(f"torch cannot be asked for {part}: {ended.reason}")
        skip.append(ended.note)
        self._reasons[_table(part), ended.note] = ended.reason

    def _present(self, found: Tables) -> frozenset[str]:
        names = tables.names_of(tables.read()) - tables.names_of(found)
        wanted = sorted({name for table, name in names if table != "names.csv"})
        [(_, ended)] = self._run([Task("present", tuple(wanted))])
        if ended.reason:
            raise Impossible(f"torch cannot be asked for names: {ended.reason}")
        return frozenset(ended.value)

    def _run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Ended]]:
        workers = min(4, os.cpu_count() or 1)
        return run_all(tasks, _LIMIT, workers, ["autolint.runtime.warm_probe"])


def _table(part: str) -> str:
    kind = part.partition(" ")[0]
    return _TABLES.get(kind, f"{kind}.csv")
