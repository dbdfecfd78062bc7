"""A gradient scaler of mixed precision is used for one half of the step only.

`GradScaler` multiplies the loss by a large factor, so that small gradients survive in float16, and
`scaler.step(optimizer)` divides by it again. Both or none: an unscaled backward makes the first
`scaler.step()` raise an AssertionError (or, once something was scaled, step with gradients 65536
times too small); a plain `optimizer.step()` after a scaled backward moves the weights 65536 times
too far and nothing raises; without `scaler.update()` the second `scaler.step()` raises.

Bad:

    scaler.scale(loss).backward()
    optimizer.step()

Good:

    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

A warning instead of an error where `enabled=` of the scaler is not known.

Not reported: `GradScaler(enabled=False)`; steps after `scaler.unscale_(optimizer)`; the two arms of
an `if` on a flag; losses that may have been scaled where it is not seen; bfloat16 without a scaler;
loops that Lightning, accelerate and the like own.

Fix: `scaler.step(optimizer)` for the plain step, with `scaler.update()` after it, where the
function calls no `update`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Grade,
    OptimizerStep,
    Rule,
    Severity,
    Tri,
    Word,
)

RULE = Rule(__name__, __doc__, code="AG411", severity=Severity.ERROR)

_FRESH = frozenset({Word.FRESH})


@RULE.on(OptimizerStep)
def check(step: OptimizerStep) -> Iterator[Finding]:
    """Judged at the step: are its gradients scaled if and only if a scaler steps?"""
    if step.scope.framework or step.optimizer.grade is Grade.NAMED or not step.sets:
        return  # Another's loop, or an optimizer by nothing but its name.
    if step.scaler is None:
        yield from _plain(step)
    elif step.scaler.enabled is not Tri.NO:
        # A scaler that is switched off hands everything through.
        yield from _unscaled(step)
        yield from _not_updated(step)


def _plain(step: OptimizerStep) -> Iterator[Finding]:
    for used in step.sets:
        scaler, filled = used.scaler, used.filled
        if used.words != _FRESH or used.scaled is not Tri.YES or scaler is None or filled is None:
            continue  # Unscaled by hand or by `unscale_`, or on some path only.
        name = scaler.place.text
        yield Finding(
            step.site,
            f"`{step.optimizer_text}.step()` uses gradients multiplied by the factor of `{name}`; "
            f"call `{name}.step({step.optimizer_text})`",
            because=(Because(filled.site, "this backward runs on the scaled loss"),),
            fix=_fix(step, name),
            severity=_severity(scaler.enabled),
            fault=step.site,
        )
        return


def _unscaled(step: OptimizerStep) -> Iterator[Finding]:
    assert step.scaler is not None
    if not all(used.words == _FRESH and used.scaled is Tri.NO for used in step.sets):
        return  # Some of the gradients are scaled, or may be.
    filled = step.sets[0].filled
    if filled is None:
        return
    name = step.scaler.place.text
    yield Finding(
        filled.site,
        f"this backward runs on an unscaled loss, but `{name}` steps `{step.optimizer_text}`; "
        f"call `{name}.scale(loss).backward()`",
        because=(Because(step.site, "the scaler divides the gradients by its factor"),),
        severity=_severity(step.scaler.enabled),
        fault=filled.site,
    )


def _not_updated(step: OptimizerStep) -> Iterator[Finding]:
    assert step.scaler is not None
    if step.awaits_update is Tri.NO or not step.loops:
        return  # A second step after one update each is what it should be.
    if step.awaits_update is Tri.MAYBE and step.scaler.enabled is Tri.YES:
        return  # Updated on some path, or by code that is not seen.
    if step.awaits_update is not step.scaler.enabled or step.scaler.grade is Grade.USED:
        return
    name = step.scaler.place.text
    yield Finding(
        step.site,
        f"`{name}` steps `{step.optimizer_text}` a second time without an update; "
        f"call `{name}.update()` after the step",
        severity=_severity(step.scaler.enabled),
        fault=step.site,
    )


def _severity(enabled: Tri) -> Severity:
    return Severity.ERROR if enabled is Tri.YES else Severity.WARNING


def _fix(step: OptimizerStep, scaler: str) -> Fix | None:
    statement = step.site.statement
    simple = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
    if not simple or not scaler.replace(".", "").isidentifier():
        return None  # A call or an item may be another scaler the next time.
    if not isinstance(step.site.node, cst.Call) or step.site.node.args or step.calls_update:
        return None  # A closure is not taken by a scaler; an update is there, for another step.
    name = step.optimizer_text
    return Fix(
        f"step with `{scaler}`",
        (
            Edit("replace", step.site.node, f"{scaler}.step({name})"),
            Edit("insert_after", statement, f"{scaler}.update()"),
        ),
        safe=True,
    )
