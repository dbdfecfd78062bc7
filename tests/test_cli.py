"""The command line as users meet it: words in, text and exit code out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autolint
from autolint.api import Severity
from autolint.cli import FORMATS, SEVERITIES
from tests.terminal import Cli


def test_nothing_found_is_0(cli: Cli) -> None:
    cli.write(a="pass\n")
    assert cli() == 0
    assert cli.out == "found nothing in 1 file\n"
    assert cli.err == ""


def test_findings_are_1_and_text_shows_them(cli: Cli) -> None:
    cli.write(a="if x:\n\tfault('replace')\n", b="other()\nbound()\n")
    assert cli("a.py", "b.py") == 1
    assert cli.out.splitlines() == [
        "a.py:3:2: error AG901 ag901-fault: fault is called",
        "  |",
        "3 | \tfault('replace')",
        "  | \t^^^^^^^^^^^^^^^^",
        "  = line 3: said here",
        "  = fix (--fix): mend it",
        "",
        "found 1 error in 2 files (1 fixable); 1 of 3 functions not followed",
    ]


def test_concise_has_one_line_per_finding(cli: Cli) -> None:
    cli.write(a="fault()\nother('unsafe')\n")
    assert cli("--format", "concise") == 1
    assert cli.out.splitlines() == [
        "a.py:2:1: error AG901 ag901-fault: fault is called",
        "a.py:3:1: warning AG902 ag902-other: other is called [fixable with --unsafe-fixes]",
        "found 1 error, 1 warning in 1 file (1 with --unsafe-fixes)",
    ]


def test_json_has_every_field(cli: Cli) -> None:
    cli.write(a="fault('replace')\n")
    assert cli("check", ".", "--format", "json") == 1
    place = {"line": 2, "column": 1, "path": "a.py"}
    edit = {"line": 2, "column": 1, "end_line": 2, "end_column": 17, "text": "mended()"}
    assert json.loads(cli.out) == {
        "version": 1,
        "findings": [
            {
                **place,
                "end_line": 2,
                "end_column": 17,
                "code": "AG901",
                "name": "ag901-fault",
                "severity": "error",
                "message": "fault is called",
                "because": [{**place, "message": "said here"}],
                "fix": {"title": "mend it", "safe": True, "edits": [edit]},
            }
        ],
        "errors": [],
        "summary": {
            "files": 1,
            "findings": 1,
            "fixable": 1,
            "by_code": {"AG901": 1},
            "not_followed": 0,
        },
    }


def test_json_is_complete_at_exit_2(cli: Cli) -> None:
    cli.write(a="fault('crash')\nfault()\n", b="other()\n")
    assert cli("--format", "json") == 2
    document = json.loads(cli.out)
    assert [(each["path"], each["line"]) for each in document["findings"]] == [
        ("a.py", 3),
        ("b.py", 2),
    ]
    assert [(each["path"], each["code"]) for each in document["errors"]] == [("a.py", "AG901")]
    assert "internal error in rule AG901 (ag901-fault) at line 2" in cli.err
    assert "Traceback" not in cli.err
    assert cli("--verbose") == 2
    assert "Traceback" in cli.err


def test_github_annotates_relative_to_the_repository(cli: Cli) -> None:
    (cli.folder / ".git").mkdir()
    below = cli.folder / "a,b"
    below.mkdir()
    cli.folder = below
    cli.write(a="fault()\n")
    cli._monkeypatch.chdir(below)
    assert cli("--format", "github") == 1
    assert cli.out.splitlines()[0] == (
        "::error title=AG901 ag901-fault,file=a%2Cb/a.py,line=2,endLine=2,col=1,endColumn=8"
        "::fault is called%0Aline 2: said here"
    )


def test_statistics_count_by_rule(cli: Cli) -> None:
    cli.write(a="other()\nfault()\n", b="other()\n")
    assert cli("--statistics") == 1
    assert cli.out.splitlines()[:2] == ["2  AG902  ag902-other", "1  AG901  ag901-fault"]


def test_exit_zero(cli: Cli) -> None:
    cli.write(a="fault()\n")
    assert cli("--exit-zero") == 0
    assert "AG901" in cli.out
    cli.write(a="fault('crash')\n")
    assert cli("--exit-zero") == 2


@pytest.mark.parametrize(
    ("args", "codes"),
    [
        ((), {"AG901", "AG902"}),
        (("--select", "AG901"), {"AG901", "info"}),
        (("--select", "ag901-fault"), {"AG901", "info"}),
        (("--select", "AG9"), {"AG901", "AG902"}),
        (("--select", "ALL", "--ignore", "AG90"), set()),
        (("--select", "AG902", "--ignore", "AG9"), {"AG902"}),
        (("--select", "AG9", "--ignore", "AG902"), {"AG901"}),
        (("--ignore", "AG901,ag902-other"), set()),
        (("--ignore", "AG901", "--ignore", " AG902, "), set()),
        (("--extend-select", "AG901"), {"AG901", "AG902", "info"}),
        (("--min-severity", "error"), {"AG901"}),
        (("--min-severity", "info"), {"AG901", "AG902", "info"}),
        (("--select", "AG901", "--min-severity", "warning"), {"AG901"}),
    ],
)
def test_selection(cli: Cli, args: tuple[str, ...], codes: set[str]) -> None:
    cli.write(a="fault()\nother()\nfault('info')\n")
    assert cli("--format", "json", *args) == int(bool(codes))
    found = json.loads(cli.out)["findings"]
    names = {"info" if each["severity"] == "info" else each["code"] for each in found}
    assert names == codes


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--formt", "json"), "No such option '--formt'. Did you mean '--format'?"),
        (("--format", "jsn"), "did you mean 'json'?"),
        (("--select", "AG91"), "no rule is called 'AG91', did you mean 'AG901'?"),
        (("--ignore", "ag901-falt"), "did you mean 'ag901-fault'?"),
        (("modle.py",), "no such file or folder: modle.py, did you mean 'model.py'?"),
        (
            ("expain", "AG401"),
            "no such command, file or folder: expain, did you mean 'explain'?",
        ),
        (("--config", "none.toml"), "none.toml: cannot be read: No such file or directory"),
        (("-", "model.py"), "- cannot be mixed with other paths"),
        (("explain", "AG9011"), "no rule is called 'AG9011', did you mean 'AG901'?"),
        (("--jobs", "many"), "'many' is not a valid integer"),
    ],
)
def test_what_is_not_understood_is_2_in_one_line(
    cli: Cli, args: tuple[str, ...], message: str
) -> None:
    cli.write(model="pass\n")
    assert cli(*args) == 2
    assert cli.out == ""
    assert message in cli.err
    assert cli.err.startswith("error: ")
    assert cli.err.count("\n") == 1


def test_an_unparsable_file_is_a_finding_and_the_others_are_checked(cli: Cli) -> None:
    cli.write(a="def f(:\n", b="fault()\n")
    assert cli("--format", "concise") == 1
    first, second, last = cli.out.splitlines()
    assert first.startswith(
        "a.py:2:7: error AG000 unparsable-file: file cannot be parsed by Python"
    )
    assert second.startswith("b.py:2:1: error AG901")
    assert last == "found 2 errors in 2 files"


def test_no_python_file_is_0_and_a_note(cli: Cli) -> None:
    assert cli(".") == 0
    assert cli.err == "no Python files or notebooks found\n"


def test_accepted_from_the_start(cli: Cli) -> None:
    cli.write(a="fault()\n")
    assert cli("--jobs", "2", "--no-cache", "a.py") == 1


def test_standard_input(cli: Cli) -> None:
    cli.feed(b"import torch\r\nfault('replace')\r\n")
    assert cli("-", "--stdin-filename", "pkg/m.py", "--format", "concise") == 1
    assert cli.out.startswith("pkg/m.py:2:1: error AG901")


def test_standard_input_is_passed_on_fixed() -> None:
    source = "\ufeffimport torch\r\nfault('replace')  # é\r\n"
    command = [sys.executable, "-c", _WITH_FAKES, "-", "--fix"]
    raw = source.encode()
    done = subprocess.run(command, input=raw, capture_output=True, cwd=_ROOT, check=False)
    assert done.stdout == raw.replace(b"fault('replace')", b"mended()")
    assert b"fixed 1; found nothing in 1 file" in done.stderr
    assert done.returncode == 0


_ROOT = Path(__file__).parent.parent
_WITH_FAKES = """
import sys, pytest
from tests import fakes
from autolint.cli import main
fakes.install(pytest.MonkeyPatch())
main(sys.argv[1:])
"""


def test_fix_writes_and_counts_what_is_left(cli: Cli) -> None:
    cli.write(a="fault('replace')\nother('unsafe')\n")
    assert cli("--fix", "--format", "concise") == 1
    assert (cli.folder / "a.py").read_text() == "import torch\nmended()\nother('unsafe')\n"
    assert cli.out.splitlines()[-1] == (
        "fixed 1; found 1 warning in 1 file (1 with --unsafe-fixes)"
    )
    assert cli("--fix", "--unsafe-fixes") == 0
    assert (cli.folder / "a.py").read_text() == "import torch\nmended()\nmended()\n"


def test_diff_shows_and_changes_nothing(cli: Cli) -> None:
    cli.write(a="fault('replace')\nother()\n")
    before = (cli.folder / "a.py").read_text()
    assert cli("--diff") == 1
    assert cli.out.splitlines() == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,3 +1,3 @@",
        " import torch",
        "-fault('replace')",
        "+mended()",
        " other()",
    ]
    assert (cli.folder / "a.py").read_text() == before
    cli.write(a="other()\n")
    assert cli("--diff") == 0
    assert cli.out == ""


def test_a_fix_that_breaks_the_file_is_our_fault_and_is_not_applied(cli: Cli) -> None:
    cli.write(a="fault('break')\nfault('replace')\n")
    assert cli("--fix") == 2
    assert (cli.folder / "a.py").read_text() == "import torch\nfault('break')\nmended()\n"
    assert "fix of AG901 at line 2 was not applied: the fixed file cannot be parsed" in cli.err


def test_fixes_that_do_not_mend_leave_the_file(cli: Cli) -> None:
    cli.write(a="fault('again')\n")
    assert cli("--fix") == 2
    assert (cli.folder / "a.py").read_text() == "import torch\nfault('again')\n"
    assert "a fault of the rule" in cli.err


def test_an_unreadable_file_is_2_and_the_others_are_checked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(a="fault()\n", b="fault()\n")
    real = open

    def refuse(path: str, *args: Any, **more: Any) -> object:
        if str(path).endswith("a.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr("builtins.open", refuse)
    assert cli("--format", "concise") == 2
    assert cli.out.startswith("b.py:2:1: error AG901")
    assert cli.err == "error: a.py: file cannot be read: Permission denied\n"


def test_explain(cli: Cli) -> None:
    assert cli("explain") == 0
    assert [line.split()[0] for line in cli.out.splitlines()] == [
        "code",
        "AG000",
        "AG001",
        "AG901",
        "AG902",
    ]
    assert cli("explain", "AG90") == 0
    assert len(cli.out.splitlines()) == 3
    for key in ("AG901", "ag901-fault"):
        assert cli("explain", key) == 0
        assert cli.out.startswith(
            "AG901 ag901-fault (error)\n\nCall of a name that only tests use."
        )


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version") == 0
    assert cli.out == f"autolint {autolint.__version__}\n"
    assert cli("--help") == 0
    assert "explain" in cli.out
    assert cli("check", "--help") == 0
    assert "--unsafe-fixes" in cli.out


def test_the_words_of_the_options_are_those_of_the_code(cli: Cli) -> None:
    assert {str(each) for each in Severity} == set(SEVERITIES)
    cli.write(a="fault()\n")
    for each in FORMATS:
        assert cli("--format", each) == 1
        assert "fault is called" in cli.out


def test_colour_only_on_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.write(a="fault()\n")
    cli()
    assert "\x1b" not in cli.out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    cli()
    assert "\x1b[31m" in cli.out
    monkeypatch.setenv("NO_COLOR", "1")
    cli()
    assert "\x1b" not in cli.out


def test_names_that_are_not_utf_8(cli: Cli) -> None:
    name = b"\xff.py".decode("utf-8", "surrogateescape")
    (cli.folder / name).write_text("import torch\nfault()\n")
    for each in FORMATS:
        assert cli("--format", each) == 1
        assert "fault is called" in cli.out


def test_a_progress_bar_on_a_terminal_once_a_run_is_slow(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(a="fault()\n", b="")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cli()
    assert cli.err == ""
    monkeypatch.setattr("autolint.progress.SLOW", -1)
    cli()
    assert "[###############...............] 1/2 files" in cli.err
    assert cli.err.endswith(" \r")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("autolint --fo", "--format"),
        ("autolint exp", "explain"),
        ("autolint explain AG40", "AG401"),
        ("autolint verify missing-z", "missing-zero-grad"),
    ],
)
def test_shells_complete_commands_options_and_codes(typed: str, expected: str) -> None:
    completing = {
        "_AUTOLINT_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    command = [sys.executable, "-m", "autolint"]
    done = subprocess.run(
        command, env={**os.environ, **completing}, capture_output=True, text=True, check=False
    )
    assert f"plain,{expected}" in done.stdout.splitlines(), done.stderr


def test_fixes_never_leave_the_folder_through_a_link(cli: Cli) -> None:
    inside, outside = cli.folder / "in", cli.folder / "out"
    inside.mkdir()
    outside.mkdir()
    text = "import torch\nfault('replace')\n"
    (outside / "a.py").write_text(text)
    (inside / "b.py").write_text(text)
    (inside / "a.py").symlink_to(outside / "a.py")
    (inside / "c.py").symlink_to(inside / "b.py")
    (outside / "d.py").write_text("import torch\n")
    (inside / "d.py").symlink_to(outside / "d.py")
    assert cli("in", "--fix") == 2
    assert "in/a.py: is a link to a file outside the given folder" in cli.err
    assert "in/d.py" not in cli.err  # nothing to fix there
    assert (outside / "a.py").read_text() == text
    assert (inside / "b.py").read_text() == "import torch\nmended()\n"
    assert (inside / "a.py").is_symlink()
    assert (inside / "c.py").is_symlink()
    assert cli("in/a.py", "--fix") == 0  # named itself
    assert (outside / "a.py").read_text() == "import torch\nmended()\n"
