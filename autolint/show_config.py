"""``--show-config``: which settings hold for some paths, and where each of them comes from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from autolint.config import SETTINGS, Config, Configs, Overrides, PerFileIgnore
from autolint.files import DEFAULT_EXCLUDE

_DEFAULTS: dict[str, Any] = {
    "select": ("ALL",),
    "min_severity": "warning",
    "exclude": DEFAULT_EXCLUDE,
}
"""What holds where a setting is None."""


def lines(paths: Iterable[str], configs: Configs, overrides: Overrides) -> Iterator[str]:
    """One block for each path. Raises ConfigError."""
    for path in paths:
        folder = os.path.abspath(path)
        if not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        config = configs.of_folder(folder)
        yield f"{path}: {config.origin or 'no configuration file'}"
        yield from _settings(config, overrides)


def _settings(config: Config, overrides: Overrides) -> Iterator[str]:
    for name in SETTINGS:
        value = getattr(config, name)
        origins = []
        if name in config.given and not (name in config.overridden and name == "select"):
            origins.append(config.origin or "")
        if name in config.overridden:
            origins.append("command line")
            if name in ("exclude", "extend_exclude"):  # these are kept beside the file's
                value = (*(value or ()), *getattr(overrides, name))
        value = _DEFAULTS.get(name) if value is None else value
        key = name.replace("_", "-")
        yield f"  {key} = {_shown(value)}  # {', '.join(origins) or 'default'}"


def _shown(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and value and isinstance(value[0], PerFileIgnore):
        return f"{{{', '.join(f'{_shown(v.pattern)} = {_shown(v.ignore)}' for v in value)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(each) for each in value)}]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
