"""`--show-config`: every setting, and where it comes from."""

from __future__ import annotations

import sys

from autolint.config import SETTINGS
from tests.terminal import Cli

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTION = '[tool.autolint]\nignore = ["AG902"]\nmin-severity = "info"\nexclude = ["a\\\\b"]\n'


def shown(cli: Cli, *args: str) -> dict[str, tuple[str, str]]:
    assert cli("--show-config", *args) == 0
    found = {}
    for line in cli.out.splitlines()[1:]:
        setting, _, origin = line.strip().partition("  # ")
        name, _, value = setting.partition(" = ")
        found[name] = (value, origin)
    tomllib.loads("\n".join(f"{name} = {value}" for name, (value, _) in found.items()))
    return found


def test_defaults_are_told(cli: Cli) -> None:
    found = shown(cli)
    assert cli.out.splitlines()[0] == ".: no configuration file"
    assert set(found) == {name.replace("_", "-") for name in SETTINGS}
    assert found["select"] == ('["ALL"]', "default")
    assert found["min-severity"] == ('"warning"', "default")
    assert '".git"' in found["exclude"][0]


def test_files_and_command_line_are_told(cli: Cli) -> None:
    path = cli.folder / "pyproject.toml"
    path.write_text(SECTION + '[tool.autolint.per-file-ignores]\n"t/*" = ["AG901"]\n')
    found = shown(cli, "--ignore", "AG901", "--extend-exclude", "x", "nowhere.py")
    assert cli.out.splitlines()[0] == f"nowhere.py: {path}"
    assert found["ignore"] == ('["AG902", "AG901"]', f"{path}, command line")
    assert found["min-severity"] == ('"info"', str(path))
    assert found["exclude"] == ('["a\\\\b"]', str(path))
    assert found["extend-exclude"] == ('["x"]', "command line")
    assert found["per-file-ignores"] == ('{"t/*" = ["AG901"]}', str(path))


def test_select_of_the_command_line_stands_alone(cli: Cli) -> None:
    (cli.folder / "pyproject.toml").write_text('[tool.autolint]\nselect = ["AG902"]\n')
    assert shown(cli, "--select", "AG901")["select"] == ('["AG901"]', "command line")
