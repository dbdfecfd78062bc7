"""Storage of a tensor replaced through `.data =`.

`x.data = y` puts the memory of `y` under `x`, and its shape and floating dtype with it, and no
version counter moves. An operation that saved `x` itself finds the new values in backward and
multiplies with them, without notice. `b.weight.data = a.weight.data` makes two parameters share
memory, which looks like tied weights; but each keeps a gradient of its own, the optimizer updates
the memory twice, and `.to()` unties them. As an update of a target network it is worse: the target
follows from then on.

Where no graph needs the old value (pruning, quantisation, sharding, loading) the assignment is
right, and reported as a matter of style only.

Bad:

    decoder.weight.data = encoder.weight.data

Good:

    decoder.weight = encoder.weight

Not reported: objects whose `.data` is no tensor.

Fix: where memory is shared, the parameter itself for an attribute of a module, else `copy_` under
`torch.no_grad()` (both offered). None for style: `copy_` keeps shape, dtype and device, and a graph
that saved a view of the old storage, which is intact now, would notice it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Backward,
    Because,
    DataRebind,
    Edit,
    Finding,
    Fix,
    GradMode,
    Rule,
    Severity,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG118", severity=Severity.WARNING)

_MOVES = frozenset({"to", "type", "type_as", "cuda", "cpu", "half", "float", "double", "bfloat16"})
_VIEWS = frozenset(
    {"t", "transpose", "permute", "view", "reshape", "flatten", "squeeze", "unsqueeze", "expand"}
    | {"chunk", "split", "narrow", "select"}
)


@RULE.on(DataRebind)
def check(rebind: DataRebind) -> Iterator[Finding]:
    """Tying first, then what a graph needs, then style."""
    target, name = rebind.target, rebind.target_text.removesuffix(".data")
    if target.tensor is not Tri.YES:
        return  # `.data` of anything but a tensor is an attribute like any other.
    fix: Fix | None = None
    severity = Severity.WARNING
    if rebind.ties is not None:
        message = "shares memory with another tensor from here on, but not its gradient"
        advice = "copy the values, or assign the parameter itself to tie them"
        fix = _tie(rebind) or _copy(rebind, name)
    elif target.state.leaf is Tri.NO and target.state.requires_grad is Tri.YES:
        message = "has a history, and its gradient ignores the new values"
        advice = "use an out-of-place operation"
    else:
        message = "gets another storage, hidden from autograd"
        advice = "use copy_ under torch.no_grad()"
        severity = Severity.INFO
    yield Finding(
        rebind.site,
        f"`{name}` {message}; {advice}",
        fix=fix,
        severity=severity,
        fault=rebind.site,
    )


@RULE.on(Backward)
def check_backward(backward: Backward) -> Iterator[Finding]:
    """A backward needs a tensor that got another storage since it was saved."""
    for stale in backward.stale:
        rebind = stale.write
        if not isinstance(rebind, DataRebind) or rebind.target.tensor is not Tri.YES:
            continue  # Changed in another way: AG102, AG104.
        name = rebind.target_text.removesuffix(".data")
        origin = stale.origin
        saved = [Because(origin, f"saved for backward by `{stale.operation}`")] if origin else []
        yield Finding(
            rebind.site,
            f"`{name}` gets other values, which backward uses without notice; "
            "replace them after backward",
            because=(*saved, Because(backward.site, "needed here")),
            fault=rebind.site,
            scope=rebind.scope,
        )


def _assigned(rebind: DataRebind) -> tuple[cst.Assign, cst.Attribute] | None:
    """The assignment and its target where it is a statement of the form `x.data = y`."""
    statement = rebind.site.statement
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or rebind.site.unit.indent:
        return None
    target = small.targets[0].target
    return (small, target) if isinstance(target, cst.Attribute) else None


def _copy(rebind: DataRebind, name: str) -> Fix | None:
    """`with torch.no_grad(): x.copy_(y)`."""
    found = _assigned(rebind)
    if found is None:
        return None
    small, _ = found
    if _changes_form(small.value):
        return None
    call = (
        Edit("replace", small, f"{name}.copy_(", until=_beginning(small.value)),
        Edit("append", small, ")"),
    )
    if rebind.mode is GradMode.OFF and not rebind.scope.calls:
        # Off in this very function: a caller's mode would say nothing about the other callers.
        return Fix("copy the values", call, safe=False)
    edits = (Edit("wrap", rebind.site.statement, "with torch.no_grad():"), *call)
    return Fix("copy the values under no_grad", edits, safe=False, imports=("import torch",))


def _changes_form(value: cst.CSTNode) -> bool:
    """Whether a value may differ from the tensor in shape, dtype or device, which copy_ keeps."""
    if isinstance(value, cst.Call):
        if not isinstance(value.func, cst.Attribute) or value.func.attr.value in _MOVES | _VIEWS:
            return True  # Of a function by bare name nothing is known.
    elif isinstance(value, cst.Subscript) and not isinstance(value.value, cst.Name):
        return True  # A part of a tensor, if not an item of a dictionary.
    return any(_changes_form(child) for child in value.children)


def _tie(rebind: DataRebind) -> Fix | None:
    """`a.weight = b.weight` for `a.weight.data = b.weight.data`, both attributes of modules."""
    found = _assigned(rebind)
    if found is None:
        return None
    small, target = found
    value = small.value
    if not isinstance(value, cst.Attribute) or value.attr.value != "data":
        return None
    if not isinstance(target.value, cst.Attribute) or not isinstance(value.value, cst.Attribute):
        return None  # A bare name would only be bound anew.
    edits = [Edit("replace", node) for each in (target, value) for node in (each.dot, each.attr)]
    return Fix("share the parameter", tuple(edits), safe=False)


def _beginning(value: cst.BaseExpression) -> cst.CSTNode:
    """The node that a value begins with: its parentheses are outside its span."""
    return value.lpar[0] if value.lpar else value
