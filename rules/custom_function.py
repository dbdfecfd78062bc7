"""Custom autograd function that does not keep torch's contract.

`Function.apply` calls `forward` once, records one node, and calls `backward` when a gradient comes
by. `backward` has to return one gradient for each argument of `forward`: with another number, or a
gradient for what is no tensor, torch raises in the middle of the backward pass; without a `return`
nothing is trained, silently. What `backward` needs has to go through `save_for_backward`: an
attribute of `ctx` is not checked for later in-place writes (the gradient is computed from the new
values), and an output kept so refers to its own node, a cycle which holds the graph until the
garbage collector runs. An input that `forward` writes in place has to be named in
`ctx.mark_dirty`, or whoever goes on with the input gets a wrong gradient. Objects of a Function
cannot be called any more, and `Function.forward(…)` called by name makes no use of `backward`.

Bad:

    def forward(ctx, x, k):
        ctx.x = x
        return x**2 * k

    def backward(ctx, grad):
        return 2 * ctx.x * grad

Good:

    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x**2 * k

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.k, None

Not reported: more gradients than inputs if the surplus is None; gradients that cannot be counted
(from a helper, or through `*`); numbers, sizes, flags and other tensors on `ctx`; `setup_context`,
whose `forward` gets no `ctx`; a missing `@staticmethod`, which `apply` does not mind; methods under
decorators that may change what they return; `forward` called from another Function or where
nothing is recorded.

Fix: missing gradients become None (offered where one is of a tensor that is saved for backward,
which it leaves without a gradient); `save_for_backward` for the one tensor that is kept (offered).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    ConstantGiven,
    Edit,
    Finding,
    Fix,
    FunctionCalled,
    GradientForgotten,
    GradientsMiscounted,
    InputWritten,
    KeptOnContext,
    Rule,
    Severity,
)

RULE = Rule(__name__, __doc__, code="AG509", severity=Severity.ERROR)


@RULE.on(GradientsMiscounted)
def check_count(event: GradientsMiscounted) -> Iterator[Finding]:
    """Too few gradients, or further ones that are not None."""
    lacking = event.inputs - event.returned
    fix = None
    if lacking > 0:
        # A tensor would go without a gradient then, without a word.
        edit = Edit("append", event.last, ", None" * lacking)
        fix = Fix("pad with None", (edit,), safe=not event.of_tensors)
    yield Finding(
        event.site,
        f"backward of `{event.function}` returns {_gradients(event.returned)} where its forward "
        f"takes {event.inputs} input{'s' * (event.inputs != 1)}: torch raises",
        because=(Because(event.inputs_at, "these are the inputs"),),
        fix=fix,
    )


def _gradients(count: int) -> str:
    return f"{count} gradient{'s' * (count != 1)}"


@RULE.on(ConstantGiven)
def check_constant(event: ConstantGiven) -> Iterator[Finding]:
    """A gradient for a number."""
    yield Finding(
        event.site,
        f"backward of `{event.function}` returns a gradient for `{event.name}`, which is a number: "
        "torch raises; return None for it",
        because=(Because(event.call, "the number is given here"),),
    )


@RULE.on(GradientForgotten)
def check_forgotten(event: GradientForgotten) -> Iterator[Finding]:
    """A backward without `return`."""
    yield Finding(
        event.site,
        f"backward of `{event.function}` returns nothing: what it is applied to gets no gradient",
    )


@RULE.on(KeptOnContext)
def check_kept(event: KeptOnContext) -> Iterator[Finding]:
    """An input or output as a plain attribute of the context."""
    harm = (
        "it refers to the node that keeps it, so the graph is not freed"
        if event.output
        else "a later in-place write to it goes unnoticed"
    )
    yield Finding(
        event.site,
        f"`{event.attribute}` keeps an {'output' if event.output else 'input'} of "
        f"`{event.function}`: {harm}; use save_for_backward",
        fix=_saved(event),
        severity=Severity.WARNING,
    )


def _saved(event: KeptOnContext) -> Fix | None:
    """Save the value instead, if it is the only one and the statement does nothing else."""
    statement = event.site.statement
    if not event.alone or not isinstance(statement, cst.SimpleStatementLine):
        return None
    small = statement.body[0]
    if len(statement.body) != 1 or not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    context = event.attribute.partition(".")[0]
    edits = [Edit("replace", small, f"{context}.save_for_backward({event.value})")]
    for each in event.reads:
        if isinstance(each.value, cst.Name):
            edits.append(Edit("replace", each, f"{each.value.value}.saved_tensors[0]"))
    return Fix("save it for backward", tuple(edits), safe=False)


@RULE.on(InputWritten)
def check_written(event: InputWritten) -> Iterator[Finding]:
    """In-place without mark_dirty: only those who go on with the input are harmed."""
    yield Finding(
        event.site,
        f"forward of `{event.function}` writes its input `{event.name}` in place without "
        "ctx.mark_dirty: who uses it afterwards gets a wrong gradient",
        severity=Severity.WARNING,
    )


@RULE.on(FunctionCalled)
def check_called(event: FunctionCalled) -> Iterator[Finding]:
    """Anything but `apply`."""
    name = event.function
    if event.by == "forward":
        yield Finding(
            event.site,
            f"`{name}.forward` called by name goes past the backward of `{name}`; use {name}.apply",
            severity=Severity.WARNING,
        )
    elif event.by == "instance":
        yield Finding(
            event.site,
            f"an object of the autograd function `{name}` is called, which raises; "
            f"use {name}.apply",
        )
    else:
        yield Finding(
            event.site,
            f"`{name}` is an autograd function with a constructor: torch raises when its object "
            "is called, and apply makes none; use static methods, and give everything to forward",
        )
