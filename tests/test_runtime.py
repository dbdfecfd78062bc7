"""Torch runs every fixture, and each kind of mark fails when it is not true."""

import sys
import warnings
from pathlib import Path

import pytest

from autolint.testing import MarkError, read_fixture

from .places import MODEL, PROJECTS, RULES, TUTORIALS, named

torch = pytest.importorskip("torch")

from autolint.runtime.cases import main, run_file, run_fixture  # noqa: E402
from autolint.runtime.outcomes import MODULE, Outcome  # noqa: E402


def failures(outcomes: list[Outcome]) -> str:
    return "\n".join(str(outcome) for outcome in outcomes if outcome.failures)


@pytest.mark.parametrize("path", [*RULES, *MODEL, *TUTORIALS], ids=named)
def test_fixtures_hold_in_torch(path: Path) -> None:
    outcomes = run_file(path)
    assert len(outcomes) > 1, "a fixture without cases proves nothing"
    assert not failures(outcomes), failures(outcomes)


@pytest.mark.parametrize("root", PROJECTS, ids=named)
def test_projects_hold_in_torch(root: Path) -> None:
    """Most projects are programs without cases, often for frameworks that are not installed."""
    fixtures = [read_fixture(path) for path in sorted(root.rglob("*.py"))]
    runs = [run_fixture(fixture, root=root) for fixture in fixtures if fixture.cases]
    failed = "".join(failures(outcomes) for outcomes in runs)
    assert not failed, failed


# What a run of marks says.

TRUE = """\
import torch
from autolint.testing import reveal


def doubled(x):
    return reveal(x * 2)  # reveal: tensor grad non-leaf float rank=1


def bad_write(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()  # raises: RuntimeError "modified by an inplace operation"


def good_write(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = doubled(x)
    y.grad  # warns: UserWarning "is not a leaf Tensor is being accessed"
    y.sum().backward()
    reveal(x)  # reveal: tensor grad leaf maybe-leaf
    return x.grad, float("nan"), str(device)  # observe: ([2.0, 2.0], nan, "cpu")
""".replace("leaf maybe-leaf", "maybe-leaf any")


def run(source: str, path: str = "made_up.py") -> list[Outcome]:
    return run_fixture(read_fixture(path, source))


def test_true_marks_hold() -> None:
    outcomes = run(TRUE)
    assert [outcome.name for outcome in outcomes] == [MODULE, "bad_write", "good_write"]
    assert not failures(outcomes)


@pytest.mark.parametrize(
    ("true", "false", "line", "claim", "observation"),
    [
        ("[2.0, 2.0]", "[2.0, 3.0]", 22, "([2.0, 3.0], nan", "([2.0, 2.0], nan"),
        ("[2.0, 2.0]", "[2, 2]", 22, "([2, 2], nan", "([2.0, 2.0], nan"),
        ("nan, ", "inf, ", 22, "inf", "nan"),
        ("raises: RuntimeError", "raises: ValueError", 13, "ValueError", "RuntimeError on line 13"),
        ("modified by", "mended by", 13, "mended by", "modified by an inplace"),
        ("    y.add_(1)\n", "", 12, "raises: RuntimeError", "a return of None"),
        ("warns: UserWarning", "warns: FutureWarning", 19, "FutureWarning", "UserWarning on line"),
        ('"is not a leaf', '"is a leaf', 19, "is a leaf", "UserWarning on line 19"),
        ("y.grad  #", "y.data  #", 19, "warns: UserWarning", "no warning"),
        ("non-leaf float", "leaf float", 6, "reveal: leaf", "tensor grad non-leaf float rank=1"),
        ("non-leaf float", "non-leaf int", 6, "reveal: int", "tensor grad non-leaf float rank=1"),
        ("rank=1", "rank=2", 6, "reveal: rank=2", "tensor grad non-leaf float rank=1"),
        ("rank=1", "rank=1 inference", 6, "reveal: inference", "tensor grad non-leaf float"),
        ("tensor grad maybe-leaf any", "other", 21, "reveal: other", "tensor grad leaf float"),
        ("any", "any grad-is-none", 21, "reveal: grad-is-none", "tensor grad leaf float rank=1"),
        ("reveal(x)  #", "if not x.numel(): reveal(x)  #", 21, "reveal: tensor", "never reached"),
        ("y = doubled(x)", "y = doubled(x.detach())", 6, "reveal: grad non-leaf", "no-grad leaf"),
        ("y = doubled(x)", "raise KeyError('k')", 22, "observe: ([2.0", "KeyError on line 18"),
        ("import torch\n", "import torch, no_such\n", 1, "an import without", "ModuleNotFoundErr"),
    ],
)
def test_false_marks_fail(true: str, false: str, line: int, claim: str, observation: str) -> None:
    broken = TRUE.replace(true, false)
    assert broken != TRUE
    found = [failure for outcome in run(broken) for failure in outcome.failures]
    assert any(
        failure.line == line and claim in failure.claim and observation in failure.observation
        for failure in found
    ), found


def test_an_error_must_come_from_the_marked_statement() -> None:
    moved = TRUE.replace("    y.add_(1)\n", "    y.add_(1)\n    y.sum().backward()\n")
    (failure,) = (failure for outcome in run(moved) for failure in outcome.failures)
    assert (failure.line, "on line 13" in failure.observation) == (14, True)


def test_an_error_inside_torch_counts_for_the_statement_that_called_it() -> None:
    source = (
        "import torch\n\ndef bad_shape(device):\n    layer = torch.nn.Linear(2, 3)\n"
        '    layer(\n        torch.ones(1)\n    )  # raises: RuntimeError "shape"\n'
    )
    assert not failures(run(source))


def test_a_case_without_marks_must_end_without_error() -> None:
    (failure,) = (
        failure
        for outcome in run("def good_a(device):\n    pass\n    {}[0]\n")
        for failure in outcome.failures
    )
    assert failure.line == 3
    assert failure.claim == "good_a ends without error"
    assert failure.observation == "KeyError on line 3: 0"


def test_what_cannot_be_a_literal_is_said() -> None:
    (failure,) = (
        failure
        for outcome in run("def bad_a(device):\n    return device  # observe: 1\n")
        for failure in outcome.failures
    )
    assert "cannot be written as a literal" in failure.observation


def test_marks_of_another_torch_are_left_out() -> None:
    source = "def bad_a(device):\n    return 1  # observe: 1 [torch>=1.0]; observe: 2 [torch<1.0]\n"
    assert not failures(run(source))
    with pytest.raises(MarkError, match=r"p\.py:2: bad_a can end in one way only"):
        run(source.replace("torch<1.0", "torch>1.0"), "p.py")


def test_a_case_leaves_nothing_behind() -> None:
    source = """\
import torch, warnings


def bad_globals(device):
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    torch.autograd.set_detect_anomaly(True)
    warnings.simplefilter("error")
    return torch.rand(1, device=device) > 2  # observe: [False]


def good_globals(device):
    x = torch.ones(1, device=device, requires_grad=True)
    return (x * 2).requires_grad, str(x.dtype)  # observe: (True, "torch.float32")
"""
    before, path = warnings.filters[:], sys.path[:]
    assert not failures(run(source))
    assert (warnings.filters, sys.path) == (before, path)
    assert torch.is_grad_enabled()
    assert not torch.is_anomaly_enabled()
    assert not [name for name in sys.modules if name.startswith("_autolint_fixture")]


def test_cases_are_seeded() -> None:
    draw = "torch.rand(1, device=device).item()"
    source = f"import torch\n\ndef bad_a(device):\n    return {draw}  # observe: 0.0\n\n"
    both = source + source.replace("bad_", "good_")
    first, second = (o.failures[0].observation for o in run(both) if o.name != MODULE)
    assert first == second


def test_a_project_imports_its_own_files_only_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "made_up_value.py").write_text("VALUE = 3\n")
    train = tmp_path / "train.py"
    train.write_text(
        "from parts.made_up_value import VALUE\n\n"
        "def good_value(device):\n    return VALUE  # observe: 3\n"
    )
    assert not failures(run_file(train, root=tmp_path))
    assert "parts" not in sys.modules
    assert "parts.made_up_value" not in sys.modules
    assert str(tmp_path) not in sys.path


def test_the_command_prints_each_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true, false, malformed = (tmp_path / name for name in ("true.py", "false.py", "bad.py"))
    true.write_text(TRUE)
    false.write_text(TRUE.replace("[2.0, 2.0]", "[9.0, 9.0]"))
    malformed.write_text("f()  # expect: x\n")
    assert main([str(true)]) == 0
    assert main([str(malformed), str(false), str(true)]) == 1
    out = capsys.readouterr().out
    assert f"ok   {true.as_posix()}::good_write" in out
    assert f"FAIL {malformed.as_posix()}:1: in 'expect: x'" in out
    assert f"{false.as_posix()}:22: claimed observe: ([9.0, 9.0]" in out
