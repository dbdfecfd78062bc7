"""Flag set on a computed loss so that backward stops raising: nothing is trained.

"element 0 of tensors does not require grad" says that the graph to the parameters is cut somewhere
before the loss. Setting `requires_grad` on the loss (or wrapping it in a new tensor that has the
flag) makes it a leaf of its own: backward succeeds, stores 1 in `loss.grad`, and reaches no
parameter. Every parameter's `.grad` stays None, the optimizer skips it, and training runs without
an error and without effect.

Bad:

    loss = criterion(model(x).detach(), y)
    loss.requires_grad_()
    loss.backward()

Good:

    loss = criterion(model(x), y)
    loss.backward()

Not reported: the flag set on an input that later operations use (saliency, adversarial examples,
interpolated samples), on a fresh leaf, or on a value that has its graph anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Backward, Because, Finding, Rule, Severity

RULE = Rule(
    __name__,
    __doc__,
    code="AG114",
    severity=Severity.ERROR,
    more_specific_than=("AG106", "AG501"),
)


@RULE.on(Backward)
def check(backward: Backward) -> Iterator[Finding]:
    """All that the backward reaches is a result that was marked afterwards."""
    leaf = backward.marked
    if leaf is None or leaf.marked is None or leaf.lost is None:
        return
    chain = [Because(leaf.lost.origin, "the graph was cut here")] if leaf.lost.origin else []
    yield Finding(
        leaf.marked,
        f"`requires_grad` on the result hides that its graph is cut: the backward of "
        f"`{backward.loss_text}` reaches no parameter; remove the flag and repair the cut",
        because=(*chain, Because(backward.site, "this backward ends at the marked value")),
        fault=backward.site,
    )
