"""Whether a module knows its parts: what it keeps in plain containers, or set too early."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import libcst as cst

from autolint.autograd.objects import CHILDREN, Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NO, YES, Grade, Mapping, Sequence, Unknown, Value, resolve
from autolint.interpreter import classes, containers
from autolint.interpreter.class_facts import ClassFacts
from autolint.interpreter.events import InitMissing, PartsHidden, PartTooEarly, Scope
from autolint.interpreter.iteration import holders_of, surely_trainable
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import ClassValue, FunctionValue
from autolint.interpreter.project import is_module_name
from autolint.interpreter.unit import Site

_MAX_DEPTH = 6
"""Of containers in containers, and of modules in modules, that are looked through."""


@dataclass(frozen=True, slots=True)
class StoredList:
    """Where a plain container was put into an attribute."""

    site: Site
    scope: Scope


def stored(m: Machine, module: Module, name: str, value: Value, site: Site) -> None:
    """An attribute of a module was set."""
    if isinstance(value, (Sequence, Mapping)):
        if m.listens(PartsHidden):
            m.heap.put(module.lists, name, StoredList(site, m.scope()))
    elif (
        m.listens(PartTooEarly)
        and module.initialised is NO
        and _is_part(value)
        and _plain_base(m, module)
    ):
        m.emit(PartTooEarly, site, module=module, name=name, part=value)


def constructed(m: Machine, module: Module, site: Site) -> None:
    """A module's `__init__` has run to its end."""
    cls = module.cls
    if isinstance(cls, ClassValue) and m.listens(InitMissing) and module.initialised is NO:
        init = classes.lookup(cls, "__init__")
        if (
            # A module that is called in another way than by `__call__` of nn.Module may do without.
            classes.lookup(cls, "forward") is not None
            and classes.lookup(cls, "__call__") is None
            and isinstance(init, FunctionValue)
            and isinstance(init.node, cst.FunctionDef)
            and init.unit is not None
            and not module.open
            and _plain_base(m, module)
        ):
            place = Site(init.unit, init.node.name, init.node)
            m.emit(
                InitMissing,
                place,
                class_name=cls.name,
                only_module=len(cls.bases) == 1 and not isinstance(cls.bases[0], ClassValue),
                built_at=site,
            )
    tell_hidden(m, module, site)


def tell_hidden(m: Machine, module: Module, site: Site) -> None:
    """Tell of trainable parts that a module keeps where it does not look for them."""
    cls = module.cls
    if not module.lists or not isinstance(cls, ClassValue) or cls.info is None:
        return
    known = _registered(module, 0)
    facts = partial(ClassFacts.of, m.project, cls.info)
    for name, record in module.lists.items():
        held = resolve(module.attributes.get(name, Unknown()))
        parts = _parts(held, 0)
        if isinstance(held, Sequence) and held.items is not None and len(parts) == 1:
            continue  # One in a list is the usual way to hide a part on purpose.
        parts = [part for part in parts if _hidden(m, part, known)]
        if not parts:
            continue
        m.emit(
            PartsHidden,
            site,
            module=module,
            name=name,
            stored=record.site,
            kept=held,
            parts=tuple(parts),
            owner=record.scope,
            facts=facts,
        )


def _is_part(value: Value) -> bool:
    """Whether a value is surely a module or a parameter."""
    found = resolve(value)
    if isinstance(found, Tensor):
        return found.tensor is YES and found.state.parameter is YES and found.grade is Grade.BUILT
    return isinstance(found, Module) and not found.open and found.grade is Grade.BUILT


def _plain_base(m: Machine, module: Module) -> bool:
    """Whether all bases are known: of the linted file, or modules of torch.

    What the constructors of other files call is not always followed.
    """
    cls = module.cls
    if not isinstance(cls, ClassValue) or classes.lookup(cls, "__new__") is not None:
        return False
    if classes.lookup(cls, "__setattr__") is not None:
        return False
    own = {base.context.index.path for base in classes.linear(cls) if isinstance(base, ClassValue)}
    if own != {m.root_path()}:
        return False
    names = classes.external(cls)
    return bool(names) and all(
        name == "builtins.object" or (name.startswith("torch.nn.") and is_module_name(name))
        for name in names
    )


def _parts(value: Value, depth: int) -> list[Value]:
    """What a plain container holds, containers in it included."""
    found = resolve(value)
    if isinstance(found, (Sequence, Mapping)) and depth < _MAX_DEPTH:
        return [part for item in containers.elements(found) for part in _parts(item, depth + 1)]
    if isinstance(found, Unknown) and found.origin is None and len(found.inputs) == 2:
        either = [resolve(each) for each in found.inputs]
        if all(map(_is_part, either)):
            return either  # the join of what two iterations have made
    return [found]


def _hidden(m: Machine, part: Value, known: set[int]) -> bool:
    """Whether a part surely has parameters to train, was made in sight, and is not registered."""
    if not _is_part(part) or not surely_trainable(m, part):
        return False
    return not any(id(holder) in known for holder in holders_of(m, part))


def _registered(module: Module, depth: int) -> set[int]:
    """The parameter sets that a module finds through its attributes."""
    found = {id(module)}
    if depth > _MAX_DEPTH:
        return found
    for item in module.attributes.values():
        value = resolve(item)
        if isinstance(value, Module):
            found |= _registered(value, depth + 1)
        elif isinstance(value, Tensor):
            found.add(id(value.state))
    children = resolve(module.attributes.get(CHILDREN, Unknown()))
    for part in _parts(children, 0):
        if isinstance(part, Module):
            found |= _registered(part, depth + 1)
        elif isinstance(part, Tensor):
            found.add(id(part.state))
    return found
