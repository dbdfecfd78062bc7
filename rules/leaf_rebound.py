"""A leaf's own name is given to a result that was computed from it.

`w = w - lr * w.grad` does not update the leaf: it makes a new tensor, which is no leaf, and puts
it under the leaf's name. The next backward stores no gradient in it, so `w.grad` is None and the
next update raises TypeError; each result also keeps the graph of the one before. Optimizers and
modules go on with the old tensor. The same happens in attack loops
(`x = x + eps * x.grad.sign()`) and to an input that is rescaled under its own name before its
gradient is asked for.

Bad:

    for _ in range(steps):
        loss(w).backward()
        w = w - lr * w.grad

Good:

    for _ in range(steps):
        loss(w).backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None

Reported where `.grad` is used under the name afterwards, where an optimizer gets the result, or
where the name is an attribute and the leaf's gradient was read for the update.

Not reported: updates under no_grad; `.detach().requires_grad_()`; a result under another name, as
in meta-learning; a leaf rescaled under its own name, if nobody asks for its gradient.

Fix: `with torch.no_grad(): w -= ...`; unsafe, since other names of the leaf see that update.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, GradMode, LeafRebound, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG206", severity=Severity.ERROR)


@RULE.on(LeafRebound)
def check(rebound: LeafRebound) -> Iterator[Finding]:
    """The name had a leaf, has a computed tensor now, and is used as if it were a leaf."""
    if rebound.used is None and rebound.mode is not GradMode.ON:
        return  # A caller may have switched recording off.
    name = rebound.target_text
    because: list[Because] = []
    if rebound.leaf.origin is not None:
        because.append(Because(rebound.leaf.origin, "the leaf is made here"))
    if rebound.used is not None:
        because.append(Because(rebound.used, f"`{name}` is no leaf here any more"))
    advice = f"update `{name}` in place under no_grad"
    if not rebound.by_gradient:
        advice = "give the result another name"
    yield Finding(
        rebound.site,
        f"`{name}` is a leaf, and is replaced by a result that is none, so it gets no gradient "
        f"from now on; {advice}",
        because=tuple(because),
        fix=_fix(rebound),
        fault=rebound.site,
    )


def _fix(rebound: LeafRebound) -> Fix | None:
    """`w = w - x` becomes `w -= x` in a block of its own."""
    line, target = rebound.site.statement, rebound.site.node
    if not rebound.by_gradient or rebound.site.unit.indent:
        return None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    assign = line.body[0]
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    value, code = assign.value, rebound.site.unit.module.code_for_node
    if assign.targets[0].target is not target or not isinstance(value, cst.BinaryOperation):
        return None
    if not isinstance(value.operator, (cst.Subtract, cst.Add)) or "\n" in code(assign):
        return None
    if code(value.left) != code(target):
        return None
    sign = "-" if isinstance(value.operator, cst.Subtract) else "+"
    text = f"{code(target)} {sign}= {code(value.right)}"
    edits = (Edit("wrap", line, "with torch.no_grad():"), Edit("replace", assign, text))
    return Fix("update it in place", edits, safe=False, imports=("import torch",))
