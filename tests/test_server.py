"""The language server, used by a real client over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra `server` is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LOOP = """import torch

model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(9, 4, 2):
    loss = model(x).sum()
    s = "😀"; loss.backward()
    opt.step()
"""
FIXED = LOOP.replace("    s = ", "    opt.zero_grad()\n    s = ")
LIMIT = 60.0
"""Seconds after which the server is taken to hang."""


class Editor:
    """A client with one document open."""

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client = client
        self.uri = path.as_uri()
        self.version = 1
        self._published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: types.PublishDiagnosticsParams) -> None:
            self._published.put_nowait(params)

    def open(self, text: str) -> None:
        item = types.TextDocumentItem(self.uri, "python", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, text: str) -> None:
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def told(self) -> list[types.Diagnostic]:
        """What is published next."""
        found = await asyncio.wait_for(self._published.get(), LIMIT)
        assert found.uri == self.uri
        return list(found.diagnostics)

    async def actions(self, at: types.Range) -> list[types.CodeAction]:
        document = types.TextDocumentIdentifier(self.uri)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(document, at, types.CodeActionContext([]))
        )
        return [each for each in found or () if isinstance(each, types.CodeAction)]


def use(path: Path, work: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        client = LanguageClient("tests", "1")
        editor = Editor(client, path)
        await client.start_io(sys.executable, "-m", "autolint", "server")
        capabilities = types.ClientCapabilities()
        await client.initialize_async(
            types.InitializeParams(capabilities, root_uri=path.parent.as_uri())
        )
        client.initialized(types.InitializedParams())
        try:
            await asyncio.wait_for(work(editor), LIMIT)
            await client.shutdown_async(None)
            client.exit(None)
        finally:
            await client.stop()  # type: ignore[no-untyped-call]

    asyncio.run(run())


def applied(text: str, action: types.CodeAction, uri: str) -> str:
    """A text after an action, as an editor that counts in UTF-16 applies it."""
    assert action.edit is not None
    assert action.edit.changes is not None
    lines = text.splitlines(keepends=True)

    def offset(place: types.Position) -> int:
        before = "".join(lines[: place.line]).encode("utf-16-le")
        line = lines[place.line] if place.line < len(lines) else ""
        return len(before) + len(line.encode("utf-16-le")[: 2 * place.character])

    raw = text.encode("utf-16-le")
    for edit in sorted(action.edit.changes[uri], key=lambda e: offset(e.range.start), reverse=True):
        assert isinstance(edit, types.TextEdit)
        begin, end = offset(edit.range.start), offset(edit.range.end)
        raw = raw[:begin] + edit.new_text.encode("utf-16-le") + raw[end:]
    return raw.decode("utf-16-le")


def test_open_change_fix_suppress_and_hover(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open(LOOP)
        [found] = await editor.told()
        assert found.code == "AG401"
        assert found.severity == types.DiagnosticSeverity.Error
        # The smiley takes two units of UTF-16.
        assert found.range == types.Range(types.Position(6, 14), types.Position(6, 29))
        assert found.related_information is not None
        assert found.related_information[0].location.range.start.line == 7

        fix, suppress = await editor.actions(found.range)
        assert fix.is_preferred
        assert applied(LOOP, fix, editor.uri) == FIXED
        silent = applied(LOOP, suppress, editor.uri)
        assert silent == LOOP.replace("backward()", "backward()  # noqa: AG401")
        first_line = types.Range(types.Position(0, 0), types.Position(0, 0))
        assert await editor.actions(first_line) == []

        document = types.TextDocumentIdentifier(editor.uri)
        hover = await editor.client.text_document_hover_async(
            types.HoverParams(document, found.range.start)
        )
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.value.startswith("**AG401 missing-zero-grad**")
        away = types.HoverParams(document, types.Position(0, 0))
        assert await editor.client.text_document_hover_async(away) is None

        editor.change(FIXED)
        assert await editor.told() == []
        editor.change("def f(:\n")
        [broken] = await editor.told()
        assert broken.code == "AG000"
        editor.change(LOOP)
        assert [each.code for each in await editor.told()] == ["AG401"]
        editor.change(silent)
        assert await editor.told() == []

    use(tmp_path / "a.py", work)


def test_saving_reads_the_configuration_and_the_other_files_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LOOP, "utf-8")

    async def work(editor: Editor) -> None:
        editor.open(LOOP)
        assert len(await editor.told()) == 1
        (tmp_path / "pyproject.toml").write_text('[tool.autolint]\nignore = ["AG401"]\n')
        saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(editor.uri))
        editor.client.text_document_did_save(saved)
        assert await editor.told() == []
        (tmp_path / "pyproject.toml").write_text('[tool.autolint]\nexclude = ["a.py"]\n')
        editor.client.text_document_did_save(saved)
        assert await editor.told() == []
        (tmp_path / "pyproject.toml").unlink()
        editor.client.text_document_did_save(saved)
        assert len(await editor.told()) == 1
        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(editor.uri))
        editor.client.text_document_did_close(closed)
        assert await editor.told() == []

    use(path, work)
