"""The layout of reports, apart from the runs that fill them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autolint.api import Severity
from autolint.diagnostic import Diagnostic, Outcome, Place, Problem, Repair
from autolint.registry import Registry
from autolint.report import Paint, relative, render, repository_root
from autolint.report.text import WIDTH

FOUND = Diagnostic(
    path="/w/a.py",
    line=3,
    column=5,
    end_line=3,
    end_column=9,
    code="AG901",
    name="bad-habit",
    severity=Severity.WARNING,
    message="something is wrong",
    excerpt="    x[0] = 1",
)

PLAIN = Paint(False)
REGISTRY = Registry()


def lines(found: Diagnostic, format_name: str = "text") -> list[str]:
    outcome = Outcome(findings=[found], files=1)
    return list(render(format_name, outcome, "/w", PLAIN, False, REGISTRY))


@pytest.mark.parametrize(
    ("excerpt", "column", "end_column", "marked"),
    [
        ("    x[0] = 1", 5, 9, "    ^^^^"),
        ("\tif\tx:", 5, 6, "\t  \t^"),
        ("名 = x", 5, 6, "     ^"),
        ("x = 名前", 5, 7, "    ^^^^"),
        ("e\u0301 = x", 6, 7, "    ^"),
        ("\x0cx = 1", 2, 3, " ^"),
        ("x =", 4, 5, "   ^"),
        ("x =", 9, 10, "   ^"),
        ("", 1, 2, "^"),
    ],
)
def test_the_caret_stands_below_the_finding(
    excerpt: str, column: int, end_column: int, marked: str
) -> None:
    found = replace(FOUND, excerpt=excerpt, column=column, end_column=end_column)
    shown, below = lines(found)[2:4]
    assert shown == f"3 | {excerpt}".replace("\x0c", " ").rstrip()
    assert below == f"  | {marked}"


def test_a_span_of_several_lines_is_marked_to_the_end_of_the_first() -> None:
    found = replace(FOUND, end_line=5, end_column=2)
    assert lines(found)[3] == "  |     ^^^^^^^^"


def test_of_a_long_line_the_part_around_the_finding_is_shown() -> None:
    excerpt = "a" * 500 + "BAD" + "c" * 500
    found = replace(FOUND, excerpt=excerpt, column=501, end_column=504)
    shown, below = lines(found)[2:4]
    assert len(shown) == len("3 | …") + WIDTH + len("…")
    start = below.index("^")
    assert shown[start : start + 3] == "BAD"
    assert below.count("^") == 3


def test_the_chain_names_other_files() -> None:
    because = (Place("/w/a.py", 1, 1, "made here"), Place("/w/lib/b.py", 7, 1, "saved here"))
    found = replace(FOUND, because=because)
    assert lines(found)[4:6] == ["  = line 1: made here", "  = lib/b.py:7: saved here"]


def test_a_line_of_last_figures() -> None:
    fix = Repair("mend", True, ())
    findings = [
        replace(FOUND, severity=Severity.INFO),
        replace(FOUND, severity=Severity.INFO, fix=fix),
        replace(FOUND, fix=replace(fix, safe=False)),
        replace(FOUND, severity=Severity.ERROR),
    ]
    outcome = Outcome(
        findings=findings,
        problems=[Problem("/w/b.py", "broken")],
        files=31,
        functions=214,
        not_followed=2,
        fixed=3,
    )
    [*_, last] = render(
        "concise", outcome, "/w", Paint(False), statistics=False, catalogue=Registry()
    )
    assert last == (
        "fixed 3; found 1 error, 1 warning, 2 info in 31 files"
        " (1 fixable, 1 with --unsafe-fixes); 2 of 214 functions not followed; 1 problem"
    )


def test_github_escapes_and_drops_columns_of_several_lines() -> None:
    found = replace(FOUND, message="50% of\nit: bad", end_line=4, severity=Severity.INFO)
    assert lines(found, "github")[0] == (
        "::notice title=AG901 bad-habit,file=a.py,line=3,endLine=4::50%25 of%0Ait: bad"
    )
    outcome = Outcome(problems=[Problem("/w/b.py", "broken")], files=1)
    [command, _] = render(
        "github", outcome, "/w", Paint(False), statistics=False, catalogue=Registry()
    )
    assert command == "::error title=autolint,file=b.py::broken"


@pytest.mark.parametrize(
    ("path", "base", "shown"),
    [
        ("/w/a/b.py", "/w", "a/b.py"),
        ("/w/a/b.py", "/w/a", "b.py"),
        ("/wide/b.py", "/w", "/wide/b.py"),
        ("/w/b.py", "/", "w/b.py"),
    ],
)
def test_paths_are_relative_where_they_can_be(path: str, base: str, shown: str) -> None:
    assert relative(path, base) == shown


def test_without_a_repository_the_folder_is_the_root() -> None:
    assert repository_root("/nowhere/at/all") == "/nowhere/at/all"
