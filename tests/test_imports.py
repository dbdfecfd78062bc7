"""Who may import whom, read from the sources; and what a run loads, read from sys.modules."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
PACKAGE = REPOSITORY / "autolint"

# For each part the parts of autolint that it may import; a part is a module or a subpackage.
ALLOWED: dict[str, set[str]] = {
    "autograd": {"autograd"},
    "interpreter": {"autograd", "interpreter"},
    "api": {"autograd", "interpreter", "severity"},
    "severity": set(),
    "atomic": set(),
    "catalogue": {"api", "severity"},
    "cache": {
        "",
        "atomic",
        "cache",
        "catalogue",
        "diagnostic",
        "interpreter",
        "linted",
        "packs",
        "registry",
        "severity",
        "source",
    },
    "deep_stack": set(),
    "linted": {"diagnostic", "interpreter"},
    "linting": {
        "cache",
        "catalogue",
        "diagnostic",
        "engine",
        "files",
        "interpreter",
        "linted",
        "notebook",
        "registry",
        "selection",
        "selections",
    },
    "workers": {"deep_stack", "diagnostic", "files", "linted", "linting", "registry"},
    "packs": set(),
    "concrete": {"notebook", "source"},
    "paths": set(),
    "fingerprints": {"diagnostic", "paths"},
    "baseline": {"diagnostic", "fingerprints", "paths"},
    "notebook": {"diagnostic", "source"},
    "noqa": {"diagnostic", "fix", "source", "suppress"},
    "rule_tables": {"catalogue", "selection"},
    "selections": {"catalogue", "config", "files", "selection"},
    "show_config": {"config", "files"},
    "progress": set(),
    "source": set(),
    "positions": set(),
    "suppress": {"diagnostic"},
    "diagnostic": {"severity", "source"},
    "config": {"severity"},
    "registry": {"api", "catalogue", "packs"},
    "selection": {"catalogue", "config", "severity"},
    "files": {"config", "diagnostic", "notebook"},
    "fix": {"atomic", "diagnostic", "source"},
    "locate": {"interpreter", "positions"},
    "repair": {"api", "diagnostic", "positions"},
    "collect": {"api", "interpreter"},
    "diagnose": {"api", "collect", "diagnostic", "interpreter", "locate", "repair", "source"},
    "engine": {
        "catalogue",
        "collect",
        "concrete",
        "diagnose",
        "diagnostic",
        "interpreter",
        "notebook",
        "registry",
        "selection",
        "source",
        "suppress",
    },
    "report": {"catalogue", "diagnostic", "fingerprints", "paths", "report", "severity"},
}


def modules(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Each module below a folder with the full names that it imports."""
    for path in sorted(folder.rglob("*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                names.update(f"{module}.{alias.name}" for alias in node.names)
        yield path, names


def part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def tops(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_the_parts_of_autolint_depend_one_way() -> None:
    for path, names in modules(PACKAGE):
        assert not any(name.startswith(".") for name in names), path
        ours = {name.split(".")[1] for name in names if name.startswith("autolint.")}
        if part(path) in ALLOWED:
            assert ours <= ALLOWED[part(path)], path


def test_every_part_but_the_outermost_has_a_contract() -> None:
    outermost = {
        "__init__",
        "__main__",
        "cli",
        "checking",
        "runner",
        "runtime",
        "server",
        "testing",
    }
    assert {part(path) for path, _ in modules(PACKAGE)} - outermost == set(ALLOWED)


def test_only_runtime_imports_torch_and_only_cli_imports_click() -> None:
    for path, names in modules(PACKAGE):
        assert "torch" not in tops(names) or part(path) == "runtime", path
        assert "click" not in tops(names) or part(path) == "cli", path
        assert "pygls" not in tops(names) or part(path) == "server", path
        assert "libcst" not in tops(names) or part(path) != "autograd", path


def test_nobody_imports_what_makes_a_run_slow() -> None:
    slow = ("libcst.matchers", "libcst.codemod", "libcst.metadata", "libcst.helpers")
    for folder in (PACKAGE, REPOSITORY / "rules"):
        for path, names in modules(folder):
            assert not any(name.startswith(slow) for name in names), path


def test_rules_import_the_api_and_libcst() -> None:
    for path, names in modules(REPOSITORY / "rules"):
        for name in names:
            top = name.partition(".")[0]
            known = top in sys.stdlib_module_names or top in ("libcst", "")
            assert known or name.startswith("autolint.api."), (path, name)


def test_nobody_imports_rules_by_name() -> None:
    for folder in (PACKAGE, REPOSITORY / "rules", REPOSITORY / "tests"):
        for path, names in modules(folder):
            assert not tops(names) & {"autolint_rules", "autolint_fixtures", "rules"}, path


PROBE = """
import json, sys
from autolint.cli import main
try:
    main(sys.argv[1:])
except SystemExit as exit:
    status = exit.code
print("\\n" + json.dumps([status, sorted(sys.modules)]))
"""

NO_WRAPPER = """
import libcst.metadata
def refuse(*args, **more):
    raise AssertionError("a MetadataWrapper is built")
libcst.metadata.MetadataWrapper.__init__ = refuse
"""


def run(*args: str, before: str = "", folder: Path = REPOSITORY) -> tuple[int, set[str]]:
    command = [sys.executable, "-c", before + PROBE, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    status, loaded = json.loads(done.stdout.splitlines()[-1])
    return status, set(loaded)


NEVER = {"torch", "numpy", "libcst.matchers", "libcst.codemod", "rules"}


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("check", "--help")])
def test_help_loads_next_to_nothing(args: tuple[str, ...]) -> None:
    status, loaded = run(*args)
    assert status == 0
    assert not loaded & {
        *NEVER,
        "libcst",
        "pathspec",
        "difflib",
        "dataclasses",
        "importlib.metadata",
        "autolint.api",
    }


def test_a_lint_run_loads_neither_torch_nor_slow_parts_of_libcst() -> None:
    status, loaded = run("--no-cache", "fixtures/rules", before=NO_WRAPPER)
    assert status == 1
    assert "libcst" in loaded
    assert not loaded & NEVER


def test_a_run_in_which_nothing_is_new_loads_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import torch\nx = torch.ones(3)\n")
    for _ in range(2):  # the folder of the cache is new to the second run
        run("check", folder=tmp_path)
    status, loaded = run("check", folder=tmp_path)
    assert status == 0
    late = {"libcst", "autolint.api", "autolint.engine", "autolint.show_config"}
    assert not loaded & {*NEVER, *late, "difflib", "importlib.metadata", "tomllib"}


EACH_FIRST = """
import importlib, pkgutil, sys
import autolint.interpreter
start = "autolint.interpreter."
names = [each.name for each in pkgutil.walk_packages(autolint.interpreter.__path__, start)]
for name in names:
    for other in [*sys.modules]:
        if f"{other}.".startswith(start):
            del sys.modules[other]
    importlib.import_module(name)
print(len(names))
"""


def test_any_module_of_the_interpreter_can_be_imported_first() -> None:
    """They need one another, and so ask for what is in them when it is called, not before."""
    command = [sys.executable, "-c", EACH_FIRST]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 80
