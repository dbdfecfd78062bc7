"""What lists and dicts gather: values with history that are put in, one by one, and stay."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.autograd.tensor import Tensor
from autolint.autograd.values import YES, Mapping, Sequence, Value, resolve
from autolint.interpreter.events import LoopFinished
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

_PUTTING = {"append": 0, "add": 0, "appendleft": 0, "insert": 1}
"""Methods that put a value in, and which argument it is."""
_TAKING = frozenset({"clear", "pop", "popleft", "popitem", "remove", "discard"})


def called(
    m: Machine, holder: Sequence | Mapping, name: str, args: Arguments, node: cst.Call
) -> None:
    """A method of a container is called."""
    if name in _TAKING:
        taken(m, holder)
    place = _PUTTING.get(name)
    if place is not None and place < len(args.positional) and place < len(node.args):
        put(m, holder, args.positional[place], node.args[place].value)


def put(
    m: Machine,
    holder: Sequence | Mapping,
    value: Value,
    source: cst.CSTNode | None,
    replaced: Value | None = None,
) -> None:
    """A value is put in, maybe in the place of another; noted in loops, where it is one of many."""
    if holder.gathered is None or source is None or not m.loops or not m.listens(LoopFinished):
        return
    site = m.site(source)
    added = tuple((tensor, site) for tensor in _tensors(value))
    if added:
        gone = () if replaced is None else tuple(_tensors(replaced))
        left = [each for each in holder.gathered if each[0] not in gone]
        m.change(holder, "gathered", (*left, *added))


def taken(m: Machine, holder: Sequence | Mapping) -> None:
    """Something is taken out, or may be: how much the container keeps is not known any more."""
    m.change(holder, "gathered", None)


def _tensors(value: Value) -> Iterator[Tensor]:
    """The tensors with a graph that a value holds: itself, or in a tuple, list or dict."""
    found = resolve(value)
    if isinstance(found, Tensor):
        if found.state.node is not None and found.tensor is YES:
            yield found
    elif isinstance(found, Sequence):
        for item in found.items or ():
            if isinstance(resolve(item), Tensor):
                yield from _tensors(item)
    elif isinstance(found, Mapping):
        for item in found.items.values():
            if isinstance(resolve(item), Tensor):
                yield from _tensors(item)
