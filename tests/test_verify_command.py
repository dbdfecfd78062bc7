"""`autolint verify` as users meet it: exit codes, devices, and what of torch may be missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autolint.cli import main
from autolint.runtime import processes, report
from autolint.runtime import verify as verifying
from autolint.runtime.outcomes import Machine
from autolint.runtime.verify import verify
from tests.packs import TRUE, Pack, pack

torch = pytest.importorskip("torch")

__all__ = ["pack"]


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
    [outcome] = found.results[0].failed
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
