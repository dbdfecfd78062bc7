"""A step finds no gradients: no backward has filled them since they were cleared.

`step()` skips parameters whose `.grad` is None, without an error: the weights stay as they are.
The order `zero_grad(); step(); backward()` is as bad as no backward at all, for the next iteration
clears what the backward has filled. A second optimizer whose loss is computed but never
backpropagated (a critic's) looks the same.

Bad:

    optimizer.zero_grad()
    loss = criterion(model(x), y)
    optimizer.step()
    loss.backward()

Good:

    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()

An error where the backward comes too late; a warning where none is seen between clear and step. A
loop without any backward, and updates that come one iteration late, are shown at info.

Not reported: optimizers whose parameters are not known, or are frozen (AG209); closures; gradients
that are assigned, read or filled by an engine; `.step()` of schedulers, profilers and environments;
`loss.backward` without parentheses (AG113).
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import (
    Because,
    Finding,
    Grade,
    OptimizerStep,
    Rule,
    Severity,
    Tri,
    Word,
)

RULE = Rule(__name__, __doc__, code="AG403", severity=Severity.ERROR, missing=True)

_FRESH = frozenset({Word.FRESH})
_DROPPED = frozenset({Word.DROPPED})
_NOTHING = frozenset({Word.DROPPED, Word.NONE})


@RULE.on(OptimizerStep)
def check(step: OptimizerStep) -> Iterator[Finding]:
    """Judged at the step: is there anything to step with?"""
    if step.scope.framework or step.optimizer.grade is Grade.NAMED or not step.sets:
        return  # Another's loop, or an optimizer by nothing but its name.
    if all(used.words <= _NOTHING for used in step.sets):
        yield from _too_late(step)
    # What another loss may have filled was cleared as well: there is nothing either way.
    if all(Word.NONE in used.words and used.words <= _NOTHING for used in step.sets):
        yield from _never(step)
    if step.loops and all(used.words == _FRESH for used in step.sets):
        yield from _one_late(step)


def _too_late(step: OptimizerStep) -> Iterator[Finding]:
    """The backward of the last iteration was for nothing: its gradients were cleared."""
    for used in step.sets:
        filled, emptied = used.filled, used.emptied
        if used.words != _DROPPED or filled is None or emptied is None:
            continue
        if not filled.earlier_iteration(step.loops):
            continue  # Cleared between the backward and its step: AG402.
        yield Finding(
            step.site,
            f"`{step.optimizer_text}` steps before the backward of its iteration and finds no "
            "gradients; step after it",
            because=(
                Because(filled.site, "this backward comes after the step"),
                Because(emptied.site, "this clears what it has filled"),
            ),
            fault=step.site,
        )
        return


def _never(step: OptimizerStep) -> Iterator[Finding]:
    """Cleared, and not filled since; another backward shows that this code trains by gradients."""
    if step.optimizer.opaque is not None:
        return  # A backward may have reached parameters that are not seen.
    if any(used.holder.takes_gradient() is Tri.NO for used in step.sets):
        return  # Frozen, perhaps for a while: no backward is missing.
    emptied = step.sets[0].emptied
    cleared = emptied is not None and not emptied.earlier_iteration(step.loops)
    if any(
        used.filled is not None
        and not used.filled.earlier_iteration(step.loops)
        and Word.DROPPED not in used.words
        for used in step.sets
    ):
        return  # The gradients were read, and cleared on purpose.
    if cleared and emptied is not None and step.backwards_in_loop:
        yield Finding(
            step.site,
            f"`{step.optimizer_text}` steps without gradients: no backward reaches its parameters "
            "after they were cleared",
            because=(Because(emptied.site, "cleared here"),),
            severity=Severity.WARNING,
            fault=step.site,
        )
    elif step.loops and step.loops[-1].iteration == 2 and not step.backwards_in_loop:
        yield Finding(
            step.site,
            f"`{step.optimizer_text}` steps in a loop in which nothing calls backward",
            severity=Severity.INFO,
            fault=step.site,
        )


def _one_late(step: OptimizerStep) -> Iterator[Finding]:
    """The gradients are those of the iteration before; the last ones are never used."""
    if step.guards:
        return  # Accumulation, or a step that is skipped the first time.
    if all(
        used.filled is not None
        and used.filled.earlier_iteration(step.loops)
        and len(used.filled.loops) == len(step.loops)
        for used in step.sets
    ):
        yield Finding(
            step.site,
            f"`{step.optimizer_text}` steps with the gradients of the iteration before; "
            "step after the backward",
            severity=Severity.INFO,
            fault=step.site,
        )
