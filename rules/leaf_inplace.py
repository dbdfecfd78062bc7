"""In-place operation on a leaf that requires grad, while gradients are recorded.

A leaf is where gradients gather: a parameter, or any tensor made with `requires_grad=True`. A
recorded in-place operation would turn it into a result, and `.grad` would have no place to be, so
torch refuses: "a leaf Variable that requires grad is being used in an in-place operation". This
holds for `w += 1`, `w[0] = 1`, `w.add_(1)` and `F.relu(w, inplace=True)`, and for views of it.
`w = w - 1` does not raise, but `w` is no leaf any more and gets no `.grad`.

Bad:

    loss.backward()
    weight -= 0.1 * weight.grad

Good:

    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad

Not reported: under `no_grad`, by block, decorator or caller; where nobody is seen to call the
function and it may be under `no_grad`; `torch.nn.init`, which switches recording off; `.data`;
leaves that need no gradient; `w = w.clone()` before the write; the leaf's `.grad`.

Fix: `with torch.no_grad():` around an update from `.grad`.
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
    GradMode,
    LeafWritten,
    Rule,
    Severity,
)

RULE = Rule(__name__, __doc__, code="AG205", severity=Severity.ERROR)


@RULE.on(LeafWritten)
def check(write: LeafWritten) -> Iterator[Finding]:
    """A leaf is written where recording is surely on."""
    if write.mode is not GradMode.ON:
        return  # Somebody may call this under no_grad.
    if write.base.grade is Grade.NAMED:
        return
    if write.scope.optimizer_code and not write.scope.calls:
        return  # To change parameters is its purpose; nobody is seen to call it while recording.
    base = write.base
    because: tuple[Because, ...] = ()
    if base.origin is not None and base.origin.statement is not write.site.statement:
        because = (Because(base.origin, "this leaf requires grad"),)
    view = "a view of a leaf" if write.target.state is not base.state else "a leaf"
    yield Finding(
        write.site,
        f"`{write.target_text}` is {view} that requires grad: an in-place operation on it raises "
        "while gradients are recorded; use torch.no_grad() to update it",
        because=because,
        fix=_fix(write),
        fault=write.site,
    )


def _fix(write: LeafWritten) -> Fix | None:
    """no_grad around an update from the gradient: there a history is surely not wanted."""
    statement, unit = write.site.statement, write.site.unit
    if unit.indent or not isinstance(statement, cst.SimpleStatementLine):
        return None
    if not any(
        isinstance(node, cst.Attribute) and node.attr.value == "grad" for node in _nodes(statement)
    ):
        return None
    edit = Edit("wrap", statement, "with torch.no_grad():")
    return Fix("update it under no_grad", (edit,), safe=True, imports=("import torch",))


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)
