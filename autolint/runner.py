"""Many files: in order, each on its own, with fixes if asked for."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autolint import fix, noqa
from autolint.cache import Results
from autolint.catalogue import UNPARSABLE, UNUSED_SUPPRESSION, Catalogue
from autolint.deep_stack import on_deep_stack
from autolint.diagnostic import Diagnostic, Outcome, Problem
from autolint.files import File
from autolint.linted import Linted, Seen
from autolint.linting import Linter, collecting_seldom, in_cells
from autolint.selection import Selection
from autolint.selections import Selections
from autolint.source import Source

if TYPE_CHECKING:
    from autolint.engine import FileResult
    from autolint.registry import Registry

Progress = Callable[[int, int], None]


class Fixing(enum.Enum):
    """Which fixes are applied."""

    NONE = "none"
    SAFE = "safe"
    ALL = "all"
    SUPPRESS = "suppress"
    """None: each finding gets a comment that suppresses it."""


ENGINE_CODES = frozenset({UNPARSABLE.code, UNUSED_SUPPRESSION.code})


class Runner:
    """Runs the engine over files and gathers the outcome."""

    def __init__(
        self,
        catalogue: Catalogue,
        fixing: Fixing = Fixing.NONE,
        write: bool = True,
        results: Results | None = None,
        screened: bool = True,
        jobs: int | None = 1,
    ) -> None:
        """`write` False leaves fixed texts in the outcome only; `screened` is the engine's.

        Rules are loaded for the first file that `results` does not know, unless `catalogue` holds
        them already. At most `jobs` processes lint (None: as many as there are cores); what they
        find is what one would.
        """
        self._fixing = fixing
        self._write = write
        self._jobs = jobs
        self._shown = Selections(catalogue)
        self._linter = Linter(catalogue, screened)
        self._found: dict[str, Linted | Problem] = {}
        self._fresh: list[tuple[str, str, Linted]] = []
        self._fresh_elsewhere: list[tuple[list[tuple[str, str, Linted]], Seen]] = []
        self.results = results
        self.outcome = Outcome()

    @property
    def registry(self) -> Registry | None:
        """The rules, if they were needed."""
        return self._linter.registry

    def run(self, files: Sequence[File], progress: Progress | None = None) -> Outcome:
        """Check files of the disk. `progress` is told how many are done, of how many."""
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, len(files))

        unknown = []
        for file in files:
            if self._take_known(file):
                count()
            else:
                unknown.append(file)
        self._find_in_processes(unknown, count)
        if unknown:
            on_deep_stack(lambda: self._run(unknown, count))
        self._remember()
        self.outcome.findings = once_enough(self.outcome.findings)
        self.outcome.findings.sort(key=lambda each: each.order)
        return self.outcome

    def run_bytes(self, file: File, raw: bytes) -> Outcome:
        """Check one file whose bytes are given; nothing is written."""
        self._write = False
        on_deep_stack(lambda: self._check(file, raw))
        return self.outcome

    def _find_in_processes(self, files: Sequence[File], count: Callable[[], None]) -> None:
        """Have files linted by several processes if that pays. Changes nothing."""
        if self._jobs == 1 or len(files) < 2:
            return
        from autolint import workers  # which a run in which nothing is new does without

        processes = workers.count(files, self._jobs)
        if processes == 1:
            return
        selections = {file.path: self._shown.of(file) for file in files}
        named = {file.path: _name(selections[file.path], file) for file in files}
        for share in workers.lint(self._linter, files, processes, count):
            self._found.update(share.found)
            fresh = [
                (named[path], path, each)
                for path, each in share.found.items()
                if isinstance(each, Linted) and not each.problems
            ]
            if share.seen is not None:
                self._fresh_elsewhere.append((fresh, share.seen))

    def _run(self, files: Sequence[File], count: Callable[[], None]) -> None:
        with collecting_seldom():
            for file in files:
                found = self._found.get(file.path)
                if found is None or not self._take_found(file, found):
                    self._read_and_check(file)
                if found is None:
                    count()

    def _read_and_check(self, file: File) -> None:
        """Check a file of the disk."""
        raw = self._linter.read(file)
        if isinstance(raw, Problem):
            self.outcome.problems.append(raw)
        else:
            self._check(file, raw)

    def _take_known(self, file: File) -> bool:
        """Take what an earlier run found in a file, unless there is something to change in it."""
        if self.results is None:
            return False
        selection = self._shown.of(file)
        known = self.results.find(_name(selection, file), file.path, selection.shows)
        return known is not None and self._take_linted(known, selection)

    def _take_found(self, file: File, found: Linted | Problem) -> bool:
        """Take what another process found in a file, unless there is something to change in it.

        Nor is it taken if a file that it depends on was fixed since.
        """
        if isinstance(found, Problem):
            self.outcome.problems.append(found)
            return True
        if not found.files.isdisjoint(self.outcome.changed):
            return False
        return self._take_linted(found, self._shown.of(file))

    def _take_linted(self, found: Linted, selection: Selection) -> bool:
        if any(self._is_wanted(each, selection) for each in found.diagnostics):
            return False
        self._add(found, selection)
        return True

    def _check(self, file: File, raw: bytes) -> None:
        selection = self._linter.selection(file)
        result, linted = self._linter.lint(file, raw)
        if not result.problems:
            self._fresh.append((_name(selection, file), file.path, linted))
        wanted = any(self._is_wanted(each, selection) for each in result.diagnostics)
        if wanted and file.outside and self._write:
            message = "is a link to a file outside the given folder, which is left as it is"
            result.problems.append(Problem(file.path, message))
        elif wanted and result.source is not None:
            change = self._silence if self._fixing is Fixing.SUPPRESS else self._fix
            result = change(result.source, result, selection, raw)
        told = Linted(
            list(in_cells(result)), result.problems, result.functions, result.not_followed
        )
        self._add(told, selection)

    def _add(self, found: Linted, selection: Selection) -> None:
        outcome = self.outcome
        outcome.files += 1
        outcome.functions += found.functions
        outcome.not_followed += found.not_followed
        outcome.problems.extend(found.problems)
        outcome.findings.extend(
            each for each in found.diagnostics if selection.shows(each.code, each.severity)
        )

    def _remember(self) -> None:
        """Give what is new to the results that are kept."""
        if self.results is None:
            return
        batches = [*self._fresh_elsewhere]
        own = self._linter.seen()
        if own is not None:
            batches.append((self._fresh, own))
        for fresh, seen in batches:
            # A fixed file is not what its users were checked with.
            unsteady = seen.unsteady | self.outcome.changed.keys()
            self.results.add(fresh, replace(seen, unsteady=unsteady))

    def _fix(
        self, before: Source, first: FileResult, selection: Selection, raw: bytes
    ) -> FileResult:
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
            after = self._linter.engine.check_source(applied.source, selection)
            if not _mends(applied.fixed, result, after):
                first_one = applied.fixed[0]
                applied = fix.apply(source, [first_one])
                after = self._linter.engine.check_source(applied.source, selection)
                if not _mends([first_one], result, after):
                    reason = "the finding would stay, or bring another: a fault of the rule"
                    rejected[_key(first_one)] = _rejection(first_one, reason)
                    continue
            source, fixed, result = applied.source, fixed + len(applied.fixed), after
        if fixed:
            if self._keep(before, source, raw):
                self.outcome.fixed += fixed
            else:
                result = first
        result.problems.extend(rejected.values())
        return result

    def _silence(
        self, before: Source, first: FileResult, selection: Selection, raw: bytes
    ) -> FileResult:
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
        result = self._linter.engine.check_source(after, selection)
        if not self._keep(before, after, raw):
            return first
        self.outcome.suppressed += len(shown)
        return result

    def _keep(self, before: Source, after: Source, raw: bytes) -> bool:
        """Write a fixed file, which was `raw`, or note what would be written.

        False if it could not be.
        """
        if self._write:
            try:
                fix.write(after, raw)
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
