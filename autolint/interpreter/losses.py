"""What a loss gets: the operation that made its prediction."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.graph import Node
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import YES, Value, resolve
from autolint.interpreter.events import LossApplied
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site

JUDGED = LossApplied.triggers
"""Bare names of the losses that expect a certain last operation."""
_VIEWS = frozenset(
    {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "ravel", "view_as"}
    | {"reshape_as", "contiguous", "to", "float", "alias"}
)
"""Operations that leave the numbers as they are."""
_CLASSES = frozenset({"1", "-1"})
"""The dimension of the classes, as written."""


def applied(m: Machine, loss: str, prediction: Value | None, node: cst.Call) -> None:
    """Tell the rules about a loss of this bare name, if its prediction is known well enough."""
    found = resolve(prediction) if prediction is not None else None
    if not isinstance(found, Tensor) or found.tensor is not YES:
        return
    argument = _argument(node)
    last = _behind_views(found.state.node)
    if argument is None or last is None or not isinstance(last.origin, Site):
        return
    before = _behind_views(_operand(last))
    m.emit(
        LossApplied,
        m.site(node),
        loss=loss,
        activation=_bare(last),
        before=None if before is None else _bare(before),
        made=last.origin,
        prediction=argument,
        logits=_logits(m, argument, last),
    )


def _argument(node: cst.Call) -> cst.BaseExpression | None:
    """The prediction as written: the first argument or `input=`."""
    for position, argument in enumerate(node.args):
        if argument.star:
            return None
        name = argument.keyword
        if name.value == "input" if name is not None else position == 0:
            return argument.value
    return None


def _logits(m: Machine, argument: cst.BaseExpression, last: Node) -> cst.BaseExpression | None:
    """The operand of an activation that the argument is a call of; of `log(f(x))` that of f."""
    operand = _applied_to(m, argument, _bare(last))
    if operand is not None and _bare(last) == "log":
        before = _operand(last)
        return None if before is None else _applied_to(m, operand, _bare(before))
    return operand


def _applied_to(m: Machine, node: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    """What `F.softmax(x, dim=1)`, `x.softmax(1)` or `nn.Softmax(dim=1)(x)` is applied to."""
    if not isinstance(node, cst.Call) or node.lpar:
        return None
    func, settings = node.func, list(node.args)
    layer = isinstance(func, cst.Call)
    called = func.func if isinstance(func, cst.Call) else func
    path = _dotted(called)
    imported = bool(path) and path[0] in m.frame.context.index.imports
    if not path or (path[-1] != name and not (imported and len(path) == 1)):
        return None
    if isinstance(called, cst.Attribute) and not imported:
        operand = None if layer else called.value
    elif not settings or settings[0].keyword is not None:
        operand = None
    else:
        operand, settings = settings[0].value, settings[1:]
    if isinstance(func, cst.Call):
        settings = [*settings, *func.args]
    # Along another dimension the loss would not do the same.
    plain = all(m.frame.unit.module.code_for_node(each.value) in _CLASSES for each in settings)
    return operand if plain else None


def _dotted(node: cst.BaseExpression) -> list[str]:
    """The names of a dotted expression; only the last one where it starts with something else."""
    if isinstance(node, cst.Attribute):
        return [*(_dotted(node.value) or [""]), node.attr.value]
    return [node.value] if isinstance(node, cst.Name) else []


def _behind_views(node: object) -> Node | None:
    """The operation whose numbers a node hands on; None if it is one of several, or unseen."""
    while isinstance(node, Node) and not node.opaque:
        if _bare(node) not in _VIEWS:
            return node
        node = _operand(node)
    return None


def _operand(node: Node) -> Node | None:
    """The operation that made the only operand: an operand that may be a leaf is listed too."""
    nodes = [each for each, _ in node.inputs if isinstance(each, Node)]
    return nodes[0] if len(nodes) == 1 else None


def _bare(node: Node) -> str:
    return node.operation.rpartition(".")[2]
