"""Scheduler that steps before its optimizer.

A scheduler sets the learning rate for the next step. When it steps first, the rate that the
optimizer was given is never used: with rates 1.0, 0.1, 0.01 the training runs with 0.1, 0.01,
0.001. torch says so once, in a UserWarning ("Detected call of `lr_scheduler.step()` before
`optimizer.step()`").

Bad:

    for epoch in range(epochs):
        scheduler.step()
        for x, y in loader:
            ...
            optimizer.step()

Good:

    for epoch in range(epochs):
        for x, y in loader:
            ...
            optimizer.step()
        scheduler.step()

Not reported: a step before the whole training; a step under a test; `ReduceLROnPlateau` and others
that get a metric; schedulers that go on from an earlier run (`last_epoch=`); optimizers that may
have stepped in code that is not seen; `.step()` of other objects.

Fix: the scheduler behind the optimizer, where both are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Rule,
    SchedulerTooEarly,
    Severity,
    adjacent,
    line_of,
)

RULE = Rule(__name__, __doc__, code="AG408", severity=Severity.WARNING)


@RULE.on(SchedulerTooEarly)
def check(early: SchedulerTooEarly) -> Iterator[Finding]:
    """Judged when the optimizer takes its first step."""
    yield Finding(
        early.site,
        f"the scheduler steps before `{early.optimizer_text}`, whose first learning rate is never "
        "used; step it afterwards",
        because=(Because(early.stepped_at, "the optimizer's first step"),),
        fix=_fix(early),
        fault=early.site,
    )


def _fix(early: SchedulerTooEarly) -> Fix | None:
    """Exchange two lines that follow each other."""
    line = line_of(early.site)
    if early.site.unit.indent or line is None or not adjacent(early.site, early.stepped_at):
        return None
    edits = (
        Edit("delete", early.site.statement),
        Edit("insert_after", early.stepped_at.statement, line),
    )
    return Fix("step the scheduler afterwards", edits, safe=True)
