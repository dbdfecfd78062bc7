"""The page of a rule ends with what its fixture lets torch show, counted from the marks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autolint.config import NEWEST_TORCH
from autolint.registry import Registry
from autolint.runtime.packs import fixture_of
from autolint.runtime.shown import shown
from autolint.testing import read_fixture
from tests.packs import Pack

FIXTURE = """\
def bad_value(device):
    return 1  # observe: 1


def good_value(device):
    return 2  # observe: 2


def bad_other_value(device):
    return 1  # observe: 1; observe: 3 [torch>=99.0]


def bad_error(device):
    {}[0]  # raises: KeyError; raises: IndexError [torch>=99.0]
"""


def said(code: str, module: str) -> str:
    return " ".join(shown(code, module).split())


def test_it_counts_what_the_bad_cases_are_known_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pack(tmp_path, monkeypatch).add("XY101", FIXTURE)
    assert said("XY101", "minepack.xy101_habit") == (
        "Verified: `autolint verify XY101` runs 3 bad and 1 good cases in torch. "
        "The bad ones are known by: the value returned (2), KeyError raised (1)."
    )


def test_a_rule_that_is_not_verified_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = Pack(tmp_path, monkeypatch)
    pack.add("XY101", None)
    pack.add("XY102", "f()  # raises: KeyError\n")
    for module in ("minepack.xy101_habit", "other.xy101_habit"):
        assert said("XY101", module) == "Not verified: no fixture of XY101 is installed."
    assert said("XY102", "minepack.xy102_habit").startswith(
        "Not verified: the fixture of XY102 cannot be read: "
    )


def test_our_pages_name_the_torch_and_count_the_cases() -> None:
    for entry in Registry.load():
        if entry.rule is None:
            continue
        text = said(entry.code, entry.rule.module)
        assert text.endswith(f"The marks were made with torch {NEWEST_TORCH}.")
        found = fixture_of(entry.rule.module)
        assert found is not None
        cases = read_fixture(found[0]).cases
        numbers = re.search(r"runs (\d+) bad and (\d+) good cases", text)
        assert numbers is not None
        assert sum(map(int, numbers.groups())) == len(cases)
        assert "known by: nothing" not in text
