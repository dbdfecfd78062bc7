"""In-place write to a value that an operation saved for its backward.

Many operations keep a tensor for their gradient: sigmoid, tanh, exp, relu, softmax and sqrt their
result, `x ** 2`, `x * y` and a matrix product what they got. The tensor itself is kept, not a copy,
with the number of its version. A write to it, or to any view of its memory, raises that number, and
backward refuses: "one of the variables needed for gradient computation has been modified by an
inplace operation". The line that it blames is the operation that saved the value, not the write.

Most results are kept by nobody and may be written: that of a sum, a linear layer, a convolution, a
normalisation. That any in-place operation spoils a graph is a legend.

Bad:

    out = self.relu(self.conv(x))
    out += residual

Good:

    out = self.relu(self.conv(x))
    out = out + residual

Not reported: values that nothing saved, or only an operation that needs no gradient; writes before
the value is used or after the backward; copies; parameters that are updated too early (AG410);
writes through `detach()` (AG104), which raise as well, and through `.data` (AG102), which do not.

A warning where no backward is in sight. Fix: `out = out + residual` for `out += residual`,
`inplace=False` for `inplace=True` where the result is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Backward,
    Because,
    Edit,
    Finding,
    Fix,
    GradMode,
    InPlaceWrite,
    Rule,
    SavedWritten,
    Severity,
    Through,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG506", severity=Severity.ERROR)


@RULE.on(Backward)
def check_backward(backward: Backward) -> Iterator[Finding]:
    """A backward needs a value that was written since it was saved."""
    for stale in backward.stale:
        write = stale.write
        if not isinstance(write, InPlaceWrite) or not _concerns(write):
            continue  # Through an alias: AG102, AG104; a parameter: AG410.
        yield _finding(write, Severity.ERROR, Because(backward.site, "needed here"))


@RULE.on(SavedWritten)
def check_write(write: SavedWritten) -> Iterator[Finding]:
    """A value is written of which the graph that is being recorded keeps the old one."""
    state = write.target.state
    if not _concerns(write) or write.mode is not GradMode.ON:
        return  # Without a caller that records, it may be code for inference only.
    if state.requires_grad is not Tri.YES or write.target.tensor is not Tri.YES:
        return  # An input or a buffer: whether a gradient flows past it is not known yet.
    if all(saved.sure is not Tri.YES for saved in write.saved_by):
        return  # Saved on some paths only, or the graph may be gone.
    yield _finding(write, Severity.WARNING)


def _concerns(write: InPlaceWrite) -> bool:
    """Whether a tensor is written itself that is no parameter."""
    base = write.base.state
    if write.through is not Through.SELF or write.target.tensor is Tri.NO:
        return False
    return base.leaf is not Tri.YES or base.requires_grad is Tri.NO


def _finding(write: InPlaceWrite, severity: Severity, *more: Because) -> Finding:
    savers = [saved for saved in write.saved_by if saved.sure is Tri.YES]
    saver = savers[-1] if savers else None
    what = f"what `{_short(saver.operation)}` saved" if saver else "what was saved"
    because = [
        Because(saved.origin, f"saved for backward by `{_short(saved.operation)}`")
        for saved in savers
        if saved.origin is not None
    ]
    return Finding(
        write.site,
        f"in-place write to `{write.target_text}` overwrites {what} for backward, which raises; "
        "use an out-of-place operation",
        because=(*because, *more),
        fix=_fix(write),
        severity=severity,
        fault=write.site,
        scope=write.scope,
    )


def _short(operation: str) -> str:
    return operation.rpartition(".")[2]


def _fix(write: InPlaceWrite) -> Fix | None:
    """The same operation out of place, for a name that the statement binds anyway."""
    statement, unit = write.site.statement, write.site.unit
    if unit.indent or not isinstance(statement, cst.SimpleStatementLine):
        return None
    if len(statement.body) != 1:
        return None
    small = statement.body[0]
    if isinstance(small, cst.AugAssign) and isinstance(small.target, cst.Name):
        return _plain_assignment(write, small, small.target)
    call = write.site.node
    if not isinstance(small, (cst.Assign, cst.Return)) or not isinstance(call, cst.Call):
        return None  # What hands its result to nobody is there for the write.
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "inplace":
            edit = Edit("replace", argument.value, "False")
            return Fix("compute out of place", (edit,), safe=False)
    return None


def _plain_assignment(write: InPlaceWrite, small: cst.AugAssign, target: cst.Name) -> Fix | None:
    """`h = h + s` for `h += s`; safe if nothing can have another name for the tensor."""
    symbol = write.operation.removesuffix("=")
    value = small.value
    if symbol not in ("+", "-", "*", "/") or (
        not value.lpar and isinstance(value, (cst.BinaryOperation, cst.IfExp, cst.BooleanOperation))
    ):
        opening, closing = "(", ")"
        if "\n" in write.site.unit.module.code_for_node(value):
            return None
    else:
        opening = closing = ""
    if isinstance(value, (cst.Tuple, cst.Yield, cst.Lambda, cst.Comparison, cst.UnaryOperation)):
        return None
    first = value.lpar[0] if value.lpar else value
    edits = [Edit("replace", small.operator, f"= {target.value} {symbol} {opening}", until=first)]
    if closing:
        edits.append(Edit("append", value, closing))
    return Fix("compute out of place", tuple(edits), _made_just_before(write, target))


def _made_just_before(write: InPlaceWrite, target: cst.Name) -> bool:
    """Whether the statement before the write binds the name to a new tensor: no other has it."""
    made, statement = write.made, write.site.statement
    if made is None or made.unit is not write.site.unit:
        return False
    before = made.statement
    if not isinstance(before, cst.SimpleStatementLine) or len(before.body) != 1:
        return False
    small = before.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return False
    bound = small.targets[0].target
    if not isinstance(bound, cst.Name) or bound.value != target.value:
        return False
    return small.value is made.node and _adjacent(made.unit.module, before, statement)


def _adjacent(node: cst.CSTNode, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether one statement follows the other in a block."""
    pending = [node]
    while pending:
        children = list(pending.pop().children)
        if any(one is first and two is second for one, two in itertools.pairwise(children)):
            return True
        pending.extend(child for child in children if not isinstance(child, cst.BaseExpression))
    return False
