"""The benchmark measures the right processes over the right files; no time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

from .bench import again
from .bench.files import count_lines, python_files, sample
from .bench.measure import Command, Ratio, Run, ratio, round_robin, run_once

ROOT = Path(__file__).parents[1]
BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three files in two folders, 2 + 3 + 1 lines, and one that is no Python file."""
    folder = tmp_path / "tree"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("import torch\nx = torch.ones(3)\n")
    (folder / "inner" / "b.py").write_text("def f(x):\n    y = x * 2\n    return y")
    (folder / "c.py").write_text("def (:\n")
    (folder / "d.txt").write_text("text\n")
    return folder


def test_files_are_counted_with_their_lines(tree: Path) -> None:
    files = [Path(path).name for path in python_files([str(tree)])]
    assert files == ["a.py", "c.py", "b.py"]
    assert [count_lines(str(path)) for path in sorted(tree.rglob("*.py"))] == [2, 1, 3]
    assert list(python_files([str(tree / "d.txt")])) == [str(tree / "d.txt")]


def test_sample_depends_on_the_seed_only(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.py").write_text("x = 1\n" * 10)
    files = list(python_files([str(tmp_path)]))
    first = sample(files, 95, seed=1)
    assert len(first) == 10
    assert sample(reversed(files), 95, seed=1) == first
    assert sample(files, 95, seed=2) != first
    assert sample(files, 10_000, seed=1) == sorted(files)


def test_processes_are_measured_with_their_children(tmp_path: Path) -> None:
    parent = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\nexit(3)"
    run = run_once(Command([sys.executable, "-c", parent, BURN]), tmp_path / "out")
    assert run.exit_code == 3
    assert run.cpu >= 0.3
    assert 1 < run.peak < 1000


def test_ratio_is_taken_round_by_round(tmp_path: Path) -> None:
    def used(*seconds: float) -> list[Run]:
        return [Run(cpu, cpu, 1, 0) for cpu in seconds]

    assert ratio(used(2, 9, 8), used(1, 3, 8)) == Ratio(1, 2, 3)
    order = "import sys; open(sys.argv[1], 'a').write(sys.argv[2])"
    log = str(tmp_path / "log")
    commands = {name: Command([sys.executable, "-c", order, log, name]) for name in "ab"}
    runs = round_robin(commands, 3, tmp_path)
    assert Path(log).read_text() == "ababab"
    assert {name: len(own) for name, own in runs.items()} == {"a": 3, "b": 3}


def test_command_prints_the_ratio_of_autolint_to_the_parse(tree: Path) -> None:
    command = [sys.executable, "-m", "tests.bench", str(tree), "--rounds", "1"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stdout + result.stderr
    assert lines[0] == "3 files, 6 lines, 1 rounds"
    assert [line.split()[0] for line in lines[2:6]] == ["command", "parse", "autolint", "all"]
    assert lines[3].split()[4] == "1.00"
    assert lines[6] == "note: LibCST refused 1 of 3 files"
    assert [line.split("  ")[0] for line in lines[7:]] == [
        "again",
        "python",
        "--version",
        "nothing new",
        "one changed",
    ]


def test_what_is_measured_again_is_a_copy_of_which_one_file_changes(
    tree: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    found = again.commands(list(map(str, before)), tmp_path / "work", None)
    found["nothing new"].before()
    copy = tmp_path / "work" / "tree"
    assert {path: (copy / path.relative_to(tree)).read_bytes() for path in before} == before
    found["one changed"].before()
    assert sum((copy / path.relative_to(tree)).read_bytes() != before[path] for path in before) == 1
    assert {path: path.read_bytes() for path in tree.rglob("*.py")} == before


def test_runs_are_told_above_bare_python() -> None:
    runs = {
        name: [Run(seconds, 1, 1, 0)]
        for name, seconds in {"python": 0.1, "nothing new": 0.4, "ruff": 0.2}.items()
    }
    rows = [line.split() for line in again.table(runs)[1:]]
    assert rows == [
        ["python", "100", "0.5"],
        ["nothing", "new", "400", "300", "2.0"],
        ["ruff", "200", "1.0"],
    ]


def test_command_fails_where_nothing_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.bench", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (2, "no Python file there\n")
