"""A pack of rules with fixtures on the disk, installed for the length of a test."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

RULE = '''"""A rule that is read, and never executed."""

import no_such_module

RULE = no_such_module.Rule(__name__, __doc__, code="{code}")
'''

TRUE = """\
import torch
from autolint.testing import reveal


def bad_write(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()  # raises: RuntimeError "modified by an inplace operation"


def good_write(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = reveal(x * 2)  # reveal: tensor grad non-leaf float rank=1
    y.grad  # warns: UserWarning "is not a leaf Tensor"
    y.sum().backward()
    return x.grad  # observe: [2.0, 2.0]
"""
"""A fixture with each kind of mark; all of them hold."""


class Pack:
    """Rules and fixtures under the entry points `mine`, in place of all others."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "minepack"
        for place in (self.folder, self.folder / "fixtures"):
            place.mkdir()
            (place / "__init__.py").write_text("")
        (self.folder / "fixtures" / "rules").mkdir()
        monkeypatch.syspath_prepend(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "minepack"]:
            monkeypatch.delitem(sys.modules, name)
        packages = {"autolint.rules": "minepack", "autolint.fixtures": "minepack.fixtures"}
        monkeypatch.setattr(
            importlib.metadata,
            "entry_points",
            lambda group: [importlib.metadata.EntryPoint("mine", packages[group], group)],
        )

    def add(self, code: str, fixture: str | None) -> Path:
        """A rule named after its code, and the text of its fixture; None: it has none."""
        name = f"{code.lower()}_habit"
        (self.folder / f"{name}.py").write_text(RULE.format(code=code))
        path = self.folder / "fixtures" / "rules" / f"{name}.py"
        if fixture is not None:
            path.write_text(fixture)
        return path


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    """An empty pack."""
    return Pack(tmp_path, monkeypatch)
