"""The command line: reads the words, hands them on, prints what comes back.

Exit codes: 0 nothing found, 1 findings, 2 autolint could not do what was asked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

import autolint

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from autolint.registry import Registry

# The rest is imported where it is used: --help and --version need none of it.

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
SEVERITIES = ("info", "warning", "error")
DEVICES = ("cpu", "cuda", "all")


class _Failure(click.ClickException):
    """Something that cannot be done, in one line."""

    exit_code = 2


class _Choice(click.Choice[str]):
    """A choice that suggests the nearest word."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from autolint.config import did_you_mean

        words = ", ".join(repr(each) for each in self.choices)
        return f"{value!r} is not one of {words}{did_you_mean(str(value), self.choices)}"


class _CheckByDefault(click.Group):
    """A group whose command is ``check`` unless another one is named first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version", *self.commands}
        if not args or args[0] not in own:
            if args:
                self._refuse_misspelt(args[0])
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def _refuse_misspelt(self, word: str) -> None:
        """Raise _Failure for what is no path, but nearly a command."""
        if word.startswith("-") or not word.isalpha() or os.path.lexists(word):
            return
        from autolint.config import did_you_mean

        hint = did_you_mean(word, self.commands)
        if hint:
            raise _Failure(f"no such command, file or folder: {word}{hint}")


def _paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Paths, for a shell; in place of the first one also the commands."""
    from click.shell_completion import CompletionItem

    found = [CompletionItem(incomplete, type="file")]
    group = ctx.parent.command if ctx.parent is not None else None
    if isinstance(group, click.Group) and not ctx.params.get("paths"):
        for name, command in group.commands.items():
            if name.startswith(incomplete):
                found.append(CompletionItem(name, help=command.get_short_help_str()))
    return found


def _rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes and names of rules, for a shell."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(key, help=each.summary)
        for each in _registry()
        for key in (each.code, each.name)
        if key.startswith(incomplete)
    ]


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(args, prog_name="autolint", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        click.echo(f"error: {' '.join(error.format_message().split())}", err=True)
        status = 2
    except (click.Abort, KeyboardInterrupt):
        _end_at_once(130)
    except BrokenPipeError:
        _print_no_more()  # The reader has seen enough.
        status = 141
    except OSError as error:
        _print_no_more()
        where = error.filename or "standard output"
        click.echo(f"error: {where}: {error.strerror or error}", err=True)
        status = 2
    sys.exit(status or 0)


def _end_at_once(status: int) -> NoReturn:
    """End though a thread may be checking: Python would end it inside LibCST, which aborts then."""
    from autolint import atomic

    atomic.finish()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


def _print_no_more() -> None:
    """What is still buffered must not raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=_CheckByDefault,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="[check] [OPTIONS] [PATH]... | explain [CODE] | verify [CODE]... | server",
)
@click.version_option(autolint.__version__, message="autolint %(version)s")
def cli() -> None:
    """Find wrong gradients, lost parameters and leaked graphs in PyTorch code.

    Without a command, paths are checked. The options of checking: autolint check --help.
    """


def _words(name: str, metavar: str, help: str) -> Callable[[Command], Command]:
    """An option of words between commas, which may be repeated. None: it was not given."""

    def split(
        ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        words = tuple(word.strip() for each in value for word in each.split(","))
        return tuple(word for word in words if word) if value else None

    return click.option(name, multiple=True, callback=split, metavar=metavar, help=help)


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=_paths)
@_words("--select", "CODES", "Run these rules only.")
@_words("--ignore", "CODES", "Do not run these rules.")
@_words("--extend-select", "CODES", "Run these rules too.")
@click.option(
    "--min-severity", type=_Choice(SEVERITIES), help="Show findings from this severity on."
)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Include fixes that change more than the fault.")
@click.option("--add-noqa", is_flag=True, help="Suppress each finding by a comment on its line.")
@click.option("--baseline", metavar="FILE", help="Show what this baseline does not know.")
@click.option("--write-baseline", is_flag=True, help="Make the baseline of what is found now.")
@click.option("--update-baseline", is_flag=True, help="Drop what is gone from the baseline.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; change nothing.")
@click.option(
    "--format",
    type=_Choice(FORMATS),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option(
    "--output",
    metavar="FILE",
    help="Write the report to FILE, and text to the terminal.",
)
@click.option("--statistics", is_flag=True, help="Show counts by rule instead of findings.")
@_words("--exclude", "PATTERNS", "Leave out these paths only.")
@_words("--extend-exclude", "PATTERNS", "Leave out these paths too.")
@click.option("--force-exclude", is_flag=True, help="Leave them out even if they are named.")
@click.option("--config", metavar="FILE", help="Use this pyproject.toml for all files.")
@click.option("--stdin-filename", metavar="PATH", help="Name of the file that - stands for.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Use at most N processes (default: one per core); few files need only one.",
)
@click.option("--no-cache", is_flag=True, help="Check every file afresh, and keep nothing.")
@click.option(
    "--no-screen", is_flag=True, help="Run also what no rule can find anything in (slow; no cache)."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if there are findings.")
@click.option("--show-config", is_flag=True, help="Show the settings and where they come from.")
@click.option("-v", "--verbose", is_flag=True, help="Name each file, and show tracebacks.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> None:
    """Check Python files and folders (without any: the working folder).

    CODES are separated by commas: codes (AG102), their beginnings (AG1), or names. A - reads
    standard input.
    """
    from autolint.checking import Failure, Options, check_paths

    try:
        ctx.exit(check_paths(paths or (".",), Options(**options)))
    except Failure as error:
        raise _Failure(str(error)) from error


@cli.command()
def clean() -> None:
    """Remove what earlier runs kept (.autolint_cache)."""
    from autolint import cache

    try:
        removed = cache.clean(os.getcwd())
    except OSError as error:
        raise _Failure(f"{error.filename}: {error.strerror}") from error
    click.echo("there is no cache" if removed is None else f"removed {removed}")


@cli.command()
@click.argument("code", required=False, shell_complete=_rules)
def explain(code: str | None) -> None:
    """Show the page of a rule, or a table of all rules."""
    registry = _registry()
    entry = registry.find(code) if code is not None else None
    if entry is not None:
        click.echo(f"{entry.code} {entry.name} ({entry.severity})\n\n{entry.page.strip()}")
        if entry.rule is not None:
            from autolint.runtime.shown import shown

            click.echo(f"\n{shown(entry.code, entry.rule.module)}")
        return
    entries = [each for each in registry if each.code.startswith(code or "")]
    if not entries:
        from autolint.config import did_you_mean

        raise _Failure(f"no rule is called {code!r}{did_you_mean(code or '', registry.keys())}")
    from autolint import rule_tables

    for line in rule_tables.text(entries):
        click.echo(line)


@cli.command()
def server() -> None:
    """Serve an editor over standard input and output (Language Server Protocol)."""
    try:
        from autolint.server import make
    except ImportError as error:
        raise _Failure(
            f"the server needs {error.name}; install it with: pip install 'autolint[server]'"
        ) from error
    from autolint.registry import RegistryError

    try:
        running = make()
    except RegistryError as error:
        raise _Failure(str(error)) from error
    running.start_io()


@cli.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=_rules)
@click.option(
    "--device",
    type=_Choice(DEVICES),
    default="all",
    show_default=True,
    help="Where to run; all: every device that torch sees.",
)
@click.option(
    "--format",
    type=_Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds after which the cases of a rule are taken to hang.",
)
@click.option(
    "--ops",
    is_flag=True,
    help="Compare what is known of torch's ops and layers with the installed torch instead.",
)
@click.option("--write", is_flag=True, help="For maintainers: --ops, and write the tables anew.")
@click.option(
    "--model",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compare the model of autograd with torch on N generated programs instead.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Where the programs of --model begin.",
)
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    codes: tuple[str, ...],
    device: str,
    format: str,
    timeout: float,
    ops: bool,
    write: bool,
    model: int | None,
    seed: int,
) -> None:
    """Run the cases of rules in the installed torch and see whether what they claim holds.

    CODE is a code (AG102), the beginning of codes (AG1), or a name; without any, all rules are
    verified. Exit codes: 0 all hold, 1 some do not (with --ops: there are differences), 2 there is
    no torch or no such device.
    """
    if ops or write:
        if codes:
            raise _Failure("--ops is about all of torch and takes no CODE")
        ctx.exit(_verify_ops(format, write))
    if model is not None:
        if codes:
            raise _Failure("--model is about no single rule and takes no CODE")
        ctx.exit(_conform(model, seed, timeout, format))
    from autolint.progress import bar
    from autolint.runtime import report
    from autolint.runtime.impossible import Impossible
    from autolint.runtime.packs import PackError, UnknownRule
    from autolint.runtime.verify import verify as verified

    try:
        with bar("rules") as progress:
            found = verified(codes, device, timeout, progress)
    except (Impossible, PackError) as error:
        raise _Failure(str(error)) from error
    except UnknownRule as error:
        from autolint.config import did_you_mean

        hint = did_you_mean(error.key, error.known)
        raise _Failure(f"no rule to verify is called {error.key!r}{hint}") from error
    click.echo(report.as_json(found) if format == "json" else report.text(found))
    ctx.exit(0 if found.holds else 1)


def _verify_ops(format: str, write: bool) -> int:
    from autolint.progress import bar
    from autolint.runtime import ops_report, tables
    from autolint.runtime.impossible import Impossible
    from autolint.runtime.op_changes import compare
    from autolint.runtime.probing import probe

    try:
        with bar("parts of the tables") as progress:
            probed = probe(progress)
        found = compare(tables.read(), probed)
        if write:
            tables.write(tables.written(probed.tables))
    except (Impossible, OSError, ValueError) as error:
        raise _Failure(str(error)) from error
    click.echo(ops_report.as_json(found) if format == "json" else ops_report.text(found))
    return 1 if found.differences else 0


def _conform(count: int, seed: int, limit: float, format: str) -> int:
    """`verify --model`; returns the exit code."""
    from autolint.progress import bar
    from autolint.runtime import model_report
    from autolint.runtime.impossible import Impossible
    from autolint.runtime.model import conform

    try:
        with bar("programs") as progress:
            found = conform(count, seed, limit, progress)
    except Impossible as error:
        raise _Failure(str(error)) from error
    click.echo(model_report.as_json(found) if format == "json" else model_report.text(found))
    return 0 if found.holds else 1


def _registry() -> Registry:
    from autolint.registry import Registry, RegistryError

    try:
        return Registry.load()
    except RegistryError as error:
        raise _Failure(str(error)) from error
