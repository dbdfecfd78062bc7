"""Attributes: what reading one gives, by the kind of the receiver."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import ops
from autolint.autograd.objects import (
    GradScaler,
    Instance,
    Module,
    Optimizer,
    Parameters,
    Scheduler,
    StateDict,
)
from autolint.autograd.tensor import Array, GradHolder, Tensor
from autolint.autograd.values import (
    MAYBE,
    UNKNOWN_GRAD,
    YES,
    Kind,
    Mapping,
    Qualified,
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
    classes,
    following,
    gradient_reads,
    modules,
    names,
    snapshots,
    subscripts,
    tensors,
)
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import (
    Arguments,
    BoundMethod,
    ClassValue,
    DtypeOf,
    FunctionValue,
    MethodOf,
    SuperValue,
)


def get(m: Machine, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """`receiver.name`."""
    receiver = resolve(receiver)
    if isinstance(receiver, Tensor):
        return tensor_attribute(m, receiver, name, node)
    if isinstance(receiver, Qualified):
        return Qualified(f"{receiver.name}.{name}")
    if isinstance(receiver, StateDict) and name == "data":
        return snapshots.again(m, receiver)
    if isinstance(receiver, Unknown):
        value = subscripts.child(m, receiver, "." + name)
        if isinstance(value, Unknown):
            value.name = name
        return value
    if isinstance(receiver, Instance):
        return instance_attribute(m, receiver, name, node)
    if isinstance(receiver, names.ModuleFile):
        return names.member(m, receiver, name)
    if isinstance(receiver, ClassValue):
        found = classes.lookup(receiver, name)
        if isinstance(found, FunctionValue) and found.binding == "class":
            return BoundMethod(found, receiver)
        return Unknown(name) if found is None else found
    if isinstance(receiver, SuperValue):
        return classes.super_attribute(m, receiver, name)
    if isinstance(receiver, Optimizer):
        return _optimizer_attribute(receiver, name)
    if isinstance(receiver, (Sequence, Mapping)):
        return _container_attribute(m, receiver, name)
    if isinstance(receiver, Scalar):
        gradient_reads.used(m, receiver, "attribute", node)
        return MethodOf(receiver, name)
    if isinstance(receiver, (Array, Scheduler, GradScaler, Parameters)):
        return MethodOf(receiver, name)
    return m.unknown(receiver)


_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})


_PLAIN = frozenset({"shape", "device", "layout", "names"})


def tensor_attribute(m: Machine, tensor: Tensor, name: str, node: cst.CSTNode) -> Value:
    """An attribute of a tensor."""
    site = m.site(node)
    if name == "data":
        return m.autograd.detached(tensor, Through.DATA, site)
    if name == "grad":
        return gradient_reads.read(m, tensor, site)
    if name in ("requires_grad", "is_leaf"):
        if name == "requires_grad":
            used = alias_use.off_alias_used(m, tensor, "requires_grad", site)
            if used is not None:
                m.tell(used)
        state = tensor.state
        known = state.requires_grad if name == "requires_grad" else state.leaf
        return _truth(known & tensor.tensor if known is YES else known)
    if name in _VIEWS:
        facts = ops.method(name)
        if facts is not None:
            return tensors.operate(m, facts, [(0, tensor)], site, kind=tensor.state.kind)
        return m.unknown(tensor, origin=site)
    if name in ("ndim", "nbytes", "itemsize"):
        return Scalar(kind=Kind.INT)
    if name == "dtype":
        return DtypeOf(tensor)
    if name in _PLAIN or name == "grad_fn":
        return Scalar()
    if name in ("is_cuda", "is_sparse", "is_quantized", "is_meta"):
        return Scalar(kind=Kind.BOOL)
    return MethodOf(tensor, name)


def _truth(known: Tri) -> Scalar:
    if known is MAYBE:
        return Scalar(kind=Kind.BOOL)
    return Scalar(known is YES, known=True, kind=Kind.BOOL)


def instance_attribute(m: Machine, receiver: Instance, name: str, node: cst.CSTNode) -> Value:
    """An attribute of an object: its own, its class's, or one that a torch module has."""
    value = receiver.attributes.get(name)
    if value is not None:
        return value
    cls = receiver.cls
    if isinstance(cls, ClassValue):
        found = classes.lookup(cls, name)
        if isinstance(found, FunctionValue):
            if found.binding == "property":
                return following.follow(m, found, Arguments([receiver]), node)
            if found.binding == "static":
                return found
            return BoundMethod(found, cls if found.binding == "class" else receiver)
        if found is not None:
            return found
    if isinstance(receiver, Module):
        known = modules.attribute(m, receiver, name, m.site(node))
        if known is not None:
            return known
    if name == "param_groups" and isinstance(cls, ClassValue) and classes.is_optimizer(cls):
        group = Mapping({"params": Parameters((GradHolder(UNKNOWN_GRAD),))}, True)
        groups = Sequence(None, group)
        m.heap.put(receiver.attributes, name, groups)
        return groups
    if name == "__class__":
        return cls if isinstance(cls, ClassValue) else Unknown(name)
    fresh = Unknown(name, (receiver,))
    m.heap.put(receiver.attributes, name, fresh)
    return fresh


def _optimizer_attribute(optimizer: Optimizer, name: str) -> Value:
    if name == "param_groups":
        group = Mapping({"params": Parameters(optimizer.sets())}, True)
        return Sequence(None, group)
    return MethodOf(optimizer, name)


def _container_attribute(m: Machine, receiver: Sequence | Mapping, name: str) -> Value:
    """`torch.max(x, 1).values` and other named results, by position."""
    if isinstance(receiver, Sequence) and not receiver.mutable and receiver.items:
        position = {"values": 0, "indices": 1, "sign": 0, "U": 0, "S": 1, "Vh": 2, "Q": 0, "R": 1}
        place = position.get(name)
        if place is not None and place < len(receiver.items):
            return receiver.items[place]
    if isinstance(receiver, Mapping) and name in receiver.items:
        return receiver.items[name]
    return MethodOf(receiver, name)
