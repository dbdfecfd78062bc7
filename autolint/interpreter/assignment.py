"""Assignments: what is bound where, including tensors' attributes, slots and in-place operators."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.objects import CHILDREN, Instance, Module, Parameters, StateDict
from autolint.autograd.ops import operator
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Through,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    attribute_writes,
    expressions,
    gathering,
    gradient_reads,
    leaf_loss,
    names,
    operators,
    replaced,
    snapshots,
    spent,
    subscripts,
    type_hints,
    writes,
)
from autolint.interpreter.iteration import holders_of, summary
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def run_assign(m: Machine, node: cst.Assign) -> bool:
    """`a = b = value`."""
    value = expressions.evaluate(m, node.value)
    for target in node.targets:
        assign(m, target.target, value, node.value)
    return True


def run_ann_assign(m: Machine, node: cst.AnnAssign) -> bool:
    """`a: T = value`; without a value nothing is bound."""
    if node.value is not None:
        value = expressions.evaluate(m, node.value)
        if type(resolve(value)) is Unknown:
            known = type_hints.annotated(m, node.annotation.annotation, m.site(node.target))
            value = known if known is not None else value
        assign(m, node.target, value, node.value)
    return True


def renamed(m: Machine, source: cst.CSTNode, value: Value, site: Site) -> Value:
    """A second name for a tensor, or its way out of a function: noted while nothing is recorded."""
    found = resolve(value)
    if (
        m.autograd.mode.off
        and isinstance(found, Tensor)
        and isinstance(source, (cst.Name, cst.Attribute))
        and found.state.requires_grad is not NO
    ):
        return m.autograd.same(found, site)
    return value


def assign(m: Machine, target: cst.CSTNode, value: Value, source: cst.CSTNode | None) -> None:
    """Bind a value to a target of any shape."""
    if not (isinstance(target, cst.Attribute) and target.attr.value == "data"):
        _keep(m, value)
    if isinstance(target, cst.Name):
        if source is not None:
            value = renamed(m, source, value, m.site(target))
        found = resolve(value)
        if isinstance(found, Tensor) and found.off is not None and not found.off.name:
            found.off.name = target.value
        before = m.frame.names.get(target.value)
        leaf_loss.rebound(m, before, found, m.site(target))
        replaced.bound(m, before, found, m.site(target))
        spent.named(m, found, target.value)
        names.bind(m, target.value, value)
    elif isinstance(target, cst.Attribute):
        receiver = expressions.evaluate(m, target.value)
        if source is not None and target.attr.value not in ("data", "grad"):
            value = renamed(m, source, value, m.site(target))
        if isinstance(owner := resolve(receiver), Instance):
            old = owner.attributes.get(target.attr.value)
            leaf_loss.kept(m, old, value, m.site(target))
            spent.named(m, resolve(value), m.site(target).text)
        attribute_writes.put(m, receiver, target.attr.value, value, target, source)
    elif isinstance(target, cst.Subscript):
        receiver = resolve(expressions.evaluate(m, target.value))
        put_item(m, receiver, target, value, source)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(m, target, value, source)
    elif isinstance(target, cst.StarredElement):
        assign(m, target.value, Sequence(None, names.element(m, value)), None)


def _keep(m: Machine, value: Value) -> None:
    """Note that a tensor's memory got a name of its own: it may be put back later."""
    found = resolve(value)
    if isinstance(found, Tensor) and found.through in (Through.DATA, Through.DETACH):
        for holder in gradient_reads.holders_behind(found.base):
            m.change(holder, "kept", True)
    elif isinstance(found, Sequence):
        for item in (*(found.items or ()), *(() if found.rest is None else (found.rest,))):
            if isinstance(resolve(item), Tensor):
                _keep(m, item)


def _unpack(
    m: Machine, target: cst.Tuple | cst.List, value: Value, source: cst.CSTNode | None
) -> None:
    parts: list[cst.CSTNode | None] = [None] * len(target.elements)
    if isinstance(source, (cst.Tuple, cst.List)) and len(source.elements) == len(parts):
        parts = [element.value for element in source.elements]
    if _exchanges(target, source):
        parts = [None] * len(target.elements)
        for element in target.elements:
            if isinstance(element.value, cst.Attribute) and element.value.attr.value == "data":
                owner = resolve(expressions.evaluate(m, element.value.value))
                if isinstance(owner, Tensor):
                    for holder in gradient_reads.holders_behind(owner):
                        m.change(holder, "kept", True)
    starred = next(
        (i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None
    )
    for position, element in enumerate(target.elements):
        if isinstance(element, cst.StarredElement):
            after = len(target.elements) - position - 1
            assign(m, element.value, _middle(m, value, position, after), None)
            continue
        place = position
        if starred is not None and position > starred:
            place = position - len(target.elements)
        assign(m, element.value, subscripts.unpacked(m, value, place, element), parts[position])


def _exchanges(target: cst.Tuple | cst.List, source: cst.CSTNode | None) -> bool:
    """`a, b = b, a`: the same things under each other's names."""
    if not isinstance(source, (cst.Tuple, cst.List)):
        return False
    left = [names.dotted(element.value) for element in target.elements]
    right = [names.dotted(element.value) for element in source.elements]
    return all(left) and sorted(left) == sorted(right)


def _middle(m: Machine, value: Value, before: int, after: int) -> Value:
    """What a starred target gets."""
    found = resolve(value)
    if isinstance(found, Sequence) and found.items is not None:
        return Sequence(found.items[before : len(found.items) - after])
    return Sequence(None, names.element(m, value))


def put_item(
    m: Machine,
    receiver: Value,
    target: cst.Subscript,
    value: Value,
    source: cst.CSTNode | None,
) -> None:
    """`receiver[index] = value`, the value written as `source`."""
    site = m.site(target)
    keys = [
        expressions.evaluate(m, element.slice.value)
        for element in target.slice
        if isinstance(element.slice, cst.Index)
    ]
    for element in target.slice:
        if isinstance(element.slice, cst.Slice):
            for bound in (element.slice.lower, element.slice.upper, element.slice.step):
                if bound is not None:
                    expressions.evaluate(m, bound)
    key = resolve(keys[0]) if len(keys) == 1 and len(target.slice) == 1 else None
    literal = isinstance(key, Scalar) and key.known
    if isinstance(receiver, Module) and CHILDREN in receiver.attributes:
        children = resolve(receiver.attributes[CHILDREN])
        replaced.put(m, receiver, subscripts.held(children, key), value, site)
        receiver = children
    if isinstance(receiver, Tensor):
        part = MAYBE if all(map(_takes_all, target.slice)) else YES
        writes.write(m, receiver, None, [(1, value)], site, target.value, "[...] =", part=part)
    elif writes.memory_of(receiver) is not None:
        writes.write_alias(m, receiver, site, target.value, "[...] =")
    elif isinstance(receiver, StateDict):
        snapshots.edit(m, receiver)
    elif isinstance(receiver, Mapping):
        if literal and isinstance(key, Scalar):
            gathering.put(m, receiver, value, source, receiver.items.get(key.value))
            m.change(receiver, "items", {**receiver.items, key.value: value})
        else:
            gathering.put(m, receiver, value, source)
            m.change(receiver, "open", True)
            rest = value if receiver.rest is None else m.unknown(receiver.rest, value)
            m.change(receiver, "rest", rest)
    elif isinstance(receiver, Sequence):
        gathering.taken(m, receiver)
        position = key.value if literal and isinstance(key, Scalar) else None
        if receiver.items is not None and isinstance(position, int):
            if -len(receiver.items) <= position < len(receiver.items):
                items = list(receiver.items)
                items[position] = value
                m.change(receiver, "items", tuple(items))
        else:
            everything = (*(receiver.items or ()), *((receiver.rest,) if receiver.rest else ()))
            m.change(receiver, "items", None)
            m.change(receiver, "rest", m.unknown(*everything, value) if everything else value)
    elif isinstance(receiver, Unknown):
        m.change(receiver, "inputs", (*receiver.inputs[-8:], value))


def _takes_all(element: cst.SubscriptElement) -> bool:
    """Whether an index leaves nothing out, as `:` and `...` do."""
    index = element.slice
    if isinstance(index, cst.Index):
        return isinstance(index.value, cst.Ellipsis)
    return isinstance(index, cst.Slice) and index.lower is None and index.upper is None


# ---------------------------------------------------------------------- augmented assignment

_AUGMENTED = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
    cst.BitAndAssign: "&",
    cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
    cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>",
}


def run_aug_assign(m: Machine, node: cst.AugAssign) -> bool:
    """`target op= value`: in place on tensors and lists, a new binding on numbers."""
    target = node.target
    old = resolve(expressions.evaluate(m, target))
    value = expressions.evaluate(m, node.value)
    symbol = _AUGMENTED[type(node.operator)]
    site = m.site(node)
    gradient_reads.used_all(m, [old, value], node)
    if isinstance(old, Tensor) and old.tensor is not NO:
        if old.state.grad_of:
            writes.touch_gradient(m, old)
            return True
        writes.write(m, old, operator(symbol + "="), [(1, value)], site, target, symbol + "=")
        return True
    if writes.memory_of(old) is not None:
        writes.write_alias(m, old, site, target, symbol + "=")
        return True
    result = _augmented(m, symbol, old, value, node)
    if isinstance(old, (Sequence, Unknown)) and result is old:
        return True
    assign(m, target, result, None)
    return True


def _augmented(m: Machine, symbol: str, old: Value, value: Value, node: cst.AugAssign) -> Value:
    value = resolve(value)
    if isinstance(old, Sequence) and symbol == "+" and old.mutable:
        extend(m, old, value)
        return old
    if isinstance(old, Scalar) and isinstance(value, Scalar):
        return Scalar(kind=Kind.promote(old.kind, value.kind))
    return operators.binary(m, symbol, old, value, node)


def extend(m: Machine, sequence: Sequence, value: Value) -> None:
    """`list += value` or `list.extend(value)`."""
    value = resolve(value)
    spent.perhaps_used(m, value)
    if isinstance(value, Parameters):
        every = [*(sequence.items or ()), *((sequence.rest,) if sequence.rest else ()), value]
        if all(isinstance(resolve(item), (Parameters, Tensor)) for item in every):
            sets = [holder for item in every for holder in holders_of(m, item)]
            m.change(sequence, "items", None)
            m.change(sequence, "rest", summary(tuple(dict.fromkeys(sets))))
            return
    if isinstance(value, Sequence) and value.items is not None and sequence.items is not None:
        m.change(sequence, "items", (*sequence.items, *value.items))
        return
    known = [*(sequence.items or ()), *((sequence.rest,) if sequence.rest else ())]
    added = names.element(m, value)
    m.change(sequence, "items", None)
    m.change(sequence, "rest", m.unknown(*known, added) if known else added)


def run_del(m: Machine, node: cst.Del) -> bool:
    """`del name`, `del holder.name`, `del holder[index]`."""
    targets: list[cst.CSTNode] = [node.target]
    if isinstance(node.target, cst.Tuple):
        targets = [element.value for element in node.target.elements]
    for target in targets:
        if isinstance(target, cst.Name):
            m.heap.drop(m.frame.names, target.value)
        elif isinstance(target, cst.Attribute):
            receiver = expressions.evaluate(m, target.value)
            attribute_writes.delete(m, receiver, target.attr.value, m.site(target))
        elif isinstance(target, cst.Subscript):
            receiver = resolve(expressions.evaluate(m, target.value))
            if isinstance(receiver, (Mapping, Sequence)):
                gathering.taken(m, receiver)
    return True
