"""`.grad` of a tensor that was computed.

`backward()` stores gradients in leaves only: parameters, and tensors that were made with
`requires_grad=True`. The gradient of a computed tensor is handed on to its inputs and dropped, so
its `.grad` stays None. Reading it warns ("The .grad attribute of a Tensor that is not a leaf
Tensor is being accessed") and whatever the program does with it fails or goes wrong. A
`retain_grad()` asks autograd to keep it, but only for backward calls that come later.

Bad:

    scaled = image / 255
    model(scaled).sum().backward()
    saliency = scaled.grad.abs()

Good:

    scaled = image / 255
    scaled.retain_grad()
    model(scaled).sum().backward()
    saliency = scaled.grad.abs()

Not reported: leaves; tensors on which `retain_grad()` was called before the backward, or that
have a hook; a result of no_grad that was made a leaf by `requires_grad_()`; tests for None;
gradients from `torch.autograd.grad`; reads before any backward through the tensor.

Fix: `retain_grad()` in the line after the one that computes the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, GradRead, Rule, Severity, Tri

RULE = Rule(__name__, __doc__, code="AG202", severity=Severity.ERROR)


@RULE.on(GradRead)
def check(read: GradRead) -> Iterator[Finding]:
    """A backward surely went through a computed tensor, whose gradient was not to be kept."""
    if read.leaf is not Tri.NO or read.passed_at is None:
        return  # A leaf has its gradient; before a backward there is none to be missed.
    made = read.tensor.origin
    name = read.target_text
    because = [] if made is None else [Because(made, "computed here, so it is no leaf")]
    because.append(Because(read.passed_at, "this backward dropped its gradient"))
    late = read.retains_grad is Tri.YES
    advice = "earlier, before the backward" if late else "before the backward"
    yield Finding(
        read.site,
        f"`{name}` is computed, so backward leaves `{name}.grad` None; "
        f"call `{name}.retain_grad()` {advice}",
        because=tuple(because),
        fix=None if late else _fix(read),
        fault=read.site,
    )


def _fix(read: GradRead) -> Fix | None:
    """Retain it where it is computed, if that statement gives it the name it is read by."""
    made = read.tensor.origin
    if made is None or made.unit is not read.site.unit or made.unit.indent:
        return None
    line = made.statement
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    assign = line.body[0]
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    target = assign.targets[0].target
    if not isinstance(target, cst.Name) or target.value != read.target_text:
        return None
    if assign.value is not made.node:
        return None  # Another value of the statement.
    retain = f"{target.value}.retain_grad()"
    return Fix(f"insert `{retain}`", (Edit("insert_after", line, retain),), safe=True)
