"""Alias made under `no_grad` and used as if it were detached.

`no_grad` stops the recording of new operations; what exists keeps its history. Binding a name, and
every call that may hand back its argument (`.to(device)` and `.cpu()` where the tensor is already
there, `.float()`, `.contiguous()`, `torch.as_tensor`, dropout that is off), give the same tensor,
and gradients flow through it later. A view (`view`, `reshape`, `expand`, a slice) gives something
worse: it says `requires_grad=True` but has no history, so a backward through it succeeds and its
gradient arrives nowhere. Only an operation that computes something new gives a constant.

Bad:

    with torch.no_grad():
        target = features.to(device)
    loss = mse(prediction, target)

Good:

    with torch.no_grad():
        target = features.detach().to(device)
    loss = mse(prediction, target)

Not reported: an alias that is used only inside the block; a source that does not require grad; a
module that is moved; `requires_grad_()`; an alias that is detached, cloned or rebound before it is
used.

Fix: `.detach()` on the alias (offered); not on a view, nor on what backward is called on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, GradMode, OffAliasUsed, Rule, Severity, Site

RULE = Rule(__name__, __doc__, code="AG101", severity=Severity.WARNING)

_USES = {
    "backward": "backward runs on it here",
    "operation": "recorded arithmetic with it here",
    "requires_grad": "its requires_grad is asked here",
}


@RULE.on(OffAliasUsed)
def check(use: OffAliasUsed) -> Iterator[Finding]:
    """The finding stands where the alias is made; what is done with it tells why it is one."""
    if use.how == "operation" and use.mode is not GradMode.ON:
        return  # Under an unknown mode nothing may be recorded.
    name = f"`{use.target_text}`"
    if use.alias.view:
        message = f"{name} is a view made under no_grad: it requires grad, but its gradient is lost"
        advice = "detach it, or take the view outside the block"
    else:
        message = f"{name} is the same tensor as before no_grad, and gradients flow through it"
        advice = "detach it"
    yield Finding(
        use.made,
        f"{message}; {advice}",
        because=(Because(use.site, _USES[use.how]),),
        fix=_fix(use),
        severity=Severity.ERROR if use.how == "backward" else Severity.WARNING,
        fault=use.made,
    )


def _fix(use: OffAliasUsed) -> Fix | None:
    """`.detach()` behind the expression that made the alias, where it can stand there."""
    if use.how == "backward" or (use.how == "operation" and use.alone):
        return None  # Without a graph backward raises: here a gradient was wanted.
    if use.alias.view:
        return None  # Its gradient is lost already: detaching would repair nothing.
    made = use.made
    node = _aliasing(made)
    if node is None or made.unit.indent:
        return None
    return Fix("detach it", (Edit("append", node, ".detach()"),), safe=False)


def _aliasing(made: Site) -> cst.BaseExpression | None:
    """The expression whose value is the alias; an alias by mere binding is made at its target."""
    node: cst.CSTNode | None = made.node
    line: cst.CSTNode = made.statement
    if isinstance(line, cst.BaseCompoundStatement):
        line = line.body  # It may be all behind the colon.
    smalls: Sequence[cst.BaseSmallStatement] = ()
    if isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        smalls = line.body
    for small in smalls:
        if node is small or any(node is target for target in _targets(small)):
            node = getattr(small, "value", None)
    if isinstance(node, cst.Call):
        return node
    # A name that is no value of a statement may be bound by a loop, a `with` or in a tuple.
    if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) and any(
        node is getattr(small, "value", None) for small in smalls
    ):
        return node
    return None


def _targets(small: cst.BaseSmallStatement) -> tuple[cst.BaseExpression, ...]:
    """What a statement binds to the very value on its right, if it is one target."""
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        return (small.targets[0].target,)
    return (small.target,) if isinstance(small, cst.AnnAssign) else ()
