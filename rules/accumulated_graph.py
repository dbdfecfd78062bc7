"""Sum or list of losses that keeps the graphs of all iterations alive.

A loss leads to the graph that computed it. Adding it to a variable that outlives the iteration
records one more addition, which holds the loss, which holds its graph, and so on to the first
iteration. A list or dict that gets every loss holds all their graphs as well. Backward frees what
the operations saved, but the nodes stay as long as something leads to them: memory grows with
every step, on the GPU as well, until it runs out or the variable dies.

Bad:

    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss

Good:

    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss.detach()

Not reported: a sum or list from which a backward starts; values without history; loops under
no_grad; a variable that is made anew in each iteration; a list from which something is taken out;
what holds the last loss only; losses that no backward was called on.

Fix: `.detach()` behind the value that is added or put in. `.item()` would do as well, but waits
for the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Edit, Finding, Fix, Kept, LoopFinished, Rule, Severity, Site

RULE = Rule(__name__, __doc__, code="AG111", severity=Severity.WARNING)

_PLAIN = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


@RULE.on(LoopFinished)
def check(loop: LoopFinished) -> Iterator[Finding]:
    """Something older than the loop leads to graphs of several iterations, all freed."""
    for kept in loop.kept:
        if kept.added is None or kept.added.unit is not loop.site.unit:
            continue  # Added in another file, which is checked by itself.
        yield Finding(
            kept.added,
            f"`{kept.text}` keeps the graph of every iteration alive; add a detached value",
            fix=_fix(kept.added, kept),
            fault=(kept.added, kept.text),
        )


def _fix(added: Site, kept: Kept) -> Fix | None:
    """Detach what is put in, or added where it stands by itself at the right of a sum."""
    if not kept.local:
        return None  # Another caller may hand in a number.
    node = added.node
    value: cst.CSTNode | None = node if kept.put else None
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
        value = node.value
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        left = added._replace(node=node.left).text
        value = node.right if left == kept.text else None
    if not isinstance(value, _PLAIN) or added.unit.indent:
        return None
    return Fix("detach what is kept", (Edit("append", value, ".detach()"),), safe=True)
