"""Model against torch: the same program run by both, and where what the model is sure of is false.

The model may say *maybe*; a *yes*, a *no* or an error (or its absence) that torch does not confirm
is a bug of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from autolint.runtime.claims import ask_model
from autolint.runtime.grammar import PROLOGUE, Program, elements_of, source_of
from autolint.runtime.model import Tally
from autolint.runtime.programs import generate
from autolint.runtime.questions import Claimed, Contradiction, Observed, contradictions
from autolint.runtime.truths import run_torch


@dataclass(frozen=True)
class Verdict:
    """A program, what was claimed of it and what was seen."""

    source: str
    claimed: Claimed
    observed: Observed

    def contradictions(self) -> list[Contradiction]:
        """Where the model is sure and wrong."""
        return contradictions(self.claimed, self.observed)

    def __str__(self) -> str:
        notes: dict[int, list[str]] = {}
        for one in self.contradictions():
            line, around = one.place
            when = f" (iteration {' of '.join(map(str, reversed(around)))})" if around else ""
            notes.setdefault(line, []).append(f"model: {one.claim}; torch: {one.truth}{when}")
        lines = self.source.splitlines()
        first = PROLOGUE.count("\n") if self.source.startswith(PROLOGUE) else 0
        shown = enumerate(lines[first:], first + 1)
        return "\n".join(
            f"{line}  # {'; '.join(notes[n])}" if n in notes else line for n, line in shown
        )


def judge(program: Program) -> Verdict:
    """Run a program in torch and in the model."""
    source = source_of(program)
    return Verdict(source, ask_model(source), run_torch(source))


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
    half = len(program) // 2
    if half > 4:
        yield program[:half]
    for place in range(len(program) - 1, -1, -1):
        statement = program[place]
        before, after = program[:place], program[place + 1 :]
        yield before + after
        for inside in (statement.body, statement.orelse):
            if inside:
                yield before + inside + after
        if statement.orelse:
            yield (*before, replace(statement, orelse=()), *after)
        for body in _shortenings(statement.body):
            if body:
                yield (*before, replace(statement, body=body), *after)
        for orelse in _shortenings(statement.orelse):
            yield (*before, replace(statement, orelse=orelse), *after)


def is_contradicted(program: Program) -> bool:
    """Whether torch contradicts the model, in a program that fails of autograd only, if at all."""
    try:
        verdict = judge(program)
    except SyntaxError:
        return False
    raised = verdict.observed.raised
    broken = raised is not None and not raised.ours
    return not broken and bool(verdict.contradictions())


def explain(program: Program) -> str:
    """The smallest program that shows what is wrong in this one, with both claims in it."""
    return str(judge(shrink(_until(program), is_contradicted)))


def _until(program: Program) -> Program:
    """The program up to the first statement that shows something wrong."""
    last = judge(program).contradictions()[0].place[0]
    line = PROLOGUE.count("\n")
    for place, statement in enumerate(program, 1):
        line += sum(1 for _ in statement.lines())
        if line >= last:
            return program[:place]
    return program


def count(tally: Tally, program: Program, verdict: Verdict) -> None:
    """Count what was asked of a program, and what the model answered."""
    tally.programs += 1
    tally.elements.update(elements_of(program).keys())
    claimed, observed = verdict.claimed, verdict.observed
    for place, truths in observed.answers.items():
        claims = claimed.answers.get(place, {})
        for question, truth in truths.items():
            if truth is not None:
                tally.asked[question] += 1
                tally.answered[question] += claims.get(question) is not None
    for place in observed.reached:
        for decision in claimed.decisions.get(place, ()):
            tally.asked[decision.act] += 1
            tally.answered[decision.act] += decision.raises is not None


def explore(seeds: range) -> Iterator[Verdict]:
    """The verdicts on the programs of these seeds."""
    for seed in seeds:
        yield judge(generate(seed))
