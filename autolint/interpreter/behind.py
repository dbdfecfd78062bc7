"""What lies behind a value that is not known: what it may have been computed from, or was given."""

from __future__ import annotations

from collections.abc import Iterator

from autolint.autograd.objects import Instance, Module, Optimizer, Parameters
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import NO, Mapping, Sequence, Unknown, Value, resolve

MAX_BEHIND = 60
"""How many values are looked at behind one unknown value."""


def behind(value: Value, limit: int = MAX_BEHIND) -> list[Tensor | GradHolder]:
    """The tensors and parameter sets that an unknown value may have been computed from."""
    found: list[Tensor | GradHolder] = []
    for item in _reached(value, limit):
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, Parameters):
            found.extend(item.holders)
        elif isinstance(item, Module) and item.own is not NO:
            found.append(item)
    return found


def joined_modules(value: Value) -> list[Module]:
    """The modules that an unknown value is a part of one of, as a branch decided."""
    found: list[Module] = []
    todo: list[tuple[Value, bool]] = [(value, False)]
    seen: set[int] = set()
    while todo and len(seen) < MAX_BEHIND:
        item, joined = todo.pop()
        item = resolve(item)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Module) and joined:
            found.append(item)
        elif isinstance(item, Unknown):
            todo.extend((each, item.joined) for each in item.inputs)
    return found


def optimizers_behind(value: Value, limit: int = 24) -> list[Optimizer]:
    """The optimizers that an unknown object was given, directly or inside something else."""
    return [item for item in _reached(value, limit, kept=True) if isinstance(item, Optimizer)]


def _reached(value: Value, limit: int, kept: bool = False) -> Iterator[Value]:
    """A value and what it was made from, each once, up to a limit.

    `kept`: also what was stored on unknown objects, but not what the modules and objects of the
    project hold: using a model is no use of the optimizer that its trainer keeps.
    """
    todo: list[Value] = [value]
    seen: set[int] = set()
    while todo and len(seen) < limit:
        item = resolve(todo.pop())
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, Unknown):
            todo.extend(item.inputs)
            todo.extend(item.attributes.values() if kept else ())
        elif isinstance(item, Sequence):
            todo.extend(item.items or ())
            todo.extend(() if item.rest is None else (item.rest,))
        elif isinstance(item, Mapping):
            todo.extend(item.items.values())
            todo.extend(() if item.rest is None else (item.rest,))
        elif isinstance(item, Instance):
            todo.extend(() if kept else item.attributes.values())
        elif not isinstance(item, Tensor):
            receiver = getattr(item, "receiver", None)
            if isinstance(receiver, Value):
                todo.append(receiver)
