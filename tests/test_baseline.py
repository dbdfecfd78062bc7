"""Baselines and `--add-noqa`: findings that are known and wait."""

from __future__ import annotations

import json

import pytest

from tests.terminal import Cli

BASELINE = ("--baseline", "known.json")


def entries(cli: Cli) -> list[tuple[str, str]]:
    document = json.loads((cli.folder / "known.json").read_text("utf-8"))
    return [(each["path"], each["code"]) for each in document["findings"]]


def test_a_baseline_leaves_what_is_new(cli: Cli) -> None:
    cli.write(a="fault()\n", b="other()\n")
    assert cli(*BASELINE, "--write-baseline") == 0
    assert cli.err == "2 findings written to known.json\n"
    assert cli.out == "found nothing in 2 files; 2 in the baseline\n"
    assert entries(cli) == [("a.py", "AG901"), ("b.py", "AG902")]
    cli.write(a="\n\nfault()\nother()\n")
    assert cli(*BASELINE, "--format", "concise") == 1
    *found, last = cli.out.splitlines()
    assert [line.split(":")[1] for line in found] == ["5"]
    assert last == "found 1 warning in 2 files; 2 in the baseline"


def test_what_is_gone_is_told_and_dropped_when_asked(cli: Cli) -> None:
    cli.write(a="fault()\nother()\n", b="other()\n")
    cli(*BASELINE, "--write-baseline")
    cli.write(a="other()\n")
    assert cli(*BASELINE) == 0
    assert "1 entry of known.json found no more; --update-baseline drops:" in cli.err
    assert "a.py: AG901 fault is called" in cli.err
    assert len(entries(cli)) == 3
    assert cli(*BASELINE, "--update-baseline") == 0
    assert cli.err == "1 entry dropped from known.json\n"
    assert entries(cli) == [("a.py", "AG902"), ("b.py", "AG902")]
    assert cli(*BASELINE) == 0
    assert cli.err == ""


def test_entries_of_files_that_were_not_checked_stay(cli: Cli) -> None:
    cli.write(a="fault()\n", b="other()\n")
    cli(*BASELINE, "--write-baseline")
    assert cli("a.py", *BASELINE, "--update-baseline") == 0
    assert len(entries(cli)) == 2
    (cli.folder / "b.py").unlink()
    assert cli("a.py", *BASELINE, "--update-baseline") == 0
    assert entries(cli) == [("a.py", "AG901")]


def test_paths_count_from_the_baseline_not_from_here(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(a="fault()\n")
    cli(*BASELINE, "--write-baseline")
    (cli.folder / "sub").mkdir()
    monkeypatch.chdir(cli.folder / "sub")
    assert cli("../a.py", "--baseline", "../known.json") == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no baseline known.json; --write-baseline makes one"),
        ("{", "baseline known.json cannot be read"),
        ("[]", "is not one of version 1"),
        ('{"version": 1, "findings": [{}]}', "has an entry that lacks a field"),
    ],
)
def test_a_file_that_is_no_baseline_is_2(cli: Cli, content: str | None, message: str) -> None:
    cli.write(a="fault()\n")
    if content is not None:
        (cli.folder / "known.json").write_text(content)
    assert cli(*BASELINE) == 2
    assert message in cli.err


def test_options_that_need_a_baseline_say_so(cli: Cli) -> None:
    assert cli("--write-baseline") == 2
    assert "need --baseline FILE" in cli.err


ADDED = """import torch
fault()  # noqa: AG901
fault(); other()  # noqa: AG901, AG902
if x: other()  # each  # noqa: AG902
other(
    '''a
    b''')  # noqa: E501, AG902
"""


def test_comments_are_added_once_and_hide_everything(cli: Cli) -> None:
    path = cli.folder / "a.py"
    path.write_text(
        ADDED.replace("  # noqa: AG901, AG902", "")
        .replace("  # noqa: AG901", "")
        .replace("  # noqa: AG902", "")
        .replace(", AG902", "")
    )
    assert cli("--add-noqa") == 0
    assert cli.out == "suppressed 5; found nothing in 1 file\n"
    assert path.read_text() == ADDED
    assert cli("--add-noqa") == 0
    assert path.read_text() == ADDED


def test_a_line_without_place_for_a_comment_is_left_alone(cli: Cli) -> None:
    cli.write(a="fault(); \\\nx = 1\n")
    before = (cli.folder / "a.py").read_text()
    assert cli("--add-noqa") == 2
    assert "leave no place for a comment" in cli.err
    assert (cli.folder / "a.py").read_text() == before


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("x = 1  # noqa: AG901", "x = 1"),
        ("x = 1  # noqa: AG901, E501", "x = 1  # noqa: E501"),
        ("x = 1  # noqa: E501,AG901", "x = 1  # noqa: E501"),
        ("x = 1  # autolint: ignore[AG901] since ever", "x = 1"),
        ("x = 1  # autolint: ignore[AG901, ag902-fault]", "x = 1"),
        ("x = 1  # noqa: AG901 # type: ignore", "x = 1  # type: ignore"),
        ("# autolint: ignore-file[AG901]\nx = 1", "x = 1"),
    ],
)
def test_unused_suppressions_are_removed(cli: Cli, line: str, fixed: str) -> None:
    cli.write(a=f"{line}\ny = 2\n")
    assert cli("--fix") == 0
    assert (cli.folder / "a.py").read_text() == f"import torch\n{fixed}\ny = 2\n"
