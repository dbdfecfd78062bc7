"""Type hints: the value that the annotation of a parameter or a name promises."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import layers, library
from autolint.autograd.objects import GradScaler, Optimizer, Scheduler
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    YES,
    Grade,
    Qualified,
    Value,
    resolve,
)
from autolint.interpreter import modules, names
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


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
    if library.is_optimizer(name):
        return m.saw(Optimizer((), False, site, Grade.ANNOTATED))
    if library.is_scheduler(name):
        return Scheduler()
    if library.is_scaler(name):
        return GradScaler(MAYBE, Grade.ANNOTATED)
    if layers.layer(name) is not None:
        return modules.opaque(site, Grade.ANNOTATED)
    return None
