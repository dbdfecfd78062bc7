"""The short form of fuzzing (the long one: `python -m tests.fuzz`), and that it can fail."""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autolint import engine
from tests.fuzz.__main__ import main, sources
from tests.fuzz.checking import Input, Target
from tests.fuzz.growing import grown, program
from tests.fuzz.mutation import mutants, programs
from tests.fuzz.whole import with_torch
from tests.places import RULES

LATER = {"TypeAlias", "TemplateStr", "Interpolation"}
"""Syntax that not every Python has on which autolint runs."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
"""What a whole program is for hypothesis, whatever the machine."""


def test_broken_programs_break_nothing() -> None:
    tally = Target().run(map(Input.of, islice(mutants(sources([]), seed=7), 250)))
    assert not tally.failures, "\n".join(map(str, tally.failures[0]))
    assert tally.inputs == 250
    assert tally.reached * 2 >= tally.inputs


def test_chance_is_the_same_each_time_and_changes_programs() -> None:
    texts = sources([])
    first = list(islice(mutants(texts, seed=1), 40))
    assert first == list(islice(mutants(texts, seed=1), 40))
    assert first != list(islice(mutants(texts, seed=2), 40))
    assert sum(text not in texts for text in first) > 20


def test_programs_of_every_form_break_nothing() -> None:
    target = Target()

    @settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=SLOW)
    @given(st.randoms(use_true_random=False))
    def check(chance: Random) -> None:
        tally = target.run([Input.of(program(chance))])
        assert not tally.failures, tally.failures[0][1]
        assert tally.reached == 1

    check()


def test_grown_programs_have_every_form_of_the_grammar() -> None:
    seen = {type(node) for text in islice(grown(1), 200) for node in ast.walk(ast.parse(text))}
    bases = (ast.stmt, ast.expr, ast.pattern)
    missing = {kind for base in bases for kind in base.__subclasses__()} - seen
    assert {kind.__name__ for kind in missing} <= LATER


def test_a_crash_of_the_interpreter_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: object) -> None:
        raise ZeroDivisionError("stopped")

    monkeypatch.setattr(engine, "analyse", crash)
    failures = Target().run(map(Input.of, programs(RULES[:1]))).failures
    assert failures
    assert all("internal error in the interpreter" in reason for _, reason in failures)


@pytest.mark.parametrize(
    ("raw", "changed"),
    [
        (b"", b"import torch\n"),
        (b"x = 1\n", b"import torch\nx = 1\n"),
        (b"import torch.nn\n", b"import torch.nn\n"),
        (b"x = (\n", b"x = (\n"),
        (b"\xef\xbb\xbfx\r\n", b"\xef\xbb\xbfimport torch\nx\r\n"),
        (b"#!x\n# coding: latin-1\n'\xe9'", b"#!x\n# coding: latin-1\nimport torch\n'\xe9'"),
        (
            b"'page'\nfrom __future__ import (\n    annotations)\nx\n",
            b"'page'\nfrom __future__ import (\n    annotations)\nimport torch\nx\n",
        ),
    ],
)
def test_torch_is_imported_where_it_may_be(raw: bytes, changed: bytes) -> None:
    assert with_torch(raw) == changed


def test_whole_files_are_read_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "b.py").write_text("(")
    (tmp_path / "c.txt").write_text("")
    assert main(["--form", "whole", str(tmp_path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("whole files: 2 inputs in ")
    assert "1 (50%) reached the interpreter (2 functions, 0 to a bound)" in last
    assert last.endswith("0 failures")
