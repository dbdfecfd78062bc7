"""The codes that there are: what can be selected, shown and explained without loading a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autolint.severity import Severity

if TYPE_CHECKING:
    from autolint.api import Rule


class RegistryError(Exception):
    """A rule or a pack of rules cannot be used: one line that names its file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A code as the command line knows it.

    `rule` is None for the engine's own codes, and in a catalogue that was read from the cache.
    """

    code: str
    name: str
    severity: Severity
    page: str
    rule: Rule | None = None

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.strip().partition("\n")[0]


UNPARSABLE = Entry(
    "AG000",
    "unparsable-file",
    Severity.ERROR,
    """File that cannot be read as Python.

Nothing in such a file was checked; the other files were. The message says what stopped the parser:
a syntax error (also syntax that is newer than the Python which runs autolint), an encoding that
does not fit the bytes, or nesting or size beyond what is analysed.

It cannot be suppressed by a comment, since comments are not known in such a file: exclude the file
or ignore AG000 for it in ``[tool.autolint.per-file-ignores]``. """,
)

UNUSED_SUPPRESSION = Entry(
    "AG001",
    "unused-suppression",
    Severity.WARNING,
    """Suppression comment that hides nothing.

The rule that the comment names was run and found nothing on this statement, at any severity; or no
rule has that code. Such a comment would hide the next, real fault. Remove it.

Not reported: a bare ``# noqa`` and codes of other tools; a code whose rule was not run, because it
is not selected or because a function of the file could not be followed to its end. """,
)


class Catalogue:
    """Entries by code and name; the engine's own two are always among them."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        self._by_name: dict[str, Entry] = {}
        for entry in (UNPARSABLE, UNUSED_SUPPRESSION, *entries):
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Take an entry in; one of the same code or name gives way."""
        self._entries[entry.code] = entry
        self._by_name[entry.name] = entry

    def __iter__(self) -> Iterator[Entry]:
        """The entries in the order of their codes."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.code))

    def find(self, key: str) -> Entry | None:
        """The entry with that code or name."""
        return self._entries.get(key) or self._by_name.get(key)

    def keys(self) -> list[str]:
        """All codes and names."""
        return [*self._entries, *self._by_name]
