"""The command line, run in a folder of its own."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from autolint.cli import main


class Cli:
    """Runs the command line in a folder of its own."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.out = ""
        self.err = ""

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text("import torch\n" + text, "utf-8")

    def feed(self, raw: bytes) -> None:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    def __call__(self, *args: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(args)
        self.out, self.err = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code
