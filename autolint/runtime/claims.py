"""What the model says of a generated program: its answers, and where it sees an error coming."""

from __future__ import annotations

import ast

import libcst as cst

from autolint.autograd.raising import same_memory
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Kind,
    Sequence,
    Unknown,
    Value,
    Word,
    resolve,
)
from autolint.interpreter.events import Attempt, Event, Revealed, Scope
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project
from autolint.interpreter.roots import analyse
from autolint.interpreter.unit import Unit
from autolint.positions import spans
from autolint.runtime.layout import Layout
from autolint.runtime.questions import Answers, Claimed, Decision, Place

_PATH = "program.py"
_SURE = {YES: True, NO: False, MAYBE: None}
_STATES = {
    Word.NONE: "none",
    Word.DROPPED: "none",
    Word.FRESH: "fresh",
    Word.USED: "used",
    Word.STALE: "stale",
}
"""Torch shows no difference between gradients that were never there and that were cleared."""


def ask_model(source: str) -> Claimed:
    """Interpret a program: what the model says of its `reveal`s, and what must raise."""
    module = cst.parse_module(source)
    tree = ast.parse(source)
    listener = _Listener()
    project = Project(lambda path: None)
    index = index_file(_PATH, tree)
    project.add(index, tree)
    analyse(Unit(_PATH, module), index, project, listener)
    return listener.claimed(module, Layout(tree))


def describe(value: Value) -> Answers:
    """The model's answers about a value."""
    found = resolve(value)
    if isinstance(found, Unknown):
        return {"tensor": None}
    if isinstance(found, Sequence):
        pair = [resolve(item) for item in found.items or ()]
        if len(pair) == 2 and isinstance(pair[0], Tensor) and isinstance(pair[1], Tensor):
            return {"same storage": _SURE[same_memory(pair[0], pair[1])]}
        return {"same storage": None}
    if not isinstance(found, Tensor) or found.tensor is NO:
        return {"tensor": False}
    state = found.state
    answers: Answers = {
        "tensor": _SURE[found.tensor],
        "requires grad": _SURE[state.requires_grad],
        "leaf": _SURE[state.leaf],
        "dtype kind": None if state.kind is Kind.UNKNOWN else state.kind.value,
        "rank": state.rank,
        "inference": _SURE[state.inference],
    }
    if state.owner is None and not state.members and state.accumulates:
        answers["grad is None"] = _SURE[state.absent]
        answers["gradient state"] = None if state.guessed else _state_of(state.words)
    return answers


def _state_of(words: frozenset[Word]) -> str | None:
    states = {_STATES.get(word) for word in words}
    return states.pop() if len(states) == 1 else None


class _Listener:
    """Takes the events that make a claim, at the moment they happen: values change later."""

    wanted: frozenset[type[Event]] = frozenset({Revealed, Attempt})

    def __init__(self) -> None:
        self._answers: list[tuple[Event, Answers]] = []
        self._decisions: list[tuple[Event, Decision]] = []

    def scope_entered(self, scope: Scope) -> None:
        """Nothing is claimed by this."""

    def root_finished(self, complete: bool) -> None:
        """What a bound cuts off is missed as an answer that is not given."""

    def emit(self, event: Event) -> None:
        """Note a claim."""
        if isinstance(event, Revealed):
            self._answers.append((event, describe(event.value)))
        elif isinstance(event, Attempt):
            self._decisions.append((event, Decision(event.act, _SURE[event.raises])))

    def claimed(self, module: cst.Module, layout: Layout) -> Claimed:
        """All claims, with their places."""
        nodes = [_node(event) for event, _ in (*self._answers, *self._decisions)]
        loops = [mark.loop.node for event, _ in self._decisions for mark in event.loops]
        loops += [mark.loop.node for event, _ in self._answers for mark in event.loops]
        lines = {key: span.line for key, span in spans(module, [*nodes, *loops]).items()}
        answers: dict[Place, Answers] = {}
        decisions: dict[Place, tuple[Decision, ...]] = {}
        for event, answer in self._answers:
            answers[_place(event, lines, layout)] = answer
        for event, decision in self._decisions:
            place = _place(event, lines, layout)
            if place[0] not in layout.inner:
                decisions[place] = (*decisions.get(place, ()), decision)
        return Claimed(answers, decisions)


def _node(event: Event) -> cst.CSTNode:
    """Where the module body is when an event happens, maybe in a function that it calls."""
    calls = event.scope.calls
    return calls[0].node if calls else event.site.node


def _place(event: Event, lines: dict[int, int], layout: Layout) -> Place:
    line = lines[id(_node(event))]
    around = layout.around(line)
    marks = {lines[id(mark.loop.node)]: mark.iteration for mark in event.loops}
    return line, tuple(marks.get(loop, 0) for loop in around)
