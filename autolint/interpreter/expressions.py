"""Expressions: from a CST node to a value; names, access, calls, arithmetic and conditionals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import libcst as cst

from autolint.autograd.objects import Module, Optimizer
from autolint.autograd.values import (
    NONE,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    alternatives,
    assignment,
    attributes,
    calls,
    comprehensions,
    definitions,
    grad_modes,
    gradient_reads,
    literals,
    logic,
    names,
    operators,
    subscripts,
)
from autolint.interpreter.events import Guard
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, ClassValue, FunctionValue


def evaluate(m: Machine, node: cst.CSTNode) -> Value:
    """The value of an expression, after all that its evaluation does."""
    m.evaluated += 1
    handler = _handlers().get(type(node))
    return Unknown() if handler is None else handler(m, node)


def truth(m: Machine, node: cst.BaseExpression, value: Value) -> Tri:
    """Whether a test holds, as far as it is known."""
    value = resolve(value)
    if isinstance(value, Scalar) and value.known:
        return Tri.of(bool(value.value))
    if isinstance(value, (Module, Optimizer, FunctionValue, ClassValue)):
        return Tri.YES
    return Tri.MAYBE


# ---------------------------------------------------------------------- names, access and calls


def _name(m: Machine, node: cst.Name) -> Value:
    word = node.value
    if word == "None":
        return NONE
    if word == "True":
        return literals.TRUE
    if word == "False":
        return literals.FALSE
    value = names.read(m, word)
    if type(value) is Unknown and not value.name:
        value.name = word
    return value


def _attribute(m: Machine, node: cst.Attribute) -> Value:
    receiver = evaluate(m, node.value)
    return attributes.get(m, receiver, node.attr.value, node)


def _subscript(m: Machine, node: cst.Subscript) -> Value:
    receiver = resolve(evaluate(m, node.value))
    gradient_reads.used(m, receiver, "operand", node)
    return subscripts.subscript(m, receiver, node)


def _call(m: Machine, node: cst.Call) -> Value:
    return calls.run_call(m, node)


def arguments(m: Machine, nodes: Any) -> Arguments:
    """Evaluate the arguments of a call, in order."""
    given = Arguments()
    for argument in nodes:
        value = evaluate(m, argument.value)
        if argument.star == "*":
            inner = resolve(value)
            if isinstance(inner, Sequence) and inner.items is not None and not given.star:
                given.positional.extend(inner.items)
            else:
                given.star = True
                given.keywords[f"*{len(given.keywords)}"] = value
        elif argument.star == "**":
            inner = resolve(value)
            if isinstance(inner, Mapping) and not inner.open:
                for key, item in inner.items.items():
                    given.keywords[str(key)] = item
            else:
                given.star = True
                given.keywords[f"*{len(given.keywords)}"] = value
        elif argument.keyword is not None:
            given.keywords[argument.keyword.value] = value
        else:
            given.positional.append(value)
    return given


# ---------------------------------------------------------------------- arithmetic


_BINARY: dict[type, str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}


def _binary(m: Machine, node: cst.BinaryOperation) -> Value:
    # A long chain of operators is a deep tree on the left: walk it without recursion.
    chain: list[cst.BinaryOperation] = []
    left_node: cst.BaseExpression = node
    while isinstance(left_node, cst.BinaryOperation):
        chain.append(left_node)
        left_node = left_node.left
    value = evaluate(m, left_node)
    for operation in reversed(chain):
        right = evaluate(m, operation.right)
        symbol = _BINARY[type(operation.operator)]
        value = operators.binary(m, symbol, value, right, operation)
    return value


def _unary(m: Machine, node: cst.UnaryOperation) -> Value:
    value = resolve(evaluate(m, node.expression))
    operator = type(node.operator)
    if operator is cst.Not:
        known = truth(m, node.expression, value)
        if known is Tri.MAYBE:
            return Scalar(kind=Kind.BOOL)
        return literals.FALSE if known is Tri.YES else literals.TRUE
    gradient_reads.used(m, value, "operand", node)
    if isinstance(value, Scalar):
        if operator is cst.Minus and value.known and isinstance(value.value, (int, float)):
            return Scalar(-value.value, known=True, kind=value.kind)
        return Scalar(kind=value.kind)
    symbol = {cst.Minus: "-x", cst.Plus: "+x", cst.BitInvert: "~"}[operator]
    return operators.unary(m, symbol, value, node)


# ---------------------------------------------------------------------- conditionals and the rest


def _conditional(m: Machine, node: cst.IfExp) -> Value:
    known = truth(m, node.test, evaluate(m, node.test))
    if known is Tri.YES:
        return evaluate(m, node.body)
    if known is Tri.NO:
        return evaluate(m, node.orelse)
    found: list[Value] = []
    site = m.site(node.test)

    def arm(part: cst.BaseExpression, holds: bool) -> bool:
        with m.under(Guard(site, holds)):
            found.append(evaluate(m, part))
        return True

    m.branch([lambda: arm(node.body, True), lambda: arm(node.orelse, False)])
    return alternatives.one_of(m, found[0], found[1])


def _lambda(m: Machine, node: cst.Lambda) -> Value:
    return definitions.make_lambda(m, node)


def _named(m: Machine, node: cst.NamedExpr) -> Value:
    value = evaluate(m, node.value)
    assignment.assign(m, node.target, value, node.value)
    return value


def _await(m: Machine, node: cst.Await) -> Value:
    return evaluate(m, node.expression)


def _yield(m: Machine, node: cst.Yield) -> Value:
    value: Value = NONE
    if isinstance(node.value, cst.From):
        value = names.element(m, evaluate(m, node.value.item))
    elif node.value is not None:
        value = evaluate(m, node.value)
    m.frame.yields.append(value)
    m.frame.yield_modes.append(m.autograd.mode)
    m.frame.casting_yielded |= m.autograd.casting
    grad_modes.yielded(m, node)
    return Unknown()


# ---------------------------------------------------------------------- dispatch


Handler = Callable[[Machine, Any], Value]


@cache
def _handlers() -> dict[type, Handler]:
    """Expression classes and what evaluates them; made late, since the modules need each other."""
    return {
        cst.Name: _name,
        cst.Integer: literals.integer,
        cst.Float: literals.float_number,
        cst.Imaginary: literals.imaginary,
        cst.SimpleString: literals.string,
        cst.FormattedString: literals.joined_string,
        cst.ConcatenatedString: literals.concatenated,
        cst.List: literals.list_display,
        cst.Tuple: literals.tuple_display,
        cst.Set: literals.list_display,
        cst.Dict: literals.dict_display,
        cst.BinaryOperation: _binary,
        cst.UnaryOperation: _unary,
        cst.BooleanOperation: logic.boolean,
        cst.Comparison: logic.comparison,
        cst.Attribute: _attribute,
        cst.Subscript: _subscript,
        cst.Call: _call,
        cst.IfExp: _conditional,
        cst.Lambda: _lambda,
        cst.NamedExpr: _named,
        cst.Await: _await,
        cst.Yield: _yield,
        cst.ListComp: comprehensions.comprehension,
        cst.SetComp: comprehensions.comprehension,
        cst.GeneratorExp: comprehensions.comprehension,
        cst.DictComp: comprehensions.dict_comprehension,
        cst.Ellipsis: lambda m, node: Scalar(..., known=True),
    }
