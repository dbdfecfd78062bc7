"""One run of ``autolint check``: from the words of the command line to what is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autolint import cache
from autolint.atomic import replace
from autolint.baseline import Baseline, BaselineError
from autolint.catalogue import RegistryError
from autolint.config import ConfigError, Configs, Overrides, parse_severity
from autolint.diagnostic import Outcome, Problem
from autolint.files import File, PathError, discover
from autolint.progress import bar
from autolint.report import Paint, relative, render
from autolint.report.figures import plural
from autolint.runner import Fixing, Runner
from autolint.selection import check_selector

if TYPE_CHECKING:
    from autolint.registry import Registry


class Failure(Exception):
    """The run cannot be done at all; one line says why."""


@dataclass(frozen=True)
class Options:
    """The options of the command line, by their names there. None: not given."""

    format: str
    output: str | None
    select: tuple[str, ...] | None
    ignore: tuple[str, ...] | None
    extend_select: tuple[str, ...] | None
    min_severity: str | None
    fix: bool
    unsafe_fixes: bool
    diff: bool
    add_noqa: bool
    baseline: str | None
    write_baseline: bool
    update_baseline: bool
    statistics: bool
    exclude: tuple[str, ...] | None
    extend_exclude: tuple[str, ...] | None
    force_exclude: bool
    config: str | None
    jobs: int | None
    no_cache: bool
    no_screen: bool
    stdin_filename: str | None
    exit_zero: bool
    show_config: bool
    verbose: bool

    @property
    def overrides(self) -> Overrides:
        """What stands above the configuration files."""
        return Overrides(
            select=self.select,
            extend_select=self.extend_select or (),
            ignore=self.ignore or (),
            min_severity=None if self.min_severity is None else parse_severity(self.min_severity),
            exclude=self.exclude,
            extend_exclude=self.extend_exclude or (),
            force_exclude=self.force_exclude,
        )

    @property
    def fixing(self) -> Fixing:
        """Which fixes are wanted, to be written or shown."""
        if self.add_noqa:
            return Fixing.SUPPRESS
        if not (self.fix or self.diff):
            return Fixing.NONE
        return Fixing.ALL if self.unsafe_fixes else Fixing.SAFE


def check_paths(paths: Sequence[str], options: Options) -> int:
    """Check, print, and return the exit code. Raises Failure if nothing could be checked."""
    if options.add_noqa and (options.fix or options.write_baseline):
        raise Failure("--add-noqa cannot be mixed with --fix or --write-baseline")
    if options.baseline is None and (options.write_baseline or options.update_baseline):
        raise Failure("--write-baseline and --update-baseline need --baseline FILE")
    try:
        check = _Check(options)
        if options.show_config:
            return check.show_config(paths)
        return check.standard_input(paths) if "-" in paths else check.paths(paths)
    except (BaselineError, ConfigError, PathError, RegistryError) as error:
        raise Failure(str(error)) from error


class _Check:
    """The parts that both forms of checking share."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._base = os.getcwd()
        # What is kept was found behind the screen.
        afresh = options.no_cache or options.no_screen
        self._place = None if afresh else cache.Place(self._base)
        self._installed = _installed(self._place)
        self._configs = Configs(
            options.overrides,
            lambda selector: check_selector(self._installed.catalogue, selector),
            options.config,
        )

    def show_config(self, paths: Sequence[str]) -> int:
        """Print the settings that hold for paths instead of checking them."""
        from autolint import show_config

        for line in show_config.lines(paths, self._configs, self._options.overrides):
            print(line)
        return 0

    def paths(self, paths: Sequence[str]) -> int:
        """Check files and folders of the disk."""
        options = self._options
        found = discover(paths, self._configs, options.overrides)
        if not found.files and not found.problems:
            print("no Python files or notebooks found", file=sys.stderr)
        if options.verbose:
            for file in found.files:
                origin = file.config.origin or "no configuration"
                print(f"{self._shown(file.path)}: {self._shown(origin)}", file=sys.stderr)
        runner = Runner(
            self._installed.catalogue,
            options.fixing,
            not options.diff,
            self._results(),
            screened=not options.no_screen,
            jobs=options.jobs,
        )
        with bar("files") as progress:
            outcome = runner.run(found.files, progress)
        self._keep(runner)
        outcome.problems[:0] = found.problems
        if options.baseline is not None:
            self._compare(outcome, options.baseline, [file.path for file in found.files])
        if options.diff:
            self._print_diffs(outcome)
        else:
            self._print_report(outcome)
        return self._finish(outcome)

    def _results(self) -> cache.Results | None:
        """What earlier runs found."""
        if self._place is None or not self._installed.key:
            return None
        return cache.Results(self._place, self._installed.key)

    def _keep(self, runner: Runner) -> None:
        """Write the cache; where that cannot be done, say so and go on."""
        if self._place is None or runner.results is None:
            return
        try:
            if runner.registry is not None:
                cache.keep(self._place, runner.registry)
            runner.results.save()
        except OSError as error:
            reason = error.strerror or str(error)
            print(f"note: no cache is kept in {self._place.folder}: {reason}", file=sys.stderr)

    def _compare(self, outcome: Outcome, path: str, checked: Sequence[str]) -> None:
        """Leave out what a baseline knows; write the file if that was asked for."""
        if self._options.write_baseline:
            known = Baseline.of(path, outcome.findings)
            self._replace("--baseline", path, known.content())
            print(f"{plural(len(known.entries), 'finding')} written to {path}", file=sys.stderr)
            outcome.findings, outcome.known = [], len(outcome.findings)
            return
        baseline = Baseline.load(path)
        compared = baseline.compare(outcome.findings, checked)
        outcome.known = len(outcome.findings) - len(compared.new)
        outcome.findings = compared.new
        if not compared.gone:
            return
        entries = plural(len(compared.gone), "entry", "entries")
        if self._options.update_baseline:
            self._replace("--baseline", path, baseline.without(compared.gone).content())
            print(f"{entries} dropped from {path}", file=sys.stderr)
            return
        print(f"{entries} of {path} found no more; --update-baseline drops:", file=sys.stderr)
        for each in compared.gone.values():
            print(f"  {each.path}: {each.code} {each.message}", file=sys.stderr)

    def standard_input(self, paths: Sequence[str]) -> int:
        """Check what comes through the pipe; with ``--fix``, pass the fixed text on."""
        options = self._options
        if len(paths) > 1:
            raise Failure("- cannot be mixed with other paths")
        path = os.path.abspath(options.stdin_filename or "-")
        config = self._configs.of_folder(os.path.dirname(path))
        raw = sys.stdin.buffer.read()
        runner = Runner(self._installed.catalogue, options.fixing, screened=not options.no_screen)
        outcome = runner.run_bytes(File(path, config), raw)
        if options.diff:
            self._print_diffs(outcome)
        elif options.fix:
            if path in outcome.changed:
                raw = outcome.changed[path][1].encoded()
            sys.stdout.buffer.write(raw)
            self._print_report(outcome, to_person=True)
        else:
            self._print_report(outcome)
        return self._finish(outcome)

    def _print_diffs(self, outcome: Outcome) -> None:
        from autolint.fix import diff

        for path, (before, after) in sorted(outcome.changed.items()):
            print(diff(before.content, after.content, self._shown(path)), end="")

    def _print_report(self, outcome: Outcome, to_person: bool = False) -> None:
        """Print to standard output, or to standard error where the output is taken."""
        form = self._options.format
        if self._options.output is not None:
            self._write_report(outcome, self._options.output)
            form = "text"
        stream = sys.stderr if to_person else sys.stdout
        paint = Paint(stream.isatty() and not os.environ.get("NO_COLOR"))
        for line in self._lines(form, outcome, paint):
            print(line, file=stream)

    def _write_report(self, outcome: Outcome, path: str) -> None:
        """Write the report to a file, all of it or nothing. Raises Failure."""
        options = self._options
        lines = self._lines(options.format, outcome, Paint(False))
        content = "".join(f"{line}\n" for line in lines)
        self._replace("--output", path, content.encode("utf-8", "backslashreplace"))

    @staticmethod
    def _replace(option: str, path: str, content: bytes) -> None:
        try:
            replace(path, content)
        except OSError as error:
            raise Failure(f"{option} {path}: {error.strerror or error}") from error

    def _lines(self, format_name: str, outcome: Outcome, paint: Paint) -> Iterable[str]:
        statistics = self._options.statistics
        return render(
            format_name, outcome, self._base, paint, statistics, self._installed.catalogue
        )

    def _finish(self, outcome: Outcome) -> int:
        self._complain(outcome.problems)
        if outcome.problems:
            return 2
        if self._options.exit_zero:
            return 0
        return int(bool(outcome.changed if self._options.diff else outcome.findings))

    def _complain(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            print(f"error: {self._shown(problem.path)}: {problem.message}", file=sys.stderr)
            if self._options.verbose and problem.details:
                print(problem.details, file=sys.stderr)

    def _shown(self, path: str) -> str:
        return relative(path, self._base)


def _installed(place: cache.Place | None) -> cache.Installed:
    """The rules: as the cache knows them, or loaded. Raises RegistryError."""

    def load() -> Registry:
        from autolint.registry import Registry

        return Registry.load()

    return cache.Installed(load(), "") if place is None else cache.installed(place, load)
