"""The tables of the rules, and the index of `rules/`, which is generated."""

from __future__ import annotations

import os

from autolint.registry import Registry
from autolint.rule_tables import HEAD, markdown, text
from tests.places import ROOT
from tests.terminal import Cli

INDEX = ROOT / "rules" / "README.md"
INTRODUCTION = """# The rules

One module for each rule, named for the mistake. Its docstring is the rule's page, which
`autolint explain CODE` shows; its cases, which torch executes, are in `fixtures/rules/` under the
same name. *default* says whether findings are shown without being asked for; single forms of a rule
may be milder than the rule.

This file is generated: `EXPECTTEST_ACCEPT=1 pytest tests/test_rule_tables.py` writes it.

"""


def test_the_index_lists_the_rules() -> None:
    entries = [entry for entry in Registry.load() if entry.rule is not None]
    expected = INTRODUCTION + "".join(f"{line}\n" for line in markdown(entries))
    if os.environ.get("EXPECTTEST_ACCEPT") == "1":
        INDEX.write_text(expected, "utf-8")
    assert INDEX.read_text("utf-8") == expected


def test_the_table_has_a_line_for_each_rule_with_aligned_columns() -> None:
    head, *lines = text(Registry.load())
    at = head.rindex(HEAD[-1])
    assert [line[at - 2 : at] for line in lines] == ["  "] * len(lines)
    [own] = [line for line in lines if line.startswith("AG401")]
    assert own.split()[:5] == ["AG401", "missing-zero-grad", "error", "on", "yes"]


def test_explain_without_a_code_is_the_table(cli: Cli) -> None:
    assert cli("explain") == 0
    assert cli.out.splitlines()[0].split() == list(HEAD)
    assert "AG901" in cli.out
