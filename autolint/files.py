"""Which files a run is about: ``.py`` and ``.ipynb`` below the given paths.

A file that is named itself is always checked, unless ``force-exclude`` is set. Folders are walked
without following links to folders; what git ignores and what the config excludes is left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pathspec

from autolint import notebook
from autolint.config import Config, Configs, Overrides, did_you_mean
from autolint.diagnostic import Problem

DEFAULT_EXCLUDE = (
    ".autolint_cache",
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


class PathError(Exception):
    """A path that was asked for cannot be checked."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to check (absolute path) and the config that holds for it.

    `outside`: a folder was named, and this is a link from it to a file elsewhere.
    """

    path: str
    config: Config
    outside: bool = False


@dataclass(slots=True)
class Found:
    """The files of a run in order, and the folders that could not be read."""

    files: list[File] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def discover(paths: Sequence[str], configs: Configs, overrides: Overrides) -> Found:
    """Find the files below `paths`, each once, sorted. Raises PathError and ConfigError."""
    walk = _Walk(configs, overrides)
    for path in paths:
        walk.start(os.path.abspath(path), path)
    walk.found.files.sort(key=lambda file: file.path)
    return walk.found


class Patterns:
    """Gitignore-style patterns relative to a folder."""

    def __init__(self, root: str, lines: Iterable[str]) -> None:
        self._root = root
        spec = pathspec.GitIgnoreSpec.from_lines(lines)
        self._last_first = [each for each in reversed(spec.patterns) if each.include is not None]

    def verdict(
        self, path: str, folder: bool, overruled: Container[int] = frozenset()
    ) -> bool | None:
        """True: matched, False: excepted with ``!``, None: not mentioned or outside the folder.

        A pattern matches what is below a match, too. `overruled` are patterns to pass over, as
        `matching` gave them.
        """
        name = self._name(path, folder)
        if name is not None:
            for pattern in self._last_first:
                if pattern.match_file(name) is not None and id(pattern) not in overruled:
                    return pattern.include
        return None

    def matching(self, folder: str) -> Iterator[int]:
        """The patterns that leave a folder out."""
        name = self._name(folder, True)
        for pattern in self._last_first:
            if name is not None and pattern.include and pattern.match_file(name) is not None:
                yield id(pattern)

    def _name(self, path: str, folder: bool) -> str | None:
        relative = os.path.relpath(path, self._root).replace(os.sep, "/")
        if relative == "." or relative.startswith("../"):
            return None
        return relative + "/" if folder else relative


class _Walk:
    """One discovery: what was found, and the patterns that were read for it."""

    def __init__(self, configs: Configs, overrides: Overrides) -> None:
        self.found = Found()
        self._configs = configs
        self._seen: set[str] = set()
        self._excludes: dict[Config, tuple[Patterns, Patterns]] = {}
        self._ignores: dict[str, tuple[Patterns, ...]] = {}
        self._overruled: set[int] = set()
        """Patterns that would leave out the folder that was named, and so all below it."""
        here = os.getcwd()
        self._exclude = None
        if overrides.exclude is not None:
            self._exclude = Patterns(here, overrides.exclude)
        self._extend_exclude = Patterns(here, overrides.extend_exclude)

    def start(self, path: str, given: str) -> None:
        """Take one path of the command line."""
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            raise PathError(_missing(path, given)) from error
        if stat.S_ISDIR(mode):
            config = self._configs.of_folder(path)
            if not (config.force_exclude and self._excluded_with_parents(path, config)):
                self._overrule(path, config)
                self._folder(path)
                self._overruled.clear()
        elif stat.S_ISREG(mode):
            config = self._configs.of_folder(os.path.dirname(path))
            if not (config.force_exclude and self._excluded_with_parents(path, config)):
                self._take(path, config)
        else:
            raise PathError(f"neither a file nor a folder: {given}")

    def _overrule(self, folder: str, config: Config) -> None:
        """Pass over the patterns that a folder is named in spite of."""
        patterns = [*self._gitignores(folder), *self._patterns(config), self._extend_exclude]
        if self._exclude is not None:
            patterns.append(self._exclude)
        for each in patterns:
            self._overruled.update(each.matching(folder))

    def _take(self, path: str, config: Config, outside: bool = False) -> None:
        if path not in self._seen:
            self._seen.add(path)
            self.found.files.append(File(path, config, outside))

    def _folder(self, folder: str) -> None:
        pending = [folder]
        tree = os.path.join(os.path.realpath(folder), "")
        while pending:
            folder = pending.pop()
            if folder in self._seen:
                continue
            self._seen.add(folder)
            config = self._configs.of_folder(folder)
            ignores = self._gitignores(folder)
            for entry in self._entries(folder):
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not entry.name.endswith((".py", notebook.SUFFIX)):
                    continue
                if self._excluded(entry.path, is_folder, config):
                    continue
                if self._ignored(entry.path, is_folder, ignores):
                    continue
                if is_folder:
                    pending.append(entry.path)
                elif entry.is_file():
                    linked = entry.is_symlink()
                    outside = linked and not os.path.realpath(entry.path).startswith(tree)
                    self._take(entry.path, config, outside)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            problem = Problem(folder, f"folder cannot be read: {error.strerror}")
            self.found.problems.append(problem)
            return []

    def _excluded(self, path: str, folder: bool, config: Config) -> bool:
        exclude, extend_exclude = self._patterns(config)
        if self._exclude is not None:
            excluded = self._exclude.verdict(path, folder, self._overruled)
        elif config.exclude is not None:
            excluded = exclude.verdict(path, folder, self._overruled)
        else:
            excluded = os.path.basename(path) in DEFAULT_EXCLUDE
        return bool(
            excluded
            or self._extend_exclude.verdict(path, folder, self._overruled)
            or extend_exclude.verdict(path, folder, self._overruled)
        )

    def _ignored(self, path: str, folder: bool, ignores: Iterable[Patterns]) -> bool:
        for patterns in ignores:
            verdict = patterns.verdict(path, folder, self._overruled)
            if verdict is not None:
                return verdict
        return False

    def _excluded_with_parents(self, path: str, config: Config) -> bool:
        """For a path that no walk led to: any folder above it may be excluded."""
        folder = os.path.isdir(path)
        while True:
            if self._excluded(path, folder, config):
                return True
            path, above, folder = os.path.dirname(path), path, True
            if path == above or above == config.root:
                return False

    def _patterns(self, config: Config) -> tuple[Patterns, Patterns]:
        """The config's ``exclude`` and ``extend-exclude``."""
        known = self._excludes.get(config)
        if known is None:
            exclude = Patterns(config.root, config.exclude or ())
            known = (exclude, Patterns(config.root, config.extend_exclude))
            self._excludes[config] = known
        return known

    def _gitignores(self, folder: str) -> tuple[Patterns, ...]:
        """The ignore files that hold in a folder, nearest first, up to its repository's root."""
        known = self._ignores.get(folder)
        if known is not None:
            return known
        own = list(_ignore_file(os.path.join(folder, ".gitignore"), folder))
        parent = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, ".git")):
            own.extend(_ignore_file(os.path.join(folder, ".git", "info", "exclude"), folder))
        elif parent != folder:
            own.extend(self._gitignores(parent))
        self._ignores[folder] = tuple(own)
        return self._ignores[folder]


def _ignore_file(path: str, folder: str) -> Iterator[Patterns]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return  # No such file, as nearly everywhere.
    yield Patterns(folder, lines)


def _missing(path: str, given: str) -> str:
    """Says that a path does not exist, and which one beside it does."""
    if os.path.lexists(path):
        return f"link to nothing: {given}"
    folder, name = os.path.split(path)
    try:
        beside = os.listdir(folder)
    except OSError:
        beside = []
    return f"no such file or folder: {given}" + did_you_mean(name, beside)
