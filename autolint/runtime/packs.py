"""The rules that are installed, with their fixtures: found by entry point and read, not executed.

A pack of rules names its package in the group ``autolint.rules``, and the package of its fixtures,
under the same name, in ``autolint.fixtures``: the fixture of the module ``bad_habit`` of the rules
is ``rules/bad_habit.py`` there. Rules are not imported here: they need LibCST, torch does not.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

RULES, FIXTURES = "autolint.rules", "autolint.fixtures"


class PackError(Exception):
    """A pack cannot be used: one line that names it."""


class UnknownRule(Exception):
    """No rule is called so; `known` are the codes and names that there are."""

    def __init__(self, key: str, known: Sequence[str]) -> None:
        super().__init__(key)
        self.key = key
        self.known = tuple(known)


@dataclass(frozen=True)
class Claim:
    """A rule, and the fixture with the cases that show its fault; None if its pack has none."""

    code: str
    name: str
    pack: str
    fixture: Path | None


def claims() -> list[Claim]:
    """One for each installed rule, by code. Raises PackError."""
    found = [claim for point in _points(RULES) for claim in _claims_of(point)]
    return sorted(found, key=lambda claim: claim.code)


def select(found: Sequence[Claim], keys: Sequence[str]) -> list[Claim]:
    """Those with one of the codes, beginnings of codes, or names; all without any.

    Raises UnknownRule for a key that selects none.
    """
    for key in keys:
        if not any(_is_called(claim, key) for claim in found):
            raise UnknownRule(key, [word for claim in found for word in (claim.code, claim.name)])
    return [claim for claim in found if not keys or any(_is_called(claim, key) for key in keys)]


def fixture_of(module: str) -> tuple[Path, str | None] | None:
    """The fixture of a rule's module and the distribution it is of, None if there is no fixture.

    Raises PackError.
    """
    package, _, name = module.rpartition(".")
    for point in _points(RULES):
        if point.value == package:
            fixture = _fixture(point.name, name)
            distribution = point.dist.name if point.dist else None
            return (fixture, distribution) if fixture else None
    return None


def _is_called(claim: Claim, key: str) -> bool:
    return bool(key) and (claim.code.startswith(key) or claim.name == key)


def _points(group: str) -> list[importlib.metadata.EntryPoint]:
    return sorted(importlib.metadata.entry_points(group=group), key=lambda point: point.name)


def _claims_of(point: importlib.metadata.EntryPoint) -> Iterator[Claim]:
    for folder in _folders(point):
        for path in sorted(folder.glob("[!_]*.py")):
            code = _code(path)
            if code is None:
                raise PackError(
                    f"rule pack {point.name!r}: {path} has no RULE = Rule(...) with a literal code"
                )
            name = path.stem.replace("_", "-")
            yield Claim(code, name, point.name, _fixture(point.name, path.stem))


def _fixture(pack: str, module: str) -> Path | None:
    for point in _points(FIXTURES):
        if point.name == pack:
            for folder in _folders(point):
                path = folder / "rules" / f"{module}.py"
                if path.is_file():
                    return path
    return None


def _folders(point: importlib.metadata.EntryPoint) -> list[Path]:
    """Where a package lies. Its parents are imported: foreign code, which may raise anything."""
    try:
        spec = importlib.util.find_spec(point.value)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PackError(f"{point.group} {point.name!r}: {point.value}: {reason}") from error
    if spec is None or spec.submodule_search_locations is None:
        raise PackError(f"{point.group} {point.name!r}: there is no package {point.value}")
    return [Path(place) for place in spec.submodule_search_locations]


def _code(path: Path) -> str | None:
    """The code in ``RULE = Rule(..., code="AG101", ...)``."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="RULE")], value=ast.Call(keywords=keywords))
                | ast.AnnAssign(target=ast.Name(id="RULE"), value=ast.Call(keywords=keywords))
            ):
                for keyword in keywords:
                    match keyword:
                        case ast.keyword(arg="code", value=ast.Constant(value=str(code))):
                            return code
    return None
