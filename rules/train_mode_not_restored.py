"""Model that is put into evaluation mode in its training loop, and stays in it.

`eval()` switches dropout off and lets batch norm use its running statistics, until `train()` is
called. A validation in the middle of the training that ends without `train()` leaves the model in
evaluation mode: from then on it is trained without dropout and with statistics that no longer
follow. Nothing raises, and the loss even looks better.

Bad:

    model.train()
    for x, y in loader:
        if step % 100 == 0:
            model.eval()
            validate(model)
        loss = criterion(model(x), y)
        ...
        optimizer.step()

Good:

    for x, y in loader:
        if step % 100 == 0:
            model.eval()
            validate(model)
            model.train()
        ...

Not reported: loops that call `train()` again before they step, also with a mode that was kept
(`model.train(was_training)`); a model that is never put into training mode, whose statistics are
meant to stay; the evaluation of another model; loops that a framework owns.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Because, Finding, Rule, Severity, SteppedInEval

RULE = Rule(__name__, __doc__, code="AG307", severity=Severity.WARNING)


@RULE.on(SteppedInEval)
def check(stepped: SteppedInEval) -> Iterator[Finding]:
    """Judged at the step, reported at the call of `eval()`."""
    if stepped.scope.framework:
        return  # The engine switches the modes.
    yield Finding(
        stepped.site,
        "the model stays in evaluation mode while it is trained on; call `train()` after the "
        "evaluation",
        because=(Because(stepped.stepped_at, "the step is taken in evaluation mode"),),
        fault=stepped.site,
    )
