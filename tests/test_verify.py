"""`autolint verify` believes torch: false marks, crashes and hangs are named and spoil nothing."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from autolint.registry import Registry
from autolint.runtime import packs, report
from autolint.runtime.verify import Result, Verification, verify
from tests.packs import TRUE, Pack, pack

torch = pytest.importorskip("torch")

__all__ = ["pack"]


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
