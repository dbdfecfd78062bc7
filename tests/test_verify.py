"""`autolint verify` believes torch: false marks, crashes and hangs are named and spoil nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autolint.cli import main
from autolint.registry import Registry
from autolint.runtime import packs, processes, report
from autolint.runtime import verify as verifying
from autolint.runtime.outcomes import Machine
from autolint.runtime.verify import Result, Verification, verify
from tests.packs import Pack

torch = pytest.importorskip("torch")

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


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    return Pack(tmp_path, monkeypatch)


def results(found: Verification) -> dict[str, Result]:
    return {result.claim.code: result for result in found.results}


def test_true_marks_hold(pack: Pack) -> None:
    pack.add("XY101", TRUE)
    found = verify(device="cpu")
    assert found.holds
    assert found.torch == torch.__version__
    lines = report.text(found).splitlines()
    assert lines[0] == f"torch {torch.__version__}"
    assert lines[2].startswith("cpu (")
    assert lines[3:] == [
        "  XY101 xy101-habit    2 cases  holds",
        "",
        "1 rule held on cpu (2 cases)",
    ]


BROKEN = [
    ("[2.0, 2.0]", "[2.0, 5.0]", 17, "good_write", "observe: [2.0, 5.0]", "[2.0, 2.0]"),
    ("RuntimeError", "ValueError", 9, "bad_write", "raises: ValueError", "RuntimeError on line 9"),
    ('"modified', '"not modified', 9, "bad_write", '"not modified', "has been modified by"),
    ("    y.add_(1)\n", "", 8, "bad_write", "raises: RuntimeError", "a return of None"),
    ("UserWarning", "FutureWarning", 15, "good_write", "warns: FutureWarning", "UserWarning on"),
    ('"is not a', '"is a', 15, "good_write", '"is a leaf', "UserWarning on line 15"),
    ("y.grad  #", "y.data  #", 15, "good_write", "warns: UserWarning", "no warning"),
    ("non-leaf float", "leaf int", 14, "good_write", "reveal: leaf int", "non-leaf float rank=1"),
]


def test_each_broken_mark_is_named_with_claim_and_observation(pack: Pack) -> None:
    pack.add("XY100", TRUE)
    for number, (true, false, *_) in enumerate(BROKEN):
        pack.add(f"XY20{number}", TRUE.replace(true, false))
    found = verify(device="cpu")
    assert not found.holds
    assert not results(found)["XY100"].failed
    for number, (_, _, line, case, claim, seen) in enumerate(BROKEN):
        [outcome] = results(found)[f"XY20{number}"].failed
        [failure] = outcome.failures
        assert (failure.line, outcome.name) == (line, case)
        assert claim in failure.claim
        assert seen in failure.observation
        for said in (f"{outcome.path}:{line}: {case}", failure.claim, failure.observation):
            assert said in report.text(found)
    written = json.loads(report.as_json(found))
    assert written["summary"] == {"holds": 1, "fails": len(BROKEN), "cases": 2 * len(BROKEN) + 2}
    [failure] = written["rules"][1]["failures"]
    assert failure["claimed"] == "observe: [2.0, 5.0]"
    assert failure["seen"] == "[2.0, 2.0]"
    assert (failure["line"], failure["case"]) == (17, "good_write")


CASE = "import os, signal, sys, time\n\n\ndef good_first(device):\n    pass\n\n\n"
STOPS = [
    ("def bad_one(device):\n    time.sleep(60)\n", 9, "bad_one", "a hang: no end after 2 s"),
    ("def bad_one(device):\n    while True:\n        pass\n", 9, "bad_one", "a hang"),
    (
        "def bad_one(device):\n    os.abort()\n",
        9,
        "bad_one",
        "a crash: the process died of SIGABRT",
    ),
    (
        "def bad_one(device):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
        8,
        "bad_one",
        "a crash: the process died of SIGKILL",
    ),
    ("def bad_one(device):\n    os._exit(3)\n", 8, "bad_one", "with exit code 3"),
    ("def bad_one(device):\n    sys.exit('enough')\n", 8, "bad_one", "SystemExit: enough"),
    ("time.sleep(60)\n", 8, "<module>", "a hang"),
]


def test_hangs_and_crashes_are_named_and_spoil_nothing_else(pack: Pack) -> None:
    pack.add("XY100", TRUE)
    paths = [pack.add(f"XY20{number}", CASE + stop) for number, (stop, *_) in enumerate(STOPS)]
    pack.add("XY300", TRUE)
    began = time.monotonic()
    found = verify(device="cpu", limit=2.0)
    assert time.monotonic() - began < 40
    by_code = results(found)
    assert not by_code["XY100"].failed
    assert not by_code["XY300"].failed
    for number, (_, line, case, seen) in enumerate(STOPS):
        [outcome] = by_code[f"XY20{number}"].failed
        [failure] = outcome.failures
        assert (outcome.path, outcome.name) == (paths[number].as_posix(), case)
        assert seen in failure.observation
        assert line <= failure.line <= line + 1, failure


def test_what_a_fixture_starts_ends_with_it(pack: Pack, tmp_path: Path) -> None:
    sleep = f"import subprocess\nwith open({str(tmp_path / 'pid')!r}, 'w') as file:\n    " + (
        f"file.write(str(subprocess.Popen([{sys.executable!r}, '-c', 'input()'], "
        "stdin=subprocess.PIPE).pid))\n"
    )
    pack.add("XY100", TRUE + sleep)
    assert verify(device="cpu").holds
    started = Path("/proc") / (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 10
    while started.exists() and "\nState:\tZ" not in (started / "status").read_text():
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.05)


def test_global_switches_do_not_reach_other_fixtures(pack: Pack) -> None:
    changed = (
        "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n"
    )
    pack.add("XY100", changed + "torch.Tensor.exp = None\n\n\ndef good_one(device):\n    pass\n")
    pack.add("XY101", TRUE)
    assert verify(device="cpu").holds


def test_cases_are_seeded(pack: Pack) -> None:
    torch.manual_seed(0)
    drawn = torch.rand(1).item()
    draw = "    return torch.rand(1, device='cpu').item()"
    pack.add("XY100", f"import torch\n\n\ndef bad_one(device):\n{draw}  # observe: {drawn!r}\n")
    assert verify(device="cpu").holds


@pytest.mark.parametrize(
    ("fixture", "seen"),
    [
        (None, "that the pack 'mine' has no fixture rules/xy101_habit.py"),
        ("import torch\n", "no function bad_... or good_..."),
        ("def bad_a(device):\n    f()  # raises: \n", "MarkError: "),
        ("def bad_a(device:\n", "SyntaxError: "),
        ("import no_such_module\n", "ModuleNotFoundError on line 1"),
    ],
)
def test_a_rule_without_cases_does_not_hold(pack: Pack, fixture: str | None, seen: str) -> None:
    pack.add("XY101", fixture)
    found = verify(device="cpu")
    assert not found.holds
    assert f"seen:    {seen}" in report.text(found)


def test_keys_select_and_unknown_ones_are_refused(pack: Pack) -> None:
    for code in ("XY101", "XY102", "XY201"):
        pack.add(code, None)
    found = packs.claims()
    assert [each.code for each in packs.select(found, [])] == ["XY101", "XY102", "XY201"]
    assert [each.code for each in packs.select(found, ["XY1"])] == ["XY101", "XY102"]
    assert [each.code for each in packs.select(found, ["xy201-habit"])] == ["XY201"]
    with pytest.raises(packs.UnknownRule, match="XY9"):
        packs.select(found, ["XY1", "XY9"])


def test_a_code_that_cannot_be_read_is_named(pack: Pack) -> None:
    pack.add("XY101", TRUE)
    (pack.folder / "second.py").write_text("CODE = 'XY102'\nRULE = Rule(code=CODE)\n")
    with pytest.raises(packs.PackError, match=r"'mine': .*second\.py has no RULE"):
        packs.claims()


def test_the_codes_that_are_read_are_those_of_the_rules() -> None:
    rules = {entry.code: entry.name for entry in Registry.load() if entry.rule is not None}
    assert {claim.code: claim.name for claim in packs.claims()} == rules
    assert all(claim.fixture is not None for claim in packs.claims())


@pytest.mark.skipif(torch.cuda.is_available(), reason="the README shows a machine without CUDA")
def test_the_readme_shows_a_report() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    [block] = re.findall(r"^```\n(torch 2.*?)\n```$", readme, re.MULTILINE | re.DOTALL)
    own = r"^torch .*|^cpu .*|(?<=there: ).*"  # What differs from machine to machine.
    shown, real = (
        re.sub(own, "", text, flags=re.MULTILINE)
        for text in (block, report.text(verify(["AG201"])))
    )
    assert shown == real


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(args)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def test_exit_codes(pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack.add("XY101", TRUE)
    pack.add("XY201", TRUE.replace("[2.0, 2.0]", "[2.0, 5.0]"))
    assert call(capsys, "verify", "XY1", "--device", "cpu")[0] == 0
    status, out, _ = call(capsys, "verify", "--device", "cpu", "--format", "json")
    assert status == 1
    assert [rule["result"] for rule in json.loads(out)["rules"]] == ["holds", "fails"]
    status, _, err = call(capsys, "verify", "XY102")
    assert (status, err) == (
        2,
        "error: no rule to verify is called 'XY102', did you mean 'XY101'?\n",
    )


def test_without_torch_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    expected = "error: torch is not installed; to install it: pip install torch\n"
    assert call(capsys, "verify") == (2, "", expected)


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_a_torch_that_cannot_be_imported_is_none(tmp_path: Path, error: str) -> None:
    (tmp_path / "torch.py").write_text(f"raise {error}('libtorch.so: not there')\n")
    command = [sys.executable, "-m", "autolint", "verify"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: torch cannot be used: {error}: libtorch.so: not there; "
        "to install it: pip install torch\n"
    )


def test_where_there_is_no_fork_new_interpreters_do_it(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_FORKS", False)
    monkeypatch.setattr(processes, "forkserver", None)
    pack.add("XY101", TRUE.replace("[2.0, 2.0]", "[2.0, 5.0]"))
    found = verify(device="cpu")
    [outcome] = results(found)["XY101"].failed
    assert outcome.failures[0].observation == "[2.0, 2.0]"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
def test_without_cuda_it_is_skipped_and_never_held(
    pack: Pack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack.add("XY101", TRUE)
    reason = verifying._look().no_cuda
    assert f"torch {torch.__version__}" in reason
    status, out, _ = call(capsys, "verify")
    assert status == 0
    assert f"\ncuda: skipped, nothing was verified there: {reason}\n" in out
    assert out.endswith("\n1 rule held on cpu (2 cases); cuda was skipped\n")
    devices = json.loads(call(capsys, "verify", "--format", "json")[1])["devices"]
    assert devices[1] == {"device": "cuda", "skipped": reason}
    status, out, err = call(capsys, "verify", "--device", "cuda")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: there is no cuda device: {reason}; ")
    # If it were taken to be there, its cases would really be run on it.
    machine = Machine(torch.__version__, {"cpu": "a", "cuda": "b"})
    monkeypatch.setattr(verifying, "_look", lambda: machine)
    status, out, _ = call(capsys, "verify")
    assert status == 1
    assert "\ncpu (a)\n  XY101 xy101-habit    2 cases  holds\n\ncuda (b)\n  XY101" in out
    assert "seen:    AssertionError on line 6: Torch not compiled with CUDA" in out


def test_a_progress_bar_on_a_terminal(
    pack: Pack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack.add("XY101", TRUE)
    pack.add("XY102", TRUE)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("autolint.progress.SLOW", -1)
    assert (
        "[###############...............] 1/2 rules" in call(capsys, "verify", "--device", "cpu")[2]
    )


def test_it_needs_no_libcst_and_this_process_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.modules['libcst'] = None\nfrom autolint.runtime.verify import verify\n"
        "if __name__ == '__main__':\n    found = verify(['AG201'], 'cpu')\n"
        "    print(found.holds, found.results[0].cases > 0, 'torch' in sys.modules)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout == "True True False\n", done.stderr


def test_modules_in_the_working_folder_do_not_stand_in_for_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('the wrong torch')\n")
    script = Path(sys.executable).with_name("autolint")
    if not script.exists():
        pytest.skip("the command is not installed beside this Python")
    command = [str(script), "verify", "AG201", "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
