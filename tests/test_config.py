"""Settings: where they come from, what they may say, and what the command line overrides."""

from __future__ import annotations

from pathlib import Path

import pytest

from autolint.api import Severity
from autolint.config import NEWEST_TORCH, ConfigError, Configs, Overrides, PerFileIgnore
from autolint.files import File
from autolint.runner import Runner
from autolint.selection import check_selector
from tests import fakes


def configs(overrides: Overrides | None = None, explicit: str | None = None) -> Configs:
    return Configs(overrides or Overrides(), lambda selector: None, explicit)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text, "utf-8")
    return path


EVERYTHING = """
[tool.autolint]
select = ["AG1", "AG4"]
extend-select = ["AG2"]
ignore = ["AG102"]
min-severity = "error"
exclude = ["a"]
extend-exclude = ["b"]
force-exclude = true
target-torch = "2.4"
[tool.autolint.per-file-ignores]
"tests/*" = ["AG1"]
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, EVERYTHING)
    config = configs().of_folder(str(tmp_path))
    assert (config.root, config.origin) == (str(tmp_path), str(path))
    assert config.select == ("AG1", "AG4")
    assert config.extend_select == ("AG2",)
    assert config.ignore == ("AG102",)
    assert config.min_severity is Severity.ERROR
    assert config.exclude == ("a",)
    assert config.extend_exclude == ("b",)
    assert config.force_exclude
    assert config.target_torch == "2.4"
    assert config.per_file_ignores == (PerFileIgnore("tests/*", ("AG1",)),)


def test_the_nearest_file_that_has_the_section_counts(tmp_path: Path) -> None:
    write(tmp_path, '[tool.autolint]\nignore = ["AG1"]\n')
    write(tmp_path / "a", "[tool.ruff]\n# no autolint here\n")
    write(tmp_path / "a" / "b", '[tool.autolint]\nignore = ["AG2"]\n')
    known = configs()
    for folder, ignore in (("a/c/d", "AG1"), ("a", "AG1"), ("a/b/c", "AG2"), (".", "AG1")):
        path = (tmp_path / folder).resolve()
        assert known.of_folder(str(path)).ignore == (ignore,), folder


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    config = configs().of_folder(str(tmp_path))
    assert (config.origin, config.select, config.ignore) == (None, None, ())
    assert config.target_torch == NEWEST_TORCH


def test_an_explicit_file_is_used_for_every_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "x", '[tool.autolint]\nignore = ["AG1"]\n')
    write(tmp_path / "y", '[tool.autolint]\nignore = ["AG2"]\n')
    config = configs(explicit=str(path)).of_folder(str(tmp_path / "y"))
    assert (config.ignore, config.root) == (("AG1",), str(tmp_path / "x"))


def test_the_command_line_stands_above(tmp_path: Path) -> None:
    write(tmp_path, EVERYTHING)
    added = Overrides(ignore=("AG5",), extend_select=("AG6",), min_severity=Severity.INFO)
    config = configs(added).of_folder(str(tmp_path))
    assert (config.select, config.ignore) == (("AG1", "AG4"), ("AG102", "AG5"))
    assert config.extend_select == ("AG2", "AG6")
    assert config.min_severity is Severity.INFO
    chosen = configs(Overrides(select=("AG102",))).of_folder(str(tmp_path))
    assert (chosen.select, chosen.ignore) == (("AG102",), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[tool.autolint]\nselekt = ["AG1"]\n', "unknown key 'selekt'.*did you mean 'select'"),
        ("[tool.autolint]\nroot = 1\n", "unknown key 'root'"),
        ('[tool.autolint]\nselect = "AG1"\n', "select must be a list of strings"),
        ("[tool.autolint]\nignore = [1]\n", "ignore must be a list of strings"),
        ("[tool.autolint]\nforce-exclude = 1\n", "force-exclude must be true or false"),
        ('[tool.autolint]\nmin-severity = "bad"\n', "min-severity must be one of"),
        ('[tool.autolint]\ntarget-torch = "new"\n', "target-torch must be a version"),
        ("[tool.autolint]\nper-file-ignores = 1\n", "must be a table of patterns"),
        ('[tool.autolint.per-file-ignores]\na = "AG1"\n', "per-file-ignores.'a' must be a list"),
        ('[tool]\nautolint = "x"\n', "tool.autolint must be a table"),
        ("[tool.autolint\n", "no valid TOML"),
    ],
)
def test_what_is_not_understood_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        configs().of_folder(str(tmp_path))
    assert str(caught.value).startswith(str(path))


def test_unknown_rules_are_errors_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = fakes.install(monkeypatch)

    def check(selector: str) -> None:
        check_selector(registry, selector)

    for key in ("select", "extend-select", "ignore", "per-file-ignores.x"):
        write(tmp_path, f'[tool.autolint]\n{key} = ["AG9O1"]\n')
        with pytest.raises(ConfigError, match="no rule is called 'AG9O1', did you mean 'AG901'"):
            Configs(Overrides(), check).of_folder(str(tmp_path))
    with pytest.raises(ConfigError, match="no rule is called 'AG8'"):
        Configs(Overrides(ignore=("AG8",)), check)


def test_a_broken_file_elsewhere_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, "[tool.other\n")
    assert configs().of_folder(str(tmp_path)).origin is None


def test_per_file_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fakes.install(monkeypatch)
    write(tmp_path, '[tool.autolint.per-file-ignores]\n"tests/" = ["AG9"]\n"b.py" = ["ALL"]\n')
    config = configs().of_folder(str(tmp_path))
    files = []
    for name in ("a.py", "b.py", "tests/c.py", "sub/tests/d/e.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\nfault()\n")
        files.append(File(str(path), config))
    (tmp_path / "b.py").write_text("def f(:\n")
    outcome = Runner(registry).run(files)
    assert [each.path for each in outcome.findings] == [str(tmp_path / "a.py")]
