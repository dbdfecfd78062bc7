"""What forward and backward of a custom autograd function do, read from their text.

Both run where torch calls them, with tensors that nobody sees: what counts is how many gradients
they hand out, and what they do to their own arguments and to the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from autolint.interpreter.unit import Site, Unit

_HARMLESS = frozenset({"staticmethod", "once_differentiable", "custom_fwd", "custom_bwd"})
"""Decorators that leave arguments and results as they are."""
_ONE_TENSOR = frozenset(
    {"clone", "mul", "div", "add", "sub", "neg", "sum", "mean", "view", "reshape", "t", "matmul"}
    | {"mm", "bmm", "to", "float", "type_as", "contiguous", "expand", "expand_as", "transpose"}
    | {"permute", "squeeze", "unsqueeze", "masked_fill", "clamp", "detach", "sign", "exp"}
)
"""Methods of a tensor that return one tensor."""
_ARITHMETIC = (
    cst.Multiply,
    cst.Divide,
    cst.Subtract,
    cst.Add,
    cst.MatrixMultiply,
    cst.Power,
)
_Definitions = dict[str, list[cst.BaseExpression | None]]


@dataclass(frozen=True, slots=True)
class Return:
    """A `return` of backward: what it hands out, one by one."""

    value: cst.BaseExpression
    statement: cst.CSTNode
    items: tuple[cst.BaseExpression, ...]


@dataclass(slots=True)
class Method:
    """A method of a custom function: its parameters (without the context) and its statements.

    `required` have no default; `open`: there are others, by star. `statements` are the simple ones
    with the line or block header that they stand in, nested functions left out.
    """

    node: cst.FunctionDef
    context: str
    parameters: tuple[str, ...]
    required: int
    open: bool
    static: bool
    plain: bool
    statements: list[tuple[cst.CSTNode, cst.CSTNode]] = field(default_factory=list)
    definitions: _Definitions = field(default_factory=dict)

    def parts(self) -> Iterator[cst.CSTNode]:
        """Every node of its body, nested functions included."""
        return parts(self.node.body)

    def calls(self, name: str) -> list[cst.Call]:
        """The calls of something by that last name."""
        return [
            part for part in self.parts() if isinstance(part, cst.Call) and last(part.func) == name
        ]

    def one_tensor(self, node: cst.BaseExpression, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression of backward is surely one tensor, computed from a gradient."""
        if isinstance(node, cst.Name):
            defined = self.definitions.get(node.value, ())
            if node.value in seen or not defined:
                return node.value in seen or node.value in self.parameters
            inner = seen | {node.value}
            return all(each is not None and self.one_tensor(each, inner) for each in defined)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            if any(isinstance(part, (cst.Tuple, cst.List)) for part in parts(node)):
                return False
            return self.one_tensor(node.left, seen) or self.one_tensor(node.right, seen)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            return self.one_tensor(node.expression, seen)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            receiver, name = node.func.value, node.func.attr.value
            return name in _ONE_TENSOR and self.one_tensor(receiver, seen)
        return False

    def may_give(self, node: cst.BaseExpression) -> bool:
        """Whether an expression of backward is one tensor in some case, None perhaps in others."""
        if isinstance(node, cst.Name) and node.value in self.definitions:
            return any(
                each is not None and self.one_tensor(each) for each in self.definitions[node.value]
            )
        return self.one_tensor(node)


def read(node: cst.FunctionDef, with_context: bool = True) -> Method:
    """Read a method; `with_context`: its first parameter is the context."""
    given = node.params
    every = [*given.posonly_params, *given.params]
    names = [each.name.value for each in every]
    rest = every[1:] if with_context else every
    decorators = [last(each.decorator) for each in node.decorators]
    method = Method(
        node,
        names[0] if with_context and names else "",
        tuple(each.name.value for each in rest),
        sum(each.default is None for each in rest),
        isinstance(given.star_arg, cst.Param) or given.star_kwarg is not None,
        "staticmethod" in decorators,
        all(each in _HARMLESS for each in decorators),
    )
    for small, statement in _statements(node, node):
        method.statements.append((small, statement))
        _define(method.definitions, small)
    return method


def returns(method: Method) -> list[Return | None]:
    """Every `return` of a backward; None for one whose gradients cannot be counted."""
    found: list[Return | None] = []
    for small, statement in method.statements:
        if isinstance(small, cst.Return):
            value = small.value
            items = None if value is None else _items(method, value)
            if value is None or items is None:
                found.append(None)
            else:
                found.append(Return(value, statement, items))
    return found


def _items(method: Method, value: cst.BaseExpression) -> tuple[cst.BaseExpression, ...] | None:
    if isinstance(value, cst.Name):
        defined = method.definitions.get(value.value)
        if defined is not None and len(defined) == 1 and isinstance(defined[0], cst.Tuple):
            value = defined[0]
    if isinstance(value, cst.Tuple):
        if any(isinstance(element, cst.StarredElement) for element in value.elements):
            return None
        return tuple(element.value for element in value.elements)
    return (value,) if method.one_tensor(value) else None


def names(expression: cst.CSTNode) -> set[str]:
    """All names in an expression."""
    return {part.value for part in parts(expression) if isinstance(part, cst.Name)}


def last(node: cst.BaseExpression) -> str:
    """The last name of a dotted expression, of what is called if it is a call."""
    if isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it."""
    todo = [node]
    while todo:
        part = todo.pop()
        yield part
        todo.extend(part.children)


def place(unit: Unit, method: Method) -> Site:
    """Where a method is defined."""
    return Site(unit, method.node.name, method.node)


def _statements(body: cst.CSTNode, block: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The small statements of a block and of the blocks in it, in order."""
    for child in body.children:
        if isinstance(child, (cst.FunctionDef, cst.ClassDef)):
            continue  # What is defined here runs elsewhere.
        if isinstance(child, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            line = child if isinstance(child, cst.SimpleStatementLine) else block
            for small in child.body:
                yield small, line
        elif isinstance(child, (cst.BaseCompoundStatement, cst.IndentedBlock, *_PARTS)):
            yield from _statements(child, child)
        elif isinstance(child, cst.AsName) or (isinstance(body, cst.For) and child is body.target):
            yield child, block


_PARTS = (cst.Else, cst.ExceptHandler, cst.Finally, cst.WithItem, cst.MatchCase)


def _define(definitions: _Definitions, small: cst.CSTNode) -> None:
    """Note what a statement gives to names; None stands for what is not written out."""
    if isinstance(small, cst.Assign):
        for target in small.targets:
            _bind(definitions, target.target, small.value)
    elif isinstance(small, cst.AnnAssign):
        if small.value is not None:
            _bind(definitions, small.target, small.value)
    elif isinstance(small, cst.AsName):
        _bind(definitions, small.name, None)
    elif isinstance(small, cst.BaseExpression):
        _bind(definitions, small, None)


def _bind(definitions: _Definitions, target: cst.CSTNode, value: cst.BaseExpression | None) -> None:
    if isinstance(target, cst.Name):
        definitions.setdefault(target.value, []).append(value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        values: list[cst.BaseExpression | None] = [None] * len(target.elements)
        if isinstance(value, cst.Tuple) and len(value.elements) == len(values):
            values = [element.value for element in value.elements]
        for element, each in zip(target.elements, values, strict=True):
            _bind(definitions, element.value, each)
