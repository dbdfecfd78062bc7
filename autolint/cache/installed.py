"""The catalogue of installed rules, without loading one, while nothing that was installed changed.

Entry points are asked for only when a folder in which packages are installed changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import autolint
from autolint.cache.place import TAG, Place
from autolint.cache.stamps import digest
from autolint.catalogue import Catalogue, Entry
from autolint.severity import Severity

if TYPE_CHECKING:
    from autolint.registry import Registry

_NAME = f"rules-{TAG}.json"


@dataclass(frozen=True, slots=True)
class Installed:
    """The rules, and a name for all that runs: autolint, its rules, Python and LibCST.

    `key` is empty if nobody knows where the rules came from: then nothing may be kept.
    """

    catalogue: Catalogue
    key: str


def installed(place: Place, load: Callable[[], Registry]) -> Installed:
    """The catalogue from the cache if it is what `load` would give. Raises what that raises.

    What is loaded is not written here: the run writes it with its results. Raises nothing where
    the cache cannot be written.
    """
    kept = place.read(_NAME)
    try:
        catalogue = _still_true(kept)
        if catalogue is not None:
            if kept["sites"] != _sites():
                # The same packs among other packages: they need not be asked for next time.
                with suppress(OSError):
                    place.write(_NAME, {**kept, "sites": _sites()})
            return Installed(catalogue, _key(kept))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    registry = load()
    if not registry.packs:
        return Installed(registry, "")
    return Installed(registry, _key(_content(registry)))


def keep(place: Place, registry: Registry) -> None:
    """Write down the rules that are loaded. Raises OSError."""
    content = _content(registry)
    if registry.packs and place.read(_NAME) != content:
        place.write(_NAME, content)


def _still_true(kept: Any) -> Catalogue | None:
    if kept is None or kept["program"] != _program():
        return None
    if any(mark != _fingerprint(folder) for _, _, folder, mark in kept["packs"]):
        return None
    if kept["sites"] != _sites() and not _same_packs(kept):
        return None
    return Catalogue(
        Entry(code, name, Severity(severity), page)
        for code, name, severity, page in kept["entries"]
    )


def _same_packs(kept: Any) -> bool:
    """Whether the packages that count are the same, though some were installed or removed."""
    from importlib import metadata, util

    from autolint.packs import points

    if kept["libcst"] != metadata.version("libcst"):
        return False
    packs = kept["packs"]
    if [[name, value] for name, value in points()] != [each[:2] for each in packs]:
        return False
    for _, value, folder, _ in packs:
        if "." in value:
            return False  # to find it, its parent would have to be imported
        found = util.find_spec(value)
        if found is None or folder not in (found.submodule_search_locations or ()):
            return False
    return True


def _content(registry: Registry) -> dict[str, Any]:
    import libcst

    return {
        "program": _program(),
        "libcst": getattr(libcst, "LIBCST_VERSION", None),
        "sites": _sites(),
        "packs": [
            [pack.name, pack.package, pack.folder, _fingerprint(pack.folder)]
            for pack in registry.packs
        ],
        "entries": [
            [each.code, each.name, int(each.severity), each.page]
            for each in registry
            if each.rule is not None
        ],
    }


def _key(content: Any) -> str:
    parts = [content["program"], content["libcst"], content["packs"]]
    return digest(repr(parts).encode("utf-8", "surrogatepass"))


def _program() -> str:
    folder = os.path.dirname(os.path.abspath(autolint.__file__))
    return f"{autolint.__version__} {sys.version} {_fingerprint(folder)}"


def _sites() -> list[list[Any]]:
    """The folders in which packages can be installed, and when they changed."""
    return [[folder, _changed(folder)] for folder in dict.fromkeys(sys.path)]


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError):
        return 0


def _fingerprint(folder: str) -> str:
    """A name for the files of a package, as the file system tells them apart."""
    marks: list[str] = []
    pending = [folder]
    while pending:
        at = pending.pop()
        try:
            with os.scandir(at) as entries:
                pending.extend(_marked(entries, marks))
        except OSError:
            marks.append(f"{at}?")
    return digest("\n".join(sorted(marks)).encode("utf-8", "surrogatepass"))


def _marked(entries: Iterable[os.DirEntry[str]], marks: list[str]) -> list[str]:
    """Mark the files of a folder; returns the folders in it."""
    folders = []
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                folders.append(entry.path)
        else:
            status = entry.stat()
            marks.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
    return folders
