"""The linter as the tests of fixtures ask it: every rule, every severity, and what it reveals."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from autolint.concrete import parse_concrete
from autolint.config import Config
from autolint.deep_stack import on_deep_stack
from autolint.diagnostic import Diagnostic, Outcome
from autolint.engine import Engine, FileResult
from autolint.files import File
from autolint.interpreter.events import Event, Revealed, Scope
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project
from autolint.interpreter.roots import analyse
from autolint.interpreter.unit import Unit
from autolint.locate import Locator
from autolint.registry import Registry
from autolint.runner import Fixing, Runner, once_enough
from autolint.selection import Selection
from autolint.source import parse, read_text
from autolint.testing import Answer, Reported

from .places import ROOT

EVERYTHING = Config(str(ROOT), select=("ALL",))


@cache
def registry() -> Registry:
    """The installed rules."""
    return Registry.load()


class Linter:
    """Lints files that may import each other, all rules on."""

    def __init__(self, screened: bool = True) -> None:
        self._engine = Engine(registry(), Project(read_text), screened)
        self._selection = Selection(registry(), EVERYTHING, ())

    def check(self, path: Path, text: str | None = None) -> list[Reported]:
        """All findings of the file, or of `text` in its place; a crash or a bound is an error."""
        return [_reported(each) for each in self._diagnostics(path, text)]

    def check_together(self, paths: Iterable[Path]) -> list[Reported]:
        """All findings of files that are linted in one run."""
        found = [each for path in paths for each in self._diagnostics(path, None)]
        return [_reported(each) for each in once_enough(found)]

    def _diagnostics(self, path: Path, text: str | None) -> list[Diagnostic]:
        raw = path.read_bytes() if text is None else text.encode()
        name = str(path)
        result: FileResult = on_deep_stack(lambda: self._engine.check(name, raw, self._selection))
        assert not result.problems, "\n".join(
            f"{problem.message}\n{problem.details}" for problem in result.problems
        )
        assert not result.not_followed, f"{result.not_followed} functions reached a bound"
        return result.diagnostics


def _reported(each: Diagnostic) -> Reported:
    path = Path(each.path).as_posix()
    return Reported(path, each.line, each.code, each.severity.name == "INFO", each.message)


def fixed(path: Path, text: str) -> str:
    """The text after all fixes, unsafe ones too; nothing is written."""
    # Findings of severity info are fixed only where the full code is asked for.
    config = Config(str(ROOT), select=tuple(entry.code for entry in registry()))
    runner = Runner(registry(), Fixing.ALL, write=False)
    outcome: Outcome = runner.run_bytes(File(str(path), config), text.encode())
    assert not outcome.problems, [problem.message for problem in outcome.problems]
    changed = outcome.changed.get(str(path))
    return text if changed is None else changed[1].text


class _Reveals:
    """A sink that keeps what the interpreter says of revealed values."""

    wanted: frozenset[type[Event]] = frozenset({Revealed})

    def __init__(self) -> None:
        self.events: list[Revealed] = []

    def scope_entered(self, scope: Scope) -> None:
        """Which function is run does not matter here."""

    def emit(self, event: Event) -> None:
        assert isinstance(event, Revealed)
        self.events.append(event)

    def root_finished(self, complete: bool) -> None:
        assert complete, "a function reached a bound"


class Said(NamedTuple):
    """An answer of the linter, at a line."""

    line: int
    answer: Answer


def revealed(path: Path, text: str | None = None) -> list[Said]:
    """What the linter says at each `reveal`, once for each time that it runs the call."""
    source = path.read_text(encoding="utf-8") if text is None else text
    tree = parse(source)
    events: list[Revealed] = on_deep_stack(lambda: _run(path, source, tree))
    sites = [event.site for event in events]
    locator = Locator(sites)
    return [Said(locator.span(event.site).line, Answer.parse(event.answer)) for event in events]


def _run(path: Path, source: str, tree: ast.Module) -> list[Revealed]:
    project, sink = Project(read_text), _Reveals()
    index = index_file(str(path), tree)
    project.add(index, tree)
    unit = Unit(str(path), parse_concrete(source, tree))
    analyse(unit, index, project, sink)
    return [event for event in sink.events if event.site.unit is unit]


def joined(answers: Iterable[Answer]) -> Answer | None:
    """What is said at a place that is reached several times; None if it is never reached."""
    result: Answer | None = None
    for answer in answers:
        result = answer if result is None else result.join(answer)
    return result
