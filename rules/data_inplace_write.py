"""Value changed in place through `.data`, which autograd cannot see.

`x.data` shares the memory of `x` but not its version counter. An operation that needs `x` for its
backward notes the version it saw; a write through `.data` leaves that number as it was. So backward
goes on with values that the forward pass never used: no error, and a wrong gradient. The same write
to `x` itself under `torch.no_grad()` is counted, and backward refuses with "one of the variables
needed for gradient computation has been modified by an inplace operation". If nothing saved the
value but it is a result in the graph, the loss sees the new value and the gradient ignores that
it was put there.

Where no graph needs the old value (initialisation, averages of weights, clipping after a step) the
write is right, and reported as a matter of style only: the day somebody moves it, nobody will warn.

Bad:

    loss = (weight * weight).sum()
    weight.data.mul_(10)
    loss.backward()

Good:

    loss = (weight * weight).sum()
    loss.backward()
    with torch.no_grad():
        weight.mul_(10)

Not reported: writes in the `step` of an optimizer and in functions that initialise; objects whose
`.data` is no tensor; reading `.data`; writing into a copy (`x.data.clone()`).

Fix: where no graph needs the old value, `with torch.no_grad():` and the tensor itself.
"""

from __future__ import annotations

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
    Severity,
    SourceUsed,
    Through,
    Tri,
)

RULE = Rule(
    __name__,
    __doc__,
    code="AG102",
    severity=Severity.ERROR,
    more_specific_than=("AG506",),
)

_METHODS: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "add_",
    cst.SubtractAssign: "sub_",
    cst.MultiplyAssign: "mul_",
    cst.DivideAssign: "div_",
}


@RULE.on(InPlaceWrite)
def check_write(write: InPlaceWrite) -> Iterator[Finding]:
    """Any write through `.data`; whether it spoils something is seen later."""
    if not _concerns(write):
        return
    yield Finding(
        write.site,
        f"in-place write to `{write.target_text}` is hidden from autograd; "
        "write to the tensor itself under torch.no_grad()",
        because=_alias(write),
        fix=_fix(write),
        severity=Severity.INFO,
        fault=write.site,
        scope=write.scope,
    )


@RULE.on(SourceUsed)
def check_use(use: SourceUsed) -> Iterator[Finding]:
    """A result of the graph was changed and is used on, as if the change had been recorded."""
    write = use.write
    if not _concerns(write):
        return
    if write.base.state.leaf is not Tri.NO or write.base.state.requires_grad is not Tri.YES:
        return  # A leaf may have any value; so may what has no history.
    saving = [saved for saved in write.saved_by if saved.sure is Tri.YES]
    because = [*_alias(write)]
    for saved in saving:
        if saved.origin is not None:
            because.append(Because(saved.origin, f"saved for backward by `{saved.operation}`"))
    because.append(Because(use.site, "used in the graph afterwards"))
    yield Finding(
        write.site,
        f"in-place write to `{write.target_text}` changes a value with history: its gradient "
        "ignores the change; use an out-of-place operation such as masked_fill or where",
        because=tuple(because),
        severity=Severity.ERROR if saving else Severity.WARNING,
        fault=write.site,
        scope=write.scope,
    )


@RULE.on(Backward)
def check_backward(backward: Backward) -> Iterator[Finding]:
    """A backward needs a value that was changed since it was saved."""
    for stale in backward.stale:
        write = stale.write
        if not isinstance(write, InPlaceWrite) or not _concerns(write):
            continue  # Changed in another way: AG104, AG118, AG506.
        saved = [
            Because(by.origin, f"saved for backward by `{by.operation}`")
            for by in write.saved_by
            if by.origin is not None
        ]
        yield Finding(
            write.site,
            f"in-place write to `{write.target_text}` changes a value that backward needs, and "
            "autograd cannot see it; write after backward, under torch.no_grad()",
            because=(*_alias(write), *saved, Because(backward.site, "needed here")),
            fault=write.site,
            scope=write.scope,
        )


def _concerns(write: InPlaceWrite) -> bool:
    """Whether a tensor is surely written through `.data`, where that is not the purpose."""
    through_data = write.through is Through.DATA or (
        write.through is Through.NUMPY
        and any(each.through is Through.DATA for each in write.target.sources())
    )
    # An optimizer or initialiser changes parameters while no graph is there.
    return through_data and write.base.tensor is Tri.YES and not write.scope.optimizer_code


def _alias(write: InPlaceWrite) -> tuple[Because, ...]:
    """Where the alias was made, if that is another place."""
    if write.made is None or write.made.statement is write.site.statement:
        return ()
    return (Because(write.made, "shares its memory since here"),)


def _fix(write: InPlaceWrite) -> Fix | None:
    """The same write, under no_grad and without `.data`: only for a statement of its own."""
    statement, unit = write.site.statement, write.site.unit
    if write.saved_by or write.mode is GradMode.INFERENCE or unit.indent:
        return None
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    if write.made is not None and write.made.statement is not statement:
        return None  # The alias was made elsewhere: a `.data` here is another object's attribute.
    small = statement.body[0]
    removal = _without_data(small)
    if removal is None:
        return None
    # A function called in the statement might record something that is kept.
    safe = sum(isinstance(each, cst.Call) for each in _nodes(small)) <= isinstance(small, cst.Expr)
    if write.mode is GradMode.OFF and not write.scope.calls:
        # Off in this very function: a caller's mode would say nothing about the other callers.
        return Fix("write to the tensor itself", removal, safe)
    edits = (Edit("wrap", statement, "with torch.no_grad():"), *removal)
    return Fix("write to the tensor itself under no_grad", edits, safe, ("import torch",))


def _without_data(small: cst.BaseSmallStatement) -> tuple[Edit, ...] | None:
    """What turns a write to `x.data` into the same write to `x`."""
    if isinstance(small, cst.Expr):
        target = small.value
    elif isinstance(small, cst.AugAssign):
        target = small.target
    elif isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
    else:
        return None
    access = _data_access(target)
    if access is None:
        return None
    if not isinstance(small, cst.AugAssign) or access is not target:
        return Edit("replace", access.dot), Edit("replace", access.attr)
    # `x.data += y` is `x.add_(y)`: the augmented form would bind the name `x` anew.
    method = _METHODS.get(type(small.operator))
    if method is None or access.lpar:
        return None
    value = small.value.lpar[0] if small.value.lpar else small.value
    call = Edit("replace", access.dot, f".{method}(", until=value)
    return call, Edit("append", small, ")")


def _data_access(node: cst.BaseExpression) -> cst.Attribute | None:
    """The `x.data` from which a target is reached by methods, items and attributes."""
    while True:
        if isinstance(node, cst.Attribute):
            if node.attr.value == "data":
                return node
            node = node.value
        elif isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call):
            node = node.func
        else:
            return None


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)
