"""`requires_grad` of a computed tensor is changed, which only leaves allow.

What an operation computed from a tensor that requires grad is part of the graph, and its flag says
so. Torch refuses to change it: "you can only change requires_grad flags of leaf variables", for
`x.requires_grad = False`, for `x.requires_grad_(False)`, and by attribute even for `True`, which it
is already. `detach_()` refuses views: "Can't detach views in-place". All this holds under `no_grad`
too. To stop the gradient, take the tensor out of the graph.

Bad:

    features = encoder(images)
    features.requires_grad = False

Good:

    features = encoder(images).detach()

Not reported: leaves and parameters; `x.requires_grad_()` on a result that requires grad, which does
nothing; results that were computed under `no_grad`; values that may be leaves.

Fix: `x = x.detach()` for `x.requires_grad = False`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    FlagRefused,
    Grade,
    Rule,
    Severity,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG204", severity=Severity.ERROR)


@RULE.on(FlagRefused)
def check(refused: FlagRefused) -> Iterator[Finding]:
    """The tensor is surely a result, and the change surely one that torch refuses."""
    if refused.tensor.grade is Grade.NAMED:
        return
    made = refused.tensor.origin
    because: tuple[Because, ...] = ()
    if made is not None and made.statement is not refused.site.statement:
        because = (Because(made, "computed here"),)
    what = "a view" if refused.how == "detach_" else "computed from a tensor that requires grad"
    asked = "detach_() raises" if refused.how == "detach_" else "changing its requires_grad raises"
    yield Finding(
        refused.site,
        f"`{refused.target_text}` is {what}: {asked}; use `.detach()`",
        because=because,
        fix=_fix(refused),
        fault=refused.site,
    )


def _fix(refused: FlagRefused) -> Fix | None:
    """`x = x.detach()` for a statement that does nothing but clear the flag of a name."""
    statement, unit = refused.site.statement, refused.site.unit
    if unit.indent or refused.value is not Tri.NO:
        return None
    if refused.tensor.source is not None:
        return None  # A view that leaves its graph in place is another tensor afterwards.
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    receiver: cst.BaseExpression
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        receiver = small.targets[0].target
    elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        receiver = small.value.func
    else:
        return None
    if not isinstance(receiver, cst.Attribute) or not isinstance(receiver.value, cst.Name):
        return None
    name = receiver.value.value
    edit = Edit("replace", small, f"{name} = {name}.detach()")
    return Fix("detach it", (edit,), safe=True)
