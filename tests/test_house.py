"""The house keeps its own rules: types, style, and autolint itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
TREES = ("autolint", "rules", "tests")


def check(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_strict() -> None:
    # The types of torch, which only runtime needs, are read where torch is.
    pytest.importorskip("torch")
    check("mypy")


def test_lint() -> None:
    check("ruff", "check", ".")


def test_format() -> None:
    check("ruff", "format", "--check", ".")


def test_autolint_is_clean_on_itself() -> None:
    check("autolint", *TREES)


def test_the_hooks_are_commands_that_exist(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import torch\n")
    text = (REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8")
    entries = re.findall(r"^  entry: autolint (.+)$", text, re.MULTILINE)
    assert len(entries) == 2
    for entry in entries:
        check("autolint", *entry.split(), str(path))


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    [command] = re.findall(r"^pip install torch.* && pytest$", readme, re.MULTILINE)
    assert command in script.replace("install -q ", "install ").splitlines()
    assert f'echo "+ {command}"' in script


def test_every_package_is_installed() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    [listed] = re.findall(r"^packages = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    places = (REPOSITORY / "autolint").rglob("__init__.py")
    packages = {".".join(each.parent.relative_to(REPOSITORY).parts) for each in places}
    named = set(re.findall(r'"(.+)"', listed))
    assert named == packages | {"autolint_fixtures", "autolint_rules"}
