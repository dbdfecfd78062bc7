"""Backward, steps and clears: what a training loop does to graphs and gradients."""

from __future__ import annotations

from autolint.autograd import graph
from autolint.autograd.graph import Node, Walk
from autolint.autograd.tensor import GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Grade,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    alias_use,
)
from autolint.interpreter.behind import behind
from autolint.interpreter.events import Backward, StaleSaved
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

# ---------------------------------------------------------------------- backward


def backward(m: Machine, value: Value, args: Arguments, site: Site, keep_at: int = 1) -> Value:
    """`value.backward(...)`; `keep_at` is the position of retain_graph."""
    loss = resolve(value)
    tensor = _as_loss(m, value, site)
    if tensor is None:
        return Scalar(None, known=True)
    used = alias_use.off_alias_used(m, tensor, "backward", site)
    if used is not None:
        m.tell(used)
    found = graph.walk(tensor)
    for node, sure in found.nodes:
        if sure is YES:
            for claim in node.claims:
                m.tell(claim)
    reached = _resolved_reach(m, found)
    m.emit(
        Backward,
        site,
        loss=loss,
        stale=_stale(found),
        freed=tuple(found.freed),
    )
    m.heap.put(m.facts, "backwards", (*m.facts.get("backwards", ()), (m.loop_key(), site)))
    for node, sure in found.nodes:
        if node.retained is not None:
            reached[node.retained] = sure
    moment = m.moment(site)
    for holder, sure in reached.items():
        graph.reach(m.heap, holder, sure, site)
        m.change(holder, "filled", moment)
    graph.free(m.heap, found, _retained(args, keep_at))
    return Scalar(None, known=True)


def _stale(found: Walk) -> tuple[StaleSaved, ...]:
    return tuple(
        StaleSaved(saved, node.operation, node.origin, write.event, write.through)
        for node, saved, write in found.stale
    )


def _retained(args: Arguments, keep_at: int) -> Tri:
    keep = args.get(keep_at, "retain_graph")
    if keep is None or (isinstance(keep, Scalar) and keep.known and keep.value is None):
        keep = args.get(keep_at + 1, "create_graph")
    if keep is None:
        return MAYBE if args.star else NO
    known = resolve(keep)
    if isinstance(known, Scalar) and known.known:
        return Tri.of(bool(known.value))
    return MAYBE


def _as_loss(m: Machine, value: Value, site: Site) -> Tensor | None:
    """The tensor that backward is called on. Being called on proves it one that requires grad."""
    found = resolve(value)
    if isinstance(found, Tensor):
        state = found.state
        if state.requires_grad is MAYBE:
            m.change(state, "requires_grad", YES)
            if state.node is None and state.leaf is not YES:
                m.change(state, "node", Node("a call", (), (), site, m.autograd.stamp, opaque=True))
                m.change(state, "leaf", NO)
        return found
    if isinstance(found, Unknown):
        inputs = behind(found)
        opaque = m.autograd.opaque(inputs, found.origin or site, Grade.USED)
        m.change(found, "refined", opaque)
        return opaque
    return None


def _resolved_reach(m: Machine, found: Walk) -> dict[GradHolder, Tri]:
    """Whom a backward reaches, with the inferences for code that gets everything as arguments.

    Something must require grad: if nothing is reached for sure, then what an optimizer was built
    with and may be reached is. A graph with unseen parts also reaches the sets of optimizers whose
    contents are not known: for sure if there is only one optimizer in sight.
    """
    reached = dict(found.reached)
    optimizers = m.optimizers()
    if YES not in reached.values():
        owned = {holder for optimizer in optimizers for holder in optimizer.holders}
        for holder, sure in list(reached.items()):
            if sure is MAYBE and holder in owned:
                reached[holder] = YES
    certain = YES in reached.values()
    if found.opaque is not NO or not reached:
        only = len(optimizers) == 1
        for optimizer in optimizers:
            for holder in optimizer.sets():
                if holder in reached:
                    continue
                if holder is optimizer.opaque:
                    reached[holder] = YES if only else MAYBE
                else:
                    reached[holder] = YES if only and not certain else MAYBE
    return reached


def autograd_backward(m: Machine, args: Arguments, site: Site) -> Value:
    """`torch.autograd.backward(tensors, ...)`."""
    first = args.get(0, "tensors")
    found = resolve(first) if first is not None else None
    values = list(found.items or ()) if isinstance(found, Sequence) else [first]
    for value in values:
        if value is not None:
            backward(m, value, args, site, keep_at=2)
    return Scalar(None, known=True)


def autograd_grad(m: Machine, args: Arguments, site: Site) -> Value:
    """`torch.autograd.grad(outputs, inputs, ...)`: walks and frees the graph, fills no `.grad`."""
    first = args.get(0, "outputs")
    outputs = resolve(first) if first is not None else None
    found_values = list(outputs.items or ()) if isinstance(outputs, Sequence) else [outputs]
    create = resolve(args.get(4, "create_graph") or Scalar(False, known=True))
    keep = _retained(Arguments(args.positional, args.keywords, args.star), 3)
    for value in found_values:
        if isinstance(value, Tensor):
            graph.free(m.heap, graph.walk(value), keep)
    wanted = args.get(1, "inputs")
    inputs = resolve(wanted) if wanted is not None else None
    count = len(inputs.items) if isinstance(inputs, Sequence) and inputs.items is not None else None
    if isinstance(inputs, Tensor):
        count = 1
    plain = isinstance(create, Scalar) and create.known and not create.value
    items: list[Value] = []
    sources = list(inputs.items or ()) if isinstance(inputs, Sequence) else [inputs]
    for number in range(count or 1):
        item = m.autograd.vague(site, Grade.BUILT)
        given = sources[number] if number < len(sources) else None
        source = resolve(given) if given is not None else None
        if isinstance(source, Tensor):
            item.state.kind, item.state.rank = source.state.kind, source.state.rank
        item.state.parameter = NO
        item.state.inference = NO
        if plain:
            item.state.requires_grad, item.state.leaf = NO, YES
        items.append(item)
    if count is None:
        return Sequence(None, items[0], mutable=False)
    return Sequence(tuple(items), mutable=False)
