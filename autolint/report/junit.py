"""For test reports: ``--format junit``, one suite for each file that something was found in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree

from autolint.diagnostic import Diagnostic, Outcome, Problem
from autolint.paths import in_cell, relative
from autolint.report.figures import plural

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may not stand in XML 1.0, escaped or not."""


def render(outcome: Outcome, base: str) -> str:
    """The outcome as JUnit XML. A run without findings holds one case that passed."""
    suites = ElementTree.Element("testsuites", name="autolint")
    by_path = {
        path: list(group) for path, group in groupby(outcome.findings, key=lambda each: each.path)
    }
    for path, findings in by_path.items():
        suite = _suite(suites, relative(path, base), len(findings), failures=len(findings))
        for each in findings:
            _finding(suite, each, base)
    for problem in outcome.problems:
        _problem(suites, problem, base)
    if not len(suites):
        suite = _suite(suites, "autolint", 1)
        name = f"nothing found in {plural(outcome.files, 'file')}"
        ElementTree.SubElement(suite, "testcase", classname="autolint", name=name)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode")


def _suite(
    suites: ElementTree.Element, name: str, tests: int, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    return ElementTree.SubElement(
        suites,
        "testsuite",
        name=_clean(name),
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
    )


def _finding(suite: ElementTree.Element, each: Diagnostic, base: str) -> None:
    place = f"{in_cell(each.cell)}line {each.line}, column {each.column}"
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=f"{each.code} {each.name} ({place})",
        classname=suite.attrib["name"],
        file=suite.attrib["name"],
        line=str(each.line),
    )
    failure = ElementTree.SubElement(
        case, "failure", type=each.code, message=f"{each.severity}: {_clean(each.message)}"
    )
    failure.text = _clean("\n".join(_story(each, base)))


def _story(each: Diagnostic, base: str) -> Iterator[str]:
    yield f"{relative(each.path, base)}:{each.line}:{each.column}: {each.message}"
    for place in each.because:
        yield f"{relative(place.path, base)}:{place.line}:{place.column}: {place.message}"


def _problem(suites: ElementTree.Element, problem: Problem, base: str) -> None:
    path = relative(problem.path, base)
    suite = _suite(suites, path, 1, errors=1)
    name = _clean(path)
    case = ElementTree.SubElement(suite, "testcase", name="autolint", classname=name, file=name)
    kind = problem.code or "problem"
    ElementTree.SubElement(case, "error", type=kind, message=_clean(problem.message))


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
