"""Graph that is walked a second time after a backward has freed what it saved.

The first `backward()` over a graph frees the values that the operations saved for it. A second
one that comes to any of these operations raises "Trying to backward through the graph a second
time". That happens when the same loss is propagated twice, when two losses share a part of their
graph and each gets a backward of its own, and when something with history was computed before a
loop and is used by the loss of every iteration. Sums and additions save nothing: a graph of these
alone may be walked as often as one likes.

Bad:

    features = encoder(x)
    classify(features, y).backward()
    reconstruct(features, x).backward()

Good:

    features = encoder(x)
    (classify(features, y) + reconstruct(features, x)).backward()

An error; a warning where it takes another iteration of a loop to come back to a graph from before
the loop.

Not reported: `retain_graph=True` in the earlier backward; a forward of its own for each backward;
a shared part that is detached, was computed under no_grad, or is nothing but parameters; backwards
in branches that exclude each other; a gradient that was asked for other inputs only. Values that
an iteration takes over from the one before are AG409's.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Age, Backward, Because, Finding, FreedNode, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG404", severity=Severity.ERROR)


@RULE.on(Backward)
def check(backward: Backward) -> Iterator[Finding]:
    """The graph is still that of an earlier backward, or leads into it."""
    if not backward.freed:
        return
    node = backward.freed[0]
    if node.age is Age.ITERATION:
        return  # Carried over from the last iteration: AG409.
    again = node.freed_at is not None and node.freed_at.node is backward.site.node
    yield Finding(
        backward.site,
        _message(backward, node, again),
        because=tuple(_chain(node)),
        severity=Severity.WARNING if again else Severity.ERROR,
        fault=backward.site,
    )


def _message(backward: Backward, node: FreedNode, again: bool) -> str:
    loss = backward.loss_text
    if again:
        return (
            f"the graph of `{loss}` reaches back to before the loop and is freed in the first "
            "iteration, so the second one raises; compute it inside the loop or detach it"
        )
    if node.taken is None:
        return (
            f"the graph of `{loss}` was freed by an earlier backward; add up the losses or pass "
            "`retain_graph=True` to the first"
        )
    return (
        f"`{loss}` shares a part of its graph with an earlier backward, which has freed it; "
        "add up the losses or pass `retain_graph=True` to the first"
    )


def _chain(node: FreedNode) -> Iterator[Because]:
    """Where the freed part was computed, what freed it, and what leads there."""
    if node.made is not None:
        yield Because(node.made, "this part of the graph saved values for backward")
    if node.freed_at is not None:
        yield Because(node.freed_at, "this backward freed them")
    if node.taken is not None:
        yield Because(node.taken, "computed from it")
