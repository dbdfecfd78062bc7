"""Tensor that requires grad is given to numpy.

An array cannot carry a history, so torch refuses to make one of a tensor that requires grad:
`.numpy()`, `np.array(t)`, `np.sqrt(t)` and functions that get a list of such tensors raise
RuntimeError ("Can't call numpy() on Tensor that requires grad"). Under no_grad the same call works
even for a parameter. `.detach()` says that the history is not wanted; it shares the memory.

Bad:

    losses.append(loss)
    print(np.mean(losses))

Good:

    losses.append(loss.item())
    print(np.mean(losses))

Not reported: tensors that are not surely known to require grad; anything under no_grad or where
the mode is not known; `.numpy(force=True)`; integer results.

Fix: `.detach().cpu()` before `.numpy()`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, GivenToNumpy, Grade, GradMode, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG505", severity=Severity.ERROR)


@RULE.on(GivenToNumpy)
def check(given: GivenToNumpy) -> Iterator[Finding]:
    """It raises exactly if recording is on and the tensor requires grad."""
    if given.mode is not GradMode.ON or given.tensor.grade is Grade.NAMED:
        return  # Without recording the flag does not matter.
    text = given.site._replace(node=given.node).text
    what = f"the tensors in `{text}` require grad" if given.listed else f"`{text}` requires grad"
    made = given.tensor.origin
    because: tuple[Because, ...] = ()
    if made is not None and made.statement is not given.site.statement:
        because = (Because(made, "its history begins here"),)
    yield Finding(
        given.site,
        f"{what}, which numpy cannot take: this raises RuntimeError; detach first",
        because=because,
        fix=_fix(given),
        fault=given.site,
    )


def _fix(given: GivenToNumpy) -> Fix | None:
    """Detach what numpy gets, where that is an expression that a method can follow."""
    node = given.node
    if given.listed or given.site.unit.indent:
        return None
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
        return None
    text = ".detach().cpu()" if given.function is None else ".detach().cpu().numpy()"
    return Fix("detach it", (Edit("append", node, text),), safe=True)
