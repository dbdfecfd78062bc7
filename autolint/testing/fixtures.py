"""A fixture file: its case functions `bad_…(device)`, `good_…(device)`, and their marks."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autolint.testing.literals import same
from autolint.testing.marks import (
    Mark,
    MarkError,
    ObserveMark,
    RaisesMark,
    RevealMark,
    WarnsMark,
    read_marks,
)

PREFIXES = ("bad_", "good_")


@dataclass(frozen=True)
class Case:
    """One case function, the lines it takes, and the marks among them."""

    name: str
    first: int
    last: int
    marks: tuple[Mark, ...]

    @property
    def is_bad(self) -> bool:
        """Whether the function shows a fault."""
        return self.name.startswith("bad_")

    @property
    def twin(self) -> str:
        """The name of the function that shows the fault's opposite."""
        prefix, _, rest = self.name.partition("_")
        return f"{'good' if prefix == 'bad' else 'bad'}_{rest}"

    @property
    def has_proof(self) -> bool:
        """Whether torch is asked for more than to run through."""
        return any(isinstance(mark, ObserveMark | RaisesMark | WarnsMark) for mark in self.marks)


@dataclass(frozen=True)
class Fixture:
    """A parsed fixture file."""

    path: str
    source: str
    marks: tuple[Mark, ...]
    cases: tuple[Case, ...]

    @property
    def reveals(self) -> tuple[RevealMark, ...]:
        """The reveal marks of the whole file."""
        return tuple(mark for mark in self.marks if isinstance(mark, RevealMark))

    def twins(self) -> list[tuple[Case, Case | None]]:
        """Each bad case with the good case of the same name, if there is one."""
        named = {case.name: case for case in self.cases}
        return [(case, named.get(case.twin)) for case in self.cases if case.is_bad]


def read_fixture(path: str | Path, source: str | None = None) -> Fixture:
    """Read `path` (or `source` under that name).

    Raises MarkError for malformed marks, and for proof marks that no run could check: outside a
    case, or `observe` on something else than a return of the case itself.
    """
    name = Path(path).as_posix()
    text = Path(path).read_text(encoding="utf-8") if source is None else source
    marks = read_marks(text, name)
    functions = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIXES)
    ]
    for function in functions:
        _check_signature(function, name)
    cases = tuple(_case(function, marks) for function in functions)
    _check_proofs(marks, functions, name)
    return Fixture(name, text, tuple(marks), cases)


def _case(function: ast.FunctionDef, marks: Sequence[Mark]) -> Case:
    first, last = function.lineno, function.end_lineno or function.lineno
    return Case(
        function.name, first, last, tuple(mark for mark in marks if first <= mark.line <= last)
    )


def _check_signature(function: ast.FunctionDef, path: str) -> None:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    optional = len(arguments.defaults) == len(names) - 1 and None not in arguments.kw_defaults
    if names[:1] != ["device"] or not optional:
        raise MarkError(path, function.lineno, f"{function.name} must be callable with a device")


def _check_proofs(marks: Sequence[Mark], functions: list[ast.FunctionDef], path: str) -> None:
    for mark in marks:
        if not isinstance(mark, ObserveMark | RaisesMark | WarnsMark):
            continue
        owner = next(
            (node for node in functions if node.lineno <= mark.line <= (node.end_lineno or 0)), None
        )
        if owner is None:
            raise MarkError(path, mark.line, "a proof mark outside a bad_ or good_ function")
        if isinstance(mark, ObserveMark) and not _returns(owner, mark):
            raise MarkError(path, mark.line, f"observe belongs on a return of {owner.name} itself")


def _returns(function: ast.FunctionDef, mark: Mark) -> bool:
    """Whether the marked statement is a return of `function`, not of a function inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return) and (node.lineno, node.end_lineno) == (
            mark.first,
            mark.last,
        ):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return False


def indistinct(bad: Case, good: Case | None, torch_version: str) -> str | None:
    """Why the pair proves nothing, or None.

    The good twin must observe the same quantity with another value, and must not raise or warn
    what the bad case does.
    """
    if not bad.has_proof:
        return f"{bad.name} has no observe, raises or warns mark"
    if good is None:
        return f"{bad.name} has no twin {bad.twin}"
    shown, twin = (
        [mark for mark in case.marks if mark.applies(torch_version)] for case in (bad, good)
    )
    values = [mark.value for mark in shown if isinstance(mark, ObserveMark)]
    others = [mark.value for mark in twin if isinstance(mark, ObserveMark)]
    if values and not others:
        return f"{good.name} does not observe what {bad.name} observes"
    if any(same(value, other) for value in values for other in others):
        return f"{good.name} observes the same value as {bad.name}"
    errors = {(type(mark), mark.name) for mark in shown if isinstance(mark, RaisesMark | WarnsMark)}
    both = [mark for mark in twin if isinstance(mark, RaisesMark | WarnsMark)]
    for mark in both:
        if (type(mark), mark.name) in errors:
            return f"{good.name} has the same {mark} as {bad.name}"
    return None
