"""A kept `state_dict()` follows the training instead of remembering a state.

`state_dict()` copies nothing: its values are the parameters' own memory, which
`optimizer.step()` writes in place. So do `dict(...)`, `.copy()` and `copy.copy` of it, its items
under `.detach()` and `.data`, and, where the model is on the CPU, under `.cpu()`. What was kept as
the best state of a training run is the last one when it is loaded or saved; loading it back into
its model changes nothing. Nothing raises.

Bad:

    for epoch in range(epochs):
        train(model, optimizer)
        if score(model) > best:
            best, weights = score(model), model.state_dict()
    model.load_state_dict(weights)

Good:

            best, weights = score(model), copy.deepcopy(model.state_dict())

An error if it is kept in the loop that steps and loaded back, a warning if it was kept before that
loop, or is saved to a file. At info: it is loaded into another module, returned from a function,
or copied where the model is on a GPU (`.cpu()`); a parameter's `.data` or `.detach()` that is kept
over a step and computed with then, and a `.grad` that is kept over a backward without `zero_grad`
between.

Not reported: a `state_dict()` that is saved, loaded or averaged before the next step; one that is
replaced in each iteration; `copy.deepcopy`, `.clone()`; one whose values were replaced; the
`state_dict` of an optimizer; `load_state_dict(other.state_dict())`, which copies.

Fix: `copy.deepcopy(...)` around the call of `state_dict`; `.clone()` behind an alias (offered: the
alias may be kept to be written).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import AliasKept, Because, Edit, Finding, Fix, Rule, Severity, SnapshotUsed, Tri

RULE = Rule(__name__, __doc__, code="AG112", severity=Severity.ERROR)


@RULE.on(SnapshotUsed)
def check(used: SnapshotUsed) -> Iterator[Finding]:
    """The place to change is where the dict was made; the use shows that it was meant to last."""
    if used.stepped is not Tri.YES and used.own is not Tri.YES:
        return  # The optimizer may be another module's.
    made = used.made.text
    yield Finding(
        used.made,
        f"`{made}` is no copy: it changes with each step, so `{used.text}` is not the state that "
        f"was kept; use `copy.deepcopy({made})`",
        because=(
            Because(used.step.site, "this step changes it"),
            Because(used.site, _use(used)),
        ),
        fix=_fix(used),
        severity=_severity(used),
        fault=used.made,
    )


@RULE.on(AliasKept)
def check_alias(kept: AliasKept) -> Iterator[Finding]:
    """A parameter or gradient that was kept under a name; it may be kept as a handle."""
    if kept.scope.optimizer_code:
        return  # What keeps parameters to write them is an optimizer or an average.
    text = kept.made.text
    does = "each backward adds to it" if kept.through == "grad" else "it changes with each step"
    edit = Edit("append", kept.made.node, ".clone()")
    yield Finding(
        kept.made,
        f"`{text}` is no copy: {does}, so what is used later is not the value that was kept; "
        f"use `{text}.clone()`",
        because=(Because(kept.changed, "changed here"), Because(kept.site, "used here")),
        fix=None if kept.made.unit.indent else Fix("copy it", (edit,), safe=False),
        severity=Severity.INFO,
        fault=kept.made,
    )


def _severity(used: SnapshotUsed) -> Severity:
    if used.moved or used.how == "return":
        return Severity.INFO  # a copy on some devices; or nobody is seen to use it
    if used.how == "load":
        if used.own is Tri.YES:
            return Severity.ERROR if used.looped else Severity.WARNING
        return Severity.INFO  # another module may be meant to follow
    return Severity.WARNING if used.looped else Severity.INFO


def _use(used: SnapshotUsed) -> str:
    if used.moved:
        return f"used here; `.{used.moved}()` copies nothing that is on the CPU already"
    if used.how == "load" and used.own is Tri.YES:
        return "loaded back here, which changes nothing"
    return {"load": "loaded here", "save": "saved here", "return": "returned here"}[used.how]


def _fix(used: SnapshotUsed) -> Fix | None:
    if used.made.unit is not used.site.unit and used.made.unit.indent:
        return None
    if not isinstance(used.made.node, cst.Call):
        return None
    text = f"copy.deepcopy({used.made.text})"
    edit = Edit("replace", used.made.node, text)
    return Fix("copy it", (edit,), safe=True, imports=("import copy",))
