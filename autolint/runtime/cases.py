"""Runs the case functions of fixtures with torch and compares with their marks.

`python -m autolint.runtime.cases FILE...` prints the result of each case; it exits with 1 if a mark
does not hold.
"""

import contextlib
import io
import itertools
import random
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import torch

from autolint.runtime.observing import contradictions, describe, plain
from autolint.runtime.outcomes import MODULE, Failure, Outcome
from autolint.testing import (
    Answer,
    Case,
    Fixture,
    Mark,
    MarkError,
    ObserveMark,
    RaisesMark,
    WarnsMark,
    read_fixture,
    recording,
    same,
)
from autolint.testing.marks import ErrorMark

_numbers = itertools.count()


@dataclass(frozen=True)
class _Ended:
    """How a call ended: a value, or an error with its `lines` in the fixture, innermost last."""

    value: object = None
    error: Exception | None = None
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.error is None:
            return f"a return of {self.value!r}"
        message = " ".join(str(self.error).split())
        place = f"line {self.lines[-1]}" if self.lines else "no line of this file"
        return f"{type(self.error).__name__} on {place}: {message}"


class _Watch:
    """What is seen while the code of one fixture runs: reveals and warnings, each with its line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.revealed: list[tuple[int, Answer]] = []
        self.warned: list[tuple[int, Warning]] = []

    def call(self, function: Callable[[], object]) -> _Ended:
        """Run `function` in a known state of torch, and put back what it changed globally."""
        silent = contextlib.redirect_stdout(io.StringIO())
        with _default_state(), recording(self._reveal), warnings.catch_warnings(), silent:
            warnings.simplefilter("always")
            warnings.showwarning = self._warn
            try:
                return _Ended(function())
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                lines = [frame.lineno or 0 for frame in frames if frame.filename == self.path]
                return _Ended(error=error, lines=tuple(lines))

    def _reveal(self, path: str, line: int, value: object) -> None:
        if path == self.path:
            self.revealed.append((line, describe(value)))

    def _warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        # The warning may name a place inside torch: the statement of the fixture is what counts.
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        warning = message if isinstance(message, Warning) else category(message)
        self.warned.append((frame.f_lineno if frame else 0, warning))


def run_file(path: str | Path, device: str = "cpu", root: Path | None = None) -> list[Outcome]:
    """Read a fixture file and run it; see `run_fixture`."""
    return run_fixture(read_fixture(path), device, root)


def run_fixture(
    fixture: Fixture,
    device: str = "cpu",
    root: Path | None = None,
    started: Callable[[Case], None] = lambda case: None,
) -> list[Outcome]:
    """Import a fixture and run its cases on `device`: an outcome for the module body and each case.

    `root` is the folder from which a fixture of several files imports the others. `started` is told
    of each case before it runs. Raises MarkError if marks of a case exclude each other on this
    torch.
    """
    watch = _Watch(fixture.path)
    outcomes: list[Outcome] = []
    with _module(fixture, root) as module:
        code = compile(fixture.source, fixture.path, "exec", dont_inherit=True)
        ended = watch.call(lambda: exec(code, module.__dict__))
        if ended.error is not None:
            failure = Failure((*ended.lines, 1)[0], "an import without error", str(ended))
            return [Outcome(fixture.path, MODULE, (failure,))]
        for case in fixture.cases:
            started(case)
            failures = _run_case(fixture.path, case, module, device, watch)
            outcomes.append(Outcome(fixture.path, case.name, failures))
    return _with_reveals(fixture, watch, outcomes)


def _run_case(
    path: str, case: Case, module: types.ModuleType, device: str, watch: _Watch
) -> tuple[Failure, ...]:
    function = getattr(module, case.name)
    watch.warned.clear()
    ended = watch.call(lambda: function(torch.device(device)))
    marks = [mark for mark in case.marks if mark.applies(torch.__version__)]
    endings = [mark for mark in marks if isinstance(mark, ObserveMark | RaisesMark)]
    if len(endings) > 1:
        raise MarkError(path, endings[1].line, f"{case.name} can end in one way only")
    failures = _ending_failures(case, endings, ended)
    for mark in marks:
        if isinstance(mark, WarnsMark) and not any(
            mark.covers(line) and _matches(mark, warning) for line, warning in watch.warned
        ):
            seen = [f"{type(w).__name__} on line {line}: {w}" for line, w in watch.warned]
            failures.append(Failure(mark.line, f"warns: {mark}", "; ".join(seen) or "no warning"))
    return tuple(failures)


def _ending_failures(case: Case, endings: Sequence[Mark], ended: _Ended) -> list[Failure]:
    if not endings:
        if ended.error is None:
            return []
        return [
            Failure((case.first, *ended.lines)[-1], f"{case.name} ends without error", str(ended))
        ]
    mark = endings[0]
    if isinstance(mark, RaisesMark):
        innermost = ended.lines[-1] if ended.lines else 0
        if ended.error is None or not _matches(mark, ended.error) or not mark.covers(innermost):
            return [Failure(mark.line, f"raises: {mark}", str(ended))]
    if isinstance(mark, ObserveMark):
        claim = f"observe: {mark.value!r}"
        if ended.error is not None:
            return [Failure(mark.line, claim, str(ended))]
        try:
            seen = plain(ended.value)
        except TypeError as error:
            return [Failure(mark.line, claim, str(error))]
        if not same(mark.value, seen):
            return [Failure(mark.line, claim, repr(seen))]
    return []


def _matches(mark: ErrorMark, error: BaseException) -> bool:
    names = {
        name
        for kind in type(error).__mro__
        for name in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}")
    }
    return mark.name in names and mark.message in str(error)


def _with_reveals(fixture: Fixture, watch: _Watch, outcomes: list[Outcome]) -> list[Outcome]:
    """Add the reveal marks; those outside the cases count for an outcome of their own."""
    failures: dict[str, list[Failure]] = {}
    for mark in fixture.reveals:
        if not mark.applies(torch.__version__):
            continue
        owner = next((c.name for c in fixture.cases if c.first <= mark.line <= c.last), MODULE)
        found = failures.setdefault(owner, [])
        truths = {truth for line, truth in watch.revealed if mark.covers(line)}
        if not truths:
            found.append(Failure(mark.line, f"reveal: {mark.answer}", "that it was never reached"))
        for truth in sorted(truths, key=str):
            if wrong := contradictions(mark.answer, truth):
                found.append(Failure(mark.line, f"reveal: {' '.join(wrong)}", str(truth)))
    module = Outcome(fixture.path, MODULE, tuple(failures.get(MODULE, ())))
    cases = [
        Outcome(each.path, each.name, (*each.failures, *failures.get(each.name, ())))
        for each in outcomes
    ]
    return [module, *cases]


@contextlib.contextmanager
def _module(fixture: Fixture, root: Path | None) -> Iterator[types.ModuleType]:
    """An empty module for the fixture, importable while open, with `root` in front of the path."""
    name = f"_autolint_fixture_{next(_numbers)}"
    module = types.ModuleType(name)
    module.__file__ = fixture.path
    path, before = list(sys.path), set(sys.modules)
    sys.modules[name] = module
    if root is not None:
        sys.path.insert(0, str(root))
    try:
        yield module
    finally:
        sys.path[:] = path
        for other in set(sys.modules) - before:
            if other == name or _lies_in(sys.modules[other], root):
                del sys.modules[other]


def _lies_in(module: types.ModuleType, root: Path | None) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return root is not None and any(
        Path(place).is_relative_to(root) for place in places if place is not None
    )


@contextlib.contextmanager
def _default_state() -> Iterator[None]:
    """Seeds, and the global switches of torch that a case may leave changed."""
    random.seed(0)
    torch.manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    anomaly, warn_always = torch.is_anomaly_enabled(), torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.autograd.set_detect_anomaly(anomaly)
        torch.set_warn_always(warn_always)


def main(paths: Sequence[str]) -> int:
    """Run the files and print one line for each case."""
    status = 0
    for path in paths:
        try:
            outcomes = run_file(path)
        except (MarkError, SyntaxError) as error:
            print(f"FAIL {error}")
            status = 1
            continue
        for outcome in outcomes:
            print(outcome)
            status |= bool(outcome.failures)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
