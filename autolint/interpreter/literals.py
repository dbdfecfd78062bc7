"""Literals and displays: numbers, strings, lists, tuples, sets and dicts as they are written."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from autolint.autograd.objects import Parameters
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Value,
    resolve,
)
from autolint.interpreter import (
    expressions,
    names,
)
from autolint.interpreter.iteration import holders_of, summary
from autolint.interpreter.machine import Machine

TRUE = Scalar(True, known=True, kind=Kind.BOOL)


FALSE = Scalar(False, known=True, kind=Kind.BOOL)


def integer(m: Machine, node: cst.Integer) -> Value:
    """A whole number, known unless it is very long."""
    text = node.value.replace("_", "")
    if len(text) > 20:
        return Scalar(kind=Kind.INT)
    try:
        return Scalar(int(text, 0), known=True, kind=Kind.INT)
    except ValueError:  # 00 and other oddities
        return Scalar(kind=Kind.INT)


def float_number(m: Machine, node: cst.Float) -> Value:
    """A number with a point or an exponent."""
    return Scalar(float(node.value.replace("_", "")), known=True, kind=Kind.FLOAT)


def imaginary(m: Machine, node: cst.Imaginary) -> Value:
    """An imaginary number; its value is not kept."""
    return Scalar(kind=Kind.COMPLEX)


def string(m: Machine, node: cst.SimpleString) -> Value:
    """A string, known if it has no escapes; bytes are not."""
    # `prefix` and `raw_value` of LibCST go through the text one character at a time.
    written = node.value
    quote = written[-1]
    start = written.index(quote)
    if "b" in written[:start].lower() or "\\" in written:
        return Scalar()
    width = 3 if written.startswith(quote * 3, start) else 1
    return Scalar(written[start + width : -width], known=True)


def joined_string(m: Machine, node: cst.FormattedString) -> Value:
    """An f-string: what it contains is evaluated, its text is not known."""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            expressions.evaluate(m, part.expression)
    return Scalar()


def concatenated(m: Machine, node: cst.ConcatenatedString) -> Value:
    """Strings that stand side by side; their text is not known."""
    expressions.evaluate(m, node.left)
    expressions.evaluate(m, node.right)
    return Scalar()


def _items(m: Machine, node: cst.Tuple | cst.List | cst.Set) -> Sequence:
    known: list[Value] = []
    rest: Value | None = None
    fixed = True
    for element in node.elements:
        value = expressions.evaluate(m, element.value)
        if isinstance(element, cst.StarredElement):
            inner = resolve(value)
            if isinstance(inner, Sequence) and inner.items is not None:
                known.extend(inner.items)
                continue
            fixed = False
            value = names.spread(m, inner)
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


def list_display(m: Machine, node: cst.List) -> Value:
    """A list or a set, by its elements."""
    return _items(m, node)


def tuple_display(m: Machine, node: cst.Tuple) -> Value:
    """A tuple, by its elements."""
    value = _items(m, node)
    value.mutable = False
    return value


def dict_display(m: Machine, node: cst.Dict) -> Value:
    """A dict: the items whose keys are known, and one value for the rest."""
    items: dict[Hashable, Value] = {}
    rest: Value | None = None
    is_open = False
    for element in node.elements:
        value = expressions.evaluate(m, element.value)
        if isinstance(element, cst.DictElement):
            key = resolve(expressions.evaluate(m, element.key))
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
