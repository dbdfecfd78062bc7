"""Loss that applies softmax or sigmoid itself gets a prediction that went through one already.

`cross_entropy` takes logits: it computes `log_softmax` inside. Given probabilities, which all lie
between 0 and 1, the second softmax can never become certain, and its derivative times that of the
first is next to nothing where the model is confidently wrong: training crawls and stalls above
the loss it could reach. Nothing raises. `binary_cross_entropy_with_logits` and sigmoid are the
same. The other way round, `nll_loss` takes log-probabilities: of probabilities or of a raw layer
it takes a number for its own logarithm, and the loss is negative or has no lower bound;
`log(softmax(x))` becomes -inf, and its gradient nan, where a probability rounds to 0.
`binary_cross_entropy` on a raw layer raises as soon as an output leaves 0..1.

Bad:

    loss = F.cross_entropy(F.softmax(logits, dim=1), target)

Good:

    loss = F.cross_entropy(logits, target)

An error if both stand in one statement, else a warning: elsewhere the activation may be wanted
for other uses of the output. `cross_entropy(log_softmax(x))` is shown as info: the second one
changes nothing.

Not reported: an activation that is followed by anything but a change of shape; probabilities as
the target; predictions of models that are not seen; losses that are computed while nothing is
recorded.

Fix, in one expression: the activation goes; `nll_loss` of softmax or its log becomes
`cross_entropy`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, LossApplied, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG514", severity=Severity.WARNING)

_SOFTMAX = frozenset({"softmax", "Softmax", "Softmax2d"})
_LOG_SOFTMAX = frozenset({"log_softmax", "LogSoftmax"})
_SIGMOID = frozenset({"sigmoid", "Sigmoid"})
_RAW = frozenset({"Linear", "linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d"})
_CROSS_ENTROPY = frozenset({"cross_entropy", "CrossEntropyLoss"})
_WITH_LOGITS = frozenset({"binary_cross_entropy_with_logits", "BCEWithLogitsLoss"})
_NLL = frozenset({"nll_loss", "NLLLoss"})
_BCE = frozenset({"binary_cross_entropy", "BCELoss"})


@RULE.on(LossApplied)
def check(applied: LossApplied) -> Iterator[Finding]:
    """What the loss expects against what the last operation gives."""
    advice = _advice(applied)
    if advice is None:
        return
    together = applied.made.statement is applied.site.statement
    severity = Severity.ERROR if together else Severity.WARNING
    if applied.loss in _CROSS_ENTROPY and applied.activation in _LOG_SOFTMAX:
        severity = Severity.INFO  # A second log_softmax changes nothing.
    prediction = " ".join(applied.site.unit.module.code_for_node(applied.prediction).split())
    yield Finding(
        applied.site,
        f"`{applied.loss}` {advice}; `{prediction}` comes out of `{applied.activation}`",
        because=() if together else (Because(applied.made, "the last operation is here"),),
        fix=_fix(applied),
        severity=severity,
    )


def _advice(applied: LossApplied) -> str | None:
    """What is wrong with a loss of this output; None if nothing is."""
    loss, activation = applied.loss, applied.activation
    if loss in _CROSS_ENTROPY and activation in _SOFTMAX | _LOG_SOFTMAX:
        return "applies log_softmax itself, give it logits"
    if loss in _WITH_LOGITS and activation in _SIGMOID:
        return "applies sigmoid itself, give it logits"
    if loss in _NLL and activation in _SOFTMAX | _RAW:
        return "takes log-probabilities, give it log_softmax"
    if loss in _NLL and activation == "log" and applied.before in _SOFTMAX:
        return "gets log(softmax), which overflows, give it log_softmax"
    if loss in _BCE and activation in _RAW:
        return "takes probabilities, use binary_cross_entropy_with_logits"
    return None


def _fix(applied: LossApplied) -> Fix | None:
    """Take the activation out of the argument, where it is written there."""
    call, module = applied.site.node, applied.site.unit.module
    if applied.logits is None or not isinstance(call, cst.Call):
        return None
    text = module.code_for_node(applied.logits)
    if "\n" in text:
        return None
    edits = [Edit("replace", applied.prediction, text)]
    if applied.loss in _NLL:
        if applied.loss != "nll_loss" or not isinstance(call.func, cst.Attribute):
            return None  # Another name would have to be imported, or the loss is built elsewhere.
        edits.insert(0, Edit("replace", call.func.attr, "cross_entropy"))
    return Fix("give the loss logits", tuple(edits), safe=True)
