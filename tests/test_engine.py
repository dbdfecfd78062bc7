"""What the engine makes of events, findings and crashes, with a stand-in for the interpreter."""

from __future__ import annotations

import libcst as cst
import pytest

from autolint.api import Because, Finding, Rule, Severity
from autolint.collect import Collector, Report
from autolint.config import Config
from autolint.diagnose import Diagnoser
from autolint.engine import Engine, FileResult
from autolint.interpreter.project import Project
from autolint.interpreter.unit import Site, Unit
from autolint.selection import Selection
from autolint.source import Source, parse
from tests import fakes


def lint(
    monkeypatch: pytest.MonkeyPatch, text: str, *rules: Rule, config: Config | None = None
) -> FileResult:
    registry = fakes.install(monkeypatch, *rules)
    selection = Selection(registry, config or Config("/"), ())
    engine = Engine(registry, Project(lambda path: None))
    return engine.check("/x.py", b"import torch\n" + text.encode(), selection)


def places(result: FileResult) -> list[tuple[int, str]]:
    return [(each.line, each.code) for each in result.diagnostics]


def test_a_finding_has_span_excerpt_and_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    [found] = lint(monkeypatch, "if 1:\n    'é'; fault(\n  )\n").diagnostics
    assert (found.line, found.column, found.end_line, found.end_column) == (3, 10, 4, 4)
    assert found.excerpt == "    'é'; fault("
    assert [(each.line, each.message) for each in found.because] == [(3, "said here")]
    assert (found.code, found.name, found.severity) == ("AG901", "ag901-fault", Severity.ERROR)


def test_a_root_that_reached_a_bound_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = lint(monkeypatch, "fault()\ndone()\nfault()\nbound()\nfault()\n")
    assert places(result) == [(2, "AG901"), (6, "AG901")]
    assert (result.functions, result.not_followed) == (3, 1)


def test_of_one_fault_the_most_specific_code_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (fakes.rule("AG901"), fakes.rule("AG902", more_specific_than=("AG901",)))
    result = lint(monkeypatch, "fault('same')\nfault()\n", *rules)
    assert places(result) == [(2, "AG902"), (3, "AG901"), (3, "AG902")]


def test_what_is_missing_must_be_missing_in_every_context() -> None:
    module = cst.parse_module("f()\ng()\n")
    unit = Unit("/x.py", module)
    sites = [Site(unit, line.body[0], line) for line in module.body]  # type: ignore[index]
    collector = Collector([fakes.rule("AG901"), fakes.rule("AG902", missing=True)], unit)
    one, two = fakes.scope("f", "one"), fakes.scope("f", "two")
    for scope, reported in ((one, sites), (two, sites[:1])):
        collector.scope_entered(scope)
        for site in reported:
            collector.emit(fakes.called(site, scope, "fault"))
    collector.root_finished(True)
    found = {(each.rule.code, each.finding.site) for each in collector.reports()}
    assert found == {("AG901", sites[0]), ("AG901", sites[1]), ("AG902", sites[0])}


def test_a_context_that_reached_a_bound_may_supply_what_is_missing() -> None:
    module = cst.parse_module("f()\n")
    unit = Unit("/x.py", module)
    site = Site(unit, module.body[0], module.body[0])
    collector = Collector([fakes.rule("AG902", missing=True)], unit)
    for context, complete in (("one", True), ("two", False)):
        scope = fakes.scope("f", context)
        collector.scope_entered(scope)
        collector.emit(fakes.called(site, scope, "fault"))
        collector.root_finished(complete)
    assert collector.reports() == []


def test_a_site_in_another_file_stands_at_the_call_that_led_there() -> None:
    text = "import lib\nlib.run(x)\n"
    own = Unit("/x.py", cst.parse_module(text))
    # A method of another file, cut out: line 41 there, indented by four.
    other = Unit("/lib.py", cst.parse_module("def run(x):\n    x.data += 1\n"), 41, 4)
    body = cst.ensure_type(other.module.body[0], cst.FunctionDef).body.body[0]
    away = Site(other, cst.ensure_type(body, cst.SimpleStatementLine).body[0], body)
    call = cst.ensure_type(own.module.body[1], cst.SimpleStatementLine)
    calls = (Site(own, call.body[0], call), Site(other, body, body))
    rule = fakes.rule("AG901")
    collector = Collector([rule], own)
    scope = fakes.scope("run", calls=calls)
    collector.scope_entered(scope)
    collector.emit(fakes.called(away, scope, "fault"))
    collector.root_finished(True)
    [report] = collector.reports()
    source = Source("/x.py", "utf-8", text, text)
    found = Diagnoser(source, parse(text), own, [report], []).diagnostic(report)
    assert (found.path, found.line, found.column) == ("/x.py", 2, 1)
    assert [each[:3] for each in found.because] == [("/lib.py", 42, 9), ("/lib.py", 42, 9)]
    assert found.because[0].message == "here, in run"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("for a in b:\n    c\n", "for a in b"),
        ("while x  :\n    c\n", "while x"),
        ("with a as b, c:\n    d\n", "with a as b, c"),
        ("@d\ndef f(a):\n    d\n", "f"),
        ("class C(D):\n    d\n", "C"),
        ("try:\n    d\nfinally:\n    e\n", "try"),
    ],
)
def test_of_a_compound_statement_the_header_is_underlined(text: str, shown: str) -> None:
    unit = Unit("/x.py", cst.parse_module(text))
    site = Site(unit, unit.module.body[0], unit.module.body[0])
    report = Report(
        fakes.rule("AG901"), Finding(site, "m", (Because(site, "b"),)), fakes.scope(), site
    )
    source = Source("/x.py", "utf-8", text, text)
    found = Diagnoser(source, parse(text), unit, [report], []).diagnostic(report)
    assert found.line == found.end_line
    assert found.excerpt[found.column - 1 : found.end_column - 1] == shown


def test_a_crash_of_a_rule_is_named_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (fakes.rule("AG901"), fakes.rule("AG902", "other"))
    result = lint(monkeypatch, "fault('crash')\nother()\nfault()\n", *rules)
    assert places(result) == [(3, "AG902"), (4, "AG901")]
    [problem] = result.problems
    assert problem.code == "AG901"
    assert "AG901 (ag901-fault) at line 2: LookupError: check broke" in problem.message
    assert "Traceback" in problem.details


def test_a_crash_of_the_interpreter_names_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    result = lint(monkeypatch, "fault()\ndone()\nenter('train', 'x')\nfault()\nstop()\n")
    assert places(result) == [(2, "AG901")]
    [problem] = result.problems
    assert (
        problem.message == "internal error in the interpreter in train: ZeroDivisionError: stopped"
    )


def test_libcst_parses_only_files_that_have_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fakes.install(monkeypatch)
    engine = Engine(registry, Project(lambda path: None))
    selection = Selection(registry, Config("/"), ())
    parsed: list[str] = []
    parse_module = cst.parse_module

    def note(text: str) -> cst.Module:
        parsed.append(text)
        return parse_module(text)

    monkeypatch.setattr(cst, "parse_module", note)
    engine.check("/x.py", b"import torch\nfault()\n", selection)
    engine.check("/y.py", b"import torch\nno_roots = 1\n", selection)
    assert parsed == ["import torch\nfault()\n"]


def test_a_file_without_torch_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fakes.install(monkeypatch)
    engine = Engine(registry, Project(lambda path: None))
    selection = Selection(registry, Config("/"), ())
    assert places(engine.check("/x.py", b"fault()\n", selection)) == []
    assert places(engine.check("/x.py", b"fault()\nloss.backward()\n", selection)) == [(1, "AG901")]
    assert places(engine.check("/x.py", b"def f(:\n", selection)) == [(1, "AG000")]
