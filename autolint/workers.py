"""Several processes that lint the files of one run.

Each is handed some files at a time and sends what it found in each of them: plain values. The file
that a process died at is known by that, and named; another process takes up what it leaves.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from autolint.deep_stack import on_deep_stack
from autolint.diagnostic import Problem
from autolint.files import File
from autolint.linted import Linted, Seen
from autolint.linting import Linter

Found = Linted | Problem
"""What was found in a file, or why nothing was looked for."""

SHARE = 100_000
"""Bytes of source below which a process takes longer to start than it saves."""

_PARTS = 8
"""So many times a process is handed files: often enough that all end at about one time, seldom
enough that files of one folder, which use the same others, go to the same process."""

_MOST = 60
"""Processes; no more can be waited for on Windows."""

_PATIENCE = 5.0
"""Seconds that a process which has closed its connection gets for its end."""


@dataclass(slots=True)
class Share:
    """What one process found, by path, and what it saw of the disk; None if it did not live."""

    found: dict[str, Found] = field(default_factory=dict)
    seen: Seen | None = None


def count(files: Sequence[File], jobs: int | None) -> int:
    """How many processes pay for these files, at most `jobs` (None: as many as there are cores)."""
    most = min(_cores() if jobs is None else jobs, _MOST)
    if most < 2 or len(files) < 2:
        return 1
    size = sum(_size(each) for each in files)
    return max(1, min(most, len(files), size // SHARE))


def lint(
    linter: Linter,
    files: Sequence[File],
    processes: int,
    progress: Callable[[], None],
    method: str | None = None,
) -> list[Share]:
    """Lint files in several processes; `progress` is told of each that is done.

    Call it where no other thread runs, which a copied process would lack. A file at which a process
    died has a Problem. Those that are left if no process can be started are in no share. `method`
    is how processes are started; None: as fits the system.
    """
    linter.load()
    method = method or _method()
    if method != "fork" and not (linter.registry and linter.registry.packs):
        return []  # rules that nobody installed cannot be found by another process
    team = _Team(linter, files, processes, progress, method)
    gc.freeze()  # or the first collection of each process would copy all that it shares with us
    try:
        team.work()
    finally:
        team.kill()
        gc.unfreeze()
    return team.shares


@dataclass(slots=True)
class _Worker:
    """A process. `pending` are the files it was handed and has not answered: it is at the first."""

    process: BaseProcess
    connection: Connection
    ready: bool = False
    pending: deque[int] = field(default_factory=deque)
    share: Share = field(default_factory=Share)


class _Team:
    def __init__(
        self,
        linter: Linter,
        files: Sequence[File],
        processes: int,
        progress: Callable[[], None],
        method: str,
    ) -> None:
        self._linter = linter
        self._files = files
        self._number = processes
        self._progress = progress
        self._context = multiprocessing.get_context(method)
        self._parts = deque(_parts([_size(each) for each in files], processes * _PARTS))
        self._processes: list[BaseProcess] = []
        self._workers: list[_Worker] = []
        self.shares: list[Share] = []

    def work(self) -> None:
        """Have all files linted, or all for which a process can be had."""
        for _ in range(self._number):
            self._start()
        while self._workers:
            ready = wait([each.connection for each in self._workers])
            for worker in [each for each in self._workers if each.connection in ready]:
                self._hear(worker)

    def kill(self) -> None:
        """End the processes that are still there; what they could still say is not wanted."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()

    def _start(self) -> None:
        forks = self._context.get_start_method() == "fork"
        ours, theirs = self._context.Pipe()
        others = [ours, *(each.connection for each in self._workers)] if forks else []
        linter = self._linter if forks else None
        # The context's type lacks what all of its kinds have.
        process: BaseProcess = self._context.Process(  # type: ignore[attr-defined]
            target=_serve,
            args=(linter, self._linter.screened, self._files, theirs, others),
            daemon=True,
        )
        try:
            with _uninterrupted():
                process.start()
                self._processes.append(process)
            self._workers.append(_Worker(process, ours))
        except OSError:
            ours.close()  # The system has no more processes: fewer have to do.
        finally:
            theirs.close()

    def _hear(self, worker: _Worker) -> None:
        try:
            message: Seen | tuple[int, Found] | None = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if isinstance(message, Seen):
            worker.share.seen = message
            self._part_with(worker)
            return
        if message is None:
            worker.ready = True
        else:
            at, found = message
            worker.pending.popleft()
            self._take(worker, at, found)
        if not worker.pending:
            self._hand(worker)

    def _take(self, worker: _Worker, at: int, found: Found) -> None:
        worker.share.found[self._files[at].path] = found
        self._progress()

    def _hand(self, worker: _Worker) -> None:
        part = self._parts.popleft() if self._parts else []
        worker.pending.extend(part)
        with suppress(OSError):  # It died: that will be heard.
            worker.connection.send(part)

    def _bury(self, worker: _Worker) -> None:
        """Name the file at which a process died, and have the others linted by a new one."""
        self._part_with(worker)
        worker.process.join(_PATIENCE)
        if worker.pending:
            at = worker.pending.popleft()
            fate = _fate(worker.process.exitcode)
            message = f"internal error: the process that checked this file {fate}"
            self._take(worker, at, Problem(self._files[at].path, message))
        if worker.pending:
            self._parts.appendleft(list(worker.pending))
        if worker.ready and self._parts:
            self._start()

    def _part_with(self, worker: _Worker) -> None:
        worker.connection.close()
        self._workers.remove(worker)
        self.shares.append(worker.share)


def _serve(
    linter: Linter | None,
    screened: bool,
    files: Sequence[File],
    connection: Connection,
    others: list[Connection],
) -> None:
    """The life of a process: takes positions of files, sends what it finds in each of them.

    Without a `linter` it loads the rules itself. `others` are ends of connections that only the
    first process should have: a closed connection tells that its other end is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Who started us ends us.
    for each in others:
        each.close()
    if linter is None:
        from autolint.registry import Registry

        linter = Linter(Registry.load(), screened)
        linter.load()
    with suppress(EOFError, OSError):  # There is nobody to work for any more.
        on_deep_stack(lambda: _answer(linter, files, connection))


def _answer(linter: Linter, files: Sequence[File], connection: Connection) -> None:
    gc.disable()  # as in `collecting_seldom`, for good
    connection.send(None)
    while part := connection.recv():
        for at in part:
            raw = linter.read(files[at])
            found = raw if isinstance(raw, Problem) else linter.lint(files[at], raw)[1]
            connection.send((at, found))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # rules may print, and nobody waits for our end
    connection.send(linter.seen())


def _parts(sizes: Sequence[int], number: int) -> list[list[int]]:
    """Positions of files in about `number` parts of neighbours, the largest part first."""
    enough = sum(sizes) / number
    parts: list[tuple[int, list[int]]] = []
    size, part = 0, []
    for at, each in enumerate(sizes):
        size += each
        part.append(at)
        if size >= enough or at == len(sizes) - 1:
            parts.append((size, part))
            size, part = 0, []
    return [part for _, part in sorted(parts, key=lambda each: -each[0])]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait, and the processes that are started meanwhile never see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _method() -> str:
    """How processes are started: copied, where that is safe, since a copy has LibCST loaded."""
    known = multiprocessing.get_all_start_methods()
    if "fork" in known and sys.platform != "darwin" and threading.active_count() == 1:
        return "fork"
    return "spawn"


def _fate(code: int | None) -> str:
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _size(file: File) -> int:
    try:
        return os.stat(file.path).st_size
    except (OSError, ValueError):
        return 0
