"""Model against torch: the same program run by both, and where what the model is sure of is false.

The model may say *maybe*; a *yes*, a *no* or a predicted error that torch does not confirm is a bug
of the model.
"""

from __future__ import annotations

import ast
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst
import torch

from autolint.autograd.describe import describe
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NO, YES, Kind, Through, resolve
from autolint.interpreter.events import (
    Backward,
    Event,
    RequiresGradSet,
    Revealed,
    Scope,
)
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project
from autolint.interpreter.roots import analyse
from autolint.interpreter.unit import Unit
from autolint.positions import spans
from autolint.runtime import observing
from autolint.runtime.programs import Program, Statement, generate, source_of
from autolint.testing import Answer, recording

_PATH = "program.py"


@dataclass(frozen=True)
class Raised:
    """The exception that ended a program in torch."""

    line: int
    error: Exception


@dataclass(frozen=True)
class Observed:
    """What torch showed: the revealed values by line, and the error at the end, if any."""

    answers: dict[int, Answer]
    raised: Raised | None


@dataclass(frozen=True)
class Claimed:
    """What the model says: the revealed values and the errors that are sure, by line."""

    answers: dict[int, Answer]
    errors: dict[int, str]


@dataclass(frozen=True)
class Contradiction:
    """A claim of the model that torch does not confirm."""

    line: int
    claim: str
    truth: str


@dataclass(frozen=True)
class Verdict:
    """A program, what was claimed of it and what was seen."""

    source: str
    claimed: Claimed
    observed: Observed

    def contradictions(self) -> list[Contradiction]:
        """Where the model is sure and wrong, up to the line where torch raised."""
        raised = self.observed.raised
        end = raised.line if raised is not None else float("inf")
        found = list(_wrong_answers(self.claimed.answers, self.observed.answers))
        for line, reason in self.claimed.errors.items():
            if line < end:
                found.append(Contradiction(line, f"raises: {reason}", "does not raise"))
        return sorted(found, key=lambda one: one.line)

    def __str__(self) -> str:
        notes = {
            one.line: f"  # model: {one.claim}; torch: {one.truth}" for one in self.contradictions()
        }
        lines = self.source.splitlines()
        return "\n".join(line + notes.get(n, "") for n, line in enumerate(lines, 1))


def _wrong_answers(claims: dict[int, Answer], truths: dict[int, Answer]) -> Iterator[Contradiction]:
    for line, truth in truths.items():
        claim = claims.get(line)
        if claim is None:
            yield Contradiction(line, "does not get here", str(truth))
        elif observing.contradictions(claim, truth):
            yield Contradiction(line, str(claim), str(truth))


def judge(program: Program) -> Verdict:
    """Run a program in torch and in the model."""
    source = source_of(program)
    return Verdict(source, ask_model(source), run_torch(source))


def run_torch(source: str) -> Observed:
    """Execute a program: what its `reveal`s saw until it ended or raised."""
    answers: dict[int, Answer] = {}

    def record(path: str, line: int, value: object) -> None:
        answers[line] = observing.describe(value)

    mode = torch.is_grad_enabled()
    torch.manual_seed(0)
    raised = None
    with warnings.catch_warnings(), recording(record):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, _PATH, "exec"), {"__name__": "program"})
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == _PATH]
            raised = Raised(lines[-1] or 0, error)
        finally:
            torch.set_grad_enabled(mode)
    return Observed(answers, raised)


class _Listener:
    """Takes the events that make a claim, at the moment they happen."""

    wanted: frozenset[type[Event]] = frozenset({Revealed, Backward, RequiresGradSet})

    def __init__(self) -> None:
        self.answers: list[tuple[cst.CSTNode, Answer]] = []
        self.errors: list[tuple[cst.CSTNode, str]] = []
        self.complete = True

    def scope_entered(self, scope: Scope) -> None:
        """Nothing is claimed by this."""

    def emit(self, event: Event) -> None:
        """Note a claim: values change later, so they are described at once."""
        if isinstance(event, Revealed):
            self.answers.append((event.site.node, Answer.parse(describe(event.value))))
            return
        reason = predicted_error(event)
        if reason is not None:
            self.errors.append((event.site.node, reason))

    def root_finished(self, complete: bool) -> None:
        """Bounds are there for long programs, ours are short."""
        self.complete &= complete


def ask_model(source: str) -> Claimed:
    """Interpret a program: what the model says of its `reveal`s, and where it must raise."""
    module = cst.parse_module(source)
    listener = _Listener()
    project = Project(lambda path: None)
    tree = ast.parse(source)
    index = index_file(_PATH, tree)
    project.add(index, tree)
    analyse(Unit(_PATH, module), index, project, listener)
    nodes = [node for node, _ in (*listener.answers, *listener.errors)]
    places = spans(module, nodes)
    return Claimed(
        {places[id(node)].line: answer for node, answer in listener.answers},
        {places[id(node)].line: reason for node, reason in listener.errors},
    )


def predicted_error(event: Event) -> str | None:
    """Why torch must raise where this event is, None if it need not."""
    if isinstance(event, Backward):
        return _backward_error(event)
    if isinstance(event, RequiresGradSet) and event.value is YES:
        wrong = event.kind in (Kind.BOOL, Kind.INT)
        return "only floating point tensors require grad" if wrong else None
    return None


def _backward_error(event: Backward) -> str | None:
    loss = resolve(event.loss)
    if isinstance(loss, Tensor) and loss.tensor is YES and loss.state.requires_grad is NO:
        return "backward on a value that does not require grad"
    if event.freed:
        return "backward over a freed graph"
    if any(stale.through in (Through.SELF, Through.DETACH) for stale in event.stale):
        return "a saved value was changed in place"
    return None


def shrink(program: Program, wrong: Callable[[Program], bool]) -> Program:
    """The program with every statement taken out that is not needed for it to be `wrong`."""
    shorter = True
    while shorter:
        shorter = False
        for candidate in _shortenings(program):
            if wrong(candidate):
                program, shorter = candidate, True
                break
    return program


def _shortenings(program: Program) -> Iterator[Program]:
    for place, statement in enumerate(program):
        before, after = program[:place], program[place + 1 :]
        yield before + after
        if statement.body:
            yield before + statement.body + after
            for body in _shortenings(statement.body):
                if body:
                    yield (*before, Statement(statement.text, body), *after)


def is_contradicted(program: Program) -> bool:
    """Whether torch contradicts the model, in a program that has all the names it uses."""
    verdict = judge(program)
    raised = verdict.observed.raised
    broken = raised is not None and isinstance(raised.error, NameError | AttributeError)
    return not broken and bool(verdict.contradictions())


def explore(seeds: range) -> Iterator[Verdict]:
    """The verdicts on the programs of these seeds."""
    for seed in seeds:
        yield judge(generate(seed))
