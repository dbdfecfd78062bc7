"""In-place write into a detached alias, which changes the tensor of the graph.

`x.detach()` is a view without history, not a copy: it shares the memory of `x`, and its version
counter. If the graph saved the value of `x` (sigmoid, softmax, exp save their result), backward
raises "one of the variables needed for gradient computation has been modified by an inplace
operation". If it did not (a sum, a linear layer), nothing is raised: `x` has another value from
there on, and with it the loss. Through `.detach().numpy()` even the write to a saved value is
silent, since numpy has no version counter, and the gradient is wrong.

Bad:

    attention = scores.softmax(dim=-1)
    shown = attention.detach()
    shown[shown < 0.1] = 0
    loss = (attention * values).sum()

Good:

    shown = attention.detach().clone()
    shown[shown < 0.1] = 0

Not reported: `.detach().clone()`; an alias of a value that nothing uses afterwards, such as
`(a - b).detach()`; a parameter or an input that no graph uses yet; `h = h.detach()` without a
write; `x.detach_()`.

Fix: `.clone()` after `.detach()`, unless a parameter or nothing but the source is meant to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from autolint.api import (
    Backward,
    Because,
    Edit,
    Finding,
    Fix,
    InPlaceWrite,
    Rule,
    Severity,
    Site,
    SourceUsed,
    Through,
    Tri,
)

RULE = Rule(
    __name__,
    __doc__,
    code="AG104",
    severity=Severity.ERROR,
    more_specific_than=("AG506",),
)


@RULE.on(SourceUsed)
def check_use(use: SourceUsed) -> Iterator[Finding]:
    """A result of the graph was changed through a detached alias and is used on."""
    write = use.write
    if not _concerns(write):
        return
    if write.base.state.leaf is not Tri.NO or write.base.state.requires_grad is not Tri.YES:
        return  # Parameters and inputs are written on purpose before they are used.
    saving = [saved for saved in write.saved_by if saved.sure is Tri.YES]
    yield Finding(
        write.site,
        f"in-place write to `{write.target_text}` also changes the tensor it was detached from, "
        "which is used afterwards; clone it after detach()",
        because=(*_chain(write), Because(use.site, "used in the graph afterwards")),
        fix=_fix(write),
        severity=Severity.ERROR if saving else Severity.WARNING,
        fault=write.site,
        scope=write.scope,
    )


@RULE.on(Backward)
def check_backward(backward: Backward) -> Iterator[Finding]:
    """A backward needs a value that was changed through a detached alias since it was saved."""
    for stale in backward.stale:
        write = stale.write
        if not isinstance(write, InPlaceWrite) or not _concerns(write):
            continue  # Changed in another way: AG102, AG118, AG506.
        seen = "gives a wrong gradient" if write.through is Through.NUMPY else "raises"
        yield Finding(
            write.site,
            f"in-place write to `{write.target_text}` also changes the tensor it was detached "
            f"from, which backward needs: it {seen}; clone it after detach()",
            because=(*_chain(write), Because(backward.site, "needed here")),
            fix=_fix(write),
            fault=write.site,
            scope=write.scope,
        )


def _concerns(write: InPlaceWrite) -> bool:
    """Whether a tensor is surely written through `detach()`, directly or by way of numpy."""
    if write.through is Through.NUMPY:
        # Through `.data` to numpy is AG102's.
        return any(each.through is Through.DETACH for each in write.target.sources())
    return write.through is Through.DETACH and write.base.tensor is Tri.YES


def _chain(write: InPlaceWrite) -> tuple[Because, ...]:
    """Where the alias was made, and which operations saved the value."""
    chain: list[Because] = []
    if write.made is not None and write.made.statement is not write.site.statement:
        chain.append(Because(write.made, "shares its memory since here"))
    for saved in write.saved_by:
        if saved.origin is not None and saved.sure is Tri.YES:
            chain.append(Because(saved.origin, f"saved for backward by `{saved.operation}`"))
    return tuple(chain)


def _fix(write: InPlaceWrite) -> Fix | None:
    """`.clone()` behind the `.detach()` that made the alias, if it stands in this file."""
    made = write.made
    if made is None or made.unit is not write.site.unit or made.unit.indent:
        return None
    if write.base.state.leaf is not Tri.NO:
        return None  # To change a parameter is meant; it is only done at the wrong time.
    call = made.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if call.func.attr.value != "detach":
        return None
    if made.statement is write.site.statement:
        if not _kept(made):
            return None  # In a copy that nothing holds, the write would be lost.
        safe = True
    else:
        safe = _written_for_itself(write, made)
    return Fix("clone the detached tensor", (Edit("append", call, ".clone()"),), safe)


def _kept(made: Site) -> bool:
    """Whether the statement keeps what is computed with the alias: it assigns or returns it."""
    return any(
        isinstance(small, (cst.Assign, cst.AnnAssign, cst.Return))
        and small.value is not None
        and any(node is made.node for node in (small.value, *_nodes(small.value)))
        for small in _simple_statements(made.statement)
    )


def _simple_statements(node: cst.CSTNode) -> Sequence[cst.BaseSmallStatement]:
    """Those of a line, also behind the colon of a compound statement."""
    if isinstance(node, cst.BaseCompoundStatement):
        node = node.body
    return (
        node.body if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else ()
    )


def _written_for_itself(write: InPlaceWrite, made: Site) -> bool:
    """Whether the alias is private to a function and read there, apart from the write.

    Else the write may be there for the sake of the source, or of what another function does with
    the alias: in the copy it would be lost.
    """
    name = _name(made.statement)
    function = _innermost(made.unit.module, made.statement)
    if name is None or function is not _innermost(made.unit.module, write.site.statement):
        return False
    apart = (made.statement, write.site.statement)
    return any(
        isinstance(node, cst.Name) and node.value == name for node in _nodes(function, apart)
    )


def _name(statement: cst.CSTNode) -> str | None:
    """The one name that a statement assigns to, if it does nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
    elif isinstance(small, cst.AnnAssign):
        target = small.target
    else:
        return None
    return target.value if isinstance(target, cst.Name) else None


def _innermost(node: cst.CSTNode, statement: cst.CSTNode) -> cst.CSTNode:
    """The innermost function that holds a statement, or the module."""
    function, pending = node, [(node, node)]
    while pending:
        each, around = pending.pop()
        if each is statement:
            return around
        if isinstance(each, cst.FunctionDef):
            around = each
        pending.extend((child, around) for child in each.children)
    return function


def _nodes(node: cst.CSTNode, apart: tuple[cst.CSTNode, ...] = ()) -> Iterator[cst.CSTNode]:
    """All nodes below one, but for those within some statements."""
    for child in node.children:
        if child not in apart:
            yield child
            yield from _nodes(child, apart)
