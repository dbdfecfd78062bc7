"""Settings: ``[tool.autolint]`` of the nearest pyproject.toml above a file, and the command line.

Raises ConfigError for anything that is not understood, with the nearest known word.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from autolint.severity import Severity

NEWEST_TORCH = "2.13"
"""The newest torch whose behaviour was probed; the default of ``target-torch``."""

_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")


class ConfigError(Exception):
    """The configuration cannot be used: one line that says where and why."""


@dataclass(frozen=True, slots=True)
class PerFileIgnore:
    """Selectors that are ignored in the files that a pattern matches."""

    pattern: str
    ignore: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """The settings for the files below `root`; patterns are relative to it.

    None stands for what nobody set. `origin` is the file, `given` the settings that are in it, and
    `overridden` those that the command line changed.
    """

    root: str
    origin: str | None = None
    given: frozenset[str] = frozenset()
    overridden: frozenset[str] = frozenset()
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    per_file_ignores: tuple[PerFileIgnore, ...] = ()
    target_torch: str = NEWEST_TORCH


SETTINGS = tuple(
    each.name
    for each in fields(Config)
    if each.name not in ("root", "origin", "given", "overridden")
)
"""The names of what can be set in a file."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says. `select` given here sets the file's select and ignore aside."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False

    def applied_to(self, config: Config) -> Config:
        """The config with the command line's word over it. Excludes are kept apart: see `files`."""
        inherited = config.ignore if self.select is None else ()
        default = Overrides()
        changed = {
            each.name
            for each in fields(self)
            if getattr(self, each.name) != getattr(default, each.name)
        }
        return replace(
            config,
            select=config.select if self.select is None else self.select,
            extend_select=config.extend_select + self.extend_select,
            ignore=inherited + self.ignore,
            min_severity=config.min_severity if self.min_severity is None else self.min_severity,
            force_exclude=config.force_exclude or self.force_exclude,
            overridden=frozenset(changed),
        )


class Configs:
    """Finds the config of a folder, reading each pyproject.toml once."""

    def __init__(
        self,
        overrides: Overrides,
        check_selector: Callable[[str], None],
        explicit: str | None = None,
    ) -> None:
        """`check_selector` raises ConfigError for a selector that means no rule.

        `explicit` is the one file to use for every folder. Raises ConfigError.
        """
        self._overrides = overrides
        self._check_selector = check_selector
        for selector in (*(overrides.select or ()), *overrides.extend_select, *overrides.ignore):
            check_selector(selector)
        self._by_folder: dict[str, Config] = {}
        self._explicit: Config | None = None
        if explicit is not None:
            found = self._read(os.path.abspath(explicit), required=True)
            self._explicit = overrides.applied_to(found or Config(os.getcwd()))

    def of_folder(self, folder: str) -> Config:
        """The config for files directly in `folder` (absolute). Raises ConfigError."""
        if self._explicit is not None:
            return self._explicit
        pending: list[str] = []
        while folder not in self._by_folder:
            pending.append(folder)
            found = self._read(os.path.join(folder, "pyproject.toml"), required=False)
            parent = os.path.dirname(folder)
            if found is not None or parent == folder:
                config = found if found is not None else Config(os.getcwd())
                self._by_folder[folder] = self._overrides.applied_to(config)
                break
            folder = parent
        config = self._by_folder[folder]
        self._by_folder.update(dict.fromkeys(pending, config))
        return config

    def _read(self, path: str, required: bool) -> Config | None:
        """The config in a file; None if there is no file or it has no section of ours."""
        try:
            with open(path, "rb") as stream:
                raw = stream.read()
        except OSError as error:
            if required:
                raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
            return None
        if not required and b"autolint" not in raw:
            return None
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib

        try:
            document = tomllib.loads(raw.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: no valid TOML: {error}") from error
        section = _section(document, path)
        if section is None:
            if required:
                raise ConfigError(f"{path}: has no [tool.autolint] section")
            return None
        return self._from_section(section, path)

    def _from_section(self, section: Mapping[str, Any], path: str) -> Config:
        known = {name.replace("_", "-"): name for name in SETTINGS}
        values: dict[str, Any] = {}
        for key, value in section.items():
            if key not in known:
                raise ConfigError(
                    f"{path}: unknown key {key!r} in [tool.autolint]" + did_you_mean(key, known)
                )
            values[known[key]] = _READERS[key](value, f"{path}: {key}")
        root = os.path.dirname(path)
        config = Config(root=root, origin=path, given=frozenset(values), **values)
        selectors = [*(config.select or ()), *config.extend_select, *config.ignore]
        for each in config.per_file_ignores:
            selectors.extend(each.ignore)
        for selector in selectors:
            try:
                self._check_selector(selector)
            except ConfigError as error:
                raise ConfigError(f"{path}: {error}") from error
        return config


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion to append to an error: the known word that is nearest, if any is near."""
    import difflib

    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(word.casefold(), by_folded, n=1)
    return f", did you mean {by_folded[near[0]]!r}?" if near else ""


def parse_severity(value: str) -> Severity | None:
    """The severity of that name, if there is one."""
    return next((each for each in Severity if str(each) == value), None)


def _section(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    tool = document.get("tool", {})
    section = tool.get("autolint") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: tool.autolint must be a table")
    return section


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(value)


def _boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false")
    return value


def _severity(value: Any, where: str) -> Severity:
    found = parse_severity(value) if isinstance(value, str) else None
    if found is None:
        raise ConfigError(f"{where} must be one of 'info', 'warning', 'error'")
    return found


def _version(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise ConfigError(f"{where} must be a version such as {NEWEST_TORCH!r}")
    return value


def _per_file(value: Any, where: str) -> tuple[PerFileIgnore, ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of patterns")
    return tuple(
        PerFileIgnore(pattern, _strings(codes, f"{where}.{pattern!r}"))
        for pattern, codes in value.items()
    )


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "min-severity": _severity,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _boolean,
    "per-file-ignores": _per_file,
    "target-torch": _version,
}
