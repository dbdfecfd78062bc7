"""Suppression comments: what they hide, where they count, and which are of no use."""

from __future__ import annotations

import tokenize
from collections.abc import Callable, Iterator

import pytest

from autolint.config import Config
from autolint.engine import Engine
from autolint.interpreter.project import Project
from autolint.selection import Selection
from tests import fakes


def found(
    monkeypatch: pytest.MonkeyPatch, text: str, config: Config | None = None
) -> list[tuple[int, str]]:
    registry = fakes.install(monkeypatch, fakes.rule("AG901"), fakes.rule("AG902", "other"))
    engine = Engine(registry, Project(lambda path: None))
    selection = Selection(registry, config or Config("/"), ())
    result = engine.check("/x.py", text.encode() + b"import torch\n", selection)
    assert not result.problems
    return [(each.line, each.code) for each in result.diagnostics]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NoQA : AG901",
        "# noqa: AG901",
        "# noqa:ag901",
        "# noqa: E501, AG901",
        "# noqa: E501 AG901 because of that",
        "# type: ignore  # noqa: AG901",
        "# autolint: ignore[AG901]",
        "# autolint: ignore[AG901] because of that",
        "# autolint:ignore[ag901-fault]",
        "# autolint: ignore",
        "# autolint: ignore[AG901]  # noqa: E501",
    ],
)
def test_forms_that_hide(monkeypatch: pytest.MonkeyPatch, comment: str) -> None:
    assert found(monkeypatch, f"fault()  {comment}\n") == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: AG90",
        "# noqa: AG9011",
        "# noqas",
        "# nosec",
        "# flake8: noqa: AG901x",
        "# autolint",
        "# autolint: ignored",
        "# autolint: ignore-lines[AG901]",
    ],
)
def test_forms_that_do_not(monkeypatch: pytest.MonkeyPatch, comment: str) -> None:
    assert (1, "AG901") in found(monkeypatch, f"fault()  {comment}\n")


def test_a_comment_counts_on_any_line_of_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "fault(\n  'a',  # noqa: AG901\n  'b',\n)\nfault()\n"
    assert found(monkeypatch, text) == [(5, "AG901")]
    # A finding may begin on a later line than its statement.
    assert found(monkeypatch, "(1,  # noqa: AG901\n) ; fault()\n") == []


def test_of_a_compound_statement_only_the_header_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "if (\n  x\n):  # noqa: AG901\n  # noqa: AG902\n  fault()\n"
    assert found(monkeypatch, text) == [(3, "AG001"), (4, "AG001"), (5, "AG901")]
    assert found(monkeypatch, "if x: fault()  # noqa: AG901\n") == []
    text = "def f():\n  '''d'''\n  fault()\n  # noqa: AG901\n"
    assert found(monkeypatch, text) == [(3, "AG901"), (4, "AG001")]


def test_text_that_looks_like_a_comment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "fault('# noqa: AG901', '''\n# autolint: ignore-file[AG901]\n''')\n"
    assert found(monkeypatch, text) == [(1, "AG901")]


def test_a_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "fault()\nother()\n# autolint: ignore-file[AG901] generated\n"
    assert found(monkeypatch, text) == [(2, "AG902")]
    assert found(monkeypatch, "# autolint: ignore-file\nfault()\nother()\n") == []


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("x = 1  # noqa: AG901\n", True),
        ("x = 1  # noqa: AG902, AG901, E501\n", True),
        ("fault()  # noqa: AG901, AG902\n", True),
        ("x = 1  # autolint: ignore[AG901]\n", True),
        ("x = 1  # autolint: ignore[no-such-rule]\n", True),
        ("x = 1  # autolint: ignore\n", True),
        ("other()  # autolint: ignore-file[AG901]  # noqa: AG902\n", True),
        ("x = 1  # noqa\n", False),
        ("x = 1  # noqa: E501, AG999, AG001\n", False),
        ("fault('info')  # noqa: AG901\n", False),
        ("x = 1  # noqa: AG901\nbound()\n", False),
    ],
)
def test_what_is_unused(monkeypatch: pytest.MonkeyPatch, text: str, unused: bool) -> None:
    assert ("AG001" in [code for _, code in found(monkeypatch, text)]) is unused


def test_unused_only_if_the_rule_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 1  # noqa: AG901\ny = 1  # autolint: ignore\n"
    assert found(monkeypatch, text) == [(1, "AG001"), (2, "AG001")]
    assert found(monkeypatch, text, Config("/", ignore=("AG901",))) == []
    assert found(monkeypatch, text, Config("/", select=("AG901",))) == []
    other_off = Config("/", ignore=("AG902",))
    assert found(monkeypatch, text, other_off) == [(1, "AG001")]


def test_comments_of_other_tools_are_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    generate_tokens = tokenize.generate_tokens

    def note(readline: Callable[[], str]) -> Iterator[tokenize.TokenInfo]:
        read.append("")
        return generate_tokens(readline)

    monkeypatch.setattr(tokenize, "generate_tokens", note)
    assert found(monkeypatch, "x = 1  # noqa: E501\ny = 1  # noqa\nAG901 = 1\n") == []
    assert read == []
    assert found(monkeypatch, "x = 1  # noqa: E501,ag901\n") == [(1, "AG001")]
    assert found(monkeypatch, "fault()  # noqa\n") == []
    assert len(read) == 2


def test_a_displaced_finding_is_something_to_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fakes.install(
        monkeypatch, fakes.rule("AG901"), fakes.rule("AG903", more_specific_than=("AG901",))
    )
    engine = Engine(registry, Project(lambda path: None))
    text = b"import torch\nfault('same')  # noqa: AG901\n"
    result = engine.check("/x.py", text, Selection(registry, Config("/"), ()))
    assert [each.code for each in result.diagnostics] == ["AG903"]


def test_a_file_without_torch_may_have_useless_comments_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = fakes.install(monkeypatch)
    engine = Engine(registry, Project(lambda path: None))
    selection = Selection(registry, Config("/"), ())
    result = engine.check("/x.py", b"x = 1  # noqa: AG901\n", selection)
    [unused] = result.diagnostics
    assert unused.message == "suppression of AG901 hides nothing"
    assert unused.excerpt[unused.column - 1 : unused.end_column - 1] == "# noqa: AG901"
