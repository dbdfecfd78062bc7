"""What outlives the iterations of a loop with the graphs of all of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.autograd.graph import Node
from autolint.autograd.objects import Instance
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NO, YES, Mapping, Sequence, Value, resolve
from autolint.autograd.walking import walk
from autolint.interpreter.events import Kept, LoopFinished
from autolint.interpreter.machine import LoopState, Machine
from autolint.interpreter.unit import Site

_MAX_DEPTH = 2
"""How many objects and dicts may be around what gathers."""


def finished(m: Machine, loop: LoopState, site: Site) -> None:
    """A loop ended: tell what gathered the graphs of its iterations, if anything did."""
    if not m.listens(LoopFinished) or len(loop.entries) < 2 or not m.facts.get("backwards"):
        return  # Nothing was freed.
    kept = tuple(_kept(m, loop))
    if kept:
        m.emit(LoopFinished, site, kept=kept)


def _kept(m: Machine, loop: LoopState) -> Iterator[Kept]:
    known = m.heap.at(loop.entries[0], m.frame.names)
    for name, value in list(m.frame.names.items()):
        if name not in known:
            continue  # Made in the loop: a part of one iteration.
        for text, item in _parts(name, resolve(value)):
            if isinstance(item, Tensor):
                node = item.state.node
                if not isinstance(node, Node) or item.tensor is not YES or node.freed is not NO:
                    continue  # What a backward was called on is no mere sum.
                if len(_iterations(item, loop.node)) > 1:
                    yield Kept(text, node.origin, False, _within(loop.node, node.origin))
            else:
                yield from _gathered(text, item, loop.node)


def _parts(
    name: str, value: Value, depth: int = _MAX_DEPTH
) -> Iterator[tuple[str, Tensor | Sequence | Mapping]]:
    """What may gather and is held by a name: itself, in a dict, as attributes of an object."""
    if isinstance(value, Tensor):
        yield name, value
        return
    if isinstance(value, (Sequence, Mapping)) and value.gathered:
        yield name, value
    if not depth:
        return
    if isinstance(value, Mapping):
        for key, item in value.items.items():
            yield from _parts(f"{name}[{key!r}]", resolve(item), depth - 1)
    elif isinstance(value, Instance):
        for attribute, item in list(value.attributes.items()):
            yield from _parts(f"{name}.{attribute}", resolve(item), depth - 1)


def _gathered(text: str, holder: Sequence | Mapping, loop: cst.CSTNode) -> Iterator[Kept]:
    """The places where graphs of several iterations were put into a container."""
    places: dict[Site, set[int]] = {}
    for value, site in holder.gathered or ():
        node = value.state.node if isinstance(value, Tensor) else None
        if isinstance(value, Tensor) and isinstance(node, Node) and _iterations(value, loop):
            places.setdefault(site, set()).update(n for mark, n in node.stamp if mark is loop)
    for site, iterations in places.items():
        if len(iterations) > 1:
            yield Kept(text, site, True, _within(loop, site))


def _within(loop: cst.CSTNode, site: Site | None) -> bool:
    """Whether a place is in the text of a loop."""
    todo = [loop]
    while todo and site is not None:
        node = todo.pop()
        if node is site.node:
            return True
        todo.extend(node.children)
    return False


def _iterations(value: Tensor, loop: object) -> set[int]:
    """The iterations from which a value surely leads to nodes that were freed already.

    What is freed can feed no backward any more: the graph is kept for nothing.
    """
    return {
        number
        for node, sure in walk(value).nodes
        if sure is YES and node.freed is YES
        for mark, number in node.stamp
        if mark is loop
    }
