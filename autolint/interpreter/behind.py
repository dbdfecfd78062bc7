"""What lies behind a value that is not known: what it may have been computed from, or was given."""

from __future__ import annotations

from autolint.autograd.objects import Instance, Module, Optimizer, Parameters
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import NO, Mapping, Sequence, Unknown, Value, resolve

MAX_BEHIND = 60
"""How many values are looked at behind one unknown value."""


def behind(value: Value, limit: int = MAX_BEHIND) -> list[Tensor | GradHolder]:
    """The tensors and parameter sets that an unknown value may have been computed from."""
    found: list[Tensor | GradHolder] = []
    todo: list[Value] = [value]
    seen: set[int] = set()
    while todo and len(seen) < limit:
        item = resolve(todo.pop())
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, Unknown):
            todo.extend(item.inputs)
        elif isinstance(item, Sequence):
            todo.extend(item.items or ())
            todo.extend(() if item.rest is None else (item.rest,))
        elif isinstance(item, Mapping):
            todo.extend(item.items.values())
            todo.extend(() if item.rest is None else (item.rest,))
        elif isinstance(item, Parameters):
            found.extend(item.holders)
        elif isinstance(item, Module):
            if item.own is not NO:
                found.append(item)
            todo.extend(item.attributes.values())
        elif isinstance(item, Instance):
            todo.extend(item.attributes.values())
        else:
            receiver = getattr(item, "receiver", None)
            if isinstance(receiver, Value):
                todo.append(receiver)
    return found


def optimizers_behind(value: Value, limit: int = 24) -> list[Optimizer]:
    """The optimizers that an unknown object was given, directly or inside something else."""
    found: list[Optimizer] = []
    todo: list[Value] = [value]
    seen: set[int] = set()
    while todo and len(seen) < limit:
        item = resolve(todo.pop())
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Optimizer):
            found.append(item)
        elif isinstance(item, Unknown):
            todo.extend(item.inputs)
            todo.extend(item.attributes.values())
        elif isinstance(item, Sequence):
            todo.extend(item.items or ())
        elif isinstance(item, Mapping):
            todo.extend(item.items.values())
        else:
            receiver = getattr(item, "receiver", None)
            if isinstance(receiver, Optimizer):
                found.append(receiver)
    return found
