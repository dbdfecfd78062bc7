"""Which file an import means: see DESIGN §5, "Other files"."""

from __future__ import annotations

import os
import sys

from autolint.interpreter.touched import Import, Probe, settled

_TOP_LEVEL_OUTSIDE = frozenset({"torch", "numpy"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class ModulePaths:
    """Looks for modules in the folders of a project, never among the installed ones."""

    def __init__(self) -> None:
        self._located: dict[tuple[str, str], tuple[str, ...]] = {}
        self._candidates_of: dict[Import, list[str]] = {}
        self._listings: dict[str, frozenset[str] | None] = {}
        self._probes: set[Probe] = set()
        self._exists: dict[str, bool] = {}
        self.asked: dict[Import, frozenset[Probe]] = {}
        """What was asked of the disk for each import."""
        self.answers: dict[Probe, bool] = {}
        self.changed: dict[str, int] = {}
        """When the folders were changed last before they were listed, as `settled` tells."""

    def locate(self, importer: str, dotted: str) -> tuple[str, ...]:
        """Paths of all files that a module imported by the file `importer` could be.

        A relative import has leading dots. Paths are relative if `importer` is.
        """
        found = self._located.get((importer, dotted))
        if found is None:
            found = self._located[importer, dotted] = self._search(importer, dotted)
        return found

    def _search(self, importer: str, dotted: str) -> tuple[str, ...]:
        own = os.path.abspath(importer)
        key = Import(os.path.dirname(own), dotted)
        if key not in self._candidates_of:
            self._probes = set()
            self._candidates_of[key] = self._candidates(*key)
            self.asked[key] = frozenset(self._probes)
        candidates = self._candidates_of[key]
        if not dotted.startswith("."):
            # A module named like the library it wraps imports the library, not itself.
            candidates = [c for c in candidates if c != own]
        if os.path.isabs(importer):
            return tuple(candidates)
        return tuple(os.path.relpath(c).replace(os.sep, "/") for c in candidates)

    def _candidates(self, folder: str, dotted: str) -> list[str]:
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            found = self._under(folder, name)
            return [found] if found else []
        top = name.partition(".")[0]
        if top in _TOP_LEVEL_OUTSIDE:
            return []
        if top in sys.stdlib_module_names and self._is_package(folder):
            return []  # in a package, absolute imports do not look beside the file
        candidates: dict[str, None] = {}
        for root in self._roots(folder, top):
            found = self._under(root, name)
            if found:
                candidates[found] = None
        return list(candidates)

    def _roots(self, folder: str, top: str) -> list[str]:
        """Folders in which an absolute import is looked up: see DESIGN §5."""
        base = folder
        while self._is_package(base) and os.path.dirname(base) != base:
            base = os.path.dirname(base)
        roots = [folder]
        if os.path.basename(base) in _INSTALLED:
            # An installed package sees itself, and none of its neighbours.
            inside = folder[len(base) + 1 :].split(os.sep)[0]
            return [*roots, base] if inside == top else roots[: folder != base]
        nearest = [base, os.path.join(base, "src")]
        if not any(self._has(root, top) for root in (folder, *nearest)):
            # Scripts, tests and examples lie in a folder beside the package.
            above = os.path.dirname(base)
            while self._is_package(above) and os.path.dirname(above) != above:
                above = os.path.dirname(above)
            nearest = [above, os.path.join(above, "src")]
        return roots + nearest

    def _has(self, root: str, top: str) -> bool:
        path = os.path.join(root, top)
        return self._is_file(path + ".py") or self._is_file(path)

    def _under(self, root: str, name: str) -> str | None:
        path = os.path.join(root, *name.split(".")) if name else root
        package = os.path.join(path, "__init__.py")
        if self._is_file(package):
            return package  # as Python does, before a module of the same name
        return path + ".py" if name and self._is_file(path + ".py") else None

    def _is_package(self, folder: str) -> bool:
        return self._is_file(os.path.join(folder, "__init__.py"))

    def _is_file(self, path: str) -> bool:
        folder, name = os.path.split(path)
        if not self._has_entry(folder, name):
            return False
        known = self._exists.get(path)
        if known is None:
            known = self._exists[path] = os.path.exists(path)  # it may be a link to nothing
        return known

    def _has_entry(self, folder: str, name: str) -> bool:
        names = self._listing(folder)
        if names is None:
            parent, own = os.path.split(folder)
            if own:
                self._has_entry(parent, own)  # that there is no such folder is the answer
            return False
        probe = Probe(folder, name)
        self._probes.add(probe)
        answer = self.answers[probe] = name in names
        return answer

    def _listing(self, folder: str) -> frozenset[str] | None:
        """The names in a folder; None if there is no such folder, or it cannot be read."""
        if folder not in self._listings:
            names: frozenset[str] | None = None
            try:
                changed = os.stat(folder).st_mtime_ns
                names = frozenset(os.listdir(folder))
                self.changed[folder] = settled(changed)
            except (OSError, ValueError):
                pass
            self._listings[folder] = names
        return self._listings[folder]
