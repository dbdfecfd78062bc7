"""The hooks, run by the real pre-commit in a repository of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytest.importorskip("pre_commit", reason="pre-commit is not installed")
if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

BAD = """import torch

model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(9, 4, 2):
    loss = model(x).sum()
    loss.backward()
    opt.step()
"""
FIXED = BAD.replace("    loss.backward()", "    opt.zero_grad()\n    loss.backward()")
BASE = """import torch


class Base(torch.nn.Module):
    def size(self):
        return 3
"""
DERIVED = """import torch
from base import Base


class Derived(Base):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3)

    def forward(self, x):
        return x * self.scale
"""

Run = subprocess.CompletedProcess[str]


class Project:
    """A git repository with the hooks of this one, which its environment has installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        hooks = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
        # The environment of the tests stands for the one that pre-commit would build.
        entry = f"entry: {sys.executable} -m autolint check"
        local = hooks.replace("language: python", "language: system")
        local = local.replace("entry: autolint check", entry)
        body = "".join(f"      {line}\n" if line else "\n" for line in local.splitlines())
        config = f"repos:\n  - repo: local\n    hooks:\n{body}"
        (folder / ".pre-commit-config.yaml").write_text(config, "utf-8")
        self.git("init", "-q")

    def git(self, *args: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *args], cwd=self.folder, check=True, capture_output=True)

    def commit(self, **files: str) -> None:
        self.add(**files)
        self.git("commit", "-q", "-m", "files", "--no-verify")

    def add(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text, "utf-8")
        self.git("add", "-A")

    def run(self, hook: str) -> Run:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", hook],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


def test_a_bad_file_fails_and_a_good_one_passes(project: Project) -> None:
    project.add(a=BAD)
    done = project.run("autolint")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a.py:7:5: error AG401" in done.stdout
    project.add(a=FIXED)
    assert project.run("autolint").returncode == 0


def test_the_fixing_hook_rewrites(project: Project) -> None:
    project.add(a=BAD)
    done = project.run("autolint-fix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (project.folder / "a.py").read_text("utf-8") == FIXED


def test_only_changed_files_are_linted_with_the_classes_of_the_others(project: Project) -> None:
    project.commit(old=BAD, base=BASE)
    project.add(derived=DERIVED)
    done = project.run("autolint")
    assert "AG401" not in done.stdout, done.stdout
    assert "derived.py:8:9: warning AG301" in done.stdout, done.stdout + done.stderr


def test_notebooks_are_linted(project: Project) -> None:
    (project.folder / "a.ipynb").write_text("{", "utf-8")
    project.add()
    done = project.run("autolint")
    assert "a.ipynb:1:2: error AG000" in done.stdout, done.stdout + done.stderr
