"""Layers or parameters of a module in a plain list, tuple or dict.

A module finds its parameters through attributes that are parameters, modules, or containers made
for them. What is in a plain container is called by forward and takes part in the loss, but
`parameters()` lacks it: no optimizer trains it, `to()` leaves it on the old device, `state_dict()`
does not save it. Nothing raises as long as everything stays on the CPU.

Bad:

    self.blocks = [nn.Linear(8, 8) for _ in range(4)]

Good:

    self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

Not reported: a list that becomes an `nn.Sequential` or `nn.ModuleList`, or whose elements are
registered by `add_module`, `setattr` or a name of their own; parts that the class hands out through
a `parameters()` of its own; one part alone in a list, which is how a module is hidden on purpose;
parts that somebody else made and handed in; frozen parts.

Fix: `nn.ModuleList` or `nn.ParameterList` around the list (offered: the names in `state_dict()`
are new, so older checkpoints lack them).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Module,
    PartsHidden,
    Rule,
    Sequence,
    Severity,
    Site,
    Tensor,
    resolve,
)

RULE = Rule(__name__, __doc__, code="AG304", severity=Severity.ERROR)

_GIVEN_OUT = ("parameters", "named_parameters", "children", "named_children", "_apply")


@RULE.on(PartsHidden)
def check(hidden: PartsHidden) -> Iterator[Finding]:
    """Reported where the container is put into the attribute."""
    facts = hidden.facts()
    if facts.registers_computed_names() or facts.registered(hidden.name):
        return  # Some method registers what it finds in there.
    if any("method" in facts.class_level(name) for name in _GIVEN_OUT):
        return  # The class says itself what its parameters are.
    if facts.converted(hidden.name):
        return  # It becomes a container that registers, or is passed on to who knows what.
    parts = [resolve(part) for part in hidden.parts]
    kind = "layers" if isinstance(parts[0], Module) else "parameters"
    yield Finding(
        hidden.stored,
        f"the {kind} in `self.{hidden.name}` are no parameters of the module: no optimizer trains "
        f"them, and they are not moved or saved; use `{_container(hidden)}`",
        because=_made(hidden),
        fix=_fix(hidden),
        fault=hidden.stored,
        scope=hidden.owner,
    )


def _container(hidden: PartsHidden) -> str:
    first = resolve(hidden.parts[0])
    one = "Parameter" if isinstance(first, Tensor) else "Module"
    return f"nn.{one}List" if isinstance(hidden.kept, Sequence) else f"nn.{one}Dict"


def _made(hidden: PartsHidden) -> tuple[Because, ...]:
    """Where the first of the parts was made, if that is another statement."""
    made = getattr(resolve(hidden.parts[0]), "origin", None)
    if not isinstance(made, Site) or made.statement is hidden.stored.statement:
        return ()
    return (Because(made, "one of them is made here"),)


def _fix(hidden: PartsHidden) -> Fix | None:
    """The container around a list that is written out where it is put into the attribute."""
    statement = hidden.stored.statement
    if hidden.stored.unit.indent or not isinstance(hidden.kept, Sequence):
        return None  # The keys of a dict may be none that an nn.ModuleDict takes.
    if len({isinstance(resolve(part), Tensor) for part in hidden.parts}) > 1:
        return None
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    value = getattr(small, "value", None)
    if not isinstance(value, (cst.List, cst.ListComp)) or value.lpar:
        return None
    name = _container(hidden)
    edits = (
        Edit("replace", value.lbracket, f"torch.{name}(["),
        Edit("append", value, ")"),
    )
    return Fix(f"wrap it in `{name}`", edits, safe=False, imports=("import torch",))
