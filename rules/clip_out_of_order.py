"""Gradients are clipped at a moment when they are not what the step will use.

Clipping acts on `.grad` as it is then. Before the backward there is nothing to clip, after the step
it is too late; either way the step uses the gradients as they are. `clip_grad_norm_` says nothing,
`clip_grad_value_` raises on gradients that are all None. With a
`GradScaler` the gradients are multiplied by its factor (65536 at first) until `scaler.unscale_()`
or `scaler.step()`: clipped before that, they end up 65536 times too small: training stands still.

Bad:

    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)

Good:

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)

Not reported: `max_norm=inf`, which measures the norm; gradients of an earlier micro-batch; clipping
by accelerate, Lightning and the like; a scaler with `enabled=False`; states that are not known.
`clip_grad_norm` without the underscore is deprecated and shown at info.

Fix: the clip is moved between backward and step, where they are neighbours; `unscale_` is inserted
before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    GradientClipped,
    OptimizerStep,
    Rule,
    Severity,
    Site,
    Tri,
    Word,
    adjacent,
    line_of,
    same_block,
)

RULE = Rule(__name__, __doc__, code="AG407", severity=Severity.ERROR)

_FRESH = frozenset({Word.FRESH})
_USED = frozenset({Word.USED})


@RULE.on(OptimizerStep)
def check_step(step: OptimizerStep) -> Iterator[Finding]:
    """What the step uses was clipped before it was there, or before it was unscaled."""
    if step.scope.framework:
        return  # Another's loop.
    for used in step.sets:
        clip, filled = used.clipped, used.filled
        if clip is None or filled is None or used.words != _FRESH:
            continue
        if clip.moment.earlier_iteration(step.loops):
            continue  # It belongs to another step.
        if clip.empty:
            yield Finding(
                clip.moment.site,
                f"`{clip.function}` finds no gradients here: the backward comes later; "
                f"clip before `{step.optimizer_text}` steps",
                because=(
                    Because(filled.site, "this backward fills the gradients"),
                    Because(step.site, "the step uses them as they are"),
                ),
                fix=_move(clip.moment.site, filled.site),
                fault=clip.moment.site,
            )
            return
        if step.scaler is not None:
            name = step.scaler.place.text
            yield Finding(
                clip.moment.site,
                f"`{clip.function}` clips gradients that are still multiplied by the factor of "
                f"`{name}`; call `{name}.unscale_({step.optimizer_text})` first",
                because=(
                    Because(filled.site, "this backward runs on the scaled loss"),
                    Because(step.site, "the clipped gradients are divided by the factor here"),
                ),
                fix=_unscale(step, clip.moment.site, name) if used.scaled is Tri.YES else None,
                severity=Severity.ERROR if step.scaler.enabled is Tri.YES else Severity.WARNING,
                fault=clip.moment.site,
            )
            return


@RULE.on(GradientClipped)
def check_clip(clip: GradientClipped) -> Iterator[Finding]:
    """Too late: the step has used the gradients."""
    if clip.function == "clip_grad_norm":
        yield Finding(
            clip.site,
            "`clip_grad_norm` is deprecated; call `clip_grad_norm_`",
            fix=_rename(clip.site),
            severity=Severity.INFO,
        )
    if clip.scope.framework or clip.unlimited or not clip.sets:
        return  # Another's loop; or only the norm is wanted.
    if not all(used.words == _USED for used in clip.sets):
        return  # Something was added since: the next step's.
    stepped = clip.sets[0].stepped
    if stepped is None or stepped.earlier_iteration(clip.loops):
        return
    yield Finding(
        clip.site,
        f"`{clip.function}` comes after the step that has used the gradients; clip before it",
        because=(Because(stepped.site, "the step uses the gradients as they are"),),
        fix=_move_up(stepped.site, clip.site),
        fault=clip.site,
    )


def _move(clip: Site, backward: Site) -> Fix | None:
    text = line_of(clip)
    if text is None or not adjacent(clip, backward):
        return None
    edits = (Edit("delete", clip.statement), Edit("insert_after", backward.statement, text))
    return Fix("clip after the backward", edits, safe=True)


def _move_up(step: Site, clip: Site) -> Fix | None:
    text = line_of(clip)
    if text is None or not adjacent(step, clip):
        return None
    edits = (Edit("insert_before", step.statement, text), Edit("delete", clip.statement))
    return Fix("clip before the step", edits, safe=True)


def _unscale(step: OptimizerStep, clip: Site, scaler: str) -> Fix | None:
    names = f"{scaler}.{step.optimizer_text}"
    if not same_block(clip, step.site) or not names.replace(".", "").isidentifier():
        return None  # The names may not exist there, or stand for something else.
    call = f"{scaler}.unscale_({step.optimizer_text})"
    return Fix(f"insert `{call}`", (Edit("insert_before", clip.statement, call),), safe=True)


def _rename(site: Site) -> Fix | None:
    node = site.node
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        edits = (Edit("replace", node.func.attr, "clip_grad_norm_"),)
        return Fix("call `clip_grad_norm_`", edits, safe=True)
    return None
