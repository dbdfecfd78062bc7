"""A stand-in for the interpreter, and small rules: the engine and what is around it, tested alone.

The stand-in reads the calls of a file in order. `fault()` and `other()` emit an event. `enter("f",
"c")` enters function f in context c, where later events happen. `done()` ends a root, `bound()`
one that reached a bound. `stop()` raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
import pytest

from autolint import engine
from autolint.api import Because, Edit, Event, Finding, Fix, GradMode, Rule, Severity
from autolint.collect import Collector
from autolint.interpreter.events import Scope
from autolint.interpreter.index import FileIndex
from autolint.interpreter.project import Project
from autolint.interpreter.unit import Site, Unit
from autolint.registry import Registry

PAGE = """Call of a name that only tests use.

Bad: it is called.
Good: it is not.
Not reported: everything else.
"""


@dataclass(frozen=True, slots=True)
class Called(Event):
    """A call of one of the names."""

    triggers = frozenset({"fault", "other"})

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class FileAnalysis:
    """As the interpreter's."""

    roots: int
    not_followed: int


def scope(function: str = "module", context: str = "", calls: tuple[Site, ...] = ()) -> Scope:
    return Scope(
        name=function,
        qualname=function,
        function=function,
        context=context,
        calls=calls,
        framework=False,
        optimizer_code=False,
        clears=False,
    )


def called(site: Site, where: Scope, name: str, arguments: tuple[str, ...] = ()) -> Called:
    return Called(site, where, GradMode.ON, (), (), name, arguments)


def has_roots(index: FileIndex, project: Project, wanted: frozenset[type[Event]]) -> bool:
    """Every file has, if a rule asks, unless it says that it has none."""
    return bool(wanted) and "no_roots" not in index.module_level_names


def analyse(
    unit: Unit, index: FileIndex, project: Project, sink: Collector, screened: bool = True
) -> FileAnalysis:
    """Run the calls of a file as the module's docstring says."""
    where = scope()
    sink.scope_entered(where)
    roots, bounds = 1, 0
    for statement, call in _calls(unit.module):
        name = cst.ensure_type(call.func, cst.Name).value
        arguments = tuple(
            str(argument.value.evaluated_value)
            for argument in call.args
            if isinstance(argument.value, cst.SimpleString)
        )
        if name in Called.triggers:
            sink.emit(called(Site(unit, call, statement), where, name, arguments))
        elif name == "enter":
            function, context = arguments
            where = scope(function, context)
            sink.scope_entered(where)
        elif name in ("done", "bound"):
            sink.root_finished(name == "done")
            roots, bounds = roots + 1, bounds + (name == "bound")
        elif name == "stop":
            raise ZeroDivisionError("stopped")
    sink.root_finished(True)
    return FileAnalysis(roots, bounds)


def _calls(module: cst.Module) -> Iterator[tuple[cst.CSTNode, cst.Call]]:
    pending: list[cst.CSTNode] = list(module.body)
    while pending:
        node = pending.pop(0)
        if not isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            pending[:0] = node.children
            continue
        for small in node.body:
            match small:
                case cst.Expr(cst.Call(cst.Name()) as call):
                    yield node, call


def rule(
    code: str, name: str = "fault", severity: Severity = Severity.ERROR, **more: object
) -> Rule:
    """A rule that reports each call of a name at the severity that its first argument says."""
    made = Rule(f"pack.{code.lower()}_{name}", PAGE, code=code, severity=severity, **more)  # type: ignore[arg-type]

    @made.on(Called)
    def check(event: Called) -> Iterator[Finding]:
        if event.name != name:
            return
        words = event.arguments
        if "crash" in words:
            raise LookupError("check broke")
        yield Finding(
            event.site,
            f"{name} is called",
            because=(Because(event.site, "said here"),),
            fix=_fix(event, words),
            severity=Severity.INFO if "info" in words else None,
            fault=id(event.site.node) if "same" in words else None,
        )

    return made


def _fix(event: Called, words: tuple[str, ...]) -> Fix | None:
    statement = event.site.statement
    imports = tuple(word for word in words if word.startswith("import "))
    edits = {
        "replace": Edit("replace", event.site.node, "mended()"),
        "unsafe": Edit("replace", event.site.node, "mended()"),
        "break": Edit("replace", event.site.node, "mended("),
        "again": Edit("replace", event.site.node, "fault('again')"),
        "worse": Edit("replace", event.site.node, "fault(); fault()"),
        "foreign": Edit("replace", event.site.node, "\N{GREEK SMALL LETTER PI}()"),
        "before": Edit("insert_before", statement, "first()\nsecond()"),
        "after": Edit("insert_after", statement, "last()"),
        "append": Edit("append", event.site.node, ".mended()"),
        "wrap": Edit("wrap", statement, "with y:"),
        "delete": Edit("delete", statement),
    }
    chosen = tuple(edit for word, edit in edits.items() if word in words)
    if not chosen:
        return None
    return Fix("mend it", chosen, safe="unsafe" not in words, imports=imports)


def install(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> Registry:
    """Put the stand-in and these rules in the places of the real ones."""
    registry = Registry(rules or [rule("AG901")])
    monkeypatch.setattr(engine, "has_roots", has_roots)
    monkeypatch.setattr(engine, "analyse", analyse)
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    return registry
