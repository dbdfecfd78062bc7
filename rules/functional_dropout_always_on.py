"""Dropout in forward that does not know of `eval()`.

`F.dropout` is a function and has no state: its `training` is True unless it is told otherwise,
and `model.eval()` cannot reach it. Validation and inference go on dropping values at random, two
calls with one input differ, and the score is lower than the model's. The same holds of
`F.dropout1d` to `3d`, of `training=True`, of `nn.Dropout(p)(x)` built and called in forward (a
new module is in training mode), and of `scaled_dot_product_attention(dropout_p=0.1)`.

Bad:

    def forward(self, x):
        return self.head(F.dropout(x, 0.5))

Good:

    def forward(self, x):
        return self.head(F.dropout(x, 0.5, training=self.training))

Not reported: calls that forward does not lead to; where forward, or what called it, reads
`self.training` before; where a test around the call, or the class, the function or a comment at
the line, says that the noise is wanted (Monte Carlo and variational dropout, sampling,
ensembles); a probability of 0; `alpha_dropout` without `training`, which is off by default.

Fix: `training=self.training`; for attention `dropout_p=p if self.training else 0.0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Edit,
    Event,
    Finding,
    Fix,
    FreshLayerCalled,
    FunctionalDropout,
    Rule,
    Severity,
)

RULE = Rule(__name__, __doc__, code="AG303", severity=Severity.ERROR)

_ATTENTION = "dropout_p"
_WANTED = re.compile(
    r"train|eval|infer|test|\bmc|mc_|_mc|mc[A-Z]|MC|[mM]onte|[bB]ayes|[sS]ampl|[sS]toch|[uU]ncert"
    r"|[vV]ariation|[eE]nsemble|[nN]ois|always|[aA]ugment"
)


@RULE.on(FunctionalDropout)
def check_function(dropout: FunctionalDropout) -> Iterator[Finding]:
    """A call that is on by default, or by a literal."""
    if dropout.asked or _wanted(dropout) or dropout.probability in (0, 0.0):
        return  # The call stands behind a test of `self.training`, drops on purpose, or nothing.
    attention, given = dropout.switch == _ATTENTION, dropout.training
    if attention and not isinstance(dropout.probability, (int, float)):
        return  # The caller may have passed 0 outside training.
    if not attention and given is not None and not _is_true(given):
        return  # Some value that is not known is the switch.
    yield Finding(
        dropout.site,
        f"`{dropout.operation}` drops values after `eval()` too; "
        + ("give it 0.0 outside training" if attention else "pass `training=self.training`"),
        fix=_fix(dropout),
        fault=dropout.site,
    )


@RULE.on(FreshLayerCalled)
def check_layer(called: FreshLayerCalled) -> Iterator[Finding]:
    """`nn.Dropout(p)(x)`: a module that nothing switches."""
    if "Dropout" not in called.layer or not called.training_matters:
        return
    if called.asked or _wanted(called) or called.probability in (0, 0.0):
        return  # As above.
    yield Finding(
        called.site,
        f"this `{called.layer}` is new at every call, and so always in training mode; "
        "build it in `__init__` and keep it on self",
        fault=called.site,
    )


def _wanted(event: Event) -> bool:
    """Whether a test around, a name or a comment says that the noise is meant to stay."""
    if any(_WANTED.search(guard.test.text) for guard in event.guards):
        return True
    names = event.scope.qualname.replace("forward", "").replace("<locals>", "")
    if re.search(r"[dD]ropout|^[dD]rop|\.[dD]rop", names) or _WANTED.search(names):
        return True
    statement = event.site.statement
    lines = getattr(statement, "leading_lines", ())
    comments = [line.comment for line in lines if line.comment]
    trailing = getattr(statement, "trailing_whitespace", None)
    if trailing is not None and trailing.comment:
        comments.append(trailing.comment)
    return any(_WANTED.search(comment.value.partition("expect:")[0]) for comment in comments)


def _is_true(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "True"


def _fix(dropout: FunctionalDropout) -> Fix | None:
    """Let the module's own mode decide."""
    receiver, call = dropout.receiver, dropout.site.node
    if receiver is None or not isinstance(call, cst.Call) or not call.args:
        return None
    mode = f"{receiver}.training"
    if dropout.training is None:
        edit = Edit("append", call.args[-1].value, f", {dropout.switch}={mode}")
    elif dropout.switch != _ATTENTION:
        edit = Edit("replace", dropout.training, mode)
    else:
        number = dropout.site.unit.module.code_for_node(dropout.training)
        if isinstance(dropout.training, (cst.IfExp, cst.Lambda)) or "\n" in number:
            return None
        edit = Edit("append", dropout.training, f" if {mode} else 0.0")
    return Fix(f"ask `{mode}`", (edit,), safe=True)
