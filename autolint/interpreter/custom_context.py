"""What the forward of a custom autograd function does to its context and to its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from autolint.interpreter.custom_methods import Method
from autolint.interpreter.events import InputWritten, KeptOnContext
from autolint.interpreter.machine import Machine

if TYPE_CHECKING:
    from autolint.interpreter.custom_functions import CustomFunction

_NO_WRITES = frozenset({"requires_grad_", "share_memory_", "detach_", "retain_grad_"})
_OF_SHAPE = frozenset(
    {"shape", "dtype", "device", "size", "dim", "ndim", "numel", "type", "layout", "new_zeros"}
)


def kept(m: Machine, custom: CustomFunction) -> None:
    """Inputs and outputs are kept with `save_for_backward`, not as attributes of the context."""
    where = custom.setup or custom.forward
    context = where.context
    stores = [
        (attribute, small.value, statement)
        for small, statement in where.statements
        if isinstance(small, cst.Assign)
        for target in small.targets
        if (attribute := _attribute(target.target, context)) is not None
    ]
    found = [
        (target, value, statement, output)
        for target, value, statement in stores
        for output in (True, False)
        if (_is_output if output else _is_input)(custom, target, value)
    ]
    saves = bool(where.calls("save_for_backward"))
    for target, value, statement, output in found:
        name = target.attr.value
        reads = tuple(
            attribute
            for part in custom.backward.parts()
            if (attribute := _attribute(part, custom.backward.context)) is not None
            and attribute.attr.value == name
        )
        if not output and not _as_value(custom.backward, reads):
            continue  # Only its shape is asked for, or nothing.
        m.emit(
            KeptOnContext,
            custom.site(target, statement),
            function=custom.name,
            attribute=f"{context}.{name}",
            value=value.value if isinstance(value, cst.Name) else f"{context}.{name}",
            output=output,
            reads=reads,
            alone=len(found) == 1
            and not saves
            and isinstance(value, cst.Name)
            and _only_read(custom.backward),
        )


def _attribute(node: cst.CSTNode | None, owner: str) -> cst.Attribute | None:
    """The node, if it is an attribute of the name `owner`."""
    if not isinstance(node, cst.Attribute) or not isinstance(node.value, cst.Name):
        return None
    return node if node.value.value == owner else None


def _as_value(backward: Method, reads: tuple[cst.CSTNode, ...]) -> bool:
    """Whether backward reads an attribute for more than its shape."""
    shapes = {
        id(part.value)
        for part in backward.parts()
        if isinstance(part, cst.Attribute) and part.attr.value in _OF_SHAPE
    }
    return any(id(each) not in shapes for each in reads)


def _only_read(backward: Method) -> bool:
    """Whether backward uses its context for nothing but the attributes that it reads."""
    context = backward.context
    uses = attributes = 0
    for part in backward.parts():
        if isinstance(part, (cst.AssignTarget, cst.AugAssign, cst.Del)) and any(
            _attribute(each, context) for each in part.children
        ):
            return False
        attributes += _attribute(part, context) is not None
        uses += isinstance(part, cst.Name) and part.value == context
    return uses == attributes


def _is_output(custom: CustomFunction, target: cst.Attribute, value: cst.BaseExpression) -> bool:
    """Whether the value is the tensor that forward returns, with history to come."""
    if custom.setup is not None:
        outputs = custom.setup.parameters
        return (
            len(outputs) == 2
            and isinstance(value, cst.Name)
            and value.value == outputs[1]
            and outputs[1] not in custom.setup.definitions
            and not custom.setup.calls("mark_non_differentiable")
        )
    forward = custom.forward
    if forward.calls("mark_non_differentiable"):
        return False  # What has no history does not keep its node alive.
    returned = [small.value for small, _ in forward.statements if isinstance(small, cst.Return)]
    if not returned:
        return False
    for each in returned:
        attribute = _attribute(each, forward.context)
        if attribute is not None:
            if attribute.attr.value != target.attr.value:
                return False
        elif not (
            isinstance(each, cst.Name)
            and isinstance(value, cst.Name)
            and each.value == value.value
            and len(forward.definitions.get(each.value, ())) == 1
        ):
            return False
    return True


def _is_input(custom: CustomFunction, target: cst.Attribute, value: cst.BaseExpression) -> bool:
    """Whether the value is an input that backward has a gradient for: so it is a tensor."""
    forward = custom.forward
    if not isinstance(value, cst.Name) or custom.setup is not None:
        return False
    name = value.value
    if name not in forward.parameters or name in forward.definitions:
        return False
    return custom.differentiable(forward.parameters.index(name))


def written(m: Machine, custom: CustomFunction) -> None:
    """An input that is written in place has to be marked."""
    forward = custom.forward
    marked = any(each is not None and each.calls("mark_dirty") for each in (forward, custom.setup))
    if marked or not forward.plain:
        return
    for small, statement in forward.statements:
        node = _write_in(small)
        if node is None or node.value not in forward.parameters:
            continue
        if node.value in forward.definitions:
            continue  # It may be a copy by then.
        if custom.differentiable(forward.parameters.index(node.value)):
            m.emit(
                InputWritten,
                custom.site(node, statement),
                function=custom.name,
                name=node.value,
            )


def _write_in(small: cst.CSTNode) -> cst.Name | None:
    """The name whose tensor a statement writes in place, if it is written out."""
    target: cst.CSTNode | None = None
    if isinstance(small, cst.AugAssign):
        target = small.target
    elif isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript):
        target = small.targets[0].target.value
    elif isinstance(small, (cst.Assign, cst.Expr, cst.Return)):
        call = small.value
        while isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            name = call.func.attr.value
            if name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES:
                target = call.func.value
            call = call.func.value
    return target if isinstance(target, cst.Name) else None
