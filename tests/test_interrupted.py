"""A full disk, files that go, Ctrl-C, other runs at the same time: a true report, whole files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autolint import atomic
from autolint.api import Finding
from tests import fakes
from tests.places import ROOT
from tests.terminal import Cli

FAKES = """
import pytest
from tests import fakes

fakes.install(pytest.MonkeyPatch(), fakes.rule("AG901"))
"""
LIMITED = """
import resource, sys
from autolint.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""
"""A run that can write no file above a size, as on a disk that is full."""

FINDING = "import torch\nfault()\n"
REAL = "import torch\nx = torch.ones(2, requires_grad=True)\nx.add_(1)\n"
"""What a rule of ours finds something in: only those that are installed have a cache."""


def limited(
    folder: Path, size: int, *args: str, before: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", before + LIMITED, str(size), "--format", "concise", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_cache_that_the_disk_cannot_take_is_one_note(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(REAL)
    for _ in range(2):
        done = limited(tmp_path, 100)
        assert done.returncode == 1
        assert done.stdout.startswith("a.py:3:1: error AG")
        assert done.stderr.startswith("note: no cache is kept in ")
        assert done.stderr.count("\n") == 1
        assert "too large" in done.stderr
        assert not any("autolint-" in name or "results" in name for name in names(tmp_path))


def test_an_older_cache_stays_whole_on_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(REAL)
    assert limited(tmp_path, 1_000_000).stderr == ""
    [kept] = (tmp_path / ".autolint_cache").glob("results-*.json")
    before = names(tmp_path), kept.read_bytes()
    (tmp_path / "a.py").write_text(REAL + REAL)
    done = limited(tmp_path, 100)
    assert (done.returncode, done.stdout.count("a.py:")) == (1, 2)
    assert (names(tmp_path), kept.read_bytes()) == before
    assert limited(tmp_path, 1_000_000).stdout == done.stdout


def test_a_file_that_the_disk_cannot_take_is_not_fixed_and_others_are(tmp_path: Path) -> None:
    fixable = "import torch\nfault('replace')\n"
    large = fixable + "# the rest of the file\n" * 1000
    (tmp_path / "a.py").write_text(large)
    (tmp_path / "b.py").write_text(fixable)
    done = limited(tmp_path, 4096, "--fix", "--no-cache", before=FAKES)
    assert done.returncode == 2
    assert done.stdout.startswith("a.py:2:1: error AG901")
    assert "\nfixed 1; found 1 error in 2 files (1 fixable)" in done.stdout
    assert done.stderr == "error: a.py: file cannot be written: File too large\n"
    assert (tmp_path / "a.py").read_text() == large
    assert (tmp_path / "b.py").read_text() == "import torch\nmended()\n"
    assert names(tmp_path) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("option", "more"), [("--output", ()), ("--baseline", ("--write-baseline",))]
)
def test_a_report_that_the_disk_cannot_take_leaves_the_older_one(
    tmp_path: Path, option: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "a.py").write_text(FINDING * 20)
    (tmp_path / "report").write_text("older")
    done = limited(tmp_path, 50, "--no-cache", option, "report", *more, before=FAKES)
    assert (done.returncode, done.stderr) == (2, f"error: {option} report: File too large\n")
    assert (tmp_path / "report").read_text() == "older"
    assert names(tmp_path) == ["a.py", "report"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_output_that_nobody_takes_is_an_error_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FINDING)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "autolint", "--no-cache", "."],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    message = "error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_a_disk_that_fills_up_in_the_middle_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_text("older")

    class Full:
        def __init__(self, path: str, mode: str) -> None:
            self._stream = open(path, mode)  # noqa: SIM115

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            self._stream.close()

        def write(self, content: bytes) -> None:
            self._stream.write(content[: len(content) // 2])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "open", Full, raising=False)
    with pytest.raises(OSError, match="No space"):
        atomic.replace(str(path), b"newer")
    assert path.read_text() == "older"
    assert names(tmp_path) == ["a.py"]


# ---------------------------------------------------------------------- files that go or change


def meddling(monkeypatch: pytest.MonkeyPatch, meddle: Callable[[], object]) -> None:
    """Put a rule in place that does something else at each `fault('meddle')`."""
    made = fakes.rule("AG901")
    other = fakes.rule("AG902", "other")

    @other.on(fakes.Called)
    def check(event: fakes.Called) -> Iterator[Finding]:
        if "meddle" in event.arguments:
            meddle()
        yield from ()

    fakes.install(monkeypatch, made, other)


def test_a_file_removed_during_the_run_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.write(a="fault('meddle')\n", b="fault()\n", c="fault()\n")
    meddling(monkeypatch, (cli.folder / "b.py").unlink)
    assert cli("--format", "concise") == 2
    assert cli.err == "error: b.py: file cannot be read: No such file or directory\n"
    assert [line[:4] for line in cli.out.splitlines()] == ["a.py", "c.py", "foun"]
    fakes.install(monkeypatch, fakes.rule("AG901"), fakes.rule("AG902", "other"))
    assert cli("--format", "concise") == 1
    assert [line[:4] for line in cli.out.splitlines()] == ["a.py", "c.py", "foun"]


def test_a_removed_file_is_not_brought_back_by_its_fix(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(a="fault('replace', 'meddle')\n", b="fault('replace')\n")
    meddling(monkeypatch, lambda: (cli.folder / "a.py").unlink(missing_ok=True))
    assert cli("--fix") == 2
    assert cli.err == "error: a.py: file cannot be written: No such file or directory\n"
    assert not (cli.folder / "a.py").exists()
    assert (cli.folder / "b.py").read_text() == "import torch\nmended()\n"


def test_what_was_written_meanwhile_is_not_overwritten_by_a_fix(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(a="fault('replace', 'meddle')\n")
    meddling(monkeypatch, lambda: cli.write(a="mine()\n"))
    assert cli("--fix") == 2
    assert cli.err == "error: a.py: file cannot be written: it was changed while it was checked\n"
    assert (cli.folder / "a.py").read_text() == "import torch\nmine()\n"
    assert cli("--fix") == 0


# ---------------------------------------------------------------------- Ctrl-C, and other runs

SLOW = """
import os, pathlib, sys, time
import pytest
from autolint.cli import main
from tests import fakes

real = os.replace
def replace(*paths):
    pathlib.Path("writing").touch()
    time.sleep(0.5)
    real(*paths)

os.replace = replace
fakes.install(pytest.MonkeyPatch(), fakes.rule("AG901"))
main(sys.argv[1:])
"""


def test_an_interrupt_while_files_are_fixed_leaves_each_of_them_whole(tmp_path: Path) -> None:
    before = "import torch\nfault('replace')\n"
    files = [tmp_path / f"f{number:02}.py" for number in range(30)]
    for path in files:
        path.write_text(before)
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, "--fix", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        end = time.monotonic() + 60
        while not (tmp_path / "writing").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err.strip()) == (130, "", "")
    texts = [path.read_text() for path in files]
    assert set(texts) == {before, "import torch\nmended()\n"}
    assert names(tmp_path) == [*(path.name for path in files), "writing"]


def test_runs_at_the_same_time_share_a_cache(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"f{number}.py").write_text(REAL)
    command = [sys.executable, "-m", "autolint", "--format", "json", "--select"]
    chosen = ["AG1", "AG2", "ALL", "ALL"]
    running = [
        subprocess.Popen([*command, each], cwd=tmp_path, stdout=subprocess.PIPE) for each in chosen
    ]
    told = [json.loads(each.communicate(timeout=300)[0]) for each in running]
    for select, report in zip(chosen, told, strict=True):
        alone = subprocess.run(
            [*command, select, "--no-cache"], cwd=tmp_path, capture_output=True, check=False
        )
        again = subprocess.run([*command, select], cwd=tmp_path, capture_output=True, check=False)
        assert report == json.loads(alone.stdout) == json.loads(again.stdout)
    assert told[2]["findings"]
    assert not any("autolint-" in name for name in names(tmp_path))
