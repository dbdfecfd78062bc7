"""A language server: findings while one types, their fixes, suppressions and pages.

It speaks the Language Server Protocol over standard input and output (pygls). Fixes are offered for
the very text that was checked; what changed since gets none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

import autolint
from autolint import noqa
from autolint.config import ConfigError, Configs, Overrides
from autolint.deep_stack import on_deep_stack
from autolint.diagnostic import Diagnostic, TextEdit
from autolint.engine import Engine
from autolint.files import File, PathError, discover
from autolint.interpreter.project import Project
from autolint.registry import Registry
from autolint.selection import Selection, check_selector
from autolint.selections import Selections
from autolint.severity import Severity
from autolint.source import Source, Unparsable, normalise, parse, read_text

PAUSE = 0.1
"""Seconds without a change after which a changed text is checked."""

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one version of a text."""

    version: int | None
    source: Source
    findings: tuple[Diagnostic, ...]


class Checker:
    """Checks texts, whether they are on disk or not, and keeps what was found last."""

    def __init__(self) -> None:
        """Raises RegistryError."""
        self._registry = Registry.load()
        self._open: dict[str, str] = {}
        self.checked: dict[str, Checked] = {}
        self.forget()

    def forget(self) -> None:
        """Read configuration and other files again: something was saved."""
        self._selections = Selections(self._registry)
        self._configs = Configs(
            Overrides(), lambda selector: check_selector(self._registry, selector)
        )
        self._engine = Engine(self._registry, Project(self._text))

    def close(self, path: str) -> None:
        """A file is as it is on disk again."""
        self._open.pop(path, None)
        self.checked.pop(path, None)

    def check(self, path: str, text: str, version: int | None) -> Checked:
        """Check a text. Raises ConfigError."""
        self._open[path] = text
        source = Source(path, "utf-8", text, normalise(text))
        selection = self._selection(path)
        findings: list[Diagnostic] = []
        if selection is not None:
            result = on_deep_stack(lambda: self._engine.check_source(source, selection))
            findings = [d for d in result.diagnostics if selection.shows(d.code, d.severity)]
        found = self.checked[path] = Checked(version, source, tuple(findings))
        return found

    def page(self, code: str) -> str:
        """A rule's page as Markdown."""
        entry = self._registry.find(code)
        return "" if entry is None else f"**{entry.code} {entry.name}**\n\n{entry.page.strip()}"

    def _selection(self, path: str) -> Selection | None:
        """The rules that run on a file; None if it is excluded."""
        config = self._configs.of_folder(os.path.dirname(path))
        if os.path.isfile(path):
            excluding = Overrides(force_exclude=True)
            configs = Configs(excluding, lambda selector: None)
            try:
                if not discover([path], configs, excluding).files:
                    return None
            except PathError:
                pass  # it went away since: its text is here all the same
        return self._selections.of(File(path, config))

    def _text(self, path: str) -> str | None:
        text = self._open.get(path)
        return read_text(path) if text is None else normalise(text)


def make() -> LanguageServer:
    """The server, ready to be started. Raises RegistryError."""
    server = LanguageServer("autolint", autolint.__version__)
    checker = Checker()

    def publish(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        path = _path(uri)
        try:
            found = checker.check(path, document.source, document.version)
        except ConfigError as error:
            message = types.ShowMessageParams(types.MessageType.Error, f"autolint: {error}")
            server.window_show_message(message)
            return
        lines = document.lines
        diagnostics = [_diagnostic(server, lines, each) for each in found.findings]
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, document.version)
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        await asyncio.sleep(PAUSE)
        # While one goes on typing, only the last version is worth a check.
        if server.workspace.get_text_document(uri).version == version:
            publish(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        checker.forget()
        for uri in list(server.workspace.text_documents):
            publish(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        checker.close(_path(params.text_document.uri))
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(params.text_document.uri, [])
        )

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        document = server.workspace.get_text_document(uri)
        found = checker.checked.get(_path(uri))
        if found is None or found.version != document.version:
            return []
        return [
            _action(server, uri, document.lines, title, each, edits, preferred)
            for each in found.findings
            if _meet(_range(server, document.lines, each), params.range)
            for title, edits, preferred in _changes(found.source, each)
        ]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        lines = server.workspace.get_text_document(uri).lines
        found = checker.checked.get(_path(uri))
        at = types.Range(params.position, params.position)
        pages = [
            checker.page(each.code)
            for each in (() if found is None else found.findings)
            if _meet(_range(server, lines, each), at)
        ]
        if not pages:
            return None
        text = "\n\n---\n\n".join(dict.fromkeys(pages))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    return server


def _path(uri: str) -> str:
    """The path of a document; of one that was never saved, its name in the working folder."""
    path = to_fs_path(uri)
    return os.path.abspath(path if path is not None else unquote(uri.rpartition(":")[2]))


def _changes(source: Source, found: Diagnostic) -> Iterator[tuple[str, list[TextEdit], bool]]:
    """What can be done about a finding: title, edits, and whether it is the right thing to do."""
    if found.fix is not None:
        note = "" if found.fix.safe else " (changes more than the fault)"
        yield f"autolint: {found.fix.title}{note}", list(found.fix.edits), found.fix.safe
    try:
        edits = list(noqa.comments(source, parse(source.text), [found]))
    except Unparsable:
        return
    yield f"autolint: suppress {found.code} here", edits, False


def _action(
    server: LanguageServer,
    uri: str,
    lines: Sequence[str],
    title: str,
    found: Diagnostic,
    edits: Iterable[TextEdit],
    preferred: bool,
) -> types.CodeAction:
    changes = [
        types.TextEdit(
            _client_range(server, lines, edit.line, edit.column, edit.end_line, edit.end_column),
            edit.text,
        )
        for edit in edits
    ]
    return types.CodeAction(
        title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(server, lines, found)],
        is_preferred=preferred,
        edit=types.WorkspaceEdit(changes={uri: changes}),
    )


def _diagnostic(
    server: LanguageServer, lines: Sequence[str], found: Diagnostic
) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(
                from_fs_path(place.path) or place.path,
                _client_range(
                    server,
                    lines if place.path == found.path else (),
                    place.line,
                    place.column,
                    place.line,
                    place.column,
                ),
            ),
            place.message,
        )
        for place in found.because
    ]
    return types.Diagnostic(
        _range(server, lines, found),
        found.message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="autolint",
        related_information=related,
    )


def _range(server: LanguageServer, lines: Sequence[str], found: Diagnostic) -> types.Range:
    return _client_range(server, lines, found.line, found.column, found.end_line, found.end_column)


def _client_range(
    server: LanguageServer,
    lines: Sequence[str],
    line: int,
    column: int,
    end_line: int,
    end_column: int,
) -> types.Range:
    """Our places, from 1 and in code points, in the units that the client counts in."""
    codec = server.workspace.position_codec

    def place(line: int, column: int) -> types.Position:
        position = types.Position(line - 1, column - 1)
        if line > len(lines):
            return position  # behind the last line, or in a file that is not open
        return codec.position_to_client_units(lines, position)

    return types.Range(place(line, column), place(end_line, end_column))


def _meet(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges have a place in common."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
