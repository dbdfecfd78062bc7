"""The results of earlier runs, by selection and path; see `Content` for the form on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from typing import Any, TypedDict

from autolint.cache.coding import decode, encode
from autolint.cache.compacting import compact
from autolint.cache.place import TAG, Place
from autolint.cache.stamps import Stamp, renewed, same
from autolint.diagnostic import Diagnostic
from autolint.interpreter.touched import Import, settled
from autolint.linted import Linted, Seen
from autolint.severity import Severity

_NAME = f"results-{TAG}.json"

_DAMAGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading raises if the content is not in our form."""


class Content(TypedDict):
    """What the file holds. Numbers in texts are positions, or the numbers of probes."""

    key: str
    stamps: dict[str, list[Any] | None]
    """Changed, size and digest of each file that a result depends on."""
    folders: dict[str, list[Any]]
    """When a folder changed, and per name twice the number of the probe, plus 1 if it was there."""
    imports: dict[str, str]
    """Folder and module, between them a line feed: the probes that it took to find the module."""
    results: dict[str, dict[str, list[Any]]]
    """Functions, not followed, findings, the files and the imports it depends on."""


class Results:
    """The results that are still true, and the new ones.

    All that depends on something that changed is dropped at the beginning: what is left needs no
    further look.
    """

    def __init__(self, place: Place, key: str) -> None:
        """`key` names all that results depend on besides the files of a project."""
        self._place = place
        self._content = _empty(key)
        self._changed = False
        content = place.read(_NAME)
        try:
            if content["key"] == key:
                self._content = content
                self._drop_stale()
        except _DAMAGE:
            self._content = _empty(key)

    def find(
        self, selection: str, path: str, shows: Callable[[str, Severity], bool]
    ) -> Linted | None:
        """The result for a file, with those findings only that are shown."""
        try:
            functions, not_followed, rows = self._content["results"][selection][path][:3]
            findings: list[Diagnostic] = decode(path, rows, shows) if rows else []
        except _DAMAGE:
            return None
        return Linted(findings, [], functions, not_followed)

    def add(self, fresh: Iterable[tuple[str, str, Linted]], seen: Seen) -> None:
        """Take in results: selection, path, and what was found."""
        content = self._content
        stamps, folders = content["stamps"], content["folders"]
        # What changed since the run began is left as it was: the next run will see that.
        moved = {
            path
            for path, stamp in seen.stamps.items()
            if path in stamps and not same(_stamp(stamps[path]), _stamp(stamp))
        } | seen.unsteady
        shaken = {
            probe
            for probe, answer in seen.answers.items()
            if probe.folder in folders
            and folders[probe.folder][1].get(probe.name, answer) % 2 != answer
        }
        lost = {asked for asked, probes in seen.asked.items() if not shaken.isdisjoint(probes)}
        numbers = self._numbered_imports(seen, lost)
        positions = {path: at for at, path in enumerate(stamps)}
        for selection, path, linted in fresh:
            needed = {path, *linted.files}
            if not (needed <= seen.stamps.keys() and moved.isdisjoint(needed)):
                continue
            if not lost.isdisjoint(linted.imports):
                continue
            for each in sorted(needed):
                stamp = seen.stamps[each]
                stamps[each] = None if stamp is None else list(stamp)
                positions.setdefault(each, len(positions))
            content["results"].setdefault(selection, {})[path] = [
                linted.functions,
                linted.not_followed,
                [encode(found) for found in linted.diagnostics],
                " ".join(str(positions[each]) for each in sorted(needed)),
                " ".join(sorted({numbers[each] for each in linted.imports})),
            ]
            self._changed = True

    def save(self) -> None:
        """Write what is new. Raises OSError."""
        if not self._changed:
            return
        gone = [
            (own, path)
            for own in self._content["results"].values()
            for path in own
            if not os.path.exists(path)
        ]
        for own, path in gone:
            del own[path]
        compact(self._content)
        self._place.write(_NAME, self._content)

    def _numbered_imports(self, seen: Seen, lost: Container[Import]) -> dict[Import, str]:
        """Take imports and their probes in; the position of each import."""
        folders, imports = self._content["folders"], self._content["imports"]
        count = sum(len(names) for _, names in folders.values())
        for asked, probes in seen.asked.items():
            if asked in lost:
                continue
            numbers = []
            for probe in sorted(probes):
                folder, name = probe
                _, names = folders.setdefault(folder, [seen.changed[folder], {}])
                if name not in names:
                    names[name] = 2 * count + seen.answers[probe]
                    count += 1
                numbers.append(str(names[name] // 2))
            imports["\n".join(asked)] = " ".join(numbers)
        return {
            Import(folder, module): str(at)
            for at, key in enumerate(imports)
            for folder, _, module in (key.rpartition("\n"),)
        }

    # ------------------------------------------------------------------ what is not true any more

    def _drop_stale(self) -> None:
        content = self._content
        files = {str(each) for each in self._stale_files()}
        imports = {str(each) for each in self._stale_imports()}
        if not files and not imports:
            return
        self._changed = True
        for own in content["results"].values():
            for path in [
                path
                for path, row in own.items()
                if not (files.isdisjoint(row[3].split()) and imports.isdisjoint(row[4].split()))
            ]:
                del own[path]

    def _stale_files(self) -> list[int]:
        """The positions of files that changed; they get the stamps that they have now."""
        stale = []
        stamps = self._content["stamps"]
        for at, (path, row) in enumerate(stamps.items()):
            old = _stamp(row)
            new = renewed(path, old)
            if new is old:
                continue
            if not same(old, new):
                stale.append(at)
            stamps[path] = None if new is None else list(new)
            self._changed = True
        return stale

    def _stale_imports(self) -> list[int]:
        """The positions of imports for which the disk gives other answers now."""
        wrong: set[str] = set()
        for folder, row in self._content["folders"].items():
            changed, names = row
            try:
                now = os.stat(folder).st_mtime_ns
                if now == changed:
                    continue
                there = set(os.listdir(folder))
            except (OSError, ValueError):
                now, there = 0, set()
            self._changed = True
            row[0] = settled(now)
            for name, number in names.items():
                if number % 2 != (name in there):
                    wrong.add(str(number // 2))
                    names[name] = number ^ 1
        if not wrong:
            return []
        return [
            at
            for at, probes in enumerate(self._content["imports"].values())
            if not wrong.isdisjoint(probes.split())
        ]


def _stamp(row: Any) -> Stamp | None:
    return None if row is None else Stamp(*row)


def _empty(key: str) -> Content:
    return {"key": key, "stamps": {}, "folders": {}, "imports": {}, "results": {}}
