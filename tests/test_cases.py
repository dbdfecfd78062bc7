"""The labelled programs beside the checkout: each fault is found where it is, and nothing else."""

from pathlib import Path

import pytest

from autolint.testing import CodeMark, Mark, Reported, mismatches, read_marks

from .linting import Linter, registry
from .places import CASES, named

PROGRAMS = sorted(
    path for kind in ("bad", "good", "clean") for path in CASES.glob(f"*.{kind}*") if CASES.is_dir()
)


def codes() -> set[str]:
    """The codes of the rules that exist today."""
    return {entry.code for entry in registry() if entry.rule is not None}


def shown(path: Path) -> tuple[list[CodeMark], list[Reported]]:
    """The marks and the findings (as `autolint check` shows them) of one program."""
    linter = Linter()
    marks: list[Mark] = []
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    for file in files:
        marks += read_marks(file.read_text(encoding="utf-8"), file.as_posix())
    findings = linter.check_together(files)
    claims = [mark for mark in marks if isinstance(mark, CodeMark)]
    return claims, [finding for finding in findings if not finding.info]


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside this checkout")
def test_the_cases_are_found() -> None:
    assert len(PROGRAMS) > 100


@pytest.mark.parametrize("path", PROGRAMS, ids=named)
def test_programs_show_their_marked_faults_only(path: Path) -> None:
    marks, findings = shown(path)
    known = codes()
    problems = mismatches([mark for mark in marks if mark.code in known], findings)
    assert not problems, "\n".join(problems)
    if ".bad" not in path.name:
        assert not marks
        assert not findings
