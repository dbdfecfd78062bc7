"""Several processes find what one finds; whatever ends one of them, the others go on."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autolint import workers
from autolint.api import Finding
from autolint.cli import main
from autolint.config import Config
from autolint.diagnostic import Problem
from autolint.files import File
from autolint.linted import Linted
from autolint.linting import Linter
from autolint.registry import Registry
from tests import fakes
from tests.places import FIXTURES, ROOT
from tests.terminal import Cli

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="copies of this process are made")

TREE: dict[str, str | bytes] = {
    "clean.py": "import torch\n",
    "crash.py": "import torch\nfault('crash')\nother()\n",
    "cut.py": "import torch\ndef f(:\n",
    "fixable.py": "import torch\nfault('replace')\nfault('unsafe')\n",
    "hidden.py": "import torch\nother('info')\n",
    "latin.py": b"import torch\n# \xe9\n",
    "locked.py": "import torch\nfault()\n",
    "notebook.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "code", "metadata": {}, "source": "import torch"},
                {"cell_type": "code", "metadata": {}, "source": "\nfault('replace')\nother()"},
            ],
            "metadata": {},
            "nbformat": 4,
        }
    ),
    "sub/bound.py": "import torch\nenter('f', 'c')\nbound()\nfault()\n",
    "sub/plain.py": "x = 1\n",
    "sub/stop.py": "import torch\nother()\nstop()\n",
    "unused.py": "import torch\nother()  # autolint: ignore[AG901]\n",
}


@pytest.fixture(autouse=True)
def shares(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """However few files there are, processes are copied; how many files each of them answered."""
    monkeypatch.setattr(workers, "SHARE", 1)
    monkeypatch.setattr(workers, "_method", lambda: "fork")
    answered: list[int] = []
    real = workers.lint

    def lint(*args: Any) -> list[workers.Share]:
        found = real(*args)
        answered.extend(len(each.found) for each in found)
        return found

    monkeypatch.setattr(workers, "lint", lint)
    return answered


def plant(folder: Path) -> None:
    """The tree as it was, and nothing else."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in TREE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def contents(folder: Path) -> dict[str, bytes]:
    """All files but those of the cache."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".autolint_cache" not in path.parts
    }


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--format", "json"),
        ("--format", "sarif"),
        ("--min-severity", "info", "--statistics"),
        ("--fix",),
        ("--fix", "--unsafe-fixes", "--no-cache"),
        ("--diff",),
        ("--add-noqa",),
        ("--baseline", "known.json", "--write-baseline"),
    ],
)
def test_the_output_is_that_of_one_process(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, shares: list[int], args: tuple[str, ...]
) -> None:
    real = open

    def refuse(path: Any, *more: Any, **named: Any) -> object:
        if str(path).endswith("locked.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **named)

    seen = []
    for jobs in ("1", "3"):
        plant(cli.folder)
        with monkeypatch.context() as patch:
            patch.setattr("builtins.open", refuse)
            runs = [(cli("--jobs", jobs, *args), cli.out, cli.err) for _ in range(2)]
        seen.append((runs, contents(cli.folder)))
    assert seen[0] == seen[1]
    [first, *_], _ = seen[0]
    assert first[0] == 2
    assert "error: locked.py: file cannot be read: Permission denied" in first[2]
    assert len(shares[:3]) == 3
    assert sum(shares[:3]) == len(TREE)


def test_files_of_a_project_are_fixed_as_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[object] = []
    for jobs in ("1", "3"):
        folder = tmp_path / jobs / "projects"
        shutil.copytree(FIXTURES / "projects", folder)
        monkeypatch.chdir(folder)
        for more in (("--diff",), ("--fix",), ("--min-severity", "info")):
            with pytest.raises(SystemExit) as caught:
                main(["--jobs", jobs, "--unsafe-fixes", *more])
            seen.append((caught.value.code, *capsys.readouterr()))
        seen.append(contents(folder))
    assert seen[:4] == seen[4:]
    assert seen[3] != contents(FIXTURES / "projects")


def test_what_several_processes_found_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shares: list[int],
) -> None:
    def check(*args: str) -> str:
        with pytest.raises(SystemExit):
            main(["--format", "concise", *args])
        return capsys.readouterr().out

    fault = "x = torch.ones(2, requires_grad=True)\nx.add_(1)\n"
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(f"import torch\n{fault}")
    monkeypatch.chdir(tmp_path)
    first = check("--jobs", "2")
    assert first.count(" error ") == 3
    assert sum(shares) == 3
    assert check("--jobs", "2") == first
    assert sum(shares) == 3
    (tmp_path / "a.py").write_text("import torch\n")
    (tmp_path / "b.py").write_text(f"import torch\n\n\n{fault}")
    assert check("--jobs", "2") == check("--no-cache", "--jobs", "1") != first
    assert sum(shares) == 5


def test_the_bar_counts_files_of_all_processes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.write(a="fault('replace')\n", b="", c="")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("autolint.progress.SLOW", -1)
    cli("--jobs", "2", "--fix")
    assert re.findall(r"\d+/\d+", cli.err) == ["1/3", "2/3", "3/3"]


# ---------------------------------------------------------------------- processes that die


def ending(monkeypatch: pytest.MonkeyPatch, end: Callable[[], object]) -> None:
    """Put a rule in place that ends the process at each `fault('die')`, and reports `other()`."""
    made = fakes.rule("AG901")
    first = os.getpid()

    @made.on(fakes.Called)
    def check(event: fakes.Called) -> Iterator[Finding]:
        if "die" in event.arguments:
            assert os.getpid() != first, "the first process must not check that file"
            end()
        yield Finding(event.site, f"{event.name} is called")

    fakes.install(monkeypatch, made)


def segfault() -> None:
    faulthandler.disable()
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("end", "fate"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by SIGKILL (out of memory?)"),
        (segfault, "was ended by SIGSEGV"),
        (lambda: os._exit(3), "ended with exit code 3"),
    ],
)
def test_the_file_at_which_a_process_died_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, end: Callable[[], object], fate: str
) -> None:
    ending(monkeypatch, end)
    names = [f"f{number:02}" for number in range(40)]
    deadly = ("f00", "f17", "f39")
    cli.write(**{each: "fault('die')\n" if each in deadly else "fault()\n" for each in names})
    assert cli("--jobs", "2", "--format", "concise") == 2
    assert cli.err.splitlines() == [
        f"error: {each}.py: internal error: the process that checked this file {fate}"
        for each in deadly
    ]
    *findings, last = cli.out.splitlines()
    assert [each.partition(".")[0] for each in findings] == [
        each for each in names if each not in deadly
    ]
    assert last.startswith("found 37 errors in 37 files")


def test_if_every_file_is_deadly_the_run_ends(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, lambda: os._exit(1))
    cli.write(**{f"f{number}": "fault('die')\n" for number in range(6)})
    assert cli("--jobs", "2") == 2
    assert cli.err.count("ended with exit code 1") == 6
    assert "found nothing in 0 files" in cli.out


def test_where_no_process_can_be_started_one_does_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, shares: list[int]
) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    cli.write(a="fault()\n", b="fault()\n")
    assert cli("--jobs", "2") == 1
    assert "found 2 errors in 2 files" in cli.out
    assert shares == []


def test_a_process_that_memory_fails_tells_of_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr("autolint.engine.parse", lambda text: fail() if "big" in text else None)
    cli.write(a="big = 1\n", b="big = 2\n")
    assert cli("--jobs", "2") == 2
    assert cli.err.count("internal error: MemoryError") == 2


# ---------------------------------------------------------------------- Ctrl-C

ENDLESS = """
import pathlib, sys, time
import pytest
from autolint import workers
from autolint.api import Finding
from autolint.cli import main
from tests import fakes

made = fakes.rule("AG901")

@made.on(fakes.Called)
def check(event):
    if "wait" in event.arguments:
        pathlib.Path(event.site.unit.path).with_suffix(".begun").touch()
        time.sleep(60)
    yield Finding(event.site, "done")

fakes.install(pytest.MonkeyPatch(), made)
workers.SHARE = 1
main(sys.argv[1:])
"""


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_an_interrupt_ends_all_processes_and_leaves_everything_as_it_was(
    tmp_path: Path, fix: tuple[str, ...]
) -> None:
    texts = {"a.py": "fault('wait')", "b.py": "fault('wait')", "c.py": "fault('replace')"}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"import torch\n{text}\n")
    before = contents(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "--jobs", "2", *fix, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        begun = [tmp_path / "a.begun", tmp_path / "b.begun"]
        wait_for(lambda: all(path.exists() for path in begun))
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: all of them get it
        asked = time.monotonic()
        out, err = running.communicate(timeout=30)
    assert time.monotonic() - asked < 10
    assert (running.returncode, out, err.strip()) == (130, "", "")
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
    for path in begun:
        path.unlink()
    assert contents(tmp_path) == before
    assert not (tmp_path / ".autolint_cache").exists()


def test_processes_end_if_the_first_one_is_killed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("import torch\nfault('wait')\n")
    running = subprocess.Popen(
        [sys.executable, "-c", ENDLESS.replace("60", "1"), "--jobs", "2", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    wait_for(lambda: (tmp_path / "a.begun").exists())
    running.kill()
    running.wait()
    wait_for(lambda: not _group_lives(running.pid))


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


# ---------------------------------------------------------------------- how and how many


def test_processes_that_are_no_copies_find_the_same() -> None:
    files = [
        File(str(FIXTURES / "rules" / f"{name}.py"), Config(str(ROOT)))
        for name in ("missing_zero_grad", "detached_inplace_write", "does_not_exist")
    ]
    found = []
    for method in ("fork", "spawn"):
        told: list[int] = []
        linter = Linter(Registry.load())
        made = workers.lint(linter, files, 2, lambda: told.append(1), method)  # noqa: B023
        assert (len(made), len(told)) == (2, 3)
        found.append({path: each for share in made for path, each in share.found.items()})
    assert found[0] == found[1]
    one, two, none = (found[0][each.path] for each in files)
    assert isinstance(one, Linted)
    assert isinstance(two, Linted)
    assert one.diagnostics
    assert isinstance(none, Problem)
    assert "cannot be read" in none.message


def files_of(folder: Path, sizes: Sequence[int]) -> list[File]:
    files = []
    for number, size in enumerate(sizes):
        path = folder / f"{number}.py"
        path.write_bytes(b"#" * size)
        files.append(File(str(path), Config(str(folder))))
    return files


def test_small_runs_need_no_second_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SHARE", 100)
    files = files_of(tmp_path, [100, 50, 60, 90])
    assert workers.count(files, 8) == 3
    assert workers.count(files, 2) == 2
    assert workers.count(files[1:3], 8) == 1
    assert workers.count(files[:1], 8) == 1
    assert workers.count(files, 1) == 1
    monkeypatch.setattr(workers, "_cores", lambda: 2)
    assert workers.count(files, None) == 2


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("0", "0 is not in the range x>=1"),
        ("-1", "-1 is not in the range x>=1"),
        ("abc", "'abc' is not a valid integer"),
    ],
)
def test_a_number_of_processes_that_cannot_be(cli: Cli, number: str, message: str) -> None:
    assert cli("--jobs", number, ".") == 2
    assert cli.err.startswith("error: Invalid value for '--jobs': ")
    assert message in cli.err
    assert cli.err.count("\n") == 1
