"""The rules of each file: its config, and what ``per-file-ignores`` take out for its path."""

from __future__ import annotations

from autolint.catalogue import Catalogue
from autolint.config import Config
from autolint.files import File, Patterns
from autolint.selection import Selection


class Selections:
    """Makes each selection once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: dict[tuple[Config, tuple[str, ...]], Selection] = {}
        self._per_file: dict[Config, list[tuple[Patterns, tuple[str, ...]]]] = {}

    def of(self, file: File) -> Selection:
        """The selection that holds for a file."""
        config = file.config
        if config not in self._per_file:
            self._per_file[config] = [
                (Patterns(config.root, [each.pattern]), each.ignore)
                for each in config.per_file_ignores
            ]
        ignored = tuple(
            selector
            for patterns, selectors in self._per_file[config]
            if patterns.verdict(file.path, folder=False)
            for selector in selectors
        )
        key = (config, ignored)
        if key not in self._known:
            self._known[key] = Selection(self._catalogue, config, ignored)
        return self._known[key]
