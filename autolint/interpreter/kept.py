"""What outlives the iterations of a loop with the graphs of all of them."""

from __future__ import annotations

from collections.abc import Iterator

from autolint.autograd.graph import Node
from autolint.autograd.objects import Instance
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NO, YES, Mapping, Value, resolve
from autolint.autograd.walking import walk
from autolint.interpreter.events import Kept, LoopFinished
from autolint.interpreter.machine import LoopState, Machine
from autolint.interpreter.unit import Site


def finished(m: Machine, loop: LoopState, site: Site) -> None:
    """A loop ended: tell what gathered the graphs of its iterations, if anything did."""
    if not m.listens(LoopFinished) or len(loop.entries) < 2:
        return
    kept = tuple(_kept(m, loop))
    if kept:
        m.emit(LoopFinished, site, kept=kept)


def _kept(m: Machine, loop: LoopState) -> Iterator[Kept]:
    known = loop.entries[0]
    for name, value in list(m.frame.names.items()):
        if name not in known:
            continue  # Made in the loop: a part of one iteration.
        for text, item in _parts(name, resolve(value)):
            node = item.state.node
            if not isinstance(node, Node) or item.tensor is not YES or node.freed is not NO:
                continue  # What a backward was called on is no mere sum.
            if _gathers(item, loop.node):
                yield Kept(text, item, node.origin)


def _parts(name: str, value: Value) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a name holds: itself, in a dict, as attributes of an object."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items.items():
            inner = resolve(item)
            if isinstance(inner, Tensor):
                yield f"{name}[{key!r}]", inner
    elif isinstance(value, Instance):
        for attribute, item in list(value.attributes.items()):
            inner = resolve(item)
            if isinstance(inner, Tensor):
                yield f"{name}.{attribute}", inner


def _gathers(value: Tensor, loop: object) -> bool:
    """Whether a value leads, for sure, to nodes of several iterations that were freed already.

    What is freed can feed no backward any more: the graph is kept for nothing.
    """
    iterations: set[int] = set()
    for node, sure in walk(value).nodes:
        if sure is YES and node.freed is YES:
            iterations.update(number for mark, number in node.stamp if mark is loop)
    return len(iterations) > 1
