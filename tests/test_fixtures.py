"""The linter says of every fixture what is marked, nothing else; fixes give the golden files."""

import ast
import os
from pathlib import Path

import pytest

from autolint.testing import CodeMark, Mark, indistinct, mismatches, read_fixture, read_marks

from .linting import Linter, fixed, registry
from .metamorphic import definitions, needed
from .places import FIXED, FIXTURES, PROJECTS, RULES, TUTORIALS, named

TORCH = "2.13"
ACCEPT = "EXPECTTEST_ACCEPT"


def rule_modules() -> list[str]:
    rules = [entry.rule for entry in registry() if entry.rule is not None]
    return [rule.module.rpartition(".")[2] for rule in rules]


def for_torch(marks: list[Mark]) -> list[Mark]:
    return [mark for mark in marks if mark.applies(TORCH)]


def report(problems: list[str]) -> str:
    return "\n" + "\n".join(problems)


@pytest.mark.parametrize("path", [*RULES, *TUTORIALS], ids=named)
def test_findings_are_exactly_the_marked_ones(path: Path) -> None:
    marks = for_torch(list(read_fixture(path).marks))
    problems = mismatches(marks, Linter().check(path))
    assert not problems, report(problems)


@pytest.mark.parametrize("root", PROJECTS, ids=named)
def test_findings_in_projects_are_exactly_the_marked_ones(root: Path) -> None:
    marks: list[Mark] = []
    paths = sorted(root.rglob("*.py"))
    for path in paths:
        marks += read_marks(path.read_text(encoding="utf-8"), path.as_posix())
    problems = mismatches(for_torch(marks), Linter().check_together(paths))
    assert not problems, report(problems)


@pytest.mark.parametrize("module", rule_modules())
def test_each_rule_has_a_fixture(module: str) -> None:
    assert (FIXTURES / "rules" / f"{module}.py").is_file()


@pytest.mark.parametrize("path", RULES, ids=named)
def test_each_bad_case_is_proven_and_differs_from_its_twin(path: Path) -> None:
    fixture = read_fixture(path)
    problems = [indistinct(bad, good, TORCH) for bad, good in fixture.twins()]
    assert problems, "no bad case"
    assert not any(problems), report([problem for problem in problems if problem])


@pytest.mark.parametrize("path", RULES, ids=named)
def test_each_bad_case_expects_a_finding(path: Path) -> None:
    """In itself or in a definition that it uses; `expect-missing` admits that there is none yet."""
    fixture = read_fixture(path)
    extents = {
        node.name: range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.parse(fixture.source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    claims = [
        mark.line
        for mark in fixture.marks
        if isinstance(mark, CodeMark) and mark.word in ("expect", "expect-missing")
    ]
    needs = needed(definitions(fixture.source))
    silent = [
        case.name
        for case in fixture.cases
        if case.is_bad
        and not any(
            line in extents[name] for name in (case.name, *needs[case.name]) for line in claims
        )
    ]
    assert not silent


# Fixes.


@pytest.mark.parametrize("path", RULES, ids=named)
def test_fixes_give_the_golden_file(path: Path) -> None:
    """With EXPECTTEST_ACCEPT=1 the golden files are written instead."""
    before = path.read_text(encoding="utf-8")
    after = fixed(path, before)
    golden = path.with_suffix(".fixed.py")
    if os.environ.get(ACCEPT) and after != before:
        golden.write_text(after, encoding="utf-8")
    if after == before:
        assert not golden.exists(), "the golden file differs, but nothing is fixed"
        return
    assert golden.is_file(), f"fixes change this fixture: write the golden file with {ACCEPT}=1"
    assert after == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("golden", FIXED, ids=named)
def test_golden_files_parse_and_have_nothing_to_fix(golden: Path) -> None:
    text = golden.read_text(encoding="utf-8")
    ast.parse(text)
    assert fixed(golden.with_name(golden.name.replace(".fixed", "")), text) == text
