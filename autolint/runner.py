"""Many files: in order, each on its own, with fixes if asked for."""

from __future__ import annotations

import enum
import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from autolint import fix, noqa
from autolint.cache import Reader, Results
from autolint.catalogue import UNPARSABLE, UNUSED_SUPPRESSION, Catalogue
from autolint.diagnostic import Diagnostic, Outcome, Problem
from autolint.files import File
from autolint.linted import Linted, Seen
from autolint.notebook import Notebook
from autolint.selection import Selection
from autolint.selections import Selections
from autolint.source import Source

if TYPE_CHECKING:
    from autolint.engine import Engine, FileResult
    from autolint.interpreter.project import Project
    from autolint.registry import Registry

_STACK_SIZES = (512 << 20, 128 << 20, 32 << 20)
"""Stacks to ask for, largest first; memory is used only as deep as one goes."""

Progress = Callable[[int, int], None]
T = TypeVar("T")


class Fixing(enum.Enum):
    """Which fixes are applied."""

    NONE = "none"
    SAFE = "safe"
    ALL = "all"
    SUPPRESS = "suppress"
    """None: each finding gets a comment that suppresses it."""


ENGINE_CODES = frozenset({UNPARSABLE.code, UNUSED_SUPPRESSION.code})

_COLLECT_AFTER = 1_500_000
"""Bytes of source after which what only cycles keep alive is looked for."""


class Runner:
    """Runs the engine over files and gathers the outcome."""

    def __init__(
        self,
        catalogue: Catalogue,
        fixing: Fixing = Fixing.NONE,
        write: bool = True,
        results: Results | None = None,
        screened: bool = True,
    ) -> None:
        """`write` False leaves fixed texts in the outcome only; `screened` is the engine's.

        Rules are loaded for the first file that `results` does not know, unless `catalogue` holds
        them already.
        """
        self._fixing = fixing
        self._write = write
        self._screened = screened
        self._catalogue = catalogue
        self._shown = Selections(catalogue)
        self._reader = Reader()
        self._fresh: list[tuple[str, str, Linted]] = []
        self.results = results
        self.registry: Registry | None = None
        """The rules, if they were needed."""
        self.outcome = Outcome()

    def _load(self) -> None:
        """Load LibCST, the engine and the rules. Raises RegistryError."""
        if self.registry is not None:
            return
        from autolint.engine import Engine
        from autolint.interpreter.project import Project
        from autolint.registry import Registry

        known = self._catalogue
        self.registry = known if isinstance(known, Registry) else Registry.load()
        self._selections = Selections(self.registry)
        self._project: Project = Project(self._reader.text)
        self._engine: Engine = Engine(self.registry, self._project, self._screened)

    def run(self, files: Sequence[File], progress: Progress | None = None) -> Outcome:
        """Check files of the disk. `progress` is told how many are done, of how many."""
        return on_deep_stack(lambda: self._run(files, progress))

    def run_bytes(self, file: File, raw: bytes) -> Outcome:
        """Check one file whose bytes are given; nothing is written."""
        self._write = False
        on_deep_stack(lambda: self._check(file, raw))
        return self.outcome

    def _run(self, files: Sequence[File], progress: Progress | None) -> Outcome:
        collecting = gc.isenabled()
        # Trees are freed by reference counts; looking for cycles among their nodes costs a tenth.
        gc.disable()
        try:
            seen = 0
            for done, file in enumerate(files, 1):
                seen += self._read_and_check(file)
                if seen > _COLLECT_AFTER:
                    gc.collect()  # functions and their closures are cycles
                    gc.freeze()  # what is left are indices, which need not be looked at again
                    seen = 0
                if progress is not None:
                    progress(done, len(files))
        finally:
            gc.unfreeze()
            if collecting:
                gc.enable()
        self._remember()
        self.outcome.findings = once_enough(self.outcome.findings)
        self.outcome.findings.sort(key=lambda each: each.order)
        return self.outcome

    def _read_and_check(self, file: File) -> int:
        """Check a file of the disk; its size if it was read."""
        if self._take_known(file):
            return 0
        try:
            raw = self._reader.read(file.path)
        except OSError as error:
            reason = error.strerror or str(error)
            self.outcome.problems.append(Problem(file.path, f"file cannot be read: {reason}"))
            return 0
        self._check(file, raw)
        return len(raw)

    def _take_known(self, file: File) -> bool:
        """Take what an earlier run found in a file, unless there is something to change in it."""
        if self.results is None:
            return False
        selection = self._shown.of(file)
        known = self.results.find(_name(selection, file), file.path, selection.shows)
        if known is None or any(self._is_wanted(each, selection) for each in known.diagnostics):
            return False
        outcome = self.outcome
        outcome.files += 1
        outcome.functions += known.functions
        outcome.not_followed += known.not_followed
        outcome.findings.extend(known.diagnostics)
        return True

    def _check(self, file: File, raw: bytes) -> None:
        self._load()
        selection = self._selections.of(file)
        result, touched = self._project.touched.recorded(
            lambda: self._engine.check(file.path, raw, selection)
        )
        if self.results is not None and not result.problems:
            linted = Linted(
                list(_in_cells(result)),
                functions=result.functions,
                not_followed=result.not_followed,
                files=frozenset(each for each in touched if isinstance(each, str)),
                imports=frozenset(each for each in touched if not isinstance(each, str)),
            )
            self._fresh.append((_name(selection, file), file.path, linted))
        wanted = any(self._is_wanted(each, selection) for each in result.diagnostics)
        if wanted and file.outside and self._write:
            message = "is a link to a file outside the given folder, which is left as it is"
            result.problems.append(Problem(file.path, message))
        elif wanted and result.source is not None:
            change = self._silence if self._fixing is Fixing.SUPPRESS else self._fix
            result = change(result.source, result, selection)
        outcome = self.outcome
        outcome.files += 1
        outcome.functions += result.functions
        outcome.not_followed += result.not_followed
        outcome.problems.extend(result.problems)
        outcome.findings.extend(
            each for each in _in_cells(result) if selection.shows(each.code, each.severity)
        )

    def _remember(self) -> None:
        """Give what is new to the results that are kept."""
        if self.results is None or not self._fresh:
            return
        paths = self._project.paths
        self.results.add(
            self._fresh,
            Seen(
                self._reader.stamps,
                # A fixed file is not what its users were checked with.
                self._reader.unsteady | self.outcome.changed.keys(),
                paths.asked,
                paths.answers,
                paths.changed,
            ),
        )

    def _fix(self, before: Source, first: FileResult, selection: Selection) -> FileResult:
        """Apply fixes and lint again until nothing is left to fix."""
        source, result, fixed = before, first, 0
        rejected: dict[tuple[str, ...], Problem] = {}
        # Each round leaves fewer findings, or rejects a fix: it ends.
        while True:
            wanted = [
                each
                for each in result.diagnostics
                if self._is_wanted(each, selection) and _key(each) not in rejected
            ]
            applied = fix.apply(source, wanted)
            for each, reason in applied.rejected:
                rejected[_key(each)] = _rejection(each, reason)
            if not applied.fixed:
                break
            after = self._engine.check_source(applied.source, selection)
            if not _mends(applied.fixed, result, after):
                first_one = applied.fixed[0]
                applied = fix.apply(source, [first_one])
                after = self._engine.check_source(applied.source, selection)
                if not _mends([first_one], result, after):
                    reason = "the finding would stay, or bring another: a fault of the rule"
                    rejected[_key(first_one)] = _rejection(first_one, reason)
                    continue
            source, fixed, result = applied.source, fixed + len(applied.fixed), after
        if fixed:
            if self._keep(before, source):
                self.outcome.fixed += fixed
            else:
                result = first
        result.problems.extend(rejected.values())
        return result

    def _silence(self, before: Source, first: FileResult, selection: Selection) -> FileResult:
        """Put a comment on each finding that is shown, and lint again."""
        shown = [
            each
            for each in first.diagnostics
            # What cannot be parsed has no place for a comment, and one comment needs no other.
            if selection.shows(each.code, each.severity) and each.code not in ENGINE_CODES
        ]
        if not shown:
            return first
        after = noqa.suppressed(before, shown)
        if after is None:
            message = "suppressions were not added: the lines leave no place for a comment"
            first.problems.append(Problem(before.path, message))
            return first
        result = self._engine.check_source(after, selection)
        if not self._keep(before, after):
            return first
        self.outcome.suppressed += len(shown)
        return result

    def _keep(self, before: Source, after: Source) -> bool:
        """Write a fixed file, or note what would be written. False if it could not be."""
        if self._write:
            try:
                fix.write(after)
            except OSError as error:
                reason = error.strerror or str(error)
                problem = Problem(before.path, f"file cannot be written: {reason}")
                self.outcome.problems.append(problem)
                return False
        self.outcome.changed[before.path] = (before, after)
        return True

    def _is_wanted(self, found: Diagnostic, selection: Selection) -> bool:
        """Whether a finding is to be fixed or suppressed."""
        if self._fixing is Fixing.NONE or not selection.shows(found.code, found.severity):
            return False
        if self._fixing is Fixing.SUPPRESS:
            return True
        return found.fix is not None and (found.fix.safe or self._fixing is Fixing.ALL)


def _name(selection: Selection, file: File) -> str:
    """A name for what was run on a file."""
    return f"{' '.join(sorted(selection.entries))} {file.config.target_torch}"


def _in_cells(result: FileResult) -> Iterator[Diagnostic]:
    """The findings of a file as they are told."""
    source = result.source
    for each in result.diagnostics:
        yield source.in_cells(each) if isinstance(source, Notebook) else each


def _key(found: Diagnostic) -> tuple[str, ...]:
    """What a finding is known by from round to round, while lines move."""
    return (found.code, found.message, found.excerpt.strip())


def _mends(fixed: Iterable[Diagnostic], before: FileResult, after: FileResult) -> bool:
    """Whether the `fixed` findings are gone, and none of their codes or another came instead."""
    left = Counter(each.code for each in before.diagnostics)
    left.subtract(each.code for each in fixed)
    now = Counter(each.code for each in after.diagnostics)
    return all(count <= left[code] for code, count in now.items())


def _rejection(found: Diagnostic, reason: str) -> Problem:
    message = f"fix of {found.code} at line {found.line} was not applied: {reason}"
    return Problem(found.path, message, found.code)


def on_deep_stack(work: Callable[[], T]) -> T:
    """Call `work` in a thread whose stack bears deep trees; raises what it raises."""
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = _started(target)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _started(target: Callable[[], None]) -> threading.Thread:
    before = threading.stack_size()
    try:
        for size in _STACK_SIZES:
            thread = threading.Thread(target=target, name="autolint", daemon=True)
            try:
                threading.stack_size(size)
                thread.start()
            except (RuntimeError, ValueError):
                continue  # The system limits memory or stacks.
            return thread
        raise MemoryError("no thread can be started")
    finally:
        threading.stack_size(before)


def once_enough(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Leave out what stands at a call where the fault in the other file is reported itself."""
    findings = list(findings)
    shown = {(each.path, each.line, each.code) for each in findings if not each.elsewhere}
    return [
        each
        for each in findings
        if not (
            each.elsewhere
            and each.because
            and (each.because[0].path, each.because[0].line, each.code) in shown
        )
    ]
