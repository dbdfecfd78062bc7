"""With its fix a bad case does in torch what its good twin does, and no other case changes.

The golden files are run, which hold what all fixes make of the fixtures (see test_fixtures).
"""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from autolint.testing import Fixture, Mark, ObserveMark, read_fixture

from .linting import Linter
from .metamorphic import changed_cases, definitions, needed
from .places import FIXED, named

torch = pytest.importorskip("torch")

from autolint.runtime.cases import run_fixture  # noqa: E402

STYLE = {"data_inplace_write": "only writes that spoil nothing, in good cases, are fixed"}
"""Rules with fixes for findings of severity info alone: no bad case is repaired."""

OTHER_REMEDY = {
    "bad_tied_through_a_name": "the fix copies the values, the twin shares the parameter",
    "bad_update_in_a_loop": "the twin clears the gradient too, which is another fault",
    "bad_flag_in_variable": "the fix makes floats, the twin gives up the gradient",
}
"""Cases whose twin shows another way out: with the fix they must end without error."""

NOT_SAVED = "plain_tensor_attribute"
"""Its cases observe [moved, saved]; a fix that saved the tensor too would change checkpoints."""


def stem(golden: Path) -> str:
    return golden.name.removesuffix(".fixed.py")


def repaired(golden: Path) -> set[str]:
    """The bad cases that fixes change and leave without a finding, in what they use neither."""
    before = read_fixture(golden.with_name(f"{stem(golden)}.py"))
    text = golden.read_text(encoding="utf-8")
    bad = [case.name for case in before.cases if case.is_bad]
    found = {each.line for each in Linter().check(golden) if not each.info}
    faulty = {
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not found.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    }
    needs = needed(definitions(text))
    changed = changed_cases(before.source, text, bad)
    return {name for name in changed if not faulty & {name, *needs[name]}}


def claims(golden: Path, name: str, twin: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """What a repaired case must return; without that it must end without error."""
    if name in OTHER_REMEDY:
        return ()
    observed = tuple(mark for mark in twin if isinstance(mark, ObserveMark))
    if stem(golden) == NOT_SAVED:
        return tuple(replace(mark, value=unsaved(mark.value)) for mark in observed)
    return observed


def unsaved(value: object) -> object:
    """[moved, saved] of a tensor that moves with its module and is not in its state dict."""
    return [value[0], False] if isinstance(value, list) else value


def judged(golden: Path, names: set[str]) -> Fixture:
    """The golden file; its repaired cases have the claims of their twins, the rest its own."""
    fixture = read_fixture(golden)
    by_name = {case.name: case for case in fixture.cases}
    cases = tuple(
        replace(case, marks=claims(golden, case.name, by_name[case.twin].marks))
        if case.name in names
        else case
        for case in fixture.cases
        if case.name in names or not case.is_bad
    )
    return replace(fixture, cases=cases)


@pytest.mark.parametrize("golden", FIXED, ids=named)
def test_repaired_cases_behave_as_their_twins_and_good_ones_as_before(golden: Path) -> None:
    names = repaired(golden)
    assert bool(names) != (stem(golden) in STYLE)
    failed = [str(each) for each in run_fixture(judged(golden, names)) if each.failures]
    assert not failed, "\n" + "\n".join(failed)


def test_cases_named_as_exceptions_are_repaired_ones() -> None:
    names = set().union(*map(repaired, FIXED))
    assert OTHER_REMEDY.keys() <= names
