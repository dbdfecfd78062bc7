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

Fix: `.detach()` on the alias (offered).
"""

from __future__ import annotations

from collections.abc import Iterator

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
        fix=_fix(use.made),
        severity=Severity.ERROR if use.how == "backward" else Severity.WARNING,
        fault=use.made,
    )


def _fix(made: Site) -> Fix | None:
    """`.detach()` behind the expression that made the alias, where it can stand there."""
    node: cst.CSTNode | None = made.node
    if isinstance(node, (cst.Assign, cst.AnnAssign, cst.Return)):
        node = node.value
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        return None
    if made.unit.indent:
        return None
    text = made.unit.module.code_for_node(node)
    return Fix("detach it", (Edit("replace", node, f"{text}.detach()"),), safe=False)
