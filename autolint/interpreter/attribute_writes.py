"""Writes of attributes: what setting or deleting one does, by the kind of the receiver."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import graph
from autolint.autograd.identity import doubles
from autolint.autograd.objects import Instance, Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Grade,
    Scalar,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    classes,
    freezing,
    gradient_reads,
    unseen,
    writes,
)
from autolint.interpreter.events import DataRebind, FlagMissed, FlagRefused, RequiresGradSet
from autolint.interpreter.events.modes import MISSPELT
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import (
    ClassValue,
)
from autolint.interpreter.unit import Site


def put(
    m: Machine,
    receiver: Value,
    name: str,
    value: Value,
    target: cst.Attribute,
    source: cst.CSTNode | None,
) -> None:
    """`receiver.name = value`."""
    receiver = resolve(receiver)
    site = m.site(target)
    if name == "requires_grad" or name in MISSPELT:
        _flag(m, receiver, name, value, target)
    if isinstance(receiver, Tensor):
        _put_on_tensor(m, receiver, name, value, site, target)
    elif isinstance(receiver, Instance):
        classes.store(m, receiver, name, value, site)
    elif isinstance(receiver, ClassValue):
        m.heap.put(receiver.namespace, name, value)
    elif isinstance(receiver, Unknown):
        if name == "requires_grad":
            unseen.flag_joined(m, receiver, value)
        m.heap.put(receiver.attributes, "." + name, value)


def _flag(m: Machine, receiver: Value, name: str, value: Value, target: cst.Attribute) -> None:
    """`requires_grad`, or a name meant to be that, is set where it may be a plain attribute."""
    own = False
    if isinstance(receiver, Module):
        kind = "module"
        cls = receiver.cls
        own = isinstance(cls, ClassValue) and (
            name in receiver.attributes
            or classes.lookup(cls, name) is not None
            or any(base is m.frame.cls for base in classes.linear(cls))
        )
    elif isinstance(receiver, Tensor) and receiver.tensor is YES and name != "requires_grad":
        kind = "tensor"
    else:
        return
    asked = resolve(value)
    known = MAYBE
    if isinstance(asked, Scalar) and asked.known:
        known = Tri.of(bool(asked.value))
    m.emit(
        FlagMissed,
        m.site(target),
        kind=kind,
        name=name,
        value=known,
        own=own,
        receiver_text=m.site(target.value).text,
    )


def _put_on_tensor(
    m: Machine, tensor: Tensor, name: str, value: Value, site: Site, target: cst.Attribute
) -> None:
    if name == "requires_grad":
        asked = resolve(value)
        known = MAYBE
        if isinstance(asked, Scalar) and asked.known:
            known = Tri.of(bool(asked.value))
        set_requires_grad(m, tensor, known, "attribute", site, target.value)
    elif name == "data":
        rebind_data(m, tensor, value, site, target)
    elif name == "grad":
        put_gradient(m, tensor, value, site)


def put_gradient(m: Machine, tensor: Tensor, value: Value, site: Site) -> None:
    """`p.grad = None` clears; any other gradient put there by hand is unknown."""
    holders = gradient_reads.holders_behind(tensor)
    others = [
        holder
        for other in doubles(tensor.state)
        for holder in gradient_reads.holders_behind(other)
        if holder not in holders
    ]
    given = resolve(value)
    if isinstance(given, Scalar) and given.known and given.value is None:
        writes.clear(m, (*holders, *others), site, unsure=others)
        return
    for holder in others:
        m.change(holder, "absent", Tri.join(holder.absent, NO))
        m.change(holder, "guessed", True)
        m.change(holder, "given", True)
    for holder in holders:
        graph.forget(m.heap, holder)
        m.change(holder, "absent", NO)
        m.change(holder, "given", True)


def set_requires_grad(
    m: Machine, tensor: Tensor, value: Tri, how: str, site: Site, target: cst.CSTNode
) -> None:
    """A tensor is asked (or forbidden) to require grad."""
    if m.listens(RequiresGradSet):
        m.emit(
            RequiresGradSet,
            site,
            tensor=tensor,
            kind=tensor.state.kind,
            how=how,
            value=value,
            made=tensor.origin,
            target_text=site._replace(node=target).text,
        )
    if how == "attribute" or (how == "method" and value is NO):
        refuse_flag(m, tensor, value, how, site, target)
    if tensor.state.kind.differentiable is not NO:
        freezing.flagged(m, gradient_reads.holders_behind(tensor), value, site)
        m.autograd.set_requires_grad(tensor, value, site)


def refuse_flag(
    m: Machine, tensor: Tensor, value: Tri, how: str, site: Site, target: cst.CSTNode
) -> None:
    """Tell of a change of a result's flag, which torch allows of leaves only."""
    state = tensor.state
    result = state.leaf is NO and state.requires_grad is YES and tensor.tensor is YES
    if result and value is not MAYBE and m.listens(FlagRefused):
        text = site._replace(node=target).text
        m.emit(FlagRefused, site, tensor=tensor, how=how, value=value, target_text=text)


def rebind_data(
    m: Machine, tensor: Tensor, value: Value, site: Site, target: cst.Attribute
) -> None:
    """`tensor.data = value`: other memory, unseen by autograd."""
    given = resolve(value)
    ties: Tensor | None = None
    if isinstance(given, Tensor) and given.through in (Through.DATA, Through.DETACH):
        base = given.base
        if base.state is not tensor.state and base.storage is given.storage:
            ties = base if _ties(tensor, base) else None
    event = m.emit(
        DataRebind,
        site,
        target=tensor,
        value=given,
        ties=ties,
        saved_by=writes.saved_by(m, tensor, as_object=True),
        parameter=writes.parameter(tensor),
        target_text=site._replace(node=target.value).text,
    )
    m.autograd.rebind(tensor, site, event)
    if isinstance(given, Tensor):
        m.autograd.take_data(tensor, given)
    else:
        m.change(tensor.state, "rank", None)


def _ties(tensor: Tensor, base: Tensor) -> bool:
    """Whether two parameters share memory from now on, as far as can be seen.

    Both must be known to live on. What is put back (a backup of the tensor's own memory was taken,
    or its memory was exchanged before) is no tie.
    """
    if base.grade is not Grade.BUILT or tensor.grade is not Grade.BUILT:
        return False
    if writes.parameter(base) is NO or tensor.state.requires_grad is NO:
        return False
    mine, theirs = gradient_reads.holders_behind(tensor), gradient_reads.holders_behind(base)
    if set(mine) & set(theirs):
        return False
    if any(holder.kept for holder in mine):
        return False
    return not any(holder.rebound[1] for holder in (*mine, *theirs))


def delete(m: Machine, receiver: Value, name: str, site: Site) -> None:
    """`del receiver.name`."""
    receiver = resolve(receiver)
    if isinstance(receiver, Tensor) and name == "grad":
        writes.clear(m, gradient_reads.holders_behind(receiver), site)
    if isinstance(receiver, Instance):
        m.heap.drop(receiver.attributes, name)
