"""Lints inputs and notes what must not happen: an exception, an internal error, a hang."""

from __future__ import annotations

import faulthandler
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from autolint.config import Config
from autolint.deep_stack import on_deep_stack
from autolint.engine import Engine
from autolint.interpreter.project import Project
from autolint.registry import Registry
from autolint.selection import Selection

SLOW = 10.0
"""CPU seconds for one input that count as a hang."""
GIVE_UP = 300.0
"""Seconds after which the process ends itself, with the tracebacks of where it hangs."""


class Input(NamedTuple):
    """What is linted, under the name of a file."""

    name: str
    raw: bytes

    @classmethod
    def of(cls, text: str) -> Input:
        """A program of no file. Lone surrogates cannot be in one, but all else that chance gives
        can.
        """
        return cls("/fuzz/a.py", text.encode("utf-8", "surrogatepass"))


@dataclass
class Tally:
    """What became of the inputs: `reached` of them were run by the interpreter.

    `functions` were run from their beginning, `bounded` of them reached a bound.
    """

    inputs: int = 0
    reached: int = 0
    functions: int = 0
    bounded: int = 0
    findings: int = 0
    slowest: float = 0.0
    slowest_input: str = ""
    failures: list[tuple[str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another part of the run counted."""
        self.inputs += other.inputs
        self.reached += other.reached
        self.functions += other.functions
        self.bounded += other.bounded
        self.findings += other.findings
        self.failures += other.failures
        if other.slowest > self.slowest:
            self.slowest, self.slowest_input = other.slowest, other.slowest_input


class Target:
    """The linter, as one run of it sees many files, with all rules and without the screen."""

    def __init__(
        self,
        read: Callable[[str], str | None] = lambda path: None,
        current: Path | None = None,
    ) -> None:
        """`read` gives other files of a project; `current` gets each input before it is linted, so
        that it is there if the process dies.
        """
        registry = Registry.load()
        self._engine = Engine(registry, Project(read), screened=False)
        self._selection = Selection(registry, Config("/fuzz"), ())
        self._current = current

    def run(self, inputs: Iterable[Input]) -> Tally:
        """Lint each input; failures carry the input and what happened."""
        return on_deep_stack(lambda: self._run(inputs))

    def _run(self, inputs: Iterable[Input]) -> Tally:
        tally = Tally()
        for each in inputs:
            if self._current is not None:
                faulthandler.dump_traceback_later(GIVE_UP, exit=True, file=2)
                self._current.write_bytes(each.raw)
            began = time.process_time()
            reasons = list(self._faults(each, tally))
            took = time.process_time() - began
            if took > tally.slowest:
                tally.slowest, tally.slowest_input = took, each.name
            if took > SLOW:
                reasons.append(f"took {took:.0f} s")
            tally.failures += [(_shown(each), reason) for reason in reasons]
            tally.inputs += 1
        faulthandler.cancel_dump_traceback_later()
        return tally

    def _faults(self, each: Input, tally: Tally) -> Iterator[str]:
        try:
            result = self._engine.check(each.name, each.raw, self._selection)
        except Exception:
            yield traceback.format_exc()
            return
        tally.reached += result.functions > 0
        tally.functions += result.functions
        tally.bounded += result.not_followed
        tally.findings += len(result.diagnostics)
        for problem in result.problems:
            # Where a recursion without end began is one call out of thousands.
            yield f"{problem.message}\n{problem.details[-3000:]}"


def _shown(each: Input) -> str:
    """A program as it is, a file by its name."""
    return each.raw.decode("utf-8", "replace") if each.name.startswith("/fuzz/") else each.name
