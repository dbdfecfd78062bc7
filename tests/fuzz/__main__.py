"""Command line of the long form: see the package."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from autolint.source import read_text
from tests.places import CASES, MODEL, RULES

from .checking import Input, Tally, Target
from .growing import grown
from .mutation import mutants, programs
from .whole import whole

CHUNK = 100
FORMS = ("mutants", "grown", "whole")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; exits with 2 on a wrong one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="more programs")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0])
    parser.add_argument("--inputs", type=int, default=50_000, help="how many (not of whole files)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def sources(paths: Sequence[Path]) -> list[str]:
    """The programs of the fixtures, the cases and the given paths."""
    files = [*RULES, *MODEL, *(sorted(CASES.glob("*.py")) if CASES.is_dir() else [])]
    for path in paths:
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return programs(files)


def inputs(options: argparse.Namespace) -> Iterator[Input]:
    """What the options ask for."""
    if options.form == "whole":
        yield from whole(options.paths)
        return
    made = (
        grown(options.seed)
        if options.form == "grown"
        else mutants(sources(options.paths), options.seed)
    )
    yield from map(Input.of, islice(made, options.inputs))


def main(argv: Sequence[str] | None = None) -> int:
    """Run; exits with 1 if anything failed."""
    options = arguments(argv)
    began = time.monotonic()
    total = Tally()
    current = Path(tempfile.gettempdir(), f"autolint_fuzz_{os.getpid()}.py")
    print(f"the input that is linted is in {current}", flush=True)
    target = Target(read_text if options.form == "whole" else lambda path: None, current)
    queue = inputs(options)
    while chunk := list(islice(queue, CHUNK)):
        tally = target.run(chunk)
        for text, reason in tally.failures:
            print(f"{'-' * 72}\n{text}\n{'-' * 72}\n{reason}", flush=True)
        total.add(tally)
        if sys.stderr.isatty():
            print(f"\r{total.inputs}", end="", file=sys.stderr)
    current.unlink(missing_ok=True)
    print(_summary(options, total, time.monotonic() - began))
    return int(bool(total.failures))


def _summary(options: argparse.Namespace, total: Tally, seconds: float) -> str:
    what = f"{options.form}, seed {options.seed}" if options.form != "whole" else "whole files"
    share = total.reached / total.inputs if total.inputs else 0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{what}: {total.inputs} inputs in {seconds:.0f} s, {total.reached} ({share:.0%}) reached "
        f"the interpreter ({total.functions} functions, {total.bounded} to a bound), "
        f"{total.findings} findings, slowest {total.slowest:.2f} s ({total.slowest_input}), "
        f"{memory:.0f} MB, {len(total.failures)} failures"
    )


if __name__ == "__main__":
    sys.exit(main())
