"""What torch says of the files that leave, or do not leave, a grad mode behind."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from .places import FIXTURES

FOLDER = FIXTURES / "projects" / "grad_mode_left_off"


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "stays_off"),
    [("entered", True), ("leaking", True), ("left", False), ("sibling", False)],
)
def test_the_mode_holds_for_what_runs_later(name: str, stays_off: bool) -> None:
    torch = pytest.importorskip("torch")
    path = FOLDER / f"{name}.py"
    assert ("# expect: AG109" in path.read_text(encoding="utf-8")) is stays_off
    module = loaded(path)
    model, x = torch.nn.Linear(1, 1), torch.ones(1, 1)
    try:
        assert not module.predict(model, x).requires_grad
        if stays_off:
            with pytest.raises(RuntimeError, match="does not require grad"):
                module.train(model, x)
        else:
            module.train(model, x)
            assert model.weight.grad is not None
    finally:
        torch.set_grad_enabled(True)
