"""In-place write into a detached alias, which changes the tensor of the graph.

`x.detach()` is a view without history, not a copy: it shares the memory of `x`, and its version
counter. If the graph saved the value of `x` (sigmoid, softmax, exp save their result), backward
raises "one of the variables needed for gradient computation has been modified by an inplace
operation". If it did not (a sum, a linear layer), nothing is raised: `x` has another value from
there on, and with it the loss. Through `.detach().numpy()` even the write to a saved value is
silent, since numpy has no version counter, and the gradient is wrong.

Bad:

    attention = scores.softmax(dim=-1)
    shown = attention.detach()
    shown[shown < 0.1] = 0
    loss = (attention * values).sum()

Good:

    shown = attention.detach().clone()
    shown[shown < 0.1] = 0

Not reported: `.detach().clone()`; an alias of a value that nothing uses afterwards, such as
`(a - b).detach()`; a parameter or an input that no graph uses yet; `h = h.detach()` without a
write; `x.detach_()`.

Fix: `.clone()` after `.detach()`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Backward,
    Because,
    Edit,
    Finding,
    Fix,
    InPlaceWrite,
    Rule,
    Severity,
    SourceUsed,
    Through,
    Tri,
)

RULE = Rule(
    __name__,
    __doc__,
    code="AG104",
    severity=Severity.ERROR,
    more_specific_than=("AG506",),
)


@RULE.on(SourceUsed)
def check_use(use: SourceUsed) -> Iterator[Finding]:
    """A result of the graph was changed through a detached alias and is used on."""
    write = use.write
    if not _concerns(write):
        return
    if write.base.state.leaf is not Tri.NO or write.base.state.requires_grad is not Tri.YES:
        return  # Parameters and inputs are written on purpose before they are used.
    saving = [saved for saved in write.saved_by if saved.sure is Tri.YES]
    yield Finding(
        write.site,
        f"in-place write to `{write.target_text}` also changes the tensor it was detached from, "
        "which is used afterwards; clone it after detach()",
        because=(*_chain(write), Because(use.site, "used in the graph afterwards")),
        fix=_fix(write),
        severity=Severity.ERROR if saving else Severity.WARNING,
        fault=write.site,
        scope=write.scope,
    )


@RULE.on(Backward)
def check_backward(backward: Backward) -> Iterator[Finding]:
    """A backward needs a value that was changed through a detached alias since it was saved."""
    for stale in backward.stale:
        write = stale.write
        if not isinstance(write, InPlaceWrite) or not _concerns(write):
            continue  # Changed in another way: AG102, AG118, AG506.
        seen = "gives a wrong gradient" if write.through is Through.NUMPY else "raises"
        yield Finding(
            write.site,
            f"in-place write to `{write.target_text}` also changes the tensor it was detached "
            f"from, which backward needs: it {seen}; clone it after detach()",
            because=(*_chain(write), Because(backward.site, "needed here")),
            fix=_fix(write),
            fault=write.site,
            scope=write.scope,
        )


def _concerns(write: InPlaceWrite) -> bool:
    """Whether a tensor is surely written through `detach()`, directly or by way of numpy."""
    if write.through is Through.NUMPY:
        # Through `.data` to numpy is AG102's.
        return any(each.through is Through.DETACH for each in write.target.sources())
    return write.through is Through.DETACH and write.base.tensor is Tri.YES


def _chain(write: InPlaceWrite) -> tuple[Because, ...]:
    """Where the alias was made, and which operations saved the value."""
    chain: list[Because] = []
    if write.made is not None and write.made.statement is not write.site.statement:
        chain.append(Because(write.made, "shares its memory since here"))
    for saved in write.saved_by:
        if saved.origin is not None and saved.sure is Tri.YES:
            chain.append(Because(saved.origin, f"saved for backward by `{saved.operation}`"))
    return tuple(chain)


def _fix(write: InPlaceWrite) -> Fix | None:
    """`.clone()` behind the `.detach()` that made the alias, if it stands in this file."""
    made = write.made
    if made is None or made.unit is not write.site.unit or made.unit.indent:
        return None
    call = made.node
    if not isinstance(call, cst.Call):
        return None
    called = call.func
    if not isinstance(called, cst.Attribute) or called.attr.value != "detach":
        return None  # `torch.detach(x)` in a helper: its other callers may want the alias.
    text = made.unit.module.code_for_node(call)
    return Fix("clone the detached tensor", (Edit("replace", call, f"{text}.clone()"),), safe=True)
