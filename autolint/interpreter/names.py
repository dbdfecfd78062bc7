"""Names: what a name stands for where it is read, what imports bind, and binding of targets."""

from __future__ import annotations

import builtins

import libcst as cst

from autolint.autograd.objects import Instance, Module, Parameters
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Mapping, Qualified, Scalar, Sequence, Unknown, Value, resolve
from autolint.interpreter.foreign import class_of_info, function_of_info
from autolint.interpreter.index import ClassInfo, FileIndex, FunctionInfo
from autolint.interpreter.machine import Frame, Machine
from autolint.interpreter.objects import FileContext, Imported

_BUILTINS = frozenset(dir(builtins))


def read(m: Machine, name: str) -> Value:
    """The value of a name."""
    frame: Frame | None = m.frame
    assert frame is not None
    if name not in frame.globals:
        while frame is not None:
            value = frame.names.get(name)
            if value is not None:
                return _known(m, frame.names, name, value)
            frame = frame.closure
    context = m.frame.context
    value = context.globals.get(name)
    if value is not None:
        return _known(m, context.globals, name, value)
    value = _from_index(m, context, name)
    if value is None:
        value = Qualified("builtins." + name) if name in _BUILTINS else Unknown(name)
    m.heap.put(context.globals, name, value)
    return value


def _known(m: Machine, names: dict[str, Value], name: str, value: Value) -> Value:
    if type(value) is Imported:
        value = _found(m, value)
        m.heap.put(names, name, value)
    return value


def _from_index(m: Machine, context: FileContext, name: str) -> Value | None:
    """A global name of a file whose module body is not run (or not yet as far as that)."""
    if not context.foreign and name not in context.index.star_imports:
        found = m.project.resolve(context.index, name) if context.index.star_imports else None
        return of_resolved(m, found) if found is not None else None
    return of_resolved(m, m.project.resolve(context.index, name))


def of_resolved(
    m: Machine, found: ClassInfo | FunctionInfo | FileIndex | str | None
) -> Value | None:
    """The value of something that the project index found."""
    if found is None:
        return None
    if isinstance(found, str):
        return None if found.startswith("?") else Qualified(found)
    if isinstance(found, FunctionInfo):
        return function_of_info(m, found)
    if isinstance(found, ClassInfo):
        return class_of_info(m, found)
    return ModuleFile(found)


class ModuleFile(Value):
    """A file of the project as an imported module."""

    __slots__ = ("index",)

    def __init__(self, index: FileIndex) -> None:
        self.index = index


def member(m: Machine, module: ModuleFile, name: str) -> Value:
    """A name of another file."""
    found = of_resolved(m, m.project.resolve(module.index, name))
    return Unknown(name) if found is None else found


def bind(m: Machine, name: str, value: Value) -> None:
    """Assign a name in the running function."""
    frame = m.frame
    if name in frame.globals:
        m.heap.put(frame.context.globals, name, value)
        return
    if name in frame.nonlocals:
        outer = frame.closure
        while outer is not None:
            if name in outer.names:
                m.heap.put(outer.names, name, value)
                return
            outer = outer.closure
    m.heap.put(frame.names, name, value)


def dotted(node: cst.BaseExpression | cst.Attribute | cst.Name | None) -> str:
    """`a.b.c` of a name or attribute chain; empty for anything else."""
    parts: list[str] = []
    current: cst.CSTNode | None = node
    while isinstance(current, cst.Attribute):
        parts.append(current.attr.value)
        current = current.value
    if not isinstance(current, cst.Name):
        return ""
    parts.append(current.value)
    return ".".join(reversed(parts))


def run_import(m: Machine, node: cst.Import) -> None:
    """`import a.b, c as d`."""
    for alias in node.names:
        full = dotted(alias.name)
        if alias.asname is not None:
            target = alias.asname.name
            if isinstance(target, cst.Name):
                bind(m, target.value, _imported(m, full, None, 0))
        else:
            top = full.partition(".")[0]
            bind(m, top, _imported(m, top, None, 0))


def run_import_from(m: Machine, node: cst.ImportFrom) -> None:
    """`from a import b as c`; a star binds nothing: names are looked up when they are read."""
    if isinstance(node.names, cst.ImportStar):
        return
    level = len(node.relative)
    module = dotted(node.module)
    for alias in node.names:
        target = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(target, cst.Name):
            bind(m, target.value, _imported(m, module, dotted(alias.name), level))


_WELL_KNOWN = frozenset({"torch", "numpy", "math", "typing", "functools", "autolint"})


def _imported(m: Machine, module: str, name: str | None, level: int) -> Value:
    """What an import binds: files of the project are looked for when the name is first read."""
    if not level and module.partition(".")[0] in _WELL_KNOWN:
        return Qualified(module if name is None else f"{module}.{name}")
    return Imported(m.frame.context.index, module, name, level)


def _found(m: Machine, value: Imported) -> Value:
    """The thing that an import stands for."""
    index = m.project.module(value.importer, value.module, value.level)
    if value.name is None:
        return Qualified(value.module) if index is None else ModuleFile(index)
    if index is not None:
        return member(m, ModuleFile(index), value.name)
    inner = f"{value.module}.{value.name}" if value.module else value.name
    file = m.project.module(value.importer, inner, value.level)
    if file is not None:
        return ModuleFile(file)
    return Unknown(value.name) if value.level else Qualified(inner)


# ---------------------------------------------------------------------- unpacking


def element(m: Machine, value: Value, position: int | None = None) -> Value:
    """An item of an iterable: the one at a position, or any."""
    value = resolve(value)
    if isinstance(value, Sequence):
        if value.items is not None:
            if position is not None and -len(value.items) <= position < len(value.items):
                return value.items[position]
            if position is None and value.items:
                return _any_of(value.items)
            return Unknown()
        return value.rest if value.rest is not None else Unknown()
    if isinstance(value, Mapping):
        return Scalar()
    if isinstance(value, (Tensor, Parameters, Instance)):
        from autolint.interpreter.iteration import items_of

        found = items_of(m, value)
        return found[0] if found else Unknown()
    if isinstance(value, Unknown):
        key = f"[{'*' if position is None else position}]"
        found_item = value.attributes.get(key)
        if found_item is None:
            found_item = Unknown(inputs=value.inputs, origin=value.origin)
            if not value.inputs:
                found_item.inputs = (value,)
            m.heap.put(value.attributes, key, found_item)
        return found_item
    return Unknown()


def spread(m: Machine, value: Value) -> Value:
    """An element of what is spread by a star in a display."""
    if isinstance(value, (Parameters, Module)):
        return value
    return element(m, value)


def _any_of(items: tuple[Value, ...]) -> Value:
    if len(items) == 1 or all(item is items[0] for item in items):
        return items[0]
    return Unknown(inputs=tuple(item for item in items if not isinstance(item, Scalar)))
