"""Command line of the benchmark: see the package."""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import again
from .files import count_lines, python_files, sample
from .measure import Command, Run, ratio, round_robin

BASELINE = "parse"
TOOL = "autolint"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; exits with 2 on a wrong one."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH")
    parser.add_argument("--rounds", type=int, default=5, help="times each command is run")
    parser.add_argument("--sample", type=int, metavar="N", help="random files of N lines in all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--max-ratio", type=float, help="exit with 1 if autolint's median is above")
    parser.add_argument("--ruff", metavar="EXECUTABLE", help="measure ruff's default rules too")
    parser.add_argument(
        "--torchfix", metavar="VENV", help="measure the TorchFix installed there too"
    )
    options = parser.parse_args(argv)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    missing = [path for path in options.paths if not os.path.exists(path)]
    if missing:
        parser.error(f"no such path: {missing[0]}")
    return options


def commands(paths: Sequence[str], ruff: str | None, torchfix: str | None) -> dict[str, Command]:
    """Name the commands to compare, the baseline first; none of them reads or writes a cache."""
    python = sys.executable
    check = [python, "-m", "autolint", "check", "--no-cache", "--format", "json"]
    found = {
        BASELINE: Command([python, "-m", "tests.bench.baseline", *paths]),
        TOOL: Command([*check, "--jobs", "1", *paths]),
        "all cores": Command([*check, *paths]),
    }
    if ruff:
        found["ruff"] = Command([ruff, "check", "--isolated", "--no-cache", "--exit-zero", *paths])
    if torchfix:
        program = os.path.join(torchfix, "bin", "torchfix")
        found["torchfix"] = Command([program, "--select", "ALL", "-j", "1", *paths])
    return found


def table(runs: Mapping[str, Sequence[Run]], lines: int) -> list[str]:
    """One row per command: medians of time, the highest peak, and the ratio with its range."""
    rows = ["command      CPU s   wall s  peak MiB  x parse  (range)        lines per CPU s"]
    for name, own in runs.items():
        cpu = statistics.median(run.cpu for run in own)
        wall = statistics.median(run.wall for run in own)
        peak = max(run.peak for run in own)
        low, middle, high = ratio(own, runs[BASELINE])
        measured = f"{name:10} {cpu:7.2f}  {wall:7.2f}  {peak:8.0f}"
        rows.append(
            f"{measured}  {middle:7.2f}  {f'({low:.2f}-{high:.2f})':14} {lines / cpu:15,.0f}"
        )
    return rows


def doubts(runs: Mapping[str, Sequence[Run]], outputs: Path, files: int) -> list[str]:
    """Say what makes the ratios mean something else than the cost of the same work.

    That is a command that failed, a file that LibCST refused, or that autolint met other files.
    """
    found = []
    for name, own in runs.items():
        # Linters end with 1 where they found something.
        failed = sorted({run.exit_code for run in own} - {0, 1})
        if failed:
            found.append(f"{name} ended with exit code {failed[0]}: {last_error(outputs / name)}")
    refused = summary(outputs / BASELINE).get("refused")
    if refused:
        found.append(f"LibCST refused {refused} of {files} files")
    checked = summary(outputs / TOOL).get("files")
    if checked is None:
        found.append(f"autolint printed no report: {last_error(outputs / TOOL)}")
    elif checked != files:
        found.append(f"autolint checked {checked} files, not {files}")
    return found


def last_error(output: Path) -> str:
    """Read the last line that a command wrote to its standard error."""
    lines = output.with_suffix(".err").read_text(errors="replace").splitlines()
    return lines[-1] if lines else "no message"


def summary(report: Path) -> dict[str, object]:
    """Read the counts that the baseline or autolint printed; none if it printed no report."""
    try:
        printed = json.loads(report.read_bytes())
    except ValueError:
        return {}
    counts = printed.get("summary", printed)
    return counts if isinstance(counts, dict) else {}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table.

    Returns 2 if there is nothing to measure or the baseline or autolint failed, 1 if autolint's
    median ratio is above ``--max-ratio``, else 0.
    """
    options = arguments(argv)
    files = list(python_files(options.paths))
    paths: list[str] = options.paths
    if options.sample:
        # Named one by one and left where they are: what they import is still found beside them.
        paths = files = sample(files, options.sample, options.seed)
    if not files:
        print("no Python file there", file=sys.stderr)
        return 2
    lines = sum(count_lines(path) for path in files)
    print(f"{len(files)} files, {lines:,} lines, {options.rounds} rounds")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores (wall counts only below 0.5)")
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder)
        compared = commands(paths, options.ruff, options.torchfix)
        runs = round_robin(compared, options.rounds, outputs)
        print("\n".join(table(runs, lines)))
        for doubt in doubts(runs, outputs, len(files)):
            print(f"note: {doubt}")
        repeated = again.commands(files, outputs, options.ruff)
        round_robin(repeated, 1, outputs)  # fills the caches
        print("\n".join(again.table(round_robin(repeated, options.rounds, outputs))))
        failed = not (summary(outputs / BASELINE) and summary(outputs / TOOL))
    if failed or any(run.exit_code not in (0, 1) for run in runs[TOOL]):
        return 2
    limit: float | None = options.max_ratio
    return int(limit is not None and ratio(runs[TOOL], runs[BASELINE]).median > limit)


if __name__ == "__main__":
    sys.exit(main())
