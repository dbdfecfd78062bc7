"""The files of one project, linted one at a time in one process, and what that depended on."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autolint.cache import Reader
from autolint.catalogue import Catalogue
from autolint.diagnostic import Diagnostic, Problem
from autolint.files import File
from autolint.linted import Linted, Seen
from autolint.notebook import Notebook
from autolint.selection import Selection
from autolint.selections import Selections

if TYPE_CHECKING:
    from autolint.engine import Engine, FileResult
    from autolint.interpreter.project import Project
    from autolint.registry import Registry

_COLLECT_AFTER = 1_500_000
"""Bytes of source after which what only cycles keep alive is looked for."""


class Linter:
    """Reads files and lints them, with all that was learnt about the files before."""

    def __init__(self, catalogue: Catalogue, screened: bool = True) -> None:
        """Rules are loaded when they are needed, unless `catalogue` holds them already.

        `screened` is the engine's.
        """
        self.screened = screened
        self._catalogue = catalogue
        self._reader = Reader()
        self._uncollected = 0
        self.registry: Registry | None = None
        """The rules, if they were needed."""
        self.engine: Engine
        self.selections: Selections
        self._project: Project

    def load(self) -> None:
        """Load LibCST, the engine and the rules. Raises RegistryError."""
        if self.registry is not None:
            return
        from autolint.engine import Engine
        from autolint.interpreter.project import Project
        from autolint.registry import Registry

        known = self._catalogue
        self.registry = known if isinstance(known, Registry) else Registry.load()
        self.selections = Selections(self.registry)
        self._project = Project(self._reader.text)
        self.engine = Engine(self.registry, self._project, self.screened)

    def selection(self, file: File) -> Selection:
        """The rules of a file. Raises RegistryError."""
        self.load()
        return self.selections.of(file)

    def read(self, file: File) -> bytes | Problem:
        """The bytes of a file of the disk, or why there are none."""
        try:
            return self._reader.read(file.path)
        except OSError as error:
            reason = error.strerror or str(error)
            return Problem(file.path, f"file cannot be read: {reason}")

    def lint(self, file: File, raw: bytes) -> tuple[FileResult, Linted]:
        """What is found in the bytes of a file: for who changes it, and for who tells it."""
        selection = self.selection(file)
        result, touched = self._project.touched.recorded(
            lambda: self._checked(file, raw, selection)
        )
        linted = Linted(
            list(in_cells(result)),
            result.problems,
            result.functions,
            result.not_followed,
            files=frozenset(each for each in touched if isinstance(each, str)),
            imports=frozenset(each for each in touched if not isinstance(each, str)),
        )
        self._uncollected += len(raw)
        if self._uncollected > _COLLECT_AFTER and not gc.isenabled():
            gc.collect()  # functions and their closures are cycles
            gc.freeze()  # what is left are indices, which need not be looked at again
            self._uncollected = 0
        return result, linted

    def _checked(self, file: File, raw: bytes, selection: Selection) -> FileResult:
        from autolint.engine import FileResult

        try:
            return self.engine.check(file.path, raw, selection)
        except Exception as error:
            message = f"internal error: {type(error).__name__}: {error}"
            problem = Problem(file.path, message, None, traceback.format_exc())
            return FileResult(problems=[problem])

    def seen(self) -> Seen | None:
        """What was seen of the disk; None if nothing was linted."""
        if self.registry is None:
            return None
        paths = self._project.paths
        reader = self._reader
        return Seen(reader.stamps, reader.unsteady, paths.asked, paths.answers, paths.changed)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for cycles after many files only.

    Trees are freed by reference counts; looking for cycles among their nodes costs a tenth.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()


def in_cells(result: FileResult) -> Iterator[Diagnostic]:
    """The findings of a file as they are told."""
    source = result.source
    for each in result.diagnostics:
        yield source.in_cells(each) if isinstance(source, Notebook) else each
