"""Grad mode that is made but not entered, or switched off and never on again.

`torch.no_grad()` is a context: made as a statement of its own it is thrown away, and what follows
is recorded as before, with all its memory. `with torch.no_grad:` raises TypeError, since the
class itself is no context; only as a decorator it may stand without parentheses.
`torch.set_grad_enabled(False)` as a statement is the opposite: it acts at once and stays, so a
function that calls it switches recording off for its caller and all that runs later.

Bad:

    model.eval()
    torch.no_grad()
    outputs = model(x)

Good:

    model.eval()
    with torch.no_grad():
        outputs = model(x)

Not reported: a context that is kept in a variable or entered by an ExitStack; `@torch.no_grad`;
`no_grad()` where recording is off anyway; `set_grad_enabled(False)` at the top of a script, in a
file that switches it back, or in one that trains nothing. The leak is shown at severity info.

Fix: the parentheses behind `with torch.no_grad`; a decorator for a bare `torch.no_grad()`
(offered: which lines were meant is a guess).
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Edit, Finding, Fix, GradModeUnused, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG109", severity=Severity.ERROR)


@RULE.on(GradModeUnused)
def check(unused: GradModeUnused) -> Iterator[Finding]:
    """A mode that is not entered does nothing; one that is not left goes too far."""
    text, severity, fix = unused.site.text, Severity.ERROR, None
    if unused.how == "uncalled":
        message = f"`with {text}` raises TypeError; write `with {text}()`"
        fix = Fix("call it", (Edit("append", unused.site.node, "()"),), safe=True)
    elif unused.how == "dropped":
        on = unused.name == "enable_grad"
        if unused.mode.off is not on:
            return  # The mode is the wanted one anyway.
        stays = "stays off" if on else "goes on"
        message = f"`{text}` is not entered, so recording {stays}; write `with {text}:`"
        fix = _decorate(unused)
    elif unused.how == "entered":
        message = f"`{text}` is never left, so the mode stays; use `with`"
        severity = Severity.WARNING
    else:
        if not unused.records:
            return  # Nothing in the file is there to be differentiated.
        message = f"`{text}` holds for the caller too, and nothing switches back; use `with`"
        severity = Severity.INFO
    yield Finding(unused.site, message, fix=fix, severity=severity, fault=unused.site)


def _decorate(unused: GradModeUnused) -> Fix | None:
    """Cover the whole function by a decorator, if nothing in it is there to be recorded."""
    function = unused.function
    if function is None or function.decorators or unused.site.unit.indent:
        return None  # Among other decorators the place matters.
    if len(function.body.body) < 2:
        return None  # Without the statement nothing would be left.
    decorator = f"@{unused.site.text}"
    edits = (
        Edit("insert_before", function, decorator),
        Edit("delete", unused.site.statement),
    )
    return Fix(f"decorate the function with `{decorator}`", edits, safe=False)
