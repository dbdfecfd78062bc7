"""Every format on one tree: several files, names beyond ASCII, a notebook, a syntax error, a
suppressed line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

import autolint
from autolint.cli import FORMATS
from tests.terminal import Cli

DATA = Path(__file__).parent / "data"
SCHEMA = Path(autolint.__file__).parent / "report" / "findings-v1.schema.json"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Versuch\n"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": [],
            "source": ["%matplotlib inline\n", "import torch"],
        },
        {
            "cell_type": "code",
            "execution_count": 2,
            "metadata": {},
            "outputs": [],
            "source": ["x = 1\n", "fault('replace')\n"],
        },
    ],
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def tree(cli: Cli) -> Cli:
    (cli.folder / ".git").mkdir()
    cli.write(
        **{
            "a": "fault('replace')\nother()  # noqa: AG902\n",
            "模型, %1": "x = '名前'; other()\nfault(\n    'x')\n",
            "broken": "def f(:\n",
        }
    )
    (cli.folder / "b.ipynb").write_text(json.dumps(NOTEBOOK), "utf-8")
    return cli


FOUND = [
    ("a.py", 2, "AG901"),
    ("b.ipynb", 2, "AG901"),
    ("broken.py", 2, "AG000"),
    ("模型, %1.py", 2, "AG902"),
    ("模型, %1.py", 3, "AG901"),
]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_every_finding(tree: Cli, form: str) -> None:
    assert tree("--format", form) == 1
    for code in ("AG901", "AG902", "AG000"):
        assert code in tree.out
    first = tree.out
    assert tree("--format", form) == 1
    assert tree.out == first


def test_json_keeps_to_its_schema(tree: Cli) -> None:
    assert tree("--format", "json") == 1
    document = json.loads(tree.out)
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert [(f["path"], f["line"], f["code"]) for f in document["findings"]] == FOUND
    assert document["summary"]["by_code"] == {"AG901": 3, "AG000": 1, "AG902": 1}  # one suppressed
    notebook = document["findings"][1]
    assert notebook["cell"] == 2
    assert {edit["cell"] for edit in notebook["fix"]["edits"]} == {2}
    assert {place["cell"] for place in notebook["because"]} == {2}
    broken = {**document, "findings": [{**notebook, "cell": 0}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


def test_sarif_keeps_to_the_official_schema(tree: Cli) -> None:
    assert tree("--format", "sarif") == 1
    log = json.loads(tree.out)
    schema = json.loads((DATA / "sarif-schema-2.1.0.json").read_text("utf-8"))
    jsonschema.validate(log, schema)
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    found = [
        (
            unquote(place["artifactLocation"]["uri"]),
            place["region"]["startLine"],
            result["ruleId"],
        )
        for result in run["results"]
        for place in (result["locations"][0]["physicalLocation"],)
    ]
    assert found == FOUND
    assert run["columnKind"] == "unicodeCodePoints"
    first = run["results"][0]
    [related] = first["relatedLocations"]
    assert related["message"] == {"text": "said here"}
    [fix] = first["fixes"]
    [change] = fix["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "mended()"}
    [helped] = [rule for rule in rules if rule["id"] == "AG901"]
    assert helped["help"]["text"].startswith("Call of a name that only tests use.")


def test_addresses_are_those_of_the_project(tree: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from autolint.report import sarif

    monkeypatch.setattr(sarif, "homepage", lambda: None)
    tree("--format", "sarif")
    assert "helpUri" not in tree.out
    monkeypatch.setattr(sarif, "homepage", lambda: "https://example.org/autolint/")
    tree("--format", "sarif")
    driver = json.loads(tree.out)["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org/autolint/"
    assert "https://example.org/autolint#AG901" in {r["helpUri"] for r in driver["rules"]}


def marks(cli: Cli) -> list[tuple[str, str]]:
    assert cli("--format", "sarif") == 1
    return [
        (result["ruleId"], result["partialFingerprints"]["autolint/v1"])
        for result in json.loads(cli.out)["runs"][0]["results"]
    ]


def test_fingerprints_survive_inserted_lines(cli: Cli) -> None:
    cli.write(a="fault()\nfault()\nother()\n")
    before = marks(cli)
    assert len(set(before)) == 3
    cli.write(a="# one\n\nfault()\nif x:\n    fault()\n# two\nother()\n")
    assert marks(cli) == before
    cli.write(a="fault()\nother()\n")
    assert marks(cli) == [before[0], before[2]]


def test_gitlab_has_what_its_documentation_requires(tree: Cli) -> None:
    assert tree("--format", "gitlab") == 1
    issues = json.loads(tree.out)
    for issue in issues:
        assert isinstance(issue["description"], str)
        assert isinstance(issue["check_name"], str)
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert isinstance(issue["location"]["lines"]["begin"], int)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == len(FOUND)


def test_junit_counts_what_it_holds(tree: Cli) -> None:
    assert tree("--format", "junit") == 1
    root = ElementTree.fromstring(tree.out.encode())
    assert root.tag == "testsuites"
    cases: list[Any] = []
    for suite in root:
        assert suite.tag == "testsuite"
        held = suite.findall("testcase")
        assert suite.get("tests") == str(len(held))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == "0"
        cases += held
    assert [(case.get("file"), int(case.get("line") or 0)) for case in cases] == [
        (path, line) for path, line, _ in FOUND
    ]
    assert all(case.find("failure").get("message") for case in cases)


def test_junit_of_nothing_is_a_case_that_passed(cli: Cli) -> None:
    cli.write(a="pass\n")
    assert cli("--format", "junit") == 0
    [case] = ElementTree.fromstring(cli.out.encode()).iter("testcase")
    assert list(case) == []


def test_github_escapes_and_places(tree: Cli) -> None:
    assert tree("--format", "github") == 1
    lines = tree.out.splitlines()
    assert lines[0].startswith("::error title=AG901 ag901-fault,file=a.py,line=2,endLine=2,col=1,")
    assert lines[1].startswith("::error title=AG901 ag901-fault,file=b.ipynb::cell 2: line 2")
    assert "file=模型%2C %251.py,line=2," in lines[3]
    assert "line=3,endLine=4::" in lines[4]  # several lines: no columns
    assert lines[5] == "found 4 errors, 1 warning in 4 files (2 fixable)"


def test_github_counts_what_the_service_leaves_out(cli: Cli) -> None:
    cli.write(a="fault()\n" * 14, b="other()\n" * 3)
    assert cli("--format", "github") == 1
    commands = [line for line in cli.out.splitlines() if line.startswith("::")]
    assert len([line for line in commands if line.startswith("::error")]) == 14
    assert re.match("::notice title=autolint::found 14 errors.*; 4 annotations not", commands[-1])


def test_the_report_goes_to_a_file_and_text_to_the_terminal(tree: Cli) -> None:
    assert tree("--format", "json", "--output", "report.json") == 1
    assert len(json.loads((tree.folder / "report.json").read_text("utf-8"))["findings"]) == 5
    assert "a.py:2:1: error AG901 ag901-fault" in tree.out


def test_an_output_that_cannot_be_written_is_2(tree: Cli) -> None:
    assert tree("--output", "no/such/folder.txt") == 2
    assert tree.err.splitlines()[-1].startswith("error: --output no/such/folder.txt: ")
