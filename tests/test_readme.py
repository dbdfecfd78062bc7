"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autolint.config import Configs, Overrides
from autolint.registry import Registry

PATH = Path(__file__).parent.parent / "README.md"
README = PATH.read_text("utf-8")


def blocks(language: str = "") -> list[str]:
    """The fenced blocks of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


def test_the_example_is_a_real_finding(tmp_path: Path) -> None:
    program = blocks("python")[0]
    (tmp_path / "train.py").write_text(program, "utf-8")
    command = [sys.executable, "-m", "autolint", "train.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == blocks()[1]
    assert done.returncode == 1


def test_the_table_has_every_rule() -> None:
    global README
    entries = [each for each in Registry.load() if each.rule is not None]
    rows = [f"| {each.code} | {each.name} | {each.summary} |" for each in entries]
    table = "\n".join(["| code | name | the fault |", "|---|---|---|", *rows])
    begin, end = README.index("## What it finds"), README.index("`autolint explain` lists")
    expected = f"{README[:begin]}## What it finds\n\n{table}\n\n{README[end:]}"
    if os.environ.get("EXPECTTEST_ACCEPT") == "1":
        PATH.write_text(expected, "utf-8")
        README = expected
    assert expected == README


def test_the_settings_are_settings(tmp_path: Path) -> None:
    [text] = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    config = Configs(Overrides(), lambda selector: None).of_folder(str(tmp_path))
    assert config.ignore == ("AG118",)


def test_the_first_screen_says_what_it_finds_and_how_to_start() -> None:
    screen = README.splitlines()[:40]
    assert "pip install ." in screen
    assert "autolint path/to/your/code" in screen


def test_the_files_for_other_services_are_whole_and_their_commands_run(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="comes with LibCST and pre-commit")
    hook, github, gitlab = (yaml.safe_load(text) for text in blocks("yaml"))
    [repository] = hook["repos"]
    assert repository.keys() == {"repo", "rev", "hooks"}
    defined = yaml.safe_load((PATH.parent / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert repository["hooks"][0]["id"] in {each["id"] for each in defined}

    (tmp_path / "train.py").write_text(blocks("python")[0], "utf-8")
    [job] = github["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    commands = [words.split() for words in [*steps, *gitlab["autolint"]["script"]]]
    assert [words[:2] for words in commands if words[0] != "autolint"] == [["pip", "install"]] * 2
    for words in commands:
        if words[0] == "autolint":
            command = [sys.executable, "-m", *words]
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == (0 if "--exit-zero" in words else 1), done.stderr
    uploads = [step["with"]["sarif_file"] for step in job["steps"] if "upload-sarif" in str(step)]
    assert [*uploads, gitlab["autolint"]["artifacts"]["reports"]["codequality"]] == sorted(
        path.name for path in tmp_path.iterdir() if path.suffix in (".sarif", ".json")
    )
