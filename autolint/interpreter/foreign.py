"""Functions and classes of other files: cut out by their lines and parsed when they are followed."""

from __future__ import annotations

import textwrap

import libcst as cst

from autolint.autograd.values import Qualified, Unknown, Value
from autolint.interpreter.index import ClassInfo, FunctionInfo
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import ClassValue, FunctionValue
from autolint.interpreter.unit import Unit

_OFF = frozenset({"no_grad", "inference_mode"})


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
    text = None if info is None else m.project.source(info.path)
    if info is None or text is None:
        return False
    lines = text.splitlines(keepends=True)[info.first_line - 1 : info.last_line]
    snippet = textwrap.dedent("".join(lines))
    try:
        module = cst.parse_module(snippet)
    except (
        Exception
    ):  # what LibCST refuses is not followed; the file is reported where it is linted
        return False
    node = module.body[0] if module.body else None
    if not isinstance(node, cst.FunctionDef):
        return False
    function.node = node
    function.unit = Unit(info.path, module, info.first_line, info.column)
    return True
