"""The package as users install it: a wheel, outside the checkout, lints and verifies."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from autolint.config import NEWEST_TORCH
from autolint.runtime import packs

torch = pytest.importorskip("torch")

REPOSITORY = Path(__file__).parent.parent
LIMIT = 60
"""Seconds that a run without options may take on two cores."""
BAD = """import torch

weight = torch.ones(1, requires_grad=True)
weight.detach().sum().backward()
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=clean, check=False)


def build(folder: Path) -> Path:
    """A wheel made from a copy, so that nothing of earlier builds is in it."""
    copy = folder / "source"
    copy.mkdir()
    for name in ("autolint", "rules", "fixtures"):
        shutil.copytree(
            REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder)]
    if setuptools_is_new():
        command.append("--no-build-isolation")
    done = run(*command, copy, cwd=folder)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def setuptools_is_new() -> bool:
    """Whether this environment can build as pyproject.toml says, without a download."""
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        return False
    return int(version.partition(".")[0]) >= 77


def install(wheel: Path, folder: Path) -> Path:
    """A virtual environment with the wheel; dependencies come from this one, autolint does not."""
    home = folder / "venv"
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps")
    done = run(*pip, "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", code, cwd=folder).stdout.strip())
    # Files .pth in the folders that are named here are not read: no editable install comes along.
    folders = {str(Path(each.__file__ or "").parents[1]) for each in (torch, pytest)}
    (site / "dependencies.pth").write_text("\n".join(sorted(folders)) + "\n")
    return scripts


def test_an_installed_wheel_lints_and_verifies_every_rule(tmp_path: Path) -> None:
    scripts = install(build(tmp_path), tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    code = "import autolint; print(autolint.__file__)"
    where = run(scripts / "python", "-c", code, cwd=outside).stdout
    assert where.startswith(str(tmp_path)), where

    (outside / "bad.py").write_text(BAD)
    # Twice: the first run keeps what the second takes.
    for _ in range(2):
        done = run(scripts / "autolint", "--format", "concise", "bad.py", cwd=outside)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("bad.py:4:1: error AG106 "), done.stdout

    began = time.monotonic()
    done = run(scripts / "autolint", "verify", "--format", "json", cwd=outside)
    assert time.monotonic() - began < LIMIT
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["torch"] == torch.__version__
    on_cpu = [rule for rule in found["rules"] if rule["device"] == "cpu"]
    assert [rule["code"] for rule in on_cpu] == [claim.code for claim in packs.claims()]
    assert all(rule["cases"] > 0 and rule["result"] == "holds" for rule in found["rules"])

    page = run(scripts / "autolint", "explain", "AG201", cwd=outside).stdout
    assert page.rstrip().endswith(f"The marks were made with torch {NEWEST_TORCH}.")


def test_the_marks_were_made_with_the_torch_of_the_tests() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    pinned = set(re.findall(r"torch==(\d+\.\d+)", readme))
    assert pinned == {NEWEST_TORCH}
