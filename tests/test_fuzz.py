"""The short form of fuzzing (the long one: `python -m tests.fuzz`), and that it can fail."""

from __future__ import annotations

from itertools import islice

import pytest

from autolint import engine
from tests.fuzz.__main__ import sources
from tests.fuzz.checking import Target
from tests.fuzz.mutation import mutants, programs
from tests.places import RULES


def test_broken_programs_break_nothing() -> None:
    tally = Target().run(islice(mutants(sources([]), seed=7), 250))
    assert not tally.failures, "\n".join(map(str, tally.failures[0]))
    assert tally.inputs == 250
    assert tally.reached * 2 >= tally.inputs


def test_chance_is_the_same_each_time_and_changes_programs() -> None:
    texts = sources([])
    first = list(islice(mutants(texts, seed=1), 40))
    assert first == list(islice(mutants(texts, seed=1), 40))
    assert first != list(islice(mutants(texts, seed=2), 40))
    assert sum(text not in texts for text in first) > 20


def test_a_crash_of_the_interpreter_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: object) -> None:
        raise ZeroDivisionError("stopped")

    monkeypatch.setattr(engine, "analyse", crash)
    failures = Target().run(programs(RULES[:1])).failures
    assert failures
    assert all("internal error in the interpreter" in reason for _, reason in failures)
