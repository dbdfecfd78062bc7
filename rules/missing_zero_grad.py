"""Gradients of the last step are still there when the next backward runs.

`backward()` adds to `.grad`; it does not replace it, and `step()` does not empty it. Without a
clear between two steps the second one uses the sum of both gradients, the third the sum of
three, and so on. Nothing raises: the loss falls at first, then overshoots or diverges, as with a
learning rate that grows at every step. A clear that stands one loop too high, clears another
optimizer's parameters, or lacks its parentheses (`optimizer.zero_grad`) does the same.

Bad:

    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

Good:

    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

An error if nothing in the file clears gradients, else a warning.

Not reported: accumulation over several backwards before one step; gradients that are cleared by
the optimizer, the model, `p.grad = None`, `p.grad.zero_()`, or a function, method or closure
that does so; parameters or optimizers that are new in each iteration; a single step; gradients
from `torch.autograd.grad`; optimizers handed to functions that cannot be followed; loops that
Lightning, accelerate, DeepSpeed and the like own; a generator's backward that reaches the
discriminator, if that is cleared before its own step.

Fix: `optimizer.zero_grad()` before the backward, where a loop holds one backward and one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Grade,
    OptimizerStep,
    Rule,
    Severity,
    Site,
    Word,
)

RULE = Rule(__name__, __doc__, code="AG401", severity=Severity.ERROR, missing=True)

_STALE = frozenset({Word.STALE})
_STALE_AFTER_ACCUMULATION = frozenset({Word.FRESH, Word.STALE})


@RULE.on(OptimizerStep)
def check(step: OptimizerStep) -> Iterator[Finding]:
    """Judged at the step: what it uses must not hold what an earlier step used."""
    if not step.loops or step.scope.framework or step.optimizer.grade is Grade.NAMED:
        return  # A single step, another's loop, or an optimizer by nothing but its name.
    cleared = step.scope.clears
    for used in step.sets:
        # A step under a test (`if i % k == 0`) meets gradients that may be fresh on some path.
        # They cannot stay so where nothing in the file clears.
        stale = used.words == _STALE or (not cleared and used.words == _STALE_AFTER_ACCUMULATION)
        if not stale or used.stale_at is None:
            continue
        name = step.optimizer_text
        yield Finding(
            used.stale_at,
            f"this backward adds to gradients that `{name}` has used already; "
            f"call `{name}.zero_grad()` once for each step",
            because=(Because(step.site, "the step uses the sum, and nothing has cleared it"),),
            fix=_fix(step, used.stale_at),
            severity=Severity.WARNING if cleared else Severity.ERROR,
            fault=used.stale_at,
        )


def _fix(step: OptimizerStep, backward: Site) -> Fix | None:
    """Clear before the backward: only if that and the step are statements of the same loop."""
    if step.backwards_in_loop != 1 or step.optimizers_in_loop != 1 or backward.unit.indent:
        return None
    body = getattr(step.loops[-1].loop.statement, "body", None)
    if not isinstance(body, cst.IndentedBlock):
        return None
    for place in (backward, step.site):
        if not isinstance(place.statement, cst.SimpleStatementLine):
            return None  # Behind the colon of a test.
        if not any(statement is place.statement for statement in body.body):
            return None  # Under a test it may be accumulation; elsewhere the name may not exist.
    name = step.optimizer_text
    if not name.replace(".", "").isidentifier():
        return None  # A call or an item may be another optimizer the next time.
    after = itertools.dropwhile(lambda each: each is not backward.statement, body.body)
    if any(_binds(each, name, backward.unit.module) for each in after):
        return None  # The optimizer gets its name only after the backward.
    clear = f"{name}.zero_grad()"
    return Fix(f"insert `{clear}`", (Edit("insert_before", backward.statement, clear),), safe=True)


def _binds(node: cst.CSTNode, name: str, module: cst.Module) -> bool:
    """Whether a dotted name, or a beginning of it, is bound somewhere in a node."""
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.NamedExpr)):
        bound = _bound(node.target)
    elif isinstance(node, cst.AsName):
        bound = _bound(node.name)
    else:
        bound = iter(())
    if any(f"{name}.".startswith(f"{module.code_for_node(each)}.") for each in bound):
        return True
    return any(_binds(child, name, module) for child in node.children)


def _bound(target: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The single targets of one that may be a tuple."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _bound(element.value)
    else:
        yield target
