"""Value with history carried from one iteration to the next, past a backward.

What an iteration takes over from the one before (an RNN's hidden state, a running sum, a memory)
still has the graph of that iteration, and that graph still has the one of the iteration before.
The backward of the first iteration frees it; the backward of the second walks on into it and
raises "Trying to backward through the graph a second time". With `retain_graph=True` it does not
raise: each step then walks all iterations so far, slower and slower, with memory that only grows.

Bad:

    h = torch.zeros(1, batch, size)
    for x, y in stream:
        out, h = rnn(x, h)
        loss = criterion(out, y)
        loss.backward()

Good:

    h = torch.zeros(1, batch, size)
    for x, y in stream:
        h = h.detach()
        out, h = rnn(x, h)
        loss = criterion(out, y)
        loss.backward()

Not reported: one backward after a loop over time; a state that is made anew, detached or handed
through `.data` or no_grad in each iteration; values without history; a backward that runs only in
some iterations.

Fix: `h = h.detach()` at the head of the loop's body, for a name (or a tuple of tensors) that is
known to be a tensor from the start. Unsafe if what it starts from requires grad itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Age,
    Backward,
    Because,
    Carried,
    Edit,
    Finding,
    Fix,
    FreedNode,
    Rule,
    Sequence,
    Severity,
    Tensor,
    Tri,
    resolve,
)

RULE = Rule(
    __name__,
    __doc__,
    code="AG409",
    severity=Severity.ERROR,
    more_specific_than=("AG404", "AG111"),
)


@RULE.on(Backward)
def check(backward: Backward) -> Iterator[Finding]:
    """The walk leaves this iteration and meets what the last one's backward freed."""
    if not backward.freed:
        return
    node = backward.freed[0]
    if node.age is not Age.ITERATION:
        return  # Of this iteration, or from before the loop: AG404.
    names = " and ".join(f"`{each.name}`" for each in node.carried)
    subject = f"{names} still {'leads' if len(node.carried) == 1 else 'lead'}" if names else ""
    yield Finding(
        backward.site,
        f"{subject or f'`{backward.loss_text}` leads'} into the graph of the last iteration, which "
        "its backward has freed; detach what is carried over",
        because=tuple(_chain(node)),
        fix=_fix(backward, node),
        fault=backward.site,
    )


def _chain(node: FreedNode) -> Iterator[Because]:
    """Where the old graph came from, and where this iteration's begins to use it."""
    if node.made is not None:
        yield Because(node.made, "computed in the last iteration")
    if node.taken is not None:
        yield Because(node.taken, "used in this one, with its history")


def _fix(backward: Backward, node: FreedNode) -> Fix | None:
    """Detach at the head of the loop, in the function that holds it."""
    if node.loop is None or not node.carried or backward.site.unit is not node.loop.unit:
        return None
    body = getattr(node.loop.node, "body", None)
    if node.loop.unit.indent or not isinstance(body, cst.IndentedBlock):
        return None
    lines = [_detached(each) for each in node.carried]
    if None in lines:
        return None  # Nothing is known of what it is at the start.
    text = "\n".join(line for line in lines if line is not None)
    safe = all(_history(each.start) is Tri.NO for each in node.carried)
    return Fix(
        "detach what is carried over at the head of the loop",
        (Edit("insert_before", body.body[0], text),),
        safe,
    )


def _detached(carried: Carried) -> str | None:
    name = carried.name
    start, value = resolve(carried.start), resolve(carried.value)
    if not carried.local:
        return None
    if _is_tensor(start) and _is_tensor(value):
        return f"{name} = {name}.detach()"
    if _are_tensors(start) and _are_tensors(value):
        return f"{name} = tuple(each.detach() for each in {name})"
    return None


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor) and value.tensor is Tri.YES


def _are_tensors(value: object) -> bool:
    """A tuple of tensors: a list may be held elsewhere as well."""
    if not isinstance(value, Sequence) or value.mutable or not value.items:
        return False
    return all(_is_tensor(resolve(item)) for item in value.items)


def _history(value: object) -> Tri:
    """Whether a tensor, or one in a tuple, requires grad."""
    if isinstance(value, Tensor):
        return value.state.requires_grad
    found = Tri.NO
    for item in getattr(value, "items", None) or ():
        found = found | _history(resolve(item))
    return found
