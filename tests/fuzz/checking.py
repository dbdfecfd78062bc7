"""Lints inputs and notes what must not happen: an exception, an internal error, a hang."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autolint.config import Config
from autolint.engine import Engine
from autolint.interpreter.project import Project
from autolint.registry import Registry
from autolint.runner import on_deep_stack
from autolint.selection import Selection

SLOW = 20.0
"""CPU seconds for one small program that count as a hang."""


@dataclass
class Tally:
    """What became of the inputs: `reached` of them were run by the interpreter."""

    inputs: int = 0
    reached: int = 0
    findings: int = 0
    slowest: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)


class Target:
    """The linter, as one run of it sees many files."""

    def __init__(self) -> None:
        registry = Registry.load()
        self._engine = Engine(registry, Project(lambda path: None))
        self._selection = Selection(registry, Config("/fuzz"), ())

    def run(self, inputs: Iterable[str]) -> Tally:
        """Lint each input; failures carry the input and what happened."""
        return on_deep_stack(lambda: self._run(inputs))

    def _run(self, inputs: Iterable[str]) -> Tally:
        tally = Tally()
        for text in inputs:
            began = time.process_time()
            for reason in self._faults(text, tally):
                tally.failures.append((text, reason))
            took = time.process_time() - began
            tally.slowest = max(tally.slowest, took)
            if took > SLOW:
                tally.failures.append((text, f"took {took:.0f} s"))
            tally.inputs += 1
        return tally

    def _faults(self, text: str, tally: Tally) -> Iterator[str]:
        try:
            # Lone surrogates cannot be in a file, but everything else that chance gives can.
            raw = text.encode("utf-8", "surrogatepass")
            result = self._engine.check("/fuzz/a.py", raw, self._selection)
        except Exception:
            yield traceback.format_exc()
            return
        tally.reached += result.functions > 0
        tally.findings += len(result.diagnostics)
        for problem in result.problems:
            yield f"{problem.message}\n{problem.details}"
