"""Rules are found by entry point and validated when they are loaded."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

from autolint.api import Rule, Severity
from autolint.config import Config
from autolint.registry import Registry, RegistryError
from autolint.selection import Selection
from tests import fakes

REPOSITORY = Path(__file__).parent.parent

MODULE = '''"""{page}"""

from autolint.api import Rule, Severity
from tests.fakes import Called

RULE = Rule(__name__, __doc__, code="{code}", severity=Severity.ERROR)


@RULE.on(Called)
def check(event):
    yield from ()
'''


class Pack:
    """A pack of rules on the disk, installed under the entry point `mine`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "mypack"
        self.folder.mkdir()
        (self.folder / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(str(folder))
        point = importlib.metadata.EntryPoint("mine", "mypack", "autolint.rules")
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
        for name in [name for name in sys.modules if name.partition(".")[0] == "mypack"]:
            monkeypatch.delitem(sys.modules, name)

    def write(self, name: str, text: str | None = None, code: str = "XY123") -> None:
        text = MODULE.format(page=fakes.PAGE, code=code) if text is None else text
        (self.folder / f"{name}.py").write_text(text)


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    return Pack(tmp_path, monkeypatch)


def test_a_module_is_a_rule_named_after_it(pack: Pack) -> None:
    pack.write("bad_habit")
    pack.write("_helper", "1 / 0\n")
    entry = Registry.load().find("bad-habit")
    assert entry is not None
    assert (entry.code, entry.severity) == ("XY123", Severity.ERROR)
    assert entry.summary == "Call of a name that only tests use."
    assert [each.code for each in Registry.load()] == ["AG000", "AG001", "XY123"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0\n", "rule pack 'mine': cannot import mypack.bad_habit: ZeroDivisionError"),
        ("def f(:\n", "cannot import mypack.bad_habit: SyntaxError"),
        ("import no_such_module\n", "No module named 'no_such_module'"),
        ("raise SystemExit\n", "cannot import mypack.bad_habit: SystemExit"),
        ("x = 1\n", "bad_habit.py defines no RULE"),
        (MODULE.format(page=fakes.PAGE, code="12"), "rule mypack.bad_habit: code '12' is not"),
        (MODULE.format(page="", code="XY123"), "has no page"),
        (MODULE.format(page="no stop", code="XY123"), "does not begin with a summary line"),
        (MODULE.format(page="Stop.\nGo on.", code="XY123"), "does not begin with a summary line"),
        (
            MODULE.format(page="Bad.\n\nGood: x.", code="XY123"),
            "page lacks the part 'Not reported'",
        ),
        (MODULE.format(page=fakes.PAGE, code="AG000"), "code AG000 is taken"),
        (MODULE.partition("@RULE")[0].format(page=fakes.PAGE, code="XY123"), "to no event"),
    ],
)
def test_a_broken_rule_is_refused_by_name(pack: Pack, text: str, message: str) -> None:
    pack.write("bad_habit", text)
    with pytest.raises(RegistryError, match=re.escape(message)):
        Registry.load()


def test_a_pack_that_is_missing_is_named(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("gone", "no_such_pack", "autolint.rules")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    with pytest.raises(RegistryError, match="rule pack 'gone': cannot import no_such_pack"):
        Registry.load()


def test_codes_and_names_are_unique(pack: Pack) -> None:
    pack.write("one", code="XY123")
    pack.write("two", code="XY123")
    with pytest.raises(RegistryError, match=r"rule mypack.two: code XY123 is taken"):
        Registry.load()
    rules = [fakes.rule("AG901"), fakes.rule("AG902")]
    for rule in rules:
        rule.name = "fault"
    with pytest.raises(RegistryError, match="name fault is taken"):
        Registry(rules)


def test_every_module_of_ours_is_a_rule() -> None:
    modules = {path.stem for path in (REPOSITORY / "rules").glob("[!_]*.py")}
    rules = [entry.rule for entry in Registry.load() if entry.rule is not None]
    assert {rule.name.replace("-", "_") for rule in rules} == modules
    assert all(re.fullmatch("AG[0-9]{3}", rule.code) for rule in rules)


def test_every_displaced_code_is_a_code_to_come_or_there() -> None:
    for entry in Registry.load():
        if entry.rule is not None:
            for code in entry.rule.more_specific_than:
                assert re.fullmatch("AG[0-9]{3}", code)
                assert code != entry.code


def test_unread_files_are_reported_whatever_is_selected() -> None:
    registry = Registry([fakes.rule("AG901")])
    assert set(Selection(registry, Config("/", select=("AG9",)), ()).entries) == {"AG000", "AG901"}
    assert "AG000" not in Selection(registry, Config("/", ignore=("AG000",)), ()).entries
    assert "AG000" not in Selection(registry, Config("/"), ("AG0",)).entries


def test_rule_names_read_after_allow() -> None:
    for entry in Registry.load():
        assert isinstance(entry.rule, Rule) or entry.code in ("AG000", "AG001")
        assert not re.search(r"^(no-|use-|dont-|disallow|avoid)(?!grad)", entry.name), entry.name
