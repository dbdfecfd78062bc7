"""All fixes on all fixtures and cases: what they leave parses, is done, and stays as it is."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autolint.config import Config
from autolint.diagnostic import Outcome
from autolint.files import File
from autolint.registry import Registry
from autolint.runner import Fixing, Runner
from tests.places import CASES, FIXED, MODEL, RULES, named

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


@pytest.mark.parametrize("options", [[], ["--unsafe-fixes"]], ids=["safe", "all"])
def test_fix_does_to_a_tree_what_diff_shows(options: list[str], tmp_path: Path) -> None:
    """As a patch that git applies, byte for byte."""
    shown, done = tmp_path / "shown", tmp_path / "done"
    for number, path in enumerate(FIXED[::4]):
        raw = path.with_name(f"{path.name.removesuffix('.fixed.py')}.py").read_bytes()
        # Every other file has other line ends, and every third none at its end.
        raw = raw.replace(b"\n", b"\r\n") if number % 2 else raw
        raw = raw.rstrip() if number % 3 == 0 else raw
        for tree in (shown, done):
            folder = tree / "sub" if number % 4 == 0 else tree
            folder.mkdir(parents=True, exist_ok=True)
            (folder / path.name).write_bytes(raw)
    before = contents(done)

    patch = autolint("--diff", *options, cwd=done)
    assert contents(done) == before
    git = ["git", "apply", "-p1", "--whitespace=nowarn", "-"]
    applied = subprocess.run(git, input=patch, cwd=shown, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stderr.decode()
    autolint("--fix", *options, cwd=done)
    after = contents(done)
    assert after == contents(shown)
    changed = {name for name in before if after[name] != before[name]}
    assert len(changed) > len(before) // 2


def contents(tree: Path) -> dict[str, bytes]:
    return {
        path.relative_to(tree).as_posix(): path.read_bytes() for path in sorted(tree.rglob("*.py"))
    }


def autolint(*options: str, cwd: Path) -> bytes:
    command = [sys.executable, "-m", "autolint", "check", "--no-cache", *options, "."]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout
