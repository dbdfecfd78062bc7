"""A leaf is made and changed in one expression, so the name gets a tensor that is no leaf.

Gradients are stored in leaves only. `torch.randn(3, requires_grad=True) * 0.01` makes a leaf,
multiplies it, and keeps the product; the leaf itself is out of reach. The same goes for
`.to(device)`, `.cuda()`, `.double()`, `.view(...)` behind the factory, and behind `nn.Parameter`:
the result is a plain tensor, which a module does not register. Its `.grad` stays None, an
optimizer refuses it with ValueError ("can't optimize a non-leaf Tensor"), and a module never
lists it among its parameters. A move to the device that the tensor is on already gives back the
leaf itself: the code works on CPU and breaks on another device, for which this is a warning.

Bad:

    w = torch.randn(3, requires_grad=True) * 0.01
    self.alpha = nn.Parameter(torch.ones(1)).to(device)

Good:

    w = (torch.randn(3) * 0.01).requires_grad_()
    self.alpha = nn.Parameter(torch.ones(1).to(device))

Reported where the result's `.grad` is used, where an optimizer gets it, or where a former
`nn.Parameter` becomes an attribute of a module.

Not reported: a leaf that has a name of its own; results that are only computed with; casts to the
dtype that the tensor has already; `requires_grad_()` after the last change; `.to("cpu")`.

Fix: `requires_grad_()` at the end, or the change inside `nn.Parameter(...)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, LeafLost, Rule, Severity, Site

RULE = Rule(__name__, __doc__, code="AG203", severity=Severity.ERROR)

_USES = {
    "grad": "its gradient is looked for here",
    "optimizer": "an optimizer gets it here, and can take leaves only",
    "parameter": "a module registers parameters, and this is none",
}


@RULE.on(LeafLost)
def check(lost: LeafLost) -> Iterator[Finding]:
    """Somebody needs the leaf: all uses in the event do."""
    where = lost.lost_at
    is_parameter = isinstance(where.node, cst.Call) and lost.use == "parameter"
    what = "parameter" if is_parameter else "leaf"
    condition = " on any device but the one it is made on" if lost.device else ""
    because = (Because(lost.site, _USES[lost.use]),)
    yield Finding(
        where,
        f"`{where.text}` is no {what}{condition}: the {what} is lost inside the expression; "
        "change the tensor first, then mark it",
        because=() if lost.site.statement is where.statement else because,
        fix=_fix(lost),
        severity=Severity.WARNING if lost.device else Severity.ERROR,
        fault=where,
    )


def _fix(lost: LeafLost) -> Fix | None:
    """Do to the content what is done to the leaf. Only where all of it is one short expression."""
    where, origin = lost.lost_at, lost.leaf.origin
    if not isinstance(origin, Site) or origin.unit is not where.unit or where.unit.indent:
        return None
    made = origin.node
    if not isinstance(made, cst.Call) or "\n" in where.unit.module.code_for_node(where.node):
        return None
    if where.text.count(origin.text) != 1:
        return None
    code = where.unit.module.code_for_node
    if origin.text.partition("(")[0].endswith("Parameter"):
        return _into_parameter(where, origin, made.args)
    marks = [a for a in made.args if a.keyword is not None and a.keyword.value == "requires_grad"]
    if len(marks) != 1 or code(marks[0].value) != "True":
        return None
    rest = [argument for argument in made.args if argument is not marks[0]]
    if rest:
        rest[-1] = rest[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    plain = code(made.with_changes(args=rest))
    text = where.text.replace(origin.text, plain)
    if not isinstance(where.node, cst.Call):
        text = f"({text})"
    edits = (Edit("replace", where.node, f"{text}.requires_grad_()"),)
    return Fix("mark the result instead", edits, safe=not lost.device)


def _into_parameter(where: Site, origin: Site, given: Sequence[cst.Arg]) -> Fix | None:
    """The change moves inside. Unsafe: `state_dict` lists the parameter from then on."""
    if len(given) != 1 or given[0].keyword is not None or given[0].star:
        return None
    first = given[0]
    inner = where.unit.module.code_for_node(first.value)
    if not isinstance(first.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        inner = f"({inner})"
    changed = where.text.replace(origin.text, inner)
    head = origin.text.partition("(")[0]
    edits = (Edit("replace", where.node, f"{head}({changed})"),)
    return Fix("change the tensor inside the parameter", edits, safe=False)
