"""The walk of a backward: what it meets on its way through the graph, and what it frees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from autolint.autograd.graph import Node, Saved, edge
from autolint.autograd.heap import Heap
from autolint.autograd.tensor import GradHolder, Tensor, Write
from autolint.autograd.values import MAYBE, NO, YES, Origin, Tri

Targets: TypeAlias = "frozenset[Node | GradHolder]"
"""What gradients are asked for: only nodes on the way to these are run."""


class Freed(NamedTuple):
    """A node without what it saved.

    `border` is where the walk enters this freed part of the graph, `leading` the node that leads
    there (None: the walk begins there).
    """

    node: Node
    border: Node
    leading: Node | None


@dataclass
class Walk:
    """What a backward met: leaves by how sure, stale saved values, freed nodes, opaque nodes."""

    reached: dict[GradHolder, Tri] = field(default_factory=dict)
    stale: list[tuple[Node, Saved, Write]] = field(default_factory=list)
    freed: list[Freed] = field(default_factory=list)
    opaque: Tri = NO
    nodes: list[tuple[Node, Tri]] = field(default_factory=list)

    def unsure(self) -> None:
        """Only a part of this may be walked: what gradients are asked for is not known."""
        self.reached = {item: sure & MAYBE for item, sure in self.reached.items()}
        self.nodes = [(node, sure & MAYBE) for node, sure in self.nodes]
        self.stale, self.freed = [], []


def walk(*tensors: Tensor, targets: Targets | None = None) -> Walk:
    """Everything a backward from these tensors meets, without changing anything."""
    found = Walk()
    best: dict[Node | GradHolder, Tri] = {}
    consumers: dict[Node | GradHolder, list[tuple[Node, Tri]]] = {}
    todo: list[tuple[Node | GradHolder, Tri]] = [
        each for tensor in tensors for each in edge(tensor)
    ]
    while todo:
        item, sure = todo.pop()
        known = best.get(item)
        if known is not None and (known is sure or known is YES):
            continue
        best[item] = sure
        if isinstance(item, Node):
            for target, strength in item.inputs:
                if known is None:
                    consumers.setdefault(target, []).append((item, strength))
                todo.append((target, sure & strength))
    if targets is not None:
        _narrow(best, consumers, targets)
    for item, sure in best.items():
        if not isinstance(item, Node):
            found.reached[item] = sure & item.takes_gradient()
            continue
        found.nodes.append((item, sure))
        if item.opaque:
            found.opaque = found.opaque | sure
        if sure is YES:
            _inspect(item, found, best, consumers)
    return found


def _narrow(
    best: dict[Node | GradHolder, Tri],
    consumers: dict[Node | GradHolder, list[tuple[Node, Tri]]],
    targets: Targets,
) -> None:
    """Leave what is on the way to the targets, as surely as it is."""
    leading: dict[Node | GradHolder, Tri] = {}
    todo: list[tuple[Node, Tri]] = [
        each for target in targets for each in consumers.get(target, ())
    ]
    while todo:
        item, sure = todo.pop()
        known = leading.get(item)
        if known is not None and (known is sure or known is YES):
            continue
        leading[item] = sure
        todo.extend((other, sure & strength) for other, strength in consumers.get(item, ()))
    for target in list(best):
        asked = not isinstance(target, Node) and target in targets
        sure = YES if asked else leading.get(target, NO)
        if sure is NO:
            del best[target]
        else:
            best[target] = best[target] & sure


def _inspect(
    node: Node,
    found: Walk,
    best: dict[Node | GradHolder, Tri],
    consumers: dict[Node | GradHolder, list[tuple[Node, Tri]]],
) -> None:
    """Note what is wrong with a node that is reached for sure."""
    if node.freed is YES:
        if any(saved.sure is YES for saved in node.saved):
            found.freed.append(_entered(node, best, consumers))
        return
    if node.freed is MAYBE:
        return
    for saved in node.saved:
        write = saved.changed()
        if write is not None and saved.sure is YES:
            found.stale.append((node, saved, write))


def _entered(
    node: Node,
    best: dict[Node | GradHolder, Tri],
    consumers: dict[Node | GradHolder, list[tuple[Node, Tri]]],
) -> Freed:
    """A freed node, and where the walk surely comes to it from a node that is still whole."""
    seen: set[Node] = set()
    todo = [node]
    while todo:
        item = todo.pop()
        for consumer, strength in consumers.get(item, ()):
            if strength is not YES or best.get(consumer) is not YES or consumer in seen:
                continue
            if consumer.freed is not YES:
                return Freed(node, item, consumer)
            seen.add(consumer)
            todo.append(consumer)
    return Freed(node, node, None)


def free(heap: Heap, found: Walk, retain: Tri, origin: Origin = None) -> None:
    """Free the graph that was walked, unless it is retained."""
    if retain is YES:
        return
    for node, sure in found.nodes:
        freed = YES if sure is YES and retain is NO else MAYBE
        if node.freed is not YES:
            heap.put(vars(node), "freed", freed)
            heap.put(vars(node), "freed_at", origin)
