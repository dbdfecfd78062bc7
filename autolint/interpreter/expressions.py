"""Expressions: from a CST node to a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import libcst as cst

from autolint.autograd.objects import Instance, Module, Optimizer, Parameters
from autolint.autograd.tensor import Tensor
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
from autolint.interpreter import assignment, attributes, calls, definitions, names, tensors
from autolint.interpreter.events import Guard
from autolint.interpreter.iteration import holders_of, iterations, summary
from autolint.interpreter.machine import MAX_LOOP_DEPTH, Machine
from autolint.interpreter.objects import Arguments, ClassValue, FunctionValue


def evaluate(m: Machine, node: cst.CSTNode) -> Value:
    """The value of an expression, after all that its evaluation does."""
    handler = _EXPRESSIONS.get(type(node))
    return Unknown() if handler is None else handler(m, node)


def truth(m: Machine, node: cst.BaseExpression, value: Value) -> Tri:
    """Whether a test holds, as far as it is known."""
    value = resolve(value)
    if isinstance(value, Scalar) and value.known:
        return Tri.of(bool(value.value))
    if isinstance(value, (Module, Optimizer, FunctionValue, ClassValue)):
        return Tri.YES
    return Tri.MAYBE


# ---------------------------------------------------------------------- literals and names


def _name(m: Machine, node: cst.Name) -> Value:
    word = node.value
    if word == "None":
        return NONE
    if word == "True":
        return _TRUE
    if word == "False":
        return _FALSE
    value = names.read(m, word)
    if type(value) is Unknown and not value.name:
        value.name = word
    return value


_TRUE = Scalar(True, known=True, kind=Kind.BOOL)
_FALSE = Scalar(False, known=True, kind=Kind.BOOL)


def _integer(m: Machine, node: cst.Integer) -> Value:
    text = node.value.replace("_", "")
    if len(text) > 20:
        return Scalar(kind=Kind.INT)
    try:
        return Scalar(int(text, 0), known=True, kind=Kind.INT)
    except ValueError:  # 00 and other oddities
        return Scalar(kind=Kind.INT)


def _float(m: Machine, node: cst.Float) -> Value:
    return Scalar(float(node.value.replace("_", "")), known=True, kind=Kind.FLOAT)


def _imaginary(m: Machine, node: cst.Imaginary) -> Value:
    return Scalar(kind=Kind.COMPLEX)


def _string(m: Machine, node: cst.SimpleString) -> Value:
    prefix = node.prefix
    if "b" in prefix or "\\" in node.raw_value:
        return Scalar()
    return Scalar(node.raw_value, known=True)


def _joined_string(m: Machine, node: cst.FormattedString) -> Value:
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            evaluate(m, part.expression)
    return Scalar()


def _concatenated(m: Machine, node: cst.ConcatenatedString) -> Value:
    evaluate(m, node.left)
    evaluate(m, node.right)
    return Scalar()


# ---------------------------------------------------------------------- displays


def _items(m: Machine, node: cst.Tuple | cst.List | cst.Set) -> Sequence:
    known: list[Value] = []
    rest: Value | None = None
    fixed = True
    for element in node.elements:
        value = evaluate(m, element.value)
        if isinstance(element, cst.StarredElement):
            inner = resolve(value)
            if isinstance(inner, Sequence) and inner.items is not None:
                known.extend(inner.items)
                continue
            fixed = False
            value = calls.spread(m, inner)
        known.append(value)
    if not fixed and all(isinstance(resolve(value), (Parameters, Tensor)) for value in known):
        sets = [holder for value in known for holder in holders_of(m, value)]
        return Sequence(None, summary(tuple(dict.fromkeys(sets))))
    if not fixed:
        rest = known[0] if len(known) == 1 else m.unknown(*known, origin=m.site(node))
        if len(known) > 1:
            return Sequence(None, Sequence(tuple(known)))
        return Sequence(None, rest)
    return Sequence(tuple(known))


def _list(m: Machine, node: cst.List) -> Value:
    return _items(m, node)


def _tuple(m: Machine, node: cst.Tuple) -> Value:
    value = _items(m, node)
    value.mutable = False
    return value


def _dict(m: Machine, node: cst.Dict) -> Value:
    items: dict[Hashable, Value] = {}
    rest: Value | None = None
    is_open = False
    for element in node.elements:
        value = evaluate(m, element.value)
        if isinstance(element, cst.DictElement):
            key = resolve(evaluate(m, element.key))
            if isinstance(key, Scalar) and key.known and isinstance(key.value, Hashable):
                items[key.value] = value
                continue
        else:
            inner = resolve(value)
            if isinstance(inner, Mapping):
                items.update(inner.items)
                is_open, rest = is_open or inner.open, inner.rest or rest
                continue
        is_open, rest = True, m.unknown(value) if rest is None else m.unknown(rest, value)
    return Mapping(items, is_open, rest)


# ---------------------------------------------------------------------- operators


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
_COMPARE: dict[type, str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
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
        value = tensors.binary(m, symbol, value, right, operation)
    return value


def _unary(m: Machine, node: cst.UnaryOperation) -> Value:
    value = resolve(evaluate(m, node.expression))
    operator = type(node.operator)
    if operator is cst.Not:
        known = truth(m, node.expression, value)
        if known is Tri.MAYBE:
            return Scalar(kind=Kind.BOOL)
        return _FALSE if known is Tri.YES else _TRUE
    if isinstance(value, Scalar):
        if operator is cst.Minus and value.known and isinstance(value.value, (int, float)):
            return Scalar(-value.value, known=True, kind=value.kind)
        return Scalar(kind=value.kind)
    symbol = {cst.Minus: "-x", cst.Plus: "+x", cst.BitInvert: "~"}[operator]
    return tensors.unary(m, symbol, value, node)


def _boolean(m: Machine, node: cst.BooleanOperation) -> Value:
    left = evaluate(m, node.left)
    known = truth(m, node.left, left)
    is_and = isinstance(node.operator, cst.And)
    if known is not Tri.MAYBE:
        return left if (known is Tri.NO) == is_and else evaluate(m, node.right)
    found: list[Value] = []

    def right() -> bool:
        with m.under(Guard(m.site(node.left), is_and)):
            found.append(evaluate(m, node.right))
        return True

    m.branch([right, lambda: True])
    if all(isinstance(resolve(value), Scalar) for value in (left, *found)):
        return Scalar(kind=Kind.BOOL)
    return calls.one_of(m, left, found[0])


def _comparison(m: Machine, node: cst.Comparison) -> Value:
    left = evaluate(m, node.left)
    result: Value = Scalar(kind=Kind.BOOL)
    for target in node.comparisons:
        right = evaluate(m, target.comparator)
        operator = type(target.operator)
        result = _compare(m, operator, resolve(left), resolve(right), node)
        left = right
    return result if len(node.comparisons) == 1 else Scalar(kind=Kind.BOOL)


def _compare(m: Machine, operator: type, left: Value, right: Value, node: cst.CSTNode) -> Value:
    if operator in (cst.Is, cst.IsNot):
        same = _identical(left, right)
        if same is Tri.MAYBE:
            return Scalar(kind=Kind.BOOL)
        return _TRUE if (same is Tri.YES) == (operator is cst.Is) else _FALSE
    symbol = _COMPARE.get(operator)
    if symbol is None:
        return Scalar(kind=Kind.BOOL)
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        if left.known and right.known and operator in (cst.Equal, cst.NotEqual):
            equal = bool(left.value == right.value)
            return _TRUE if equal == (operator is cst.Equal) else _FALSE
        return Scalar(kind=Kind.BOOL)
    return tensors.binary(m, symbol, left, right, node)


def _identical(left: Value, right: Value) -> Tri:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Scalar) and one.known and one.value is None:
            if isinstance(other, Scalar):
                return Tri.of(other.value is None) if other.known else Tri.NO
            if isinstance(other, Tensor):
                return Tri.NO if other.tensor is Tri.YES else Tri.MAYBE
            return Tri.MAYBE if isinstance(other, (Unknown, Instance)) else Tri.NO
    return Tri.MAYBE


# ---------------------------------------------------------------------- access and calls


def _attribute(m: Machine, node: cst.Attribute) -> Value:
    receiver = evaluate(m, node.value)
    return attributes.get(m, receiver, node.attr.value, node)


def _subscript(m: Machine, node: cst.Subscript) -> Value:
    receiver = resolve(evaluate(m, node.value))
    return tensors.subscript(m, receiver, node)


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
    return calls.one_of(m, found[0], found[1])


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
    return Unknown()


# ---------------------------------------------------------------------- comprehensions


def _comprehension(m: Machine, node: cst.BaseComp) -> Value:
    """A list, set or generator: its elements, run as a loop."""
    collected: list[Value] = []
    assert isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp))
    fixed = _run_comp(m, node.for_in, lambda: collected.append(evaluate(m, node.elt)))
    if fixed:
        return Sequence(tuple(collected))
    return Sequence(None, calls.any_of(m, collected))


def _dict_comprehension(m: Machine, node: cst.DictComp) -> Value:
    collected: list[tuple[Value, Value]] = []

    def element() -> None:
        collected.append((resolve(evaluate(m, node.key)), evaluate(m, node.value)))

    fixed = _run_comp(m, node.for_in, element)
    if fixed and all(isinstance(key, Scalar) and key.known for key, _ in collected):
        return Mapping({key.value: v for key, v in collected if isinstance(key, Scalar)}, False)
    return Mapping({}, True, calls.any_of(m, [value for _, value in collected]))


def _run_comp(m: Machine, comp: cst.CompFor, element: Callable[[], None]) -> bool:
    """Run the loops of a comprehension; whether the elements are all there are."""
    from autolint.interpreter.events import LoopMark
    from autolint.interpreter.iteration import items_of

    source = evaluate(m, comp.iter)
    fixed = items_of(m, source) is not None and not comp.ifs
    items = iterations(m, source, m.site(comp.iter))
    loops, guards, mode = m.loops, m.guards, m.autograd.mode
    if len(loops) >= MAX_LOOP_DEPTH:
        fixed, items = fixed and len(items) == 1, items[:1]
    before = dict(m.frame.names)
    site = m.site(comp)
    for number, item in enumerate(items, 1):
        m.loops, m.guards = (*loops, LoopMark(site, number)), ()
        m.autograd.stamp = m.stamp()
        m.step()
        assignment.assign(m, comp.target, item, None)
        for test in comp.ifs:
            evaluate(m, test.test)
        if comp.inner_for_in is not None:
            fixed = _run_comp(m, comp.inner_for_in, element) and fixed
        else:
            element()
        m.autograd.mode = mode
    m.loops, m.guards = loops, guards
    m.autograd.stamp = m.stamp()
    for name in _bound_by(comp.target):  # a comprehension's names are its own
        if name in before:
            m.heap.put(m.frame.names, name, before[name])
        else:
            m.heap.drop(m.frame.names, name)
    return fixed


def _bound_by(target: cst.BaseExpression) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _bound_by(element.value)]
    return []


_EXPRESSIONS: dict[type, Callable[[Machine, Any], Value]] = {
    cst.Name: _name,
    cst.Integer: _integer,
    cst.Float: _float,
    cst.Imaginary: _imaginary,
    cst.SimpleString: _string,
    cst.FormattedString: _joined_string,
    cst.ConcatenatedString: _concatenated,
    cst.List: _list,
    cst.Tuple: _tuple,
    cst.Set: _list,
    cst.Dict: _dict,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.IfExp: _conditional,
    cst.Lambda: _lambda,
    cst.NamedExpr: _named,
    cst.Await: _await,
    cst.Yield: _yield,
    cst.ListComp: _comprehension,
    cst.SetComp: _comprehension,
    cst.GeneratorExp: _comprehension,
    cst.DictComp: _dict_comprehension,
    cst.Ellipsis: lambda m, node: Scalar(..., known=True),
}
