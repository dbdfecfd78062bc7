"""What a loop runs over: the values of its iterations."""

from __future__ import annotations

from autolint.autograd.objects import Instance, Module, Parameters
from autolint.autograd.ops import method
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Kind,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site

MAX_UNROLLED = 6
"""Known sequences up to this length are run element by element."""


class Zipped(Value):
    """`zip` or `enumerate` of things whose elements are not known one by one."""

    __slots__ = ("columns",)

    def __init__(self, columns: tuple[Value, ...]) -> None:
        self.columns = columns


def iterations(m: Machine, value: Value, origin: Site) -> list[Value]:
    """The value of each iteration that is run: known elements, or two of unknown content."""
    items = items_of(m, value)
    if items is not None:
        return items
    return [unknown_item(m, value, origin), unknown_item(m, value, origin)]


def items_of(m: Machine, value: Value) -> list[Value] | None:
    """The elements of a short sequence that is known, or the one summary of a set of parameters."""
    value = resolve(value)
    if isinstance(value, Sequence):
        if value.items is not None and len(value.items) <= MAX_UNROLLED:
            return list(value.items)
        return None
    if isinstance(value, Mapping):
        if not value.open and len(value.items) <= MAX_UNROLLED:
            return [Scalar(key, known=True) for key in value.items]
        return None
    if isinstance(value, Parameters):
        element: Value = summary(value.holders)
        if value.named:
            element = Sequence((Scalar(), element), mutable=False)
        return [element]
    if isinstance(value, Module):
        children = value.attributes.get("[]")
        return items_of(m, children) if children is not None else None
    return None


def unknown_item(m: Machine, value: Value, origin: Site) -> Value:
    """An element of a sequence whose elements are not known one by one."""
    value = resolve(value)
    if isinstance(value, Zipped):
        return Sequence(tuple(_row(m, column, origin) for column in value.columns), mutable=False)
    if isinstance(value, Sequence):
        if value.rest is not None:
            return value.rest
        if value.items:
            first = value.items[0]
            if all(item is first for item in value.items):
                return first
            return m.unknown(*value.items, origin=origin)
    if isinstance(value, Tensor):
        facts = method("unbind")
        rank = value.state.rank
        if facts is not None:
            return m.autograd.view(
                value, "unbind", value.state.kind, None if not rank else rank - 1, origin
            )
    if isinstance(value, Qualified):
        return Unknown()
    if isinstance(value, Module) and value.attributes.get("[]") is not None:
        return unknown_item(m, value.attributes["[]"], origin)
    return m.unknown(value, origin=origin)


def _row(m: Machine, column: Value, origin: Site) -> Value:
    known = items_of(m, column)
    if known and len(known) == 1:
        return known[0]
    return m.unknown(*known, origin=origin) if known else unknown_item(m, column, origin)


def trainable(holder: GradHolder) -> Tri:
    """Whether the parameters of a holder require grad."""
    if isinstance(holder, TensorState):
        return holder.requires_grad
    return holder.trainable if isinstance(holder, Module) else MAYBE


def surely_trainable(m: Machine, value: Value) -> bool:
    """Whether a module or tensor surely has, or is, a parameter that requires grad."""
    return any(
        trainable(holder) is YES
        and (holder.parameter if isinstance(holder, TensorState) else _own(holder)) is YES
        for holder in holders_of(m, value)
    )


def _own(holder: GradHolder) -> Tri:
    return holder.own if isinstance(holder, Module) else MAYBE


def summary(holders: tuple[GradHolder, ...]) -> Tensor:
    """One tensor that stands for all parameters of a set: what is done to it is done to all."""
    grad = Tri.join(YES, YES) if holders else MAYBE
    for position, holder in enumerate(holders):
        grad = trainable(holder) if position == 0 else Tri.join(grad, trainable(holder))
    words = frozenset(word for holder in holders for word in holder.words)
    inferred = {_inference(holder) for holder in holders}
    inference = inferred.pop() if len(inferred) == 1 else MAYBE if inferred else NO
    state = TensorState(grad, YES, Kind.FLOAT, None, None, inference, YES, words)
    state.members = holders
    parts = tuple(memory(holder) for holder in holders)
    storage = parts[0] if len(parts) == 1 else Storage(parts, together=True)
    return Tensor(state, storage)


def _inference(holder: GradHolder) -> Tri:
    """Whether the parameters of a holder are inference tensors."""
    return holder.inference if isinstance(holder, (Module, TensorState)) else NO


def memory(holder: GradHolder) -> Storage:
    """The storage of the parameters of a holder."""
    if isinstance(holder, (Module, TensorState)) and holder.memory is not None:
        return holder.memory
    return Storage()


def holders_of(m: Machine, value: Value, seen: set[int] | None = None) -> tuple[GradHolder, ...]:
    """The parameter sets inside a value: of a module and its children, a tensor, a container."""
    seen = set() if seen is None else seen
    value = resolve(value)
    if id(value) in seen:
        return ()
    seen.add(id(value))
    found: list[GradHolder] = []
    if isinstance(value, Tensor):
        state = value.state
        if state.members:
            return state.members
        return (state.owner,) if state.owner is not None else (state,)
    if isinstance(value, Module):
        if value.own is not NO:
            found.append(value)
        for item in list(value.attributes.values()):
            inner = resolve(item)
            if (
                isinstance(inner, Module)
                or (isinstance(inner, Tensor) and inner.state.parameter is YES)
                or item is value.attributes.get("[]")
            ):
                found.extend(holders_of(m, inner, seen))
    elif isinstance(value, Parameters):
        found.extend(value.holders)
    elif isinstance(value, Sequence):
        for item in (*(value.items or ()), *(() if value.rest is None else (value.rest,))):
            found.extend(holders_of(m, item, seen))
    elif isinstance(value, Mapping):
        for item in (*value.items.values(), *(() if value.rest is None else (value.rest,))):
            found.extend(holders_of(m, item, seen))
    elif isinstance(value, Instance):
        for item in list(value.attributes.values()):
            if isinstance(resolve(item), Module):
                found.extend(holders_of(m, item, seen))
    return tuple(dict.fromkeys(found))


def modules_in(module: Module) -> list[Module]:
    """A module and all modules in it."""
    found: dict[int, Module] = {}
    todo: list[Value] = [module]
    while todo:
        item = resolve(todo.pop())
        if not isinstance(item, Module) or id(item) in found:
            continue
        found[id(item)] = item
        todo.extend(item.attributes.values())
        children = resolve(item.attributes.get("[]", NONE))
        if isinstance(children, (Sequence, Mapping)):
            inside = children.items.values() if isinstance(children, Mapping) else children.items
            todo.extend(inside or ())
            todo.extend(() if children.rest is None else (children.rest,))
    return list(found.values())
