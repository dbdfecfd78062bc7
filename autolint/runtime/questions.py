"""What model and torch are both asked about a program, and how their answers are compared.

Nothing here imports torch or LibCST.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

QUESTIONS = (
    "tensor",
    "requires grad",
    "leaf",
    "dtype kind",
    "rank",
    "inference",
    "grad is None",
    "gradient state",
    "same storage",
)
"""What is asked of a value that is revealed (the last one of a pair)."""

ACTS = ("backward", "in-place write")
"""What may raise, so that the model is asked whether it does."""

Place = tuple[int, tuple[int, ...]]
"""A line, with the iteration (from 1) of each loop around it."""

Answers = dict[str, object]
"""An answer to each question that can be asked; None where it is left open."""


@dataclass(frozen=True)
class Decision:
    """Whether the model says that something raises; None: it does not know."""

    act: str
    raises: bool | None


@dataclass(frozen=True)
class Claimed:
    """What the model says, by place."""

    answers: dict[Place, Answers]
    decisions: dict[Place, tuple[Decision, ...]]


@dataclass(frozen=True)
class Raised:
    """The exception that ended a program in torch. `ours`: it is an error of backward or write."""

    place: Place
    error: str
    ours: bool


@dataclass(frozen=True)
class Observed:
    """What torch showed until the program ended, the places it reached, and its error if any."""

    answers: dict[Place, Answers]
    reached: frozenset[Place]
    raised: Raised | None


@dataclass(frozen=True)
class Contradiction:
    """A claim of the model that torch does not confirm."""

    place: Place
    claim: str
    truth: str


def contradictions(claimed: Claimed, observed: Observed) -> list[Contradiction]:
    """Where the model is sure and wrong, in the order of the lines."""
    found = [*_wrong_answers(claimed, observed), *_wrong_decisions(claimed, observed)]
    return sorted(found, key=lambda one: one.place)


def _wrong_answers(claimed: Claimed, observed: Observed) -> Iterator[Contradiction]:
    for place, truths in observed.answers.items():
        claims = claimed.answers.get(place)
        if claims is None:
            yield Contradiction(place, "does not get here", "gets here")
            continue
        if claims.get("tensor") is None and not truths.get("tensor", True):
            continue  # What is said of the tensor, should it be one, is not at stake.
        for question, claim in claims.items():
            truth = truths.get(question)
            if claim is not None and truth is not None and claim != truth:
                yield Contradiction(place, f"{question}: {claim}", f"{truth}")


def _wrong_decisions(claimed: Claimed, observed: Observed) -> Iterator[Contradiction]:
    raised = observed.raised
    for place, decisions in claimed.decisions.items():
        if place not in observed.reached:
            continue
        sure = [each.act for each in decisions if each.raises]
        clean = all(each.raises is False for each in decisions)
        if raised is None or raised.place != place:
            if sure:
                yield Contradiction(place, f"{sure[0]} raises", "does not raise")
        elif clean and raised.ours:
            acts = " and ".join(dict.fromkeys(each.act for each in decisions))
            yield Contradiction(place, f"{acts} does not raise", raised.error)
