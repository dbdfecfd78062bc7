"""`requires_grad` set where it changes nothing.

Only tensors have the flag. On a module `module.requires_grad = False` makes a plain attribute of
that name: all its parameters stay trainable, the optimizer goes on changing them, and nothing
raises. A misspelt name does the same on a tensor (`p.require_grad = False`): tensors and modules
take any attribute.

Bad:

    model.backbone.requires_grad = False
    for p in model.head.parameters():
        p.require_grad = True

Good:

    model.backbone.requires_grad_(False)
    for p in model.head.parameters():
        p.requires_grad = True

Not reported: tensors and parameters; a module class that has an attribute or property
`requires_grad` of its own; objects that are not known to be modules, such as a configuration.
`x.requires_grad_` without parentheses is AG113.

Fix: `module.requires_grad_(False)`, the right name.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Edit, Finding, Fix, FlagMissed, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG108", severity=Severity.ERROR)


@RULE.on(FlagMissed)
def check(missed: FlagMissed) -> Iterator[Finding]:
    """Each is without effect, unless the class gives the name a meaning of its own."""
    if missed.own:
        return  # Something in the class may read it.
    receiver, name = missed.receiver_text, missed.name
    if missed.kind == "module":
        message = (
            f"`{receiver}` is a module, whose parameters do not see `{name}`; "
            f"call `{receiver}.requires_grad_(...)`"
        )
    else:
        message = f"`{receiver}.{name}` is a new attribute; the flag is called `requires_grad`"
    yield Finding(missed.site, message, fix=_fix(missed), fault=missed.site)


def _fix(missed: FlagMissed) -> Fix | None:
    """The method for a module, the right name for a tensor."""
    target = missed.site.node
    if not isinstance(target, cst.Attribute):
        return None
    if missed.kind == "tensor":
        return Fix("name it", (Edit("replace", target.attr, "requires_grad"),), safe=True)
    line = missed.site.statement
    smalls = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    for small in smalls:
        if (
            isinstance(small, cst.Assign)
            and len(small.targets) == 1
            and small.targets[0].target is target
            and not small.value.lpar
        ):
            call = f"{missed.receiver_text}.requires_grad_("
            edits = (Edit("replace", target, call, small.value), Edit("append", small.value, ")"))
            return Fix("call `requires_grad_`", edits, safe=True)
    return None
