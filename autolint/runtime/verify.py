"""`autolint verify`: runs the cases of rules with the installed torch and checks their marks.

This process imports neither torch nor LibCST: see `processes` for where torch runs.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autolint.progress import Progress
from autolint.runtime.impossible import INSTALL, Impossible
from autolint.runtime.outcomes import MODULE, Failure, Machine, Outcome
from autolint.runtime.packs import Claim, claims, select
from autolint.runtime.processes import Ended, Task, run_all

DEVICES = ("cpu", "cuda")
LIMIT = 60.0
"""Seconds after which a fixture is taken to hang."""

_WORKERS = 4
_INSTALL_CUDA = (
    "a build with CUDA: pip install --force-reinstall torch (on Linux), "
    "or see https://pytorch.org/get-started/locally"
)


@dataclass(frozen=True)
class Result:
    """A rule on a device: how many cases were run, and those with marks that do not hold."""

    claim: Claim
    device: str
    cases: int
    failed: tuple[Outcome, ...]


@dataclass(frozen=True)
class Verification:
    """What was found on which torch; `skipped` are the devices that were not there, with reason."""

    torch: str
    devices: dict[str, str]
    skipped: dict[str, str]
    results: tuple[Result, ...]

    @property
    def holds(self) -> bool:
        """Whether every mark holds; nothing is said of skipped devices."""
        return not any(result.failed for result in self.results)


def verify(
    keys: Sequence[str] = (),
    device: str = "all",
    limit: float = LIMIT,
    progress: Progress | None = None,
) -> Verification:
    """Verify the rules that `keys` select (all without any) on a device, or on all that torch sees.

    Raises Impossible without torch or the device, UnknownRule for a key, PackError for a pack.
    """
    chosen = select(claims(), keys)
    machine = _look()
    skipped = {} if "cuda" in machine.devices else {"cuda": machine.no_cuda}
    wanted = DEVICES if device == "all" else (device,)
    if device in skipped:
        raise Impossible(f"there is no {device} device: {skipped[device]}; {_INSTALL_CUDA}")
    devices = {name: machine.devices[name] for name in wanted if name in machine.devices}
    pairs = [(claim, name) for name in devices for claim in chosen]
    results = _run(pairs, limit, progress)
    skipped = {name: reason for name, reason in skipped.items() if name in wanted}
    return Verification(machine.torch, devices, skipped, tuple(results))


def _look() -> Machine:
    if importlib.util.find_spec("torch") is None:
        raise Impossible(f"torch is not installed; to install it: {INSTALL}")
    [(_, ended)] = run_all([Task("look")], LIMIT, 1)
    if not isinstance(ended.value, Machine):
        raise Impossible(f"torch cannot be used: {ended.reason}; to install it: {INSTALL}")
    return ended.value


def _run(
    pairs: Sequence[tuple[Claim, str]], limit: float, progress: Progress | None
) -> list[Result]:
    """The results in the order of the pairs."""
    results = {
        place: Result(claim, device, 0, (_absent(claim),))
        for place, (claim, device) in enumerate(pairs)
        if claim.fixture is None
    }
    places = [place for place in range(len(pairs)) if place not in results]
    tasks = [Task("run", (str(pairs[place][0].fixture), pairs[place][1])) for place in places]
    workers = min(_WORKERS, os.cpu_count() or 1)
    for number, ended in run_all(tasks, limit, workers):
        place = places[number]
        results[place] = _result(*pairs[place], ended)
        if progress is not None:
            progress(len(results), len(pairs))
    return [results[place] for place in range(len(pairs))]


def _absent(claim: Claim) -> Outcome:
    module = claim.name.replace("-", "_")
    seen = f"that the pack {claim.pack!r} has no fixture rules/{module}.py"
    return Outcome(claim.pack, MODULE, (Failure(0, "cases that show the fault", seen),))


def _result(claim: Claim, device: str, ended: Ended) -> Result:
    path = Path(claim.fixture or "").as_posix()
    if ended.reason:
        return Result(claim, device, 0, (_broken_off(path, ended),))
    cases, outcomes = ended.value
    failed = [outcome for outcome in outcomes if outcome.failures]
    if not cases:
        nothing = Failure(1, "cases that show the fault", "no function bad_... or good_...")
        failed.append(Outcome(path, MODULE, (nothing,)))
    return Result(claim, device, cases, tuple(failed))


def _broken_off(path: str, ended: Ended) -> Outcome:
    """A fixture that came to no end: in the case that ran last, where its stack was dumped."""
    name, first = ended.note or (MODULE, 1)
    dumped = re.search(rf'File "{re.escape(path)}", line (\d+)', ended.log)
    line = int(dumped.group(1)) if dumped else first
    claim = "marks that can be compared" if name == MODULE else f"{name} comes to an end"
    return Outcome(path, name, (Failure(line, claim, ended.reason),))
