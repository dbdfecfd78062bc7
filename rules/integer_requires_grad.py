"""Gradient asked of whole numbers or truth values.

Only floating point and complex tensors can require grad. `torch.tensor([1, 2])`, `arange(3)`,
`full((2,), 1)`, `randint`, comparisons and `.long()` make integers or truth values, and
`requires_grad=True`, `.requires_grad_()` or `nn.Parameter` on them raise RuntimeError ("Only
Tensors of floating point and complex dtype can require gradients") when the line runs. One float
among the elements of a literal makes all of them floats.

Bad:

    start = torch.tensor([1, 2], requires_grad=True)
    mask = nn.Parameter(torch.zeros(n, dtype=torch.long))

Good:

    start = torch.tensor([1.0, 2], requires_grad=True)
    self.register_buffer("mask", torch.zeros(n, dtype=torch.long))

Not reported: `requires_grad=False` (quantised weights); complex tensors; values whose dtype is
not known; a line under a test of the dtype.

Fix: `1.0` for `1` in a literal, else `dtype=torch.float32`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Grade,
    Kind,
    RequiresGradSet,
    Rule,
    Severity,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG201", severity=Severity.ERROR)

_NOUNS = {Kind.INT: "whole numbers", Kind.BOOL: "truth values"}
_DTYPE_TESTS = ("is_floating_point", "is_complex", "dtype")
_FACTORIES = frozenset(
    {"tensor", "as_tensor", "arange", "full", "randint", "randperm", "zeros", "ones", "empty"}
    | {f"{name}_like" for name in ("zeros", "ones", "full", "empty", "randint", "rand", "randn")}
    | {f"new_{name}" for name in ("tensor", "zeros", "ones", "full", "empty")}
)
_FROM_LITERALS = frozenset({"tensor", "as_tensor", "new_tensor"})


@RULE.on(RequiresGradSet)
def check(asked: RequiresGradSet) -> Iterator[Finding]:
    """The tensor is surely one, its kind is known, and it is asked for more than it can."""
    tensor = asked.tensor
    if asked.value is not Tri.YES or asked.kind not in _NOUNS:
        return
    if tensor.tensor is not Tri.YES or tensor.grade is Grade.NAMED:
        return
    if any(word in guard.test.text for guard in asked.guards for word in _DTYPE_TESTS):
        return  # The test keeps such tensors out.
    made = asked.made
    because: tuple[Because, ...] = ()
    if made is not None and made.statement is not asked.site.statement:
        because = (Because(made, f"{_NOUNS[asked.kind]} are made here"),)
    yield Finding(
        asked.site,
        f"`{asked.target_text}` holds {_NOUNS[asked.kind]}, which cannot require grad: "
        "this raises RuntimeError; make it floating point",
        because=because,
        fix=_fix(asked),
        fault=asked.site,
    )


def _fix(asked: RequiresGradSet) -> Fix | None:
    """Make the factory's result floating point.

    Safe if the tensor is made in the statement that raises: then nothing else has seen it. What it
    is made from may come from a caller; another one may give floats, whose dtype has to stay.
    """
    made = asked.made
    if made is None or made.unit is not asked.site.unit or made.unit.indent:
        return None
    call = made.node
    if not isinstance(call, cst.Call) or _last_name(call.func) not in _FACTORIES:
        return None
    if not call.args or any(argument.star for argument in call.args):
        return None  # The dtype may be in there.
    if _keyword(call, "out") is not None:
        return None  # The result has the dtype of what is given.
    safe = made.statement is asked.site.statement
    given = _keyword(call, "dtype")
    if given is not None:  # Whoever wrote it wanted integers.
        edits = (Edit("replace", given.value, "torch.float32"),)
        return Fix("make it floating point", edits, safe=False, imports=("import torch",))
    name, first = _last_name(call.func), call.args[0]
    if name == "as_tensor" and sum(argument.keyword is None for argument in call.args) > 1:
        return None  # The second one is the dtype.
    if name in _FROM_LITERALS and (first.keyword is None or first.keyword.value == "data"):
        number = _first_integer(first.value)
        if number is not None:
            edits = (Edit("replace", number, f"{number.value}.0"),)
            return Fix("make it floating point", edits, safe)
    edits = (Edit("append", call.args[-1], ", dtype=torch.float32"),)
    safe = safe and not asked.scope.calls
    return Fix("make it floating point", edits, safe, imports=("import torch",))


def _last_name(function: cst.BaseExpression) -> str:
    if isinstance(function, cst.Attribute):
        return function.attr.value
    return function.value if isinstance(function, cst.Name) else ""


def _keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The call's argument of that name."""
    named = (a for a in call.args if a.keyword is not None and a.keyword.value == name)
    return next(named, None)


def _first_integer(literal: cst.BaseExpression) -> cst.Integer | None:
    """The first decimal number of a nested literal."""
    if isinstance(literal, cst.Integer) and literal.value.isdecimal():
        return literal
    if isinstance(literal, (cst.List, cst.Tuple)):
        for element in literal.elements:
            found = _first_integer(element.value)
            if found is not None:
                return found
    return None
