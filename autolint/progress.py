"""A bar on the terminal for runs that take a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Is told how many are done, of how many."""

SLOW = 1.0
"""Seconds after which a run shows how far it is."""

_WIDTH = 30


@contextmanager
def bar(unit: str) -> Iterator[Progress | None]:
    """A bar on the terminal once a run has become slow, else nothing; `unit` is what is counted."""
    if not sys.stderr.isatty():
        yield None
        return
    began = time.monotonic()
    width = 0

    def show(done: int, total: int) -> None:
        nonlocal width
        if time.monotonic() - began > SLOW:
            filled = _WIDTH * done // total
            text = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {unit}"
            width = max(width, len(text))
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if width:
            print("\r" + " " * width, end="\r", file=sys.stderr, flush=True)
