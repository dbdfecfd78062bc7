"""What a run costs after the first one: nothing changed, or one file did; and a start alone.

The files are copied for it, so that the cache and the changes are nobody else's. These runs are
measured above what Python itself needs to start.
"""

import os
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .files import count_lines
from .measure import Command, Run

BARE = "python"
LINES = 500
"""The changed file is the one whose number of lines is nearest to this."""


def commands(files: Sequence[str], folder: Path, ruff: str | None) -> dict[str, Command]:
    """Copy the files below `folder` and name the commands, bare Python first."""
    copies = _copied(files, folder / "tree")
    tree = str(folder / "tree")
    check = [sys.executable, "-m", "autolint", "check", "--format", "json", "."]
    found = {
        BARE: Command([sys.executable, "-c", "pass"]),
        "--version": Command([sys.executable, "-m", "autolint", "--version"]),
        "nothing new": Command(check, tree),
        "one changed": Command(check, tree, _changing(copies)),
    }
    if ruff:
        kept = ["--cache-dir", str(folder / "ruff")]
        found["ruff"] = Command(
            [ruff, "check", "--isolated", "--select", "F", "--exit-zero", *kept, "."], tree
        )
    return found


def table(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """One row per command: medians of CPU milliseconds, also above bare Python and against ruff."""
    cpu = {name: 1000 * statistics.median(run.cpu for run in own) for name, own in runs.items()}
    ruff = cpu.get("ruff")
    rows = ["again          CPU ms  above python  x ruff"]
    for name, own in cpu.items():
        above = f"{own - cpu[BARE]:12.0f}" if name not in (BARE, "ruff") else " " * 12
        against = f"{own / ruff:6.1f}" if ruff else ""
        rows.append(f"{name:12} {own:8.0f}  {above}  {against}".rstrip())
    return rows


def _copied(files: Sequence[str], tree: Path) -> list[Path]:
    top = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])
    copies = []
    for file in files:
        copy = tree / os.path.relpath(os.path.abspath(file), top)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copies.append(copy)
    return copies


def _changing(copies: Sequence[Path]) -> Callable[[], None]:
    """What changes a file, each time anew."""
    chosen = min(copies, key=lambda copy: abs(count_lines(str(copy)) - LINES))

    def change() -> None:
        with chosen.open("a") as file:
            file.write("\n# changed\n")

    return change
