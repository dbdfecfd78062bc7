"""`.grad` is used while it is None.

Before the first backward a leaf has no gradient: `.grad` is None, not zeros. `zero_grad()` makes
it None again (`set_to_none=True` is the default). `w.grad.zero_()` at the head of the first
iteration, or `w.grad.norm()` after a clear, raises AttributeError ("'NoneType' object has no
attribute ..."), arithmetic with it TypeError.

Bad:

    for x, y in data:
        w.grad.zero_()
        loss(w, x, y).backward()

Good:

    for x, y in data:
        w.grad = None
        loss(w, x, y).backward()

At severity info for the `.grad` of each parameter in a loop over `parameters()`.

Not reported: reads after a backward that may have reached the tensor; after
`zero_grad(set_to_none=False)`; under or after a test for None; reads under any other test as long
as there was no backward at all, since the test may keep the first iteration out.

Fix: `w.grad = None` for a statement `w.grad.zero_()`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, GradRead, Rule, Severity, Tri

RULE = Rule(__name__, __doc__, code="AG412", severity=Severity.ERROR)


@RULE.on(GradRead)
def check(read: GradRead) -> Iterator[Finding]:
    """The tensor would have a gradient after a backward, but has none yet, or none any more."""
    if read.leaf is not Tri.YES or read.use == "return":
        return  # A computed tensor never has one; None may be returned.
    if read.tested and read.cleared_at is None:
        return  # `if step > 0:` and the like.
    cleared = read.cleared_at
    name = f"{read.target_text}.grad"
    because: tuple[Because, ...] = ()
    reason = "before the first backward"
    if cleared is not None:
        because = (Because(cleared, "cleared here: the gradient is None from now on"),)
        reason = "after it was cleared"
    yield Finding(
        read.site,
        f"`{name}` is None {reason}; use it after the backward, or test it for None",
        because=because,
        fix=_fix(read),
        severity=Severity.INFO if read.tensor.state.members else Severity.ERROR,
        fault=read.site,
    )


def _fix(read: GradRead) -> Fix | None:
    """A gradient that is to be zeroed may as well be None."""
    if read.use != "attribute" or read.site.unit.indent:
        return None
    line = read.used.statement
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    only = line.body[0]
    if not isinstance(only, cst.Expr) or only.value is not read.used.node:
        return None
    call = only.value
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if call.func.attr.value != "zero_" or call.func.value is not read.site.node:
        return None
    text = f"{read.site.text} = None"
    return Fix(f"replace by `{text}`", (Edit("replace", call, text),), safe=True)
