"""Rewriting a fixture mechanically changes neither what the linter says nor what torch does."""

from functools import cache
from pathlib import Path

import libcst as cst
import pytest

from autolint.testing import CodeMark, Fixture, mismatches, read_fixture

from .linting import Linter
from .metamorphic import REWRITES, changed_cases
from .places import RULES, named
from .test_fixtures import TORCH

each_rewrite = pytest.mark.parametrize("rewrite", REWRITES)
each_rule = pytest.mark.parametrize("path", RULES, ids=named)


@cache
def rewritten(path: Path, rewrite: str) -> Fixture:
    module = cst.parse_module(path.read_text(encoding="utf-8"))
    return read_fixture(path, REWRITES[rewrite](module).code)


@each_rewrite
@each_rule
def test_findings_stay_on_their_statements(path: Path, rewrite: str) -> None:
    fixture = rewritten(path, rewrite)
    # Messages may name variables, which some rewrites rename: codes and places are compared.
    claims = [
        CodeMark(m.path, m.line, m.first, m.last, None, m.word, m.code, m.info, "")
        for m in fixture.marks
        if isinstance(m, CodeMark) and m.applies(TORCH)
    ]
    lines = fixture.source.splitlines()
    problems = [
        f"{problem}\n    {lines[int(problem.split(':')[1]) - 1].strip()}"
        for problem in mismatches(claims, Linter().check(path, fixture.source))
    ]
    assert not problems, "\n" + "\n".join(problems)


@each_rewrite
@each_rule
def test_torch_still_confirms_the_marks(path: Path, rewrite: str) -> None:
    pytest.importorskip("torch")
    from autolint.runtime.cases import run_fixture

    failed = [str(outcome) for outcome in run_fixture(rewritten(path, rewrite)) if outcome.failures]
    assert not failed, "\n" + "\n".join(failed)


@each_rewrite
def test_each_rewrite_reaches_at_least_half_of_the_cases(rewrite: str) -> None:
    reached = total = 0
    for path in RULES:
        before, after = read_fixture(path), rewritten(path, rewrite)
        names = [case.name for case in before.cases]
        assert [case.name for case in after.cases] == names
        assert len(after.marks) == len(before.marks), "a mark was lost"
        reached += len(changed_cases(before.source, after.source, names))
        total += len(names)
    assert reached * 2 >= total
