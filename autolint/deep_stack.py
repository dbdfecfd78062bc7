"""A thread whose stack bears the deep trees of the files that are checked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STACK_SIZES = (512 << 20, 128 << 20, 32 << 20)
"""Stacks to ask for, largest first; memory is used only as deep as one goes."""


def on_deep_stack(work: Callable[[], T]) -> T:
    """Call `work` in a thread whose stack bears deep trees; raises what it raises."""
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = _started(target)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _started(target: Callable[[], None]) -> threading.Thread:
    before = threading.stack_size()
    try:
        for size in _STACK_SIZES:
            thread = threading.Thread(target=target, name="autolint", daemon=True)
            try:
                threading.stack_size(size)
                thread.start()
            except (RuntimeError, ValueError):
                continue  # The system limits memory or stacks.
            return thread
        raise MemoryError("no thread can be started")
    finally:
        threading.stack_size(before)
