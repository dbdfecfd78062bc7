"""Gradients are cleared between the backward that fills them and the step that should use them.

`zero_grad()` sets `.grad` to None, and a step skips every parameter without a gradient. With
`backward(); zero_grad(); step()` the weights never move; no error, no warning, and a loss that
stays where it is. With `set_to_none=False` the gradients are zeros, and only momentum and weight
decay move the weights. A clear in every iteration while the step runs in every k-th one
(accumulation) throws away all micro-batches but the last, so the step is k times too noisy.

Bad:

    loss.backward()
    optimizer.zero_grad()
    optimizer.step()

Good:

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

An error where the step finds nothing; a warning where it finds the last of several micro-batches.

Not reported: clears after the step; another optimizer's parameters (the discriminator's, after the
generator's backward); some parameters only, whose gradients are cancelled by hand; gradients that
were read before they were cleared; clears on one path only (`if not finite: ...`); steps whose
optimizer is not seen to own what was cleared.

Fix: the clear is moved before the backward, where it is the next statement.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Grade,
    Moment,
    OptimizerStep,
    Rule,
    SetState,
    Severity,
    Site,
    Word,
    adjacent,
    line_of,
    periodic,
)

RULE = Rule(__name__, __doc__, code="AG402", severity=Severity.ERROR)

_DROPPED = frozenset({Word.DROPPED})
_NOTHING = frozenset({Word.DROPPED, Word.NONE})


@RULE.on(OptimizerStep)
def check(step: OptimizerStep) -> Iterator[Finding]:
    """Judged at the step: all it should use was cleared after the last backward."""
    if step.scope.framework or step.optimizer.grade is Grade.NAMED:
        return  # Another's loop, or an optimizer by nothing but its name.
    if not all(each.words <= _NOTHING for each in step.sets):
        return  # Something is left to step with: the rest may be cancelled on purpose.
    for used in step.sets:
        filled, emptied = used.filled, used.emptied
        if used.words != _DROPPED or filled is None or emptied is None:
            continue
        if filled.earlier_iteration(step.loops):
            continue  # The backward of this iteration is still to come: AG403.
        yield Finding(
            emptied.site,
            f"this clears the gradients before `{step.optimizer_text}.step()` has used them; "
            "clear before the backward",
            because=(
                Because(filled.site, "this backward fills the gradients"),
                Because(step.site, "the step finds none"),
            ),
            fix=_fix(filled.site, emptied.site),
            fault=emptied.site,
        )
        return


@RULE.on(OptimizerStep)
def check_accumulation(step: OptimizerStep) -> Iterator[Finding]:
    """A clear in each iteration, a step in some: the gradients in between are lost."""
    if step.scope.framework or step.optimizer.grade is Grade.NAMED or not step.loops:
        return
    tests = [guard for guard in step.guards if periodic(guard.test)]
    if not tests:
        return  # `if finite:` skips a step now and then, which is no accumulation.
    if not step.sets or not all(_wiped(step, used) for used in step.sets):
        return
    wiped, filled = step.sets[0].wiped, step.sets[0].filled
    assert wiped is not None
    assert filled is not None
    if any(guard in filled.guards for guard in tests):
        return  # The backward that counts is under the same test.
    yield Finding(
        wiped.site,
        f"this clears the gradients in every iteration, but `{step.optimizer_text}` does not step "
        "in every one; clear after the step",
        because=(
            Because(filled.site, "this backward is meant to be added up"),
            Because(step.site, "the step runs in some iterations only"),
        ),
        severity=Severity.WARNING,
        fault=wiped.site,
    )


def _wiped(step: OptimizerStep, used: SetState) -> bool:
    """Whether a set is cleared unconditionally in the step's own loop before it was used."""
    return (
        used.words == frozenset({Word.FRESH})
        and _in_this_loop(step, used.wiped)
        and _in_this_loop(step, used.filled)
        and used.wiped is not None
        and not used.wiped.guards
    )


def _in_this_loop(step: OptimizerStep, moment: Moment | None) -> bool:
    if moment is None or len(moment.loops) != len(step.loops):
        return False
    return moment.loops[-1].loop == step.loops[-1].loop


def _fix(backward: Site, clear: Site) -> Fix | None:
    text = line_of(clear)
    if text is None or not adjacent(backward, clear):
        return None  # What stands between may need the gradients, or bind the optimizer's name.
    return Fix(
        f"move `{clear.text}` before the backward",
        (Edit("insert_before", backward.statement, text), Edit("delete", clear.statement)),
        safe=True,
    )
