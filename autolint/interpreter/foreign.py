"""Functions and classes of other files: cut out by their lines, parsed when they are followed."""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from weakref import WeakKeyDictionary

import libcst as cst

from autolint.autograd.values import Qualified, Unknown, Value
from autolint.interpreter.decorators import decorate_by_name
from autolint.interpreter.index import ClassInfo, FunctionInfo
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import ClassValue, FunctionValue
from autolint.interpreter.project import Project
from autolint.interpreter.unit import Unit


def function_of_info(m: Machine, info: FunctionInfo, cls: ClassValue | None = None) -> Value:
    """The function that another file defines."""
    key = (info.path, info.qualname, info.first_line)
    known = m.units.get(key)
    if isinstance(known, FunctionValue):
        return known
    index = m.project.file(info.path)
    if index is None:
        return Unknown(info.name)
    binding = "static" if info.is_static else "class" if info.is_class else "function"
    function = FunctionValue(
        info.name,
        info.qualname,
        m.context_of(index),
        None,
        None,
        None,
        cls,
        binding="property" if info.is_property else binding,
        generator=info.is_generator,
    )
    for decorator in info.decorators:
        name = m.project.resolve(index, decorator)
        if isinstance(name, str):
            decorate_by_name(function, name)
        else:
            function.decorated = True
    m.units[key] = function
    return function


def class_of_info(m: Machine, info: ClassInfo) -> Value:
    """The class that another file defines, with methods that are parsed when they are followed."""
    known = m.units.get(info.key)
    if isinstance(known, ClassValue):
        return known
    index = m.project.file(info.path)
    if index is None:
        return Unknown(info.name)
    cls = ClassValue(info.name, info.qualname, m.context_of(index), (), {}, info)
    m.units[info.key] = cls
    bases: list[Value] = []
    for base in m.project.mro(info)[1:]:
        if isinstance(base, ClassInfo):
            bases.append(class_of_info(m, base))
        else:
            bases.append(Unknown(base[1:]) if base.startswith("?") else Qualified(base))
    cls.bases = tuple(bases)
    for name, method in info.methods.items():
        cls.namespace[name] = function_of_info(m, method, cls)
    for alias, name in info.method_aliases.items():
        if name in cls.namespace:
            cls.namespace[alias] = cls.namespace[name]
    return cls


def load(m: Machine, function: FunctionValue) -> bool:
    """Parse the body of a function of another file; whether that worked."""
    if function.node is not None:
        return True
    info = function.info
    unit = None if info is None else _slices(m.project).unit(m.project, info)
    if unit is None or not unit.module.body:
        return False
    node = unit.module.body[0]
    if not isinstance(node, cst.FunctionDef):
        return False
    function.node = node
    function.unit = unit
    return True


class Slices:
    """Functions that were cut out and parsed, the latest used of them, bounded by their
    characters.
    """

    MAX_CHARS = 400_000

    def __init__(self) -> None:
        self._units: OrderedDict[tuple[str, int], tuple[Unit | None, int]] = OrderedDict()
        self._chars = 0

    def unit(self, project: Project, info: FunctionInfo) -> Unit | None:
        """The parsed text of a function; None if it cannot be read or LibCST refuses it."""
        key = (info.path, info.first_line)
        project.touch(info.path)
        known = self._units.get(key)
        if known is not None:
            self._units.move_to_end(key)
            return known[0]
        text = project.source(info.path)
        snippet = ""
        if text is not None:
            lines = text.splitlines(keepends=True)[info.first_line - 1 : info.last_line]
            snippet = textwrap.dedent("".join(lines))
        unit = _parsed(info, snippet)
        self._units[key] = (unit, len(snippet))
        self._chars += len(snippet)
        while self._chars > self.MAX_CHARS and len(self._units) > 1:
            self._chars -= self._units.popitem(last=False)[1][1]
        return unit


def _parsed(info: FunctionInfo, snippet: str) -> Unit | None:
    try:
        module = cst.parse_module(snippet)
    except Exception:  # what LibCST refuses is not followed; it is reported where it is linted
        return None
    return Unit(info.path, module, info.first_line, info.column)


_ALL_SLICES: WeakKeyDictionary[Project, Slices] = WeakKeyDictionary()


def _slices(project: Project) -> Slices:
    return _ALL_SLICES.setdefault(project, Slices())
