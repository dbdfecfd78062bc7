"""Fixes: exact edits in the file as it is, whatever its line ends, encoding and mode."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from autolint.config import Config
from autolint.diagnostic import Outcome, TextEdit
from autolint.files import File
from autolint.fix import diff, edited
from autolint.registry import Registry
from autolint.runner import Fixing, Runner
from autolint.source import Source, decode
from tests import fakes


@pytest.fixture
def fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fakes.install(monkeypatch, fakes.rule("AG901"), fakes.rule("AG902", "other"))
    return tmp_path / "x.py"


def run(path: Path, raw: bytes, fixing: Fixing = Fixing.SAFE) -> Outcome:
    path.write_bytes(raw)
    config = Config(str(path.parent))
    return Runner(Registry.load(), fixing).run([File(str(path), config)])


def fixed(path: Path, text: str) -> str:
    outcome = run(path, ("import torch\n" + text).encode())
    assert not outcome.problems
    return path.read_text("utf-8").removeprefix("import torch\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fault('replace')\n", "mended()\n"),
        ("é = 1; fault('replace'); y  # é\n", "é = 1; mended(); y  # é\n"),
        ("if x:\n\tfault('before')\n", "if x:\n\tfirst()\n\tsecond()\n\tfault('before')\n"),
        ("if x:\n  fault('wrap')  # c\n", "if x:\n  with y:\n    fault('wrap')  # c\n"),
        ("fault(\n 'append')  # c\n", "fault(\n 'append').mended()  # c\n"),
        ("if x:\n  fault('after')  # c\n", "if x:\n  fault('after')  # c\n  last()\n"),
        ("fault('after')", "fault('after')\nlast()"),
        ("a\nfault('delete')\nb\n", "a\nb\n"),
        ("if x:\n  fault('delete')  # c\n", "if x:\n  pass  # c\n"),
        ("fault(\n 'delete'\n)\n", ""),
    ],
)
def test_each_kind_of_edit(fix: Path, before: str, after: str) -> None:
    # Rounds that insert once more would not end: one round of edits is looked at.
    outcome = run(fix, ("import torch\n" + before).encode(), Fixing.NONE)
    [found] = outcome.findings
    assert found.fix is not None
    text = "import torch\n" + before
    source = Source(str(fix), "utf-8", text, text)
    assert edited(source, found.fix.edits) == "import torch\n" + after


@pytest.mark.parametrize("text", ["if x: fault('before')\n", "a; fault('delete')\n"])
def test_statements_that_share_a_line_get_no_lines_of_their_own(fix: Path, text: str) -> None:
    [found] = run(fix, b"import torch\n" + text.encode(), Fixing.NONE).findings
    assert (found.fix is None) == ("if" in text)


def test_fixes_of_one_line_and_both_rules(fix: Path) -> None:
    assert fixed(fix, "fault('replace'); other('replace')\n") == "mended(); mended()\n"


def test_an_import_is_added_once_and_behind_the_first_one(fix: Path) -> None:
    head = '"""torch."""\n\nfrom __future__ import annotations\n\n# About os.\nimport os\n'
    body = "fault('replace', 'import copy')\nother('replace', 'import copy', 'import os')\n"
    run(fix, (head + body).encode())
    assert fix.read_text() == (
        '"""torch."""\n\nfrom __future__ import annotations\n\n# About os.\n'
        "import os\nimport copy\nmended()\nmended()\n"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "cookie"),
    [("utf-8", ""), ("utf-8-sig", ""), ("latin-1", "# coding: latin-1\n"), ("utf-7", "")],
)
def test_line_ends_and_encoding_stay(fix: Path, newline: str, encoding: str, cookie: str) -> None:
    if encoding == "utf-7":
        cookie = "# -*- coding: utf-7 -*-\n"
    text = f"{cookie}import torch  # é\n\x0cdef f():\n    fault('replace', 'import copy')\n    é\n"
    outcome = run(fix, text.replace("\n", newline).encode(encoding))
    assert (outcome.fixed, outcome.findings, outcome.problems) == (1, [], [])
    after = text.replace("fault('replace', 'import copy')", "mended()")
    after = after.replace("import torch  # é\n", "import torch  # é\nimport copy\n")
    assert fix.read_bytes() == after.replace("\n", newline).encode(encoding)


def test_mixed_line_ends_stay_where_nothing_changes(fix: Path) -> None:
    run(fix, b"import torch\r\nx\ny\rfault('replace')\r\nz\n")
    assert fix.read_bytes() == b"import torch\r\nx\ny\rmended()\r\nz\n"


def test_a_character_that_the_encoding_lacks(fix: Path) -> None:
    raw = b"# coding: latin-1\nimport torch\nfault('foreign')\n"
    outcome = run(fix, raw)
    [problem] = outcome.problems
    assert "encoding iso-8859-1 lacks a character" in problem.message
    assert fix.read_bytes() == raw


def test_mode_and_links_stay(fix: Path) -> None:
    real = fix.with_name("real.py")
    real.write_bytes(b"")
    real.chmod(0o750)
    fix.symlink_to("real.py")
    run(fix, b"import torch\nfault('replace')\n")
    assert fix.is_symlink()
    assert real.read_bytes() == b"import torch\nmended()\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert sorted(os.listdir(fix.parent)) == ["real.py", "x.py"]


def test_a_file_that_cannot_be_replaced_stays_whole(
    fix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    raw = b"import torch\nfault('replace')\n"
    outcome = run(fix, raw)
    assert [each.message for each in outcome.problems] == [
        "file cannot be written: Permission denied"
    ]
    assert (outcome.fixed, len(outcome.findings)) == (0, 1)
    assert fix.read_bytes() == raw
    assert os.listdir(fix.parent) == ["x.py"]


def test_unsafe_fixes_are_applied_only_if_asked(fix: Path) -> None:
    raw = b"import torch\nfault('unsafe')\n"
    assert run(fix, raw).fixed == 0
    assert run(fix, raw, Fixing.ALL).fixed == 1


def test_hidden_and_suppressed_findings_are_not_fixed(fix: Path) -> None:
    text = "fault('replace', 'info')\nfault('replace')  # noqa: AG901\n"
    assert fixed(fix, text) == text


def test_overlapping_edits_wait_for_the_next_round(fix: Path) -> None:
    # The outer call is no statement of its own in the first round.
    assert fixed(fix, "fault('delete')\nfault('replace')\n") == "mended()\n"


def test_edits_beyond_the_end_append() -> None:
    source = Source("/x.py", "utf-8", "a\r\n", "a\n")
    assert edited(source, [TextEdit(2, 1, 2, 1, "b\n"), TextEdit(9, 1, 9, 1, "c\n")]) == (
        "a\r\nb\r\nc\r\n"
    )


def test_a_diff_is_what_patch_reads() -> None:
    assert diff("a\r\nb", "a\r\nc\n", "x.py") == (
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n"
    )
    assert diff("a\x0cb\u2028c\n", "a\x0cb\u2028d\n", "x.py").count("\n") == 5


def test_decoding_keeps_what_encoding_gives_back() -> None:
    for raw in (b"", b"\xef\xbb\xbfx\r", "é\u2028\r\n".encode(), b"# coding: cp1252\n\x80\n"):
        assert decode("/x.py", raw).encoded() == raw


def test_a_fix_that_brings_a_new_finding_is_not_applied(fix: Path) -> None:
    before = b"import torch\nfault('worse')\nfault('replace')\n"
    outcome = run(fix, before)
    [problem] = outcome.problems
    assert problem.message == (
        "fix of AG901 at line 2 was not applied: "
        "the finding would stay, or bring another: a fault of the rule"
    )
    assert fix.read_bytes() == b"import torch\nfault('worse')\nmended()\n"
    assert outcome.fixed == 1
