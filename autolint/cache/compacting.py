"""Leaves out of the kept results what none of them depends on any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from autolint.cache.results import Content

T = TypeVar("T")


def compact(content: Content) -> None:
    """Drop stamps, imports and probes that no result needs, once they outnumber the others.

    Each run looks at every stamp and folder, and what has to be renumbered is the whole content: so
    neither too late nor each time.
    """
    rows = [row for own in content["results"].values() for row in own.values()]
    files, imports = _named(row[3] for row in rows), _named(row[4] for row in rows)
    kept = len(files) + len(imports)
    if len(content["stamps"]) + len(content["imports"]) <= 2 * kept:
        return
    content["stamps"], file_numbers = _chosen(content["stamps"], files)
    content["imports"], import_numbers = _chosen(content["imports"], imports)
    probes = _renumbered_probes(content["folders"], _named(content["imports"].values()))
    content["folders"] = {at: row for at, row in content["folders"].items() if row[1]}
    for asked, numbers in content["imports"].items():
        content["imports"][asked] = _translated(numbers, probes)
    for row in rows:
        row[3] = _translated(row[3], file_numbers)
        row[4] = _translated(row[4], import_numbers)
    content["results"] = {name: own for name, own in content["results"].items() if own}


def _named(texts: Iterable[str]) -> set[str]:
    return {number for text in texts for number in text.split()}


def _chosen(entries: dict[str, T], positions: set[str]) -> tuple[dict[str, T], dict[str, str]]:
    """The entries at some positions, and the new position of each."""
    old = [str(at) for at in range(len(entries)) if str(at) in positions]
    chosen = {key: each for at, (key, each) in enumerate(entries.items()) if str(at) in positions}
    return chosen, {each: str(at) for at, each in enumerate(old)}


def _renumbered_probes(folders: dict[str, list[Any]], used: set[str]) -> dict[str, str]:
    """Keep the probes that are used, numbered anew; the new number of each."""
    numbers: dict[str, str] = {}
    for names, name, number in list(_probes(folders)):
        old = str(number // 2)
        if old not in used:
            del names[name]
            continue
        numbers[old] = str(len(numbers))
        names[name] = 2 * int(numbers[old]) + number % 2
    return numbers


def _probes(folders: dict[str, list[Any]]) -> Iterator[tuple[dict[str, int], str, int]]:
    for _, names in folders.values():
        for name, number in names.items():
            yield names, name, number


def _translated(numbers: str, new: dict[str, str]) -> str:
    return " ".join(new[each] for each in numbers.split())
