"""One source file in, its diagnostics out. Knows no rule by name; writes and prints nothing."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from autolint import notebook
from autolint.catalogue import UNPARSABLE, UNUSED_SUPPRESSION, Entry
from autolint.collect import Collector, most_specific
from autolint.concrete import displayed, parse_concrete
from autolint.diagnose import Diagnoser
from autolint.diagnostic import Diagnostic, Problem, Repair
from autolint.interpreter.indexing import index_file
from autolint.interpreter.machine import MAX_SECONDS, OutOfTime
from autolint.interpreter.project import Project
from autolint.interpreter.roots import analyse, has_roots
from autolint.interpreter.unit import Unit
from autolint.registry import Registry
from autolint.selection import Selection
from autolint.source import (
    Source,
    Unparsable,
    decode,
    mentions_torch,
    parse,
    raised_recursion_limit,
)
from autolint.suppress import Suppression, Suppressions, may_be_unused, without


@dataclass(slots=True)
class FileResult:
    """What was found in one file, hidden severities included.

    Of `functions` that were run from their beginning, `not_followed` reached a bound. `source` is
    None if the bytes are no text.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    functions: int = 0
    not_followed: int = 0
    source: Source | None = None


class Engine:
    """Lints the files of one project, one at a time."""

    def __init__(self, registry: Registry, project: Project, screened: bool = True) -> None:
        """Not `screened`, every function runs, also where no rule can find anything."""
        self._registry = registry
        self._project = project
        self._screened = screened

    def check(self, path: str, raw: bytes, selection: Selection) -> FileResult:
        """Lint the bytes of a file; `path` is absolute. Raises nothing for whatever is in them."""
        about_torch = not self._screened or mentions_torch(raw)
        try:
            source = notebook.read(path, raw) if notebook.is_notebook(path) else decode(path, raw)
        except Unparsable as error:
            return FileResult(list(_unparsable(path, "", error, selection)))
        return self.check_source(source, selection, about_torch)

    def check_source(
        self, source: Source, selection: Selection, about_torch: bool = True
    ) -> FileResult:
        """Lint decoded text. A file that is not about torch is parsed and that is all."""
        result = FileResult(source=source)
        try:
            tree = parse(source.text)
            if about_torch:
                with raised_recursion_limit():
                    hidden = self._analyse(source, tree, selection, result)
            else:
                hidden = []
        except Unparsable as error:
            result.diagnostics = list(_unparsable(source.path, source.text, error, selection))
            return result
        self._suppress(source, tree, selection, result, hidden)
        result.diagnostics.sort(key=lambda each: each.order)
        return result

    def _analyse(
        self, source: Source, tree: ast.Module, selection: Selection, result: FileResult
    ) -> list[Diagnostic]:
        """Run the interpreter if the file has a root; returns what a more specific code displaced.

        Raises Unparsable if LibCST cannot read what `ast` could.
        """
        rules = [entry.rule for entry in selection.entries.values() if entry.rule is not None]
        wanted = frozenset(event for rule in rules for event in rule.checks)
        index = index_file(source.path, tree)
        self._project.add(index, tree)
        if self._screened and not has_roots(index, self._project, wanted):
            return []
        unit = _unit(source, tree)
        collector = Collector(rules, unit)
        try:
            analysis = analyse(unit, index, self._project, collector, self._screened)
            result.functions, result.not_followed = analysis.roots, analysis.not_followed
        except OutOfTime:
            # What was found until then would depend on the machine.
            message = f"is not checked: that takes more than {MAX_SECONDS} s of processor time"
            result.problems.append(Problem(source.path, message))
            return []
        except Exception as error:
            result.problems.append(_interpreter_crash(source.path, collector, error))
        stand, displaced = most_specific(collector.reports())
        diagnoser = Diagnoser(source, tree, unit, [*stand, *displaced], collector.crashes)
        result.diagnostics.extend(diagnoser.diagnostic(report) for report in stand)
        result.problems.extend(diagnoser.problem(crash) for crash in collector.crashes)
        return [diagnoser.diagnostic(report) for report in displaced]

    def _suppress(
        self,
        source: Source,
        tree: ast.Module,
        selection: Selection,
        result: FileResult,
        displaced: list[Diagnostic],
    ) -> None:
        """Take out what comments suppress; report the comments that suppress nothing."""
        codes = (entry.code for entry in self._registry)
        if not (result.diagnostics or may_be_unused(source.text, codes)):
            return
        suppressions = Suppressions(source.text, tree)
        if not suppressions:
            return
        for each in displaced:
            suppressions.hides(each.line, each.code, each.name)
        result.diagnostics = [
            each
            for each in result.diagnostics
            if not suppressions.hides(each.line, each.code, each.name)
        ]
        unused = self._unused(source, suppressions, selection, result)
        result.diagnostics.extend(
            each
            for each in unused
            # A comment that hides everything would hide that it hides nothing.
            if not suppressions.hides(each.line, each.code, each.name, named=True)
        )

    def _unused(
        self, source: Source, suppressions: Suppressions, selection: Selection, result: FileResult
    ) -> list[Diagnostic]:
        if UNUSED_SUPPRESSION.code not in selection.entries:
            return []
        everything_ran = not result.not_followed and not result.problems
        all_rules = {entry.code for entry in self._registry if entry.rule is not None}

        def ran(key: str | None) -> bool:
            if not everything_ran:
                return False
            if key is None:
                return all_rules <= selection.entries.keys()
            entry = self._registry.find(key)
            return entry is not None and entry.rule is not None and entry.code in selection.entries

        found = [
            _about_comment(
                source,
                each.suppression,
                f"suppression of {each.code or 'all rules'} hides nothing",
                each.code,
            )
            for each in suppressions.unused(ran)
        ]
        found.extend(
            _about_comment(source, comment, f"suppression names {key!r}, which is no rule", key)
            for comment in suppressions.ours()
            for key in comment.codes or ()
            if self._registry.find(key) is None
        )
        return found


def _unit(source: Source, tree: ast.Module) -> Unit:
    """A whole file for the interpreter. Raises Unparsable."""
    module = parse_concrete(source.text, tree)
    if not isinstance(source, notebook.Notebook):
        return Unit(source.path, module)
    shown = frozenset(id(statement) for statement in displayed(module))
    return Unit(source.path, module, displayed=shown)


def _unparsable(
    path: str, text: str, error: Unparsable, selection: Selection
) -> Iterator[Diagnostic]:
    if UNPARSABLE.code in selection.entries:
        lines = text.split("\n")
        excerpt = lines[error.line - 1] if error.line <= len(lines) else ""
        columns = (error.column, error.column + 1)
        yield _own(UNPARSABLE, path, error.line, columns, f"file {error.message}", excerpt)


def _about_comment(
    source: Source, comment: Suppression, message: str, key: str | None
) -> Diagnostic:
    columns = (comment.column + 1, comment.end_column + 1)
    excerpt = source.text.split("\n")[comment.line - 1]
    found = _own(UNUSED_SUPPRESSION, source.path, comment.line, columns, message, excerpt)
    what = "the comment" if key is None or comment.codes == (key,) else f"`{key}`"
    return replace(found, fix=Repair(f"remove {what}", True, (without(comment, key, excerpt),)))


def _own(
    entry: Entry, path: str, line: int, columns: tuple[int, int], message: str, excerpt: str
) -> Diagnostic:
    """A diagnostic of the engine itself."""
    return Diagnostic(
        path=path,
        line=line,
        column=columns[0],
        end_line=line,
        end_column=columns[1],
        code=entry.code,
        name=entry.name,
        severity=entry.severity,
        message=message,
        excerpt=excerpt,
    )


def _interpreter_crash(path: str, collector: Collector, error: Exception) -> Problem:
    where = f" in {collector.function}" if collector.function is not None else ""
    message = f"internal error in the interpreter{where}: {type(error).__name__}: {error}"
    return Problem(path, message, None, traceback.format_exc())
