"""Runs functions in processes of their own, so that a crash, a hang or a changed switch spoils
nothing else.

The processes are children of a fork server that has imported torch and touched no device, or new
interpreters where there is no fork. The functions are given by name, since this process imports no
torch. What a process prints is kept in a file, for the case that it ends without an answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_WORKER = "autolint.runtime.worker"
_WARM = "autolint.runtime.warm"

START_LIMIT = 120.0
"""Seconds in which a process must have imported torch."""

_GRACE = 1.0  # Between the dump of the stack of a process that hangs and its end.
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
_LOOK_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Task:
    """A call of a function of the worker, in a process of its own."""

    function: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a task ended: with a `value`, or for a `reason`.

    `note` is the last thing that it told; `log` what the process printed, with its stack if it
    crashed or hung.
    """

    value: Any = None
    reason: str = ""
    note: Any = None
    log: str = ""


def run_all(
    tasks: Sequence[Task], limit: float, workers: int, preload: Sequence[str] = ()
) -> Iterator[tuple[int, Ended]]:
    """Run tasks, `workers` at a time, each for at most `limit` seconds.

    Gives the number of each task with its end, in the order in which they end. `preload` are
    modules that a fork server started here imports too, to spare its children the time.
    """
    with tempfile.TemporaryDirectory(prefix="autolint-") as folder:
        context = multiprocessing.get_context("forkserver" if _FORKS else "spawn")
        if _FORKS:
            context.set_forkserver_preload([_WARM, *preload])
            with _inside(folder):  # The server looks for modules where it starts, first of all.
                forkserver.ensure_running()
        waiting = deque(enumerate(tasks))
        running: list[_Running] = []
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    number, task = waiting.popleft()
                    running.append(_Running(context, number, task, limit, Path(folder)))
                _wait(running)
                for each in list(running):
                    ended = each.look()
                    if ended is not None:
                        running.remove(each)
                        each.end()
                        yield each.number, ended
        finally:
            for each in running:
                each.end()


def _wait(running: Sequence[_Running]) -> None:
    left = min(each.deadline for each in running) - time.monotonic()
    ready = [sign for each in running for sign in each.signs()]
    connection.wait(ready, max(0.0, min(left, _LOOK_EVERY)))


class _Running:
    """A process that runs a task."""

    def __init__(self, context: Any, number: int, task: Task, limit: float, folder: Path) -> None:
        self.number = number
        self._limit = limit
        self._log = folder / str(number)
        self._log.touch()
        self._note: Any = None
        self._connection, theirs = context.Pipe(duplex=False)
        self._open = True
        arguments = (theirs, str(self._log), limit, task.function, task.arguments)
        self._process = context.Process(target=_serve, args=arguments)
        self._process.start()
        theirs.close()
        self.deadline = time.monotonic() + START_LIMIT

    def signs(self) -> list[Any]:
        """What becomes ready when there is something to look at."""
        return [self._process.sentinel, *([self._connection] if self._open else [])]

    def look(self) -> Ended | None:
        """Read what the process sent; how it ended, if it did or is out of time."""
        alive = self._process.is_alive()  # Asked first: what it sent before its end is read below.
        while self._open and self._connection.poll():
            try:
                kind, value = self._connection.recv()
            except (EOFError, OSError):
                self._open = False
                break
            if kind == "begun":
                self.deadline = time.monotonic() + self._limit + _GRACE
            elif kind == "note":
                self._note = value
            else:
                return self._ended(**{kind: value})
        if not alive:
            return self._ended(reason=_death(self._process.exitcode))
        if time.monotonic() > self.deadline:
            return self._ended(reason=f"a hang: no end after {self._limit:g} s")
        return None

    def end(self) -> None:
        """Kill the process and all that it started."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _ended(self, value: Any = None, reason: str = "") -> Ended:
        log = self._log.read_text("utf-8", "replace")
        return Ended(value, reason, self._note, log)


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"a crash: the process died of {signal.Signals(-code).name}"
        except ValueError:
            return f"a crash: the process died of signal {-code}"
    return f"the end of the process with exit code {code}"


def _serve(
    answers: Connection, log: str, limit: float, function: str, arguments: tuple[str, ...]
) -> None:
    """In the process: call the function and send what it returns."""
    if hasattr(os, "setsid"):
        os.setsid()  # A group of its own: it can be killed with all that it started.
    with open(log, "w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        faulthandler.enable(file)
        try:
            called = getattr(importlib.import_module(_WORKER), function)
            answers.send(("begun", None))
            faulthandler.dump_traceback_later(limit, file=file)
            value = called(lambda note: answers.send(("note", note)), *arguments)
            answers.send(("value", value))
        except BaseException as error:
            answers.send(("reason", f"{type(error).__name__}: {error}"))
        faulthandler.cancel_dump_traceback_later()
        faulthandler.disable()


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
