"""Classes and objects: definition, lookup, construction, attributes, and the facts of a built
module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from autolint.autograd import graph, layers, library
from autolint.autograd.objects import Instance, Module, Optimizer
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Grade,
    Mapping,
    Qualified,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import following, leaf_loss, registration, replaced, spent, unseen
from autolint.interpreter.behind import behind
from autolint.interpreter.class_facts import ClassFacts
from autolint.interpreter.events import ModuleBuilt, StoredTensor
from autolint.interpreter.iteration import holders_of
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import (
    Arguments,
    BoundMethod,
    ClassValue,
    FunctionValue,
    MethodOf,
    SuperValue,
)
from autolint.interpreter.project import is_module_name
from autolint.interpreter.unit import Site


def linear(cls: ClassValue, seen: set[int] | None = None) -> Iterator[Value]:
    """The class and its bases, depth first, each once: close enough to Python's order here."""
    seen = set() if seen is None else seen
    if id(cls) in seen:
        return
    seen.add(id(cls))
    yield cls
    for base in cls.bases:
        base = resolve(base)
        if isinstance(base, ClassValue):
            yield from linear(base, seen)
        else:
            yield base


def lookup(cls: ClassValue, name: str) -> Value | None:
    """A name of the class or of a project base."""
    for base in linear(cls):
        if isinstance(base, ClassValue):
            found = base.namespace.get(name)
            if found is not None:
                return found
    return None


def external(cls: ClassValue) -> list[str]:
    """The qualified names of the bases outside the project; empty strings for unknown ones."""
    return [
        base.name if isinstance(base, Qualified) else ""
        for base in linear(cls)
        if not isinstance(base, ClassValue)
    ]


def is_module(cls: ClassValue) -> Tri:
    """Whether instances are modules of torch."""
    answer = NO
    for name in external(cls):
        known = is_module_name(library.canonical(name)) if name else None
        if known:
            return YES
        if known is None:
            answer = MAYBE
    return answer


def is_optimizer(cls: ClassValue) -> bool:
    """Whether instances are optimizers of torch."""
    return any(library.is_optimizer(name) for name in external(cls) if name)


def super_attribute(m: Machine, value: SuperValue, name: str) -> Value:
    """`super().name`."""
    receiver = resolve(value.receiver)
    order: list[Value] = []
    if isinstance(receiver, Instance) and isinstance(receiver.cls, ClassValue):
        order = list(linear(receiver.cls))
    if value.cls in order:
        order = order[order.index(value.cls) + 1 :]
    else:
        order = list(linear(value.cls))[1:]
    for base in order:
        if isinstance(base, ClassValue):
            found = base.namespace.get(name)
            if isinstance(found, FunctionValue):
                return BoundMethod(found, receiver)
            if found is not None:
                return found
    if isinstance(receiver, (Module, Optimizer)):
        return MethodOf(receiver, name)
    return m.unknown(receiver)


# ---------------------------------------------------------------------- construction


def construct(m: Machine, cls: ClassValue, args: Arguments, node: cst.CSTNode) -> Value:
    """`Class(...)`."""
    site = m.site(node)
    outside = [library.canonical(name) for name in external(cls) if name]
    if is_optimizer(cls):
        first = args.get(0, "params")
        holders = holders_of(m, first) if first is not None else ()
        if first is not None:
            spent.used(m, first, "optimizer", site)
        optimizer = Optimizer(holders, bool(holders), site, name=cls.name)
        optimizer.cls = cls
        return m.saw(optimizer)
    if any(name.endswith(("Exception", "Error")) for name in outside):
        return Unknown()
    kind = is_module(cls)
    value = make(m, cls, kind, site)
    if value is None:
        return m.unknown(*args.all(), origin=site)
    init = lookup(cls, "__init__")
    if m.shallow and isinstance(value, Module) and not _given_tensors(args):
        value.own, value.open = MAYBE, True
        return value
    if isinstance(init, FunctionValue):
        done = following.follow_checked(
            m, init, Arguments([value, *args.positional], args.keywords, args.star), node
        )
        if done is None:
            m.change(value, "open", True)
            unseen.weaken(m, args.all())
            m.heap.put(value.attributes, "*", m.unknown(*args.all()))
    else:
        _positional_fields(m, cls, value, args)
    if isinstance(value, Module):
        built(m, value, site)
    return value


def _given_tensors(args: Arguments) -> bool:
    return any(isinstance(each, Tensor) for value in args.all() for each in behind(value, 12))


def make(m: Machine, cls: ClassValue, kind: Tri, site: Site) -> Instance | None:
    """A new object before its `__init__` runs; None where nothing is known of its class."""
    if kind is NO:
        return Instance(cls, site)
    if kind is MAYBE and any(not name for name in external(cls)):
        module = lookup(cls, "forward") is not None
        if not module:
            value = Instance(cls, site)
            value.open = True
            return value
    own = NO
    for name in external(cls):
        layer = layers.layer(name) if name else None
        if layer is not None and not layer.is_container:
            own = own | layer.has_parameters({})
        elif layer is None:
            own = own | MAYBE
    result = Module(cls, None, own, YES if own is YES else MAYBE, site)
    result.open = kind is MAYBE
    return result


def _positional_fields(m: Machine, cls: ClassValue, value: Instance, args: Arguments) -> None:
    """What a dataclass's constructor does: its annotated names are set from the arguments."""
    fields: list[str] = []
    for base in reversed(list(linear(cls))):
        if isinstance(base, ClassValue) and base.fields_from_body:
            fields += base.fields
    for position, name in enumerate(dict.fromkeys(fields)):
        given = args.get(position, name)
        if given is not None:
            m.heap.put(value.attributes, name, given)


# ---------------------------------------------------------------------- attributes


def store(m: Machine, receiver: Instance, name: str, value: Value, site: Site) -> None:
    """`receiver.name = value`, remembering where a module's tensors come from."""
    replaced.stored(m, receiver, name, value, site)
    m.heap.put(receiver.attributes, name, value)
    if not isinstance(receiver, Module):
        return
    found = resolve(value)
    if isinstance(found, Tensor) and found.state.buffer:
        m.heap.put(receiver.registered, name, site)
    leaf_loss.stored(m, receiver, value, site)
    registration.stored(m, receiver, name, found, site)
    if isinstance(found, Tensor):
        remember(m, receiver, name, found, site)


def remember(m: Machine, module: Module, name: str, tensor: Tensor, site: Site) -> None:
    """Note where an attribute of a module got its tensor."""
    known = module.stores.get(name)
    count = 1 if known is None else known.assignments + 1
    first = site if known is None else known.site
    scope = m.scope() if known is None else known.scope
    ready = module.initialised is YES
    m.heap.put(
        module.stores,
        name,
        StoredTensor(name, tensor, first, scope, count, ready, tensor.state.placed),
    )


def built(m: Machine, module: Module, site: Site) -> None:
    """A module of a project class was constructed: tell the rules about its plain tensors."""
    registration.constructed(m, module, site)
    cls = module.cls
    if not isinstance(cls, ClassValue) or cls.info is None or not m.listens(ModuleBuilt):
        return
    stored: list[StoredTensor] = []
    for name, record in module.stores.items():
        value = resolve(module.attributes.get(name, Unknown()))
        if not isinstance(value, Tensor) or name in module.registered:
            continue
        stored.append(replace(record, tensor=value))
    if not stored:
        return
    info, project = cls.info, m.project
    m.emit(
        ModuleBuilt,
        site,
        module=module,
        class_name=cls.name,
        tensors=tuple(stored),
        facts=lambda: ClassFacts.of(project, info),
    )


def instance_for_methods(m: Machine, cls: ClassValue, node: cst.CSTNode) -> Value | None:
    """An object whose `__init__` ran once with unknown arguments: what methods are run on.

    None if the class is no class of objects that can be made so.
    """
    known = m.inits.get(id(cls))
    if known is not None:
        return known
    site = m.site(node)
    value = make(m, cls, is_module(cls), site)
    if value is None:
        return None
    value.grade = Grade.BUILT
    value.assumed = True
    init = lookup(cls, "__init__")
    if isinstance(init, FunctionValue):
        following.follow_unknown(m, init, value, node)
    if isinstance(value, Module):
        built(m, value, site)
    m.inits[id(cls)] = value
    return value


def weaken_gradients(m: Machine, value: Value) -> None:
    """At the entry of a method nothing is known of the gradients of what its object holds."""
    found = resolve(value)
    if not isinstance(found, Instance):
        return
    for holder in all_holders(m, found):
        graph.forget(m.heap, holder)
    for item in found.attributes.values():
        held = resolve(item)
        if isinstance(held, Sequence) and held.items == ():
            m.change(held, "items", None)  # other methods fill it
        elif isinstance(held, Mapping) and not held.items:
            m.change(held, "open", True)


def all_holders(m: Machine, value: Value) -> list[GradHolder]:
    """Every parameter set that an object can reach: through modules, optimizers, containers."""
    found = list(holders_of(m, value))
    for optimizer in m.optimizers():
        found.extend(optimizer.sets())
    if isinstance(value, Instance):
        for item in value.attributes.values():
            found.extend(holders_of(m, item))
            inner = resolve(item)
            if isinstance(inner, Optimizer):
                found.extend(inner.sets())
    return list(dict.fromkeys(found))
