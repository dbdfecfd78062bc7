"""The rules: found through the entry-point group ``autolint.rules``, each validated when it is
loaded.

A pack is a package whose modules hold one rule each, as ``RULE``. A module whose name begins with
an underscore is a helper. The engine has two codes of its own, which are entries without a rule.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

from autolint.api import Event, Rule
from autolint.catalogue import Catalogue, Entry, RegistryError
from autolint.packs import Pack, points

__all__ = ["Registry", "RegistryError"]

PAGE_PARTS = ("Bad", "Good", "Not reported")
"""Parts that a rule's page must have, each introduced by a line that begins with it."""

_CODE = re.compile(r"[A-Z]{2,}[0-9]{3,}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Registry(Catalogue):
    """All rules that are installed, by code."""

    def __init__(self, rules: Iterable[Rule] = (), packs: Iterable[Pack] = ()) -> None:
        """Raises RegistryError for a rule that is not valid, or two with one code or name."""
        super().__init__()
        self.packs = tuple(packs)
        for rule in rules:
            for fault in _faults(rule):
                raise RegistryError(f"rule {rule.module}: {fault}")
            entry = Entry(rule.code, rule.name, rule.severity, rule.page, rule)
            self._add(entry, rule.module)

    @classmethod
    def load(cls) -> Registry:
        """Load every installed pack. Raises RegistryError."""
        rules: list[Rule] = []
        packs: list[Pack] = []
        for name, package in points():
            rules.extend(_pack(name, package))
            folder = os.path.dirname(sys.modules[package].__file__ or "")
            packs.append(Pack(name, package, folder))
        return cls(rules, packs)

    def _add(self, entry: Entry, module: str) -> None:
        for what, key in (("code", entry.code), ("name", entry.name)):
            if self.find(key) is not None:
                raise RegistryError(f"rule {module}: {what} {key} is taken by another rule")
        self.add(entry)


def _is_event(value: object) -> bool:
    """Whether a rule of foreign making subscribes to something that is emitted."""
    return isinstance(value, type) and issubclass(value, Event)


def _pack(pack: str, package_name: str) -> Iterator[Rule]:
    """Import the rule modules of one pack."""
    package = _imported(pack, package_name)
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = _imported(pack, f"{package_name}.{info.name}")
        rule = getattr(module, "RULE", None)
        if not isinstance(rule, Rule):
            raise RegistryError(f"rule pack {pack!r}: {module.__file__} defines no RULE")
        yield rule


def _imported(pack: str, name: str) -> ModuleType:
    """Import a module of a pack: foreign code, which may raise anything."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RegistryError(f"rule pack {pack!r}: cannot import {name}: {reason}") from error


def _faults(rule: Rule) -> Iterator[str]:
    """What is wrong with a rule."""
    if not _CODE.fullmatch(rule.code):
        yield f"code {rule.code!r} is not letters followed by at least three digits"
    if not _NAME.fullmatch(rule.name):
        yield f"name {rule.name!r} is not lower-case words joined by hyphens"
    if not rule.checks:
        yield "subscribes to no event"
    for event in rule.checks:
        if not _is_event(event):
            yield f"subscribes to {event!r}, which is no event"
    yield from _page_faults(rule.page)


def _page_faults(page: str) -> Iterator[str]:
    lines = page.strip().splitlines()
    if not lines:
        yield "has no page: its module needs a docstring"
        return
    if not lines[0].endswith(".") or (len(lines) > 1 and lines[1].strip()):
        yield "page does not begin with a summary line, ended by a full stop and a blank line"
    for part in PAGE_PARTS:
        if not any(re.match(rf"\W*{part}\b", line) for line in lines):
            yield f"page lacks the part {part!r}"
