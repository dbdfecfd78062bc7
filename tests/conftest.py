"""What several test modules share."""

from pathlib import Path

import pytest

from autolint.api import Severity
from tests import fakes
from tests.terminal import Cli


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    fakes.install(
        monkeypatch,
        fakes.rule("AG901"),
        fakes.rule("AG902", "other", Severity.WARNING),
    )
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, capsys, monkeypatch)
