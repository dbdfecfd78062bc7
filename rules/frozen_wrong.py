"""Freezing that takes too much, or too late.

`requires_grad = False` on every parameter of a model also freezes the head that was put in a line
before: nothing is left to train, and backward raises "does not require grad". An optimizer that
was given frozen parameters only steps without effect, while the parameters that are trained by
nobody gather gradients.

A parameter that is frozen after training keeps its last gradient. `step()` asks for gradients, not
for `requires_grad`: it applies the old one again and again, and with momentum goes on even from a
gradient that was set to zero.

Bad:

    model.head = nn.Linear(512, 10)
    for p in model.parameters():
        p.requires_grad = False

Good:

    for p in model.parameters():
        p.requires_grad = False
    model.head = nn.Linear(512, 10)

Not reported: a freeze that is undone, or may be, before the step; a freeze of the head itself;
freezes under a test of the parameter's name; an optimizer over all parameters, some of them frozen
(they are skipped); optimizers that a constructor builds, for other methods may thaw; gradients that
were set to None before the step, or put there by hand; models that are frozen and not trained.

Fix (offered): the gradients set to None where the parameters are frozen.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    FrozenMoves,
    NothingTrained,
    Rule,
    Severity,
)

RULE = Rule(
    __name__, __doc__, code="AG209", severity=Severity.WARNING, more_specific_than=("AG403",)
)


@RULE.on(NothingTrained)
def check_nothing(nothing: NothingTrained) -> Iterator[Finding]:
    """Reported at the freeze that took a new part too, else where the optimizer is built."""
    shown = "it steps here" if nothing.built is not None else "this backward reaches nothing"
    if nothing.part is not None:
        yield Finding(
            nothing.site,
            f"this freezes `{nothing.part.text}` as well, and nothing is left to train; freeze "
            "before the new part is put in",
            because=(
                Because(nothing.part, "the new part is put in here"),
                Because(nothing.shown_at, shown),
            ),
            fault=nothing.shown_at,
            scope=nothing.owner,
        )
    elif nothing.built is not None:
        yield Finding(
            nothing.built,
            f"`{nothing.optimizer_text}` gets frozen parameters only: its steps change nothing",
            because=(
                Because(nothing.site, "frozen here"),
                Because(nothing.shown_at, shown),
            ),
            fault=nothing.shown_at,
        )


@RULE.on(FrozenMoves)
def check_moves(moves: FrozenMoves) -> Iterator[Finding]:
    """Reported at the freeze that left the gradients where they were."""
    why = "by what it remembers" if moves.zeroed else "by their old gradients"
    yield Finding(
        moves.site,
        f"`{moves.optimizer_text}` goes on moving what is frozen here, {why}; "
        "set the gradients to None",
        because=(Because(moves.stepped_at, "this step moves it"),),
        fix=_fix(moves),
        fault=moves.site,
        scope=moves.owner,
    )


def _fix(moves: FrozenMoves) -> Fix | None:
    """No gradient, no step: `p.grad = None` after the freeze of a parameter that has a name."""
    site = moves.site
    statement = site.statement
    if site.unit.indent or not isinstance(statement, cst.SimpleStatementLine):
        return None
    node = site.node
    access = node.func if isinstance(node, cst.Call) else node
    if not isinstance(access, cst.Attribute) or not isinstance(access.value, cst.Name):
        return None
    text = f"{access.value.value}.grad = None"
    return Fix(f"insert `{text}`", (Edit("insert_after", statement, text),), safe=False)
