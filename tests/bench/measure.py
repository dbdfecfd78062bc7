"""Processes are run in turn and their cost is taken from the kernel's account of each."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Command:
    """What is run: in which folder (None: this one), and what is done before it, unmeasured."""

    words: Sequence[str]
    folder: str | None = None
    before: Callable[[], None] = lambda: None


class Run(NamedTuple):
    """One process: what it used, and how it ended (an exit code, or minus a signal's number)."""

    cpu: float  # seconds, user and system, with the child processes it waited for
    wall: float  # seconds
    peak: float  # MiB of resident memory, of the largest process among it and its children
    exit_code: int


class Ratio(NamedTuple):
    """How many times the CPU of the baseline a command took, over the rounds."""

    lowest: float
    median: float
    highest: float


def run_once(command: Command, output: Path) -> Run:
    """Run ``command``, its standard output in ``output``, its standard error beside it in ``.err``.

    Raises OSError where there is no such command. The peak is never below this process's own, which
    the kernel hands on when a child starts: so nothing large is imported or read here.
    """
    command.before()
    with output.open("wb") as stdout, output.with_suffix(".err").open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command.words, cwd=command.folder, env=_compiled(), stdout=stdout, stderr=stderr
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts in KiB, macOS in bytes.
    unit = 2**20 if os.uname().sysname == "Darwin" else 2**10
    cpu = usage.ru_utime + usage.ru_stime
    return Run(cpu, wall, usage.ru_maxrss / unit, process.returncode)


def _compiled() -> dict[str, str]:
    """The environment, but Python may keep what it compiled, as an installed program has it."""
    return {name: value for name, value in os.environ.items() if name != _UNCOMPILED}


def round_robin(
    commands: Mapping[str, Command], rounds: int, outputs: Path
) -> dict[str, list[Run]]:
    """Run every command once per round, so that a busy minute of the machine hits all of them.

    The standard output of the last round stays in ``outputs``, in a file with the command's name.
    """
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run_once(command, outputs / name))
    return runs


def ratio(runs: Sequence[Run], baseline: Sequence[Run]) -> Ratio:
    """Divide each run by the baseline's run of the same round."""
    quotients = [run.cpu / base.cpu for run, base in zip(runs, baseline, strict=True)]
    return Ratio(min(quotients), statistics.median(quotients), max(quotients))
