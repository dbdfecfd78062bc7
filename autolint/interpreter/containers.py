"""Methods of lists, tuples, dicts and parameter iterables."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import Module
from autolint.autograd.values import NONE, Kind, Mapping, Scalar, Sequence, Unknown, Value, resolve
from autolint.interpreter import alternatives, assignment, gathering, names
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments


def method(m: Machine, receiver: Value, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a container."""
    if isinstance(receiver, Sequence):
        gathering.called(m, receiver, name, args, node)
        return _sequence(m, receiver, name, args)
    if isinstance(receiver, Mapping):
        gathering.called(m, receiver, name, args, node)
        return _mapping(m, receiver, name, args)
    return m.unknown(receiver, *args.all(), origin=m.site(node))


def copied(m: Machine, value: Value) -> Value:
    """A new list or dict with the same elements."""
    found = resolve(value)
    if isinstance(found, Sequence):
        return Sequence(found.items, found.rest)
    if isinstance(found, Mapping):
        return Mapping(dict(found.items), found.open, found.rest)
    if isinstance(found, Module) and "[]" in found.attributes:
        return copied(m, found.attributes["[]"])
    return Sequence(None, names.element(m, found))


def elements(value: Sequence | Mapping) -> list[Value]:
    """Everything known to be in a container."""
    known = value.items or () if isinstance(value, Sequence) else value.items.values()
    return [*known, *(() if value.rest is None else (value.rest,))]


def _sequence(m: Machine, receiver: Sequence, name: str, args: Arguments) -> Value:
    first = args.positional[0] if args.positional else None
    if name in ("append", "add", "appendleft") and first is not None:
        _add(m, receiver, first)
    elif name in ("extend", "update") and first is not None:
        assignment.extend(m, receiver, first)
    elif name == "insert" and len(args.positional) == 2:
        _add(m, receiver, args.positional[1])
    elif name == "clear":
        m.change(receiver, "items", ())
        m.change(receiver, "rest", None)
    elif name in ("pop", "popleft"):
        found = names.element(m, receiver)
        if receiver.items is not None:
            m.change(receiver, "rest", alternatives.any_of(m, list(receiver.items)))
            m.change(receiver, "items", None)
        return found
    elif name == "copy":
        return Sequence(receiver.items, receiver.rest, receiver.mutable)
    elif name in ("index", "count"):
        return Scalar(kind=Kind.INT)
    elif name in ("sort", "reverse", "remove"):
        if receiver.items is not None:
            m.change(receiver, "rest", alternatives.any_of(m, list(receiver.items)))
            m.change(receiver, "items", None)
    else:
        return m.unknown(receiver, *args.all())
    return NONE


def _add(m: Machine, receiver: Sequence, value: Value) -> None:
    if receiver.items is not None and _countable(m, receiver):
        m.change(receiver, "items", (*receiver.items, value))
        return
    known = elements(receiver)
    same = all(resolve(item) is resolve(value) for item in known)
    m.change(receiver, "items", None)
    m.change(receiver, "rest", value if same else alternatives.any_of(m, [*known, value]))


def _countable(m: Machine, receiver: Sequence) -> bool:
    """Whether a list stays one of known length: it is filled outside loops, or is of this
    iteration.
    """
    if len(receiver.items or ()) >= 64:
        return False
    return receiver.birth > max(m.loop_births, default=0)


def _mapping(m: Machine, receiver: Mapping, name: str, args: Arguments) -> Value:
    key = resolve(args.positional[0]) if args.positional else None
    if name in ("get", "pop", "setdefault"):
        return _mapping_get(m, receiver, name, key, args)
    if name == "values":
        if receiver.open:
            return Sequence(None, alternatives.any_of(m, elements(receiver)))
        return Sequence(tuple(receiver.items.values()))
    if name == "items":
        pairs = [
            Sequence((Scalar(key, known=True), value), mutable=False)
            for key, value in receiver.items.items()
        ]
        if receiver.open:
            rest = alternatives.any_of(m, elements(receiver)) or Unknown()
            return Sequence(None, Sequence((Scalar(), rest), mutable=False))
        return Sequence(tuple(pairs))
    if name == "keys":
        if receiver.open:
            return Sequence(None, Scalar())
        return Sequence(tuple(Scalar(key, known=True) for key in receiver.items))
    if name == "copy":
        return copied(m, receiver)
    if name == "update":
        _update(m, receiver, key, args)
        return NONE
    if name == "clear":
        m.change(receiver, "items", {})
        return NONE
    return m.unknown(receiver, *args.all())


def _mapping_get(
    m: Machine, receiver: Mapping, name: str, key: Value | None, args: Arguments
) -> Value:
    default = args.positional[1] if len(args.positional) > 1 else NONE
    literal = isinstance(key, Scalar) and key.known
    if literal and isinstance(key, Scalar) and key.value in receiver.items:
        found = receiver.items[key.value]
        if name == "pop":
            left = {k: v for k, v in receiver.items.items() if k != key.value}
            m.change(receiver, "items", left)
        return found
    if literal and not receiver.open:
        if name == "setdefault" and isinstance(key, Scalar):
            m.change(receiver, "items", {**receiver.items, key.value: default})
        return default
    if name != "get":
        m.change(receiver, "open", True)
    return m.unknown(*elements(receiver), default)


def _update(m: Machine, receiver: Mapping, first: Value | None, args: Arguments) -> None:
    items = dict(receiver.items)
    if isinstance(first, Mapping):
        items.update(first.items)
        if first.open:
            m.change(receiver, "open", True)
    elif first is not None or args.star:
        m.change(receiver, "open", True)
    items.update({k: v for k, v in args.keywords.items() if not k.startswith("*")})
    m.change(receiver, "items", items)
