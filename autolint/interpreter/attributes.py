"""Attributes: what reading, writing and deleting one does, by the kind of the receiver."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import graph, ops
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer, Parameters, Scheduler
from autolint.autograd.tensor import Array, GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    UNKNOWN_GRAD,
    YES,
    Grade,
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
from autolint.interpreter import calls, classes, modules, names, tensors, training, writes
from autolint.interpreter.events import DataRebind, RequiresGradSet
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
from autolint.interpreter.unit import Site

# ---------------------------------------------------------------------- reading


def get(m: Machine, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """`receiver.name`."""
    receiver = resolve(receiver)
    if isinstance(receiver, Tensor):
        return tensor_attribute(m, receiver, name, node)
    if isinstance(receiver, Qualified):
        return Qualified(f"{receiver.name}.{name}")
    if isinstance(receiver, Unknown):
        value = tensors.child(m, receiver, "." + name)
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
        return gradient(m, tensor, site)
    if name in ("requires_grad", "is_leaf"):
        if name == "requires_grad":
            used = tensors.off_alias_used(m, tensor, "requires_grad", site)
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


def gradient(m: Machine, tensor: Tensor, site: Site) -> Value:
    """`tensor.grad`: None before the first backward, else a tensor that stands for the gradient."""
    state = tensor.state
    holders = holders_behind(tensor)
    for holder in holders:
        m.change(holder, "read", True)
    leaf = state.leaf & state.requires_grad
    if leaf is NO and state.retains_grad is NO:
        return Scalar(None, known=True) if state.requires_grad is NO else Unknown("grad")
    absent = holders[0].absent if holders else MAYBE
    for holder in holders:
        absent = Tri.join(absent, holder.absent)
    if absent is YES and leaf is YES:
        return Scalar(None, known=True)
    result = TensorState(NO, YES, state.kind, state.rank)
    result.grad_of = holders
    owned = leaf is YES or state.retains_grad is YES
    sure = YES if absent is NO and owned else MAYBE
    if not state.accumulates:
        sure = MAYBE
    return Tensor(result, Storage(), site, tensor.grade, tensor=sure)


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
                return calls.follow(m, found, Arguments([receiver]), node)
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


# ---------------------------------------------------------------------- writing


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
    if isinstance(receiver, Tensor):
        _put_on_tensor(m, receiver, name, value, site, target)
    elif isinstance(receiver, Instance):
        classes.store(m, receiver, name, value, site)
    elif isinstance(receiver, ClassValue):
        m.heap.put(receiver.namespace, name, value)
    elif isinstance(receiver, Unknown):
        m.heap.put(receiver.attributes, "." + name, value)


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
    holders = holders_behind(tensor)
    given = resolve(value)
    if isinstance(given, Scalar) and given.known and given.value is None:
        writes.clear(m, holders, site)
        return
    for holder in holders:
        graph.forget(m.heap, holder)
        m.change(holder, "absent", NO)


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
    if tensor.state.kind.differentiable is not NO:
        m.autograd.set_requires_grad(tensor, value)


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
    mine, theirs = holders_behind(tensor), holders_behind(base)
    if set(mine) & set(theirs):
        return False
    if any(holder.kept for holder in mine):
        return False
    return not any(holder.rebound[1] for holder in (*mine, *theirs))


def holders_behind(tensor: Tensor) -> tuple[GradHolder, ...]:
    """The parameter sets that a tensor stands for: itself, its layer, or all of a summary."""
    state = tensor.state
    return state.members or ((state,) if state.owner is None else (state.owner,))


def delete(m: Machine, receiver: Value, name: str, site: Site) -> None:
    """`del receiver.name`."""
    receiver = resolve(receiver)
    if isinstance(receiver, Tensor) and name == "grad":
        writes.clear(m, holders_behind(receiver), site)
    if isinstance(receiver, Instance):
        m.heap.drop(receiver.attributes, name)


# ---------------------------------------------------------------------- annotations


def annotated(m: Machine, node: cst.CSTNode, site: Site) -> Value | None:
    """The value that an annotation promises: a tensor, a module or an optimizer; None otherwise."""
    if isinstance(node, cst.SimpleString):
        try:
            node = cst.parse_expression(node.raw_value)
        except Exception:  # not an expression: tells nothing
            return None
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return _optional(m, [node.left, node.right], site)
    if isinstance(node, cst.Subscript):
        name = _annotation_name(m, node.value)
        if name.endswith("Optional") and len(node.slice) == 1:
            index = node.slice[0].slice
            if isinstance(index, cst.Index):
                return _perhaps(annotated(m, index.value, site))
        return None
    return _named(m, _annotation_name(m, node), site)


def _optional(m: Machine, parts: list[cst.BaseExpression], site: Site) -> Value | None:
    rest = [part for part in parts if not (isinstance(part, cst.Name) and part.value == "None")]
    return _perhaps(annotated(m, rest[0], site)) if len(rest) == 1 else None


def _perhaps(value: Value | None) -> Value | None:
    if isinstance(value, Tensor):
        value.tensor = MAYBE
    return value


def _annotation_name(m: Machine, node: cst.CSTNode) -> str:
    """The qualified name that an annotation stands for; empty if it is something else."""
    if isinstance(node, cst.Attribute):
        left = _annotation_name(m, node.value)
        return f"{left}.{node.attr.value}" if left else ""
    if isinstance(node, cst.Name):
        value = resolve(names.read(m, node.value))
        return value.name if isinstance(value, Qualified) else ""
    return ""


def _named(m: Machine, name: str, site: Site) -> Value | None:
    if name in ("torch.Tensor", "torch.FloatTensor", "torch.autograd.Variable"):
        return m.autograd.vague(site, Grade.ANNOTATED)
    if name == "torch.nn.parameter.Parameter" or name == "torch.nn.Parameter":
        tensor = m.autograd.vague(site, Grade.ANNOTATED)
        tensor.state.parameter = YES
        return tensor
    return training.annotated_object(m, name, site)
