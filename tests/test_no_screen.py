"""What `--no-screen` runs, and that it finds no more than the screen lets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from .linting import Linter
from .places import CASES, MODEL, PROJECTS, RULES, TUTORIALS, named
from .terminal import Cli


def trees() -> list[list[Path]]:
    """The files of the fixtures and cases, those together that import each other."""
    kept = [path for path in sorted(CASES.glob("*")) if path.is_dir() or path.suffix == ".py"]
    trees = [*RULES, *MODEL, *TUTORIALS, *PROJECTS, *kept]
    return [[path] if path.is_file() else sorted(path.rglob("*.py")) for path in trees]


@pytest.mark.parametrize("paths", trees(), ids=lambda paths: named(paths[0]))
def test_the_screen_hides_no_finding(paths: list[Path]) -> None:
    found = Linter(screened=False).check_together(paths)
    assert found == Linter(screened=True).check_together(paths)


@pytest.mark.parametrize("path", ["plain.py", "-"])
def test_without_the_screen_everything_runs(cli: Cli, path: str) -> None:
    """Also a file that is not about torch; and nothing is kept, or taken from what was."""
    text = "fault()\n"
    (cli.folder / "plain.py").write_text(text)
    for options, code in (["--no-cache"], 0), (["--no-screen"], 1):
        cli.feed(text.encode())
        assert cli(path, *options) == code
    assert not (cli.folder / ".autolint_cache").exists()
