"""Backward, steps and clears: what a training loop does to graphs and gradients."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import graph, layers, library, ops
from autolint.autograd.graph import Node, Walk
from autolint.autograd.objects import GradScaler, Module, Optimizer, Parameters, Scheduler
from autolint.autograd.tensor import GradHolder, Tensor, Write
from autolint.autograd.values import (
    MAYBE,
    NO,
    UNKNOWN_GRAD,
    YES,
    Grade,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    alias_use,
    calls,
    classes,
    following,
    modules,
    tensors,
    unseen,
    writes,
)
from autolint.interpreter.behind import behind
from autolint.interpreter.events import Backward, OptimizerStep, SetState, StaleSaved
from autolint.interpreter.iteration import holders_of, memory
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, FunctionValue
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
    for holder, sure in reached.items():
        graph.reach(m.heap, holder, sure, site)
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


# ---------------------------------------------------------------------- optimizers


def build_optimizer(m: Machine, name: str, args: Arguments, site: Site) -> Value:
    """An optimizer of torch, over what it is given."""
    params = args.get(0, "params")
    holders: tuple[GradHolder, ...] = ()
    complete = False
    if params is not None:
        holders, complete = _parameter_sets(m, params)
    return m.saw(Optimizer(holders, complete and bool(holders), site, name=name))


def _parameter_sets(m: Machine, params: Value) -> tuple[tuple[GradHolder, ...], bool]:
    """The sets in what an optimizer is given, and whether that is all."""
    found = resolve(params)
    if isinstance(found, (Parameters, Tensor, Module)):
        return holders_of(m, found), True
    complete = True
    sets: list[GradHolder] = []
    if isinstance(found, Sequence):
        items = [*(found.items or ()), *(() if found.rest is None else (found.rest,))]
        for item in items:
            inner = resolve(item)
            group = getattr(inner, "items", None)
            if isinstance(group, dict):
                item = group.get("params", inner)
            more, whole = _parameter_sets(m, item)
            sets.extend(more)
            complete = complete and whole
        return tuple(dict.fromkeys(sets)), complete
    for item in behind(found):
        if isinstance(item, Tensor):
            sets.extend(holders_of(m, item))
        else:
            sets.append(item)
    return tuple(dict.fromkeys(sets)), False


def optimizer_method(
    m: Machine, optimizer: Optimizer, name: str, args: Arguments, node: cst.Call, own: bool = True
) -> Value:
    """A method of an optimizer; `own`: as its class in the project defines it."""
    site = m.site(node)
    found = classes.lookup(optimizer.cls, name) if own and optimizer.cls is not None else None
    if isinstance(found, FunctionValue):
        given = Arguments([optimizer, *args.positional], args.keywords, args.star)
        return following.follow(m, found, given, node)
    if name == "step":
        closure = args.get(0, "closure")
        if closure is not None and resolve(closure) != Scalar(None, known=True):
            calls.call(m, closure, Arguments(), node)
        step(m, optimizer, site, node)
        return m.unknown()
    if name == "zero_grad":
        writes.clear(m, optimizer.sets(), site, to_none(args))
        return Scalar(None, known=True)
    if name == "add_param_group":
        group = resolve(args.get(0, "param_group") or Unknown())
        params = getattr(group, "items", {}).get("params") if hasattr(group, "items") else None
        more, complete = _parameter_sets(m, params) if params is not None else ((), False)
        m.change(optimizer, "holders", tuple(dict.fromkeys((*optimizer.holders, *more))))
        if not complete and optimizer.opaque is None:
            m.change(optimizer, "opaque", GradHolder(UNKNOWN_GRAD))
        return Scalar(None, known=True)
    if name.startswith("register_step_") and args.positional:
        m.change(optimizer, "hooks", (*optimizer.hooks, args.positional[0]))
    return m.unknown()


def to_none(args: Arguments) -> Tri:
    """Whether `zero_grad(set_to_none)` sets gradients to None: its default."""
    given = args.get(0, "set_to_none")
    known = resolve(given) if given is not None else None
    if known is None:
        return MAYBE if args.star else YES
    return Tri.of(bool(known.value)) if isinstance(known, Scalar) and known.known else MAYBE


def step(m: Machine, optimizer: Optimizer, site: Site, node: cst.Call) -> None:
    """An optimizer uses its gradients and writes its parameters."""
    sets = optimizer.sets()
    if m.listens(OptimizerStep):
        receiver = node.func.value if isinstance(node.func, cst.Attribute) else node.func
        m.emit(
            OptimizerStep,
            site,
            optimizer=optimizer,
            optimizer_text=_text(optimizer, site, receiver, node),
            sets=tuple(
                SetState(holder, holder.words, holder.stale_at, holder.dropped_at)
                for holder in sets
            ),
            backwards_in_loop=len(m.backwards_in_loop()),
            optimizers_in_loop=m.optimizers_in_loop(optimizer),
        )
    for holder in sets:
        graph.step(m.heap, holder)
        storage = memory(holder)
        low, high = storage.version
        m.change(storage, "version", (low, high + 1))
        m.change(storage, "last_write", Write(site, Through.SELF, sure=False))
        m.change(storage, "pending", None)
    for hook in optimizer.hooks:
        calls.call(m, hook, Arguments([optimizer, Unknown(), Unknown()]), node)


def _text(optimizer: Optimizer, site: Site, receiver: cst.CSTNode, node: cst.Call) -> str:
    """The optimizer as the program names it."""
    if node.args and isinstance(receiver, (cst.Name, cst.Attribute)):
        first = node.args[0].value
        if isinstance(first, (cst.Name, cst.Attribute, cst.Subscript)):
            return site._replace(node=first).text  # scaler.step(optimizer)
    return site._replace(node=receiver).text


def clear_module(m: Machine, module: Module, site: Site, none: Tri) -> None:
    """`module.zero_grad()`. What an optimizer of unknown contents holds may be this module's."""
    writes.clear(m, holders_of(m, module), site, none)
    clear_opaque(m, site)


def clear_opaque(m: Machine, site: Site) -> None:
    """Something unknown is cleared: it may be what an optimizer of unknown contents holds."""
    for optimizer in m.optimizers():
        if optimizer.opaque is not None:
            writes.clear(m, (optimizer.opaque,), site)


def scaler_method(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method of a gradient scaler."""
    first = args.get(0, "outputs" if name == "scale" else "optimizer")
    if name == "scale" and first is not None:
        return scaled(m, first, m.site(node))
    if name == "step" and first is not None:
        inner = resolve(first)
        if isinstance(inner, Optimizer):
            return optimizer_method(m, inner, "step", Arguments(args.positional[1:]), node)
        unseen.unknown_method(m, inner, "step", Arguments(), node)
    return m.unknown()


def scaled(m: Machine, value: Value, site: Site) -> Value:
    """A loss times a number that is not known."""
    found = resolve(value)
    if not isinstance(found, Tensor):
        return m.unknown(value, origin=site)
    facts = ops.operator("*")
    assert facts is not None
    return tensors.operate(m, facts.variant("number"), [(0, found)], site)


# ---------------------------------------------------------------------- kinds by annotation


def annotated_object(m: Machine, name: str, site: Site) -> Value | None:
    """The object that a class name in an annotation promises."""
    if library.is_optimizer(name):
        return m.saw(Optimizer((), False, site, Grade.ANNOTATED))
    if library.is_scheduler(name):
        return Scheduler()
    if library.is_scaler(name):
        return GradScaler()
    if layers.layer(name) is not None:
        return modules.opaque(site, Grade.ANNOTATED)
    return None
