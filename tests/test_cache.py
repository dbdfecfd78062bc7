"""What earlier runs found is used only while nothing that it depends on has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROBE = """
import json, sys
from autolint.cli import main
try:
    main(sys.argv[1:])
except SystemExit as exit:
    status = exit.code
print("\\n" + json.dumps([status, "libcst" in sys.modules]))
"""

USER = """\
import torch
from lib import Base


class Net(Base):
    def __init__(self):
        super().__init__()
        self.weight = torch.ones(3)

    def forward(self, x):
        return x * self.weight
"""
MODULE = "import torch\n\n\nclass Base(torch.nn.Module):\n    pass\n"
PLAIN = "class Base:\n    pass\n"


def check(folder: Path, *args: str) -> tuple[list[tuple[str, str]], bool]:
    """Names of files and codes that are found, and whether LibCST was loaded for it."""
    command = [sys.executable, "-c", PROBE, "check", "--format", "json", *args, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    report, _, last = done.stdout.strip().rpartition("\n")
    found = [(each["path"], each["code"]) for each in json.loads(report)["findings"]]
    return found, json.loads(last)[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "lib.py").write_text(MODULE)
    return tmp_path


def test_a_second_run_finds_the_same_without_libcst(project: Path) -> None:
    first, loaded = check(project, "--min-severity", "info")
    assert loaded
    assert first
    assert check(project, "--min-severity", "info") == (first, False)
    assert (project / ".autolint_cache" / ".gitignore").read_text() == "*\n"


def test_what_a_base_class_in_another_file_becomes_is_noticed(project: Path) -> None:
    first, _ = check(project)
    (project / "lib.py").write_text(PLAIN)
    second, loaded = check(project)
    assert loaded
    assert first != second
    assert check(project) == (second, False)


def test_a_module_that_appears_or_goes_is_noticed(project: Path) -> None:
    (project / "lib.py").unlink()
    unknown, _ = check(project)
    assert unknown
    (project / "lib.py").write_text(PLAIN)
    assert check(project) == ([], True)
    assert check(project) == ([], False)
    (project / "lib.py").unlink()
    assert check(project) == (unknown, True)


def test_a_touched_file_is_read_and_not_checked_again(project: Path) -> None:
    first, _ = check(project)
    os.utime(project / "lib.py", (1, 1))
    assert check(project) == (first, False)


def test_other_rules_are_other_results(project: Path) -> None:
    everything, _ = check(project)
    assert check(project, "--select", "AG999" if not everything else everything[0][1])[0]
    none, _ = check(project, "--ignore", ",".join({code for _, code in everything}))
    assert none == []
    assert check(project) == (everything, False)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff" * 50, b"autolint 00000000\n{}"])
def test_damaged_files_are_as_good_as_none(project: Path, damage: bytes) -> None:
    first, _ = check(project)
    for path in (project / ".autolint_cache").glob("*.json"):
        path.write_bytes(damage)
    assert check(project) == (first, True)
    assert check(project) == (first, False)


def test_a_cut_file_is_as_good_as_none(project: Path) -> None:
    first, _ = check(project)
    for path in (project / ".autolint_cache").glob("*.json"):
        path.write_bytes(path.read_bytes()[:-9])
    assert check(project) == (first, True)


def test_without_a_cache_nothing_is_written(project: Path) -> None:
    check(project, "--no-cache")
    assert not (project / ".autolint_cache").exists()


def test_a_cache_that_cannot_be_written_is_one_note(project: Path) -> None:
    (project / ".autolint_cache").write_text("a file where the folder would be")
    command = [sys.executable, "-m", "autolint", "."]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("note: no cache is kept") == 1


def kept(folder: Path) -> dict[str, Any]:
    """What the cache holds of the results."""
    [path] = (folder / ".autolint_cache").glob("results-*.json")
    content: dict[str, Any] = json.loads(path.read_bytes().partition(b"\n")[2])
    return content


def test_what_no_result_needs_any_more_is_dropped(project: Path) -> None:
    module = (project / "lib.py").read_text()
    for number in range(12):
        package = project / f"old{number}"
        package.mkdir()
        (package / "base.py").write_text(module)
        (package / "user.py").write_text(USER.replace("from lib", "from base"))
    (project / "other.py").write_text("import torch\nimport old3.base\nimport old4.user\n")
    first, _ = check(project)
    for number in range(12):
        if number not in (3, 4):
            shutil.rmtree(project / f"old{number}")
    (project / "other.py").write_text("import torch\nimport old4.base\n")
    left = [each for each in first if each[0].split("/")[0] in ("user.py", "old3", "old4")]
    assert check(project) == (left, True)
    content = kept(project)
    assert sorted(content["stamps"]) == sorted(map(str, project.rglob("*.py")))
    assert not any("old7" in folder for folder in content["folders"])
    numbers = [number // 2 for _, names in content["folders"].values() for number in names.values()]
    assert sorted(numbers) == list(range(len(numbers)))
    # What is left is still known, and still depends on what it depended on.
    assert check(project) == (left, False)
    (project / "old4" / "base.py").write_text(PLAIN)
    without = [each for each in left if not each[0].startswith("old4")]
    assert check(project) == (without, True)
    (project / "lib.py").unlink()
    (project / "lib").mkdir()
    (project / "lib" / "__init__.py").write_text(PLAIN)
    assert check(project) == ([each for each in without if each[0] != "user.py"], True)


def test_a_few_dropped_results_are_not_worth_the_renumbering(project: Path) -> None:
    for number in range(5):
        (project / f"other{number}.py").write_text("import torch\n")
    check(project)
    (project / "other1.py").write_text("import torch\nx = 1\n")
    (project / "user.py").unlink()
    check(project)
    assert str(project / "user.py") in kept(project)["stamps"]


def test_clean_removes_the_cache_and_nothing_else(project: Path) -> None:
    check(project)
    command = [sys.executable, "-m", "autolint", "clean"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    assert sorted(path.name for path in project.iterdir()) == ["lib.py", "user.py"]
