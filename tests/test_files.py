"""Discovery: gitignore, excludes, and what only looks like a Python file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autolint.config import Configs, Overrides
from autolint.files import PathError, discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def found(root: Path, *paths: str, overrides: Overrides | None = None) -> list[str]:
    overrides = overrides or Overrides()
    result = discover(
        [str(root / path) for path in paths or (".",)],
        Configs(overrides, lambda selector: None),
        overrides,
    )
    return [os.path.relpath(file.path, root) for file in result.files]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_py_files_sorted_and_once(root: Path) -> None:
    make(root, "b.py", "a/z.py", "a/y.pyi", "c.txt", "d.ipynb", "e.PY")
    assert found(root, ".", "a", "b.py", "./b.py") == ["a/z.py", "b.py", "d.ipynb"]


def test_default_excludes_unless_named(root: Path) -> None:
    make(root, ".venv/a.py", "build/b.py", "x/__pycache__/c.py", "x/node_modules/d.py", "ok.py")
    assert found(root) == ["ok.py"]
    assert found(root, "build", ".venv/a.py") == [".venv/a.py", "build/b.py"]


def test_a_folder_that_is_named_is_walked_whatever_leaves_it_out(root: Path) -> None:
    (root / ".git").mkdir()
    write(root / ".gitignore", "out/\n*_gen.py\n")
    write(root / "pyproject.toml", '[tool.autolint]\nextend-exclude = ["fixtures", "*_pb2.py"]\n')
    make(root, "out/in/a.py", "out/in/a_gen.py", "fixtures/rules/b.py", "fixtures/rules/b_pb2.py")
    make(root, "fixtures/rules/out/c.py")
    assert found(root) == []
    assert found(root, "out", "fixtures/rules") == ["fixtures/rules/b.py", "out/in/a.py"]


def test_force_exclude_holds_for_named_paths_and_folders_above(root: Path) -> None:
    make(root, "build/lib/b.py", "a.py")
    forced = Overrides(force_exclude=True)
    assert found(root, "build/lib/b.py", "build/lib", "a.py", overrides=forced) == ["a.py"]


def test_gitignore_as_git_reads_it(root: Path) -> None:
    (root / ".git" / "info").mkdir(parents=True)
    write(root / ".git" / "info" / "exclude", "local.py\n")
    write(root / ".gitignore", "*_gen.py\n/only_top.py\nout/\n# comment\n!kept_gen.py\n")
    write(root / "pkg" / ".gitignore", "!special_gen.py\nhere.py\n")
    make(root, "a_gen.py", "kept_gen.py", "only_top.py", "out/x.py", "local.py", "here.py")
    make(root, "pkg/b_gen.py", "pkg/special_gen.py", "pkg/only_top.py", "pkg/here.py")
    make(root, "pkg/sub/out/y.py", "pkg/sub/here.py", "pkg/sub/special_gen.py")
    expected = [
        "here.py",
        "kept_gen.py",
        "pkg/only_top.py",
        "pkg/special_gen.py",
        "pkg/sub/special_gen.py",
    ]
    assert found(root) == expected
    # The same where the walk begins below the files that say so.
    assert found(root, "pkg") == expected[2:]
    assert found(root, "a_gen.py") == ["a_gen.py"]


def test_a_repository_inside_another_has_its_own_rules(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "inner" / ".git").mkdir(parents=True)
    write(root / ".gitignore", "x.py\n")
    make(root, "x.py", "inner/x.py")
    assert found(root) == ["inner/x.py"]


def test_patterns_of_the_config_are_relative_to_it(root: Path) -> None:
    write(
        root / "proj" / "pyproject.toml",
        '[tool.autolint]\nexclude = ["/gen", "*_pb2.py"]\nextend-exclude = ["docs/**"]\n',
    )
    make(root, "gen/a.py", "proj/gen/b.py", "proj/src/gen/c.py", "proj/x_pb2.py")
    make(root, "proj/docs/d.py", "proj/build/e.py", "build/f.py")
    # `exclude` replaces the defaults, so proj/build is in; outside of proj they hold.
    assert found(root) == ["gen/a.py", "proj/build/e.py", "proj/src/gen/c.py"]


def test_patterns_of_the_command_line_are_relative_to_the_working_folder(root: Path) -> None:
    write(root / "p" / "pyproject.toml", '[tool.autolint]\nexclude = ["a.py"]\n')
    make(root, "p/a.py", "p/b.py", "p/build/c.py", "a.py")
    assert found(root, overrides=Overrides(exclude=("p/b.py",))) == [
        "a.py",
        "p/a.py",
        "p/build/c.py",
    ]
    assert found(root, overrides=Overrides(extend_exclude=("/a.py",))) == ["p/b.py", "p/build/c.py"]


def test_what_only_looks_like_a_python_file(root: Path) -> None:
    make(root, "folder.py/inner.py", "real.py")
    os.mkfifo(root / "pipe.py")
    os.symlink("nowhere", root / "dangling.py")
    os.symlink("real.py", root / "link.py")
    os.symlink(".", root / "loop")
    assert found(root) == ["folder.py/inner.py", "link.py", "real.py"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.py", "no such file or folder"),
        ("dangling.py", "link to nothing"),
        ("pipe", "neither a file nor a folder"),
        ("real.py/x", "no such file or folder"),
    ],
)
def test_what_is_named_must_be_there(root: Path, path: str, message: str) -> None:
    os.mkfifo(root / "pipe")
    os.symlink("nowhere", root / "dangling.py")
    make(root, "real.py")
    with pytest.raises(PathError, match=message):
        found(root, path)


def test_a_named_file_needs_no_suffix(root: Path) -> None:
    make(root, "script")
    assert found(root, "script") == ["script"]


def test_an_unreadable_folder_is_a_problem(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a.py", "closed/b.py")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    overrides = Overrides()
    result = discover(["."], Configs(overrides, lambda selector: None), overrides)
    assert [file.path for file in result.files] == [str(root / "a.py")]
    [problem] = result.problems
    assert problem.path == str(root / "closed")
    assert problem.message == "folder cannot be read: Permission denied"
