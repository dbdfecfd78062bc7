"""Command line of the long form: see the package."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.places import CASES, MODEL, RULES

from .checking import Tally, Target
from .mutation import mutants, programs

CHUNK = 500


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; exits with 2 on a wrong one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="more programs")
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def sources(paths: Sequence[Path]) -> list[str]:
    """The programs of the fixtures, the cases and the given paths."""
    files = [*RULES, *MODEL, *(sorted(CASES.glob("*.py")) if CASES.is_dir() else [])]
    for path in paths:
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return programs(files)


def chunks(options: argparse.Namespace) -> Iterator[Tally]:
    """Lint all inputs, a part at a time."""
    inputs = mutants(sources(options.paths), options.seed)
    target = Target()
    for begin in range(0, options.inputs, CHUNK):
        yield target.run(islice(inputs, min(CHUNK, options.inputs - begin)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run; exits with 1 if anything failed."""
    options = arguments(argv)
    began = time.monotonic()
    total = Tally()
    for tally in chunks(options):
        for text, reason in tally.failures:
            print(f"{'-' * 72}\n{text}\n{'-' * 72}\n{reason}")
        total.inputs += tally.inputs
        total.reached += tally.reached
        total.findings += tally.findings
        total.slowest = max(total.slowest, tally.slowest)
        total.failures += tally.failures
        if sys.stderr.isatty():
            print(f"\r{total.inputs}/{options.inputs}", end="", file=sys.stderr)
    print(
        f"seed {options.seed}: {total.inputs} inputs in {time.monotonic() - began:.0f} s, "
        f"{total.reached} reached the interpreter, {total.findings} findings, "
        f"slowest {total.slowest:.2f} s, {len(total.failures)} failures"
    )
    return int(bool(total.failures))


if __name__ == "__main__":
    sys.exit(main())
