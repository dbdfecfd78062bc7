"""Small programs run by the interpreter: all that it says of them, kept in order."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TypeVar

from autolint.concrete import parse_concrete
from autolint.deep_stack import on_deep_stack
from autolint.interpreter import events
from autolint.interpreter.events import Event, Revealed, Scope
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project
from autolint.interpreter.roots import FileAnalysis, analyse
from autolint.interpreter.unit import Site, Unit
from autolint.locate import Locator
from autolint.source import parse, read_text

E = TypeVar("E", bound=Event)

HEAD = "import torch\nfrom torch import nn\nfrom autolint.testing import reveal\n"
FIRST = 4
"""The line at which the text of a program begins."""
EVERY_EVENT: frozenset[type[Event]] = frozenset(
    kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
)


class Run:
    """A sink that keeps everything, and what became of the file."""

    def __init__(self, wanted: frozenset[type[Event]]) -> None:
        self.wanted = wanted
        self.events: list[Event] = []
        self.entered: list[Scope] = []
        self.finished: list[bool] = []
        self.analysis = FileAnalysis(0, 0)

    def scope_entered(self, scope: Scope) -> None:
        self.entered.append(scope)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def root_finished(self, complete: bool) -> None:
        self.finished.append(complete)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one class, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def one(self, kind: type[E]) -> E:
        """The only event of a class."""
        [event] = self.of(kind)
        return event

    def said(self) -> list[str]:
        """What was revealed, in order."""
        return [event.answer for event in self.of(Revealed)]

    def numbers(self) -> list[object]:
        """The known Python values that were revealed, in order; None for anything else."""
        return [getattr(event.value, "value", None) for event in self.of(Revealed)]


def line(site: Site) -> int:
    """The line of a site in the text of its program, counted from 1."""
    return Locator([site]).span(site).line - FIRST + 1


def run(text: str, *wanted: type[Event]) -> Run:
    """Run a program that may use torch, nn and reveal, for some events or all."""
    source = HEAD + dedent(text).lstrip("\n")
    return run_file(Path("/x.py"), source, *wanted)


def run_file(path: Path, source: str, *wanted: type[Event]) -> Run:
    """Run one file; others that it imports are read from its folder."""
    sink = Run(frozenset(wanted) or EVERY_EVENT)
    tree = parse(source)
    project = Project(read_text)
    index = index_file(str(path), tree)
    project.add(index, tree)
    unit = Unit(str(path), parse_concrete(source, tree))
    sink.analysis = on_deep_stack(lambda: analyse(unit, index, project, sink))
    return sink
