"""Optimizers: what they are built with, what a step uses, and what a clear empties."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import graph
from autolint.autograd.identity import alternatives
from autolint.autograd.objects import GradScaler, Module, Optimizer, Parameters
from autolint.autograd.tensor import GradHolder, Tensor, Write
from autolint.autograd.values import (
    MAYBE,
    NO,
    UNKNOWN_GRAD,
    YES,
    Mapping,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    calls,
    classes,
    following,
    freezing,
    leaf_loss,
    replaced,
    schedulers,
    snapshots,
    spent,
    training_mode,
    writes,
)
from autolint.interpreter.behind import behind
from autolint.interpreter.events import Backward, OptimizerStep, SetState
from autolint.interpreter.gradient_reads import holders_behind
from autolint.interpreter.iteration import holders_of, memory
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, FunctionValue
from autolint.interpreter.unit import Site


def build(m: Machine, name: str, args: Arguments, site: Site) -> Value:
    """An optimizer of torch, over what it is given."""
    params = args.get(0, "params")
    holders: tuple[GradHolder, ...] = ()
    complete = False
    if params is not None:
        leaf_loss.optimised(m, params, site)
        holders, complete = parameter_sets(m, params)
    made = Optimizer(holders, complete and bool(holders), site, name=name)
    if params is not None:
        made.unsure = _unsure(params) & {*holders}
        _spend(m, params, site)
    made.moves_on = freezing.moves_on(name, args)
    return m.saw(made)


def _unsure(params: Value) -> frozenset[GradHolder]:
    """The sets of tensors that an optimizer is given one or the other of."""
    found = resolve(params)
    if isinstance(found, Tensor) and found.state.perhaps:
        return frozenset((found.state, *_either(found)))
    if isinstance(found, Sequence) and found.items is not None:
        every = [*found.items, *(() if found.rest is None else (found.rest,))]
        return frozenset(holder for item in every for holder in _unsure(item))
    return frozenset()


def _either(tensor: Tensor) -> tuple[GradHolder, ...]:
    """The sets of the tensors that one may be."""
    others = alternatives(tensor.state)
    return tuple(holder for other in others for holder in holders_behind(other))


def parameter_sets(m: Machine, params: Value) -> tuple[tuple[GradHolder, ...], bool]:
    """The sets in what an optimizer is given, and whether that is all."""
    found = resolve(params)
    if isinstance(found, Tensor) and found.state.perhaps:
        return tuple(dict.fromkeys((*holders_of(m, found), *_either(found)))), True
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
            more, whole = parameter_sets(m, item)
            sets.extend(more)
            complete = complete and whole
        return tuple(dict.fromkeys(sets)), complete
    for item in behind(found):
        if isinstance(item, Tensor):
            sets.extend(holders_of(m, item))
        else:
            sets.append(item)
    return tuple(dict.fromkeys(sets)), False


def _spend(m: Machine, params: Value, site: Site) -> None:
    """An optimizer runs through its parameters, those of its groups included."""
    found = resolve(params)
    items = found.items if isinstance(found, Sequence) else None
    for item in (found,) if items is None else items:
        group = resolve(item)
        inner = group.items.get("params", group) if isinstance(group, Mapping) else group
        spent.used(m, inner, "optimizer", site)


def method(
    m: Machine,
    optimizer: Optimizer,
    name: str,
    args: Arguments,
    node: cst.Call,
    own: bool = True,
    scaler: GradScaler | None = None,
) -> Value:
    """A method of an optimizer; `own`: as its class in the project defines it.

    `scaler` is what calls its step.
    """
    site = m.site(node)
    found = classes.lookup(optimizer.cls, name) if own and optimizer.cls is not None else None
    if isinstance(found, FunctionValue):
        given = Arguments([optimizer, *args.positional], args.keywords, args.star)
        return following.follow(m, found, given, node)
    if name == "step":
        closure = args.get(0, "closure")
        if closure is not None and resolve(closure) != Scalar(None, known=True):
            calls.call(m, closure, Arguments(), node)
        step(m, optimizer, site, node, scaler)
        return m.unknown()
    if name == "zero_grad":
        writes.clear(m, optimizer.sets(), site, to_none(args), optimizer.unsure)
        return Scalar(None, known=True)
    if name == "add_param_group":
        group = resolve(args.get(0, "param_group") or Unknown())
        params = getattr(group, "items", {}).get("params") if hasattr(group, "items") else None
        if params is not None:
            spent.used(m, params, "optimizer", site)
        more, complete = parameter_sets(m, params) if params is not None else ((), False)
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


def step(
    m: Machine, optimizer: Optimizer, site: Site, node: cst.Call, scaler: GradScaler | None
) -> None:
    """An optimizer uses its gradients and writes its parameters."""
    sets = optimizer.sets()
    receiver = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    text = _text(optimizer, site, receiver, node)
    schedulers.stepped(m, optimizer, site, text)
    training_mode.stepped(m, optimizer, site)
    replaced.stepped(m, optimizer, site, text)
    snapshots.stepped(m, optimizer, site)
    freezing.stepped(m, optimizer, site, text)
    event: OptimizerStep | None = None
    if m.listens(OptimizerStep) or m.listens(Backward):
        event = m.emit(
            OptimizerStep,
            site,
            optimizer=optimizer,
            optimizer_text=text,
            sets=tuple(state(holder) for holder in sets),
            backwards_in_loop=len(m.backwards_in_loop()),
            optimizers_in_loop=m.optimizers_in_loop(optimizer),
            scaler=scaler,
            awaits_update=optimizer.awaits,
            calls_update="update" in m.names_used(),
        )
    moment = m.moment(site)
    for holder in sets:
        # What has no gradient is passed over; an unknown set may be other parameters.
        there = holder not in optimizer.unsure
        sure = holder.absent is NO and holder is not optimizer.opaque and there
        graph.step(m.heap, holder, there)
        m.change(holder, "stepped", moment)
        m.change(holder, "clipped", None)
        storage = memory(holder)
        low, high = storage.version
        m.change(storage, "version", (low + sure, high + 1))
        m.change(storage, "last_write", Write(site, Through.SELF, event, sure))
        m.change(storage, "pending", None)
    for hook in optimizer.hooks:
        calls.call(m, hook, Arguments([optimizer, Unknown(), Unknown()]), node)


def state(holder: GradHolder) -> SetState:
    """The gradient state of a set, as events tell it."""
    return SetState(
        holder,
        holder.words,
        holder.stale_at,
        holder.dropped_at,
        holder.filled,
        holder.emptied,
        holder.wiped,
        holder.stepped,
        holder.clipped,
        holder.scaled,
        holder.scaler,
    )


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
            writes.clear_perhaps(m, (optimizer.opaque,), site)
