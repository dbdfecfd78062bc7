"""Rewriting a fixture mechanically changes neither what the linter says nor what torch does."""

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import libcst as cst
import pytest

from autolint.testing import CodeMark, Fixture, mismatches, read_fixture

from .linting import Linter
from .metamorphic import REWRITES, changed_cases
from .places import RULES, named
from .test_fixtures import TORCH

CURES = {("split assignment", "leaf_lost"), ("split assignment", "data_metadata_change")}
"""Rewrites that take the fault away: the leaf, or the alias, gets the name that it lacked."""

each_rewrite = pytest.mark.parametrize("rewrite", REWRITES)
each_rule = pytest.mark.parametrize("path", RULES, ids=named)


@pytest.fixture(autouse=True, scope="module")
def without_collections() -> Iterator[None]:
    """Looking for cycles among so many tree nodes would take a sixth of the time."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@cache
def rewritten(path: Path, rewrite: str) -> Fixture:
    module = cst.parse_module(path.read_text(encoding="utf-8"))
    return read_fixture(path, REWRITES[rewrite](module).code)


@each_rewrite
@each_rule
def test_findings_stay_on_their_statements(path: Path, rewrite: str) -> None:
    if (rewrite, path.stem) in CURES:
        return
    fixture = rewritten(path, rewrite)
    # Messages may name variables, which some rewrites rename: codes and places are compared.
    claims = [
        CodeMark(m.path, m.line, m.first, m.last, None, m.word, m.code, m.info, "")
        for m in fixture.marks
        if isinstance(m, CodeMark) and m.applies(TORCH)
    ]
    lines = fixture.source.splitlines()
    problems = [
        f"{problem}\n    {lines[int(problem.split(':')[1]) - 1].strip()}"
        for problem in mismatches(claims, Linter().check(path, fixture.source))
    ]
    assert not problems, "\n" + "\n".join(problems)


@each_rewrite
@each_rule
def test_torch_still_confirms_the_marks(path: Path, rewrite: str) -> None:
    pytest.importorskip("torch")
    from autolint.runtime.cases import run_fixture

    failed = [str(outcome) for outcome in run_fixture(rewritten(path, rewrite)) if outcome.failures]
    assert not failed, "\n" + "\n".join(failed)


@each_rewrite
def test_each_rewrite_reaches_at_least_half_of_the_cases(rewrite: str) -> None:
    reached = total = 0
    for path in RULES:
        before, after = read_fixture(path), rewritten(path, rewrite)
        names = [case.name for case in before.cases]
        assert [case.name for case in after.cases] == names
        assert len(after.marks) == len(before.marks), "a mark was lost"
        reached += len(changed_cases(before.source, after.source, names))
        total += len(names)
    assert reached * 2 >= total


# The rewrites themselves.

BEFORE = '''\
"""Doc."""

import torch


def bad_a(device):
    """Doc."""
    total = 0
    for x in torch.ones(2, device=device):
        total = torch.add(torch.mul(x, x=2), total)  # expect: AG1
    return total.sum().item()  # observe: 4.0
'''

AFTER = {
    "import alias": {
        "import torch\n": "import torch as torch_1\n",
        "in torch.ones": "in torch_1.ones",
        "torch.add(torch.mul(": "torch_1.add(torch_1.mul(",
    },
    "renamed variables": {
        "total": "v1",
        "for x in": "for v2 in",
        "(x, x=2)": "(v2, x=2)",
    },
    "under a with": {
        "\n\nimport torch\n": "\nimport contextlib\n\nimport torch\n",
        "    total = 0\n": "    with torch.enable_grad():\n        total = 0\n",
        "        total = torch": "        with torch.enable_grad():\n            total = torch",
        "    return": "    with torch.enable_grad():\n        return",
    },
    "under an if": {
        "    total = 0\n": "    if True:\n        total = 0\n",
        "        total = torch": "        if True:\n            total = torch",
        "    return": "    if True:\n        return",
    },
    "in a helper function": {
        '    """Doc."""\n    ': '    """Doc."""\n    def moved(device):\n        ',
        "    for": "        for",
        "        total = torch": "            total = torch",
        "    return": "        return",
        "# observe: 4.0": "# (returned)\n    return moved(device)  # observe: 4.0",
    },
    "while for for": {
        "    for x in torch.ones(2, device=device):\n": (
            "    items_1 = list(torch.ones(2, device=device))\n    count_1 = 0\n"
            "    while count_1 < len(items_1):\n"
            "        x = items_1[count_1]\n        count_1 += 1\n"
        ),
    },
    "split assignment": {
        "total = torch.add(torch.mul(x, x=2), total)": (
            "part_1 = torch.mul(x, x=2); total = torch.add(part_1, total)"
        ),
        "return total.sum().item()": "part_2 = total.sum(); return part_2.item()",
    },
}


@each_rewrite
def test_each_rewrite_does_what_it_says(rewrite: str) -> None:
    expected = BEFORE
    for old, new in AFTER[rewrite].items():
        assert old in expected
        expected = expected.replace(old, new)
    assert REWRITES[rewrite](cst.parse_module(BEFORE)).code == expected
    assert changed_cases(BEFORE, expected, ["bad_a"]) == {"bad_a"}
    assert changed_cases(BEFORE, BEFORE, ["bad_a"]) == set()
