"""Backward on a value without history: nothing recorded how it was computed.

`backward()` follows the graph that was recorded in the forward pass. A loss that was computed
under no_grad or inference_mode, from detached values only, or by an operation without derivative
(argmax, a comparison, a cast to integers) has no graph: `grad_fn` is None, and backward raises
"element 0 of tensors does not require grad and does not have a grad_fn".

Bad:

    with torch.no_grad():
        loss = criterion(model(x), y)
    loss.backward()

Good:

    loss = criterion(model(x), y)
    loss.backward()

Not reported: a loss of which some operand is not known; `backward()` itself called under no_grad
(it works: only the forward has to be recorded); a target computed under no_grad; enable_grad
within no_grad; a module built, or a leaf with `requires_grad=True` made, under no_grad; code in
`pytest.raises`. A loss that was told to require grad afterwards is AG114's.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Backward, Because, Finding, Grade, Lost, Rule, Severity, Site, Tri

RULE = Rule(__name__, __doc__, code="AG106", severity=Severity.ERROR)


@RULE.on(Backward)
def check(backward: Backward) -> Iterator[Finding]:
    """The loss does not require grad, for sure, and it is known why."""
    lost = backward.lost
    if backward.history is not Tri.NO or lost is None:
        return  # It may have a graph; or nothing is seen to end one: a flag may be set elsewhere.
    if backward.loss.tensor is not Tri.YES or backward.loss.grade is Grade.NAMED:
        return  # It may be something else, with a backward of its own.
    yield Finding(
        backward.site,
        f"`{backward.loss_text}` has no graph, so this backward raises: {_reason(lost)}",
        because=_chain(lost, backward.site),
        fault=backward.site,
    )


def _reason(lost: Lost) -> str:
    if lost.how == "off":
        return "compute it outside the no_grad block"
    if lost.how == "detach":
        return "do not detach what it is computed from"
    if lost.how == "copy":
        return "compute it from the tensor, not from a number read from it"
    return f"`{lost.operation.rpartition('.')[2]}` has no derivative"


def _chain(lost: Lost, site: Site) -> tuple[Because, ...]:
    """Where the history ended."""
    said = {
        "off": "computed where nothing is recorded",
        "detach": "detached from its graph here",
        "copy": "made anew from a number here",
    }
    if lost.origin is None or lost.origin.node is site.node:
        return ()
    return (Because(lost.origin, said.get(lost.how, "the history ends here")),)
