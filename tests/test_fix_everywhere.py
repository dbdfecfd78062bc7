"""All fixes on all fixtures and cases: what they leave parses, is done, and stays as it is."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from autolint.config import Config
from autolint.diagnostic import Outcome
from autolint.files import File
from autolint.registry import Registry
from autolint.runner import Fixing, Runner
from tests.places import CASES, MODEL, RULES, named

PROGRAMS = [*RULES, *MODEL, *(sorted(CASES.glob("*.bad.py")) if CASES.is_dir() else [])]
TREES = sorted(path for path in CASES.glob("*.bad") if path.is_dir()) if CASES.is_dir() else []


def run(paths: list[Path], fixing: Fixing) -> Outcome:
    config = Config(str(paths[0].parent))
    registry = Registry.load()
    return Runner(registry, fixing).run([File(str(path), config) for path in paths])


def wanted(outcome: Outcome, fixing: Fixing) -> list[str]:
    return [
        f"{each.path}:{each.line}: {each.code} {each.fix.title}"
        for each in outcome.findings
        if each.fix is not None and (each.fix.safe or fixing is Fixing.ALL)
    ]


def check(paths: list[Path], fixing: Fixing) -> None:
    outcome = run(paths, fixing)
    assert not [f"{each.path}: {each.message}" for each in outcome.problems]
    assert not wanted(outcome, fixing)
    left = [path.read_bytes() for path in paths]
    for raw in left:
        ast.parse(raw)
    again = run(paths, fixing)
    assert not again.changed
    assert [path.read_bytes() for path in paths] == left


@pytest.mark.parametrize("fixing", [Fixing.SAFE, Fixing.ALL], ids=lambda fixing: fixing.value)
@pytest.mark.parametrize("path", PROGRAMS, ids=named)
def test_a_program(path: Path, fixing: Fixing, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    check([copy], fixing)


@pytest.mark.parametrize("fixing", [Fixing.SAFE, Fixing.ALL], ids=lambda fixing: fixing.value)
@pytest.mark.parametrize("path", TREES, ids=named)
def test_a_tree(path: Path, fixing: Fixing, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copytree(path, copy)
    check(sorted(copy.rglob("*.py")), fixing)
