"""Tensor kept as a plain attribute of a module, and used by its forward.

A module moves, casts and saves its parameters and buffers, and nothing else. A tensor that was
only assigned (`self.mask = torch.ones(n)`) stays on the CPU when the module goes to another
device, and forward raises "Expected all tensors to be on the same device"; it keeps its dtype
under `model.half()` or `.double()`; and `state_dict()` lacks it, so a statistic gathered in
training is gone after loading. A buffer goes with the module. (A tensor without dimensions still
computes with tensors elsewhere, which is why those are not reported.)

Bad:

    self.mask = torch.tril(torch.ones(n, n))

Good:

    self.register_buffer("mask", torch.tril(torch.ones(n, n)), persistent=False)

Leave `persistent=False` out to save the tensor too: checkpoints written before lack it then.

Not reported: parameters and buffers under any spelling (`nn.Buffer`, `register_buffer` in a
helper); attributes that forward does not read, or reads as an index, for its shape or on the
host only; those that are bound anew after `__init__` (caches, the state of a recurrent net),
unless the new value is computed from the old one (running statistics); those that the class
moves by hand or makes on a given device; complex tables, which a cast of the module would spoil;
classes that override `_apply`.

Fix: `register_buffer` with `persistent=False`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Grade,
    Kind,
    ModuleBuilt,
    Rule,
    Severity,
    Site,
    StoredTensor,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG301", severity=Severity.WARNING)


@RULE.on(ModuleBuilt)
def check(built: ModuleBuilt) -> Iterator[Finding]:
    """The narrow form: surely plain, surely in the way of a module that moves."""
    for stored in built.tensors:
        if stored.name in built.module.registered or not _concerns(stored):
            continue
        facts = built.facts()
        if not _left_behind(stored.name, facts):
            continue
        reader = facts.forward_value_reads(stored.name)[0].method
        yield Finding(
            stored.site,
            f"`self.{stored.name}` is a plain tensor that `{reader}` computes with: "
            "it is not moved, cast or saved with the module; register it as a buffer",
            because=_made(stored),
            fix=_fix(stored, facts, built.class_name),
            fault=stored.site,
            scope=stored.scope,
        )


def _concerns(stored: StoredTensor) -> bool:
    """Whether the value is surely a tensor that has to follow its module."""
    tensor, state = stored.tensor, stored.tensor.state
    if tensor.tensor is not Tri.YES or tensor.grade is not Grade.BUILT:
        return False  # An annotated argument may be anything the caller has placed.
    if state.parameter is not Tri.NO or stored.placed:
        return False  # A parameter under a second name moves with the first.
    if state.requires_grad is Tri.YES:
        return False  # What requires grad was rather meant to be a parameter.
    # A tensor without dimensions works on every device; a complex one must not be cast.
    return state.sized and state.kind is not Kind.COMPLEX


def _left_behind(name: str, facts: Any) -> bool:
    """Whether forward computes with what the class neither registers, moves nor replaces."""
    if facts.registered(name) or facts.registers_unknown_names or facts.moved(name):
        return False
    if facts.rebound(name) and not facts.updated(name):
        return False  # A cache or state: forward sees another value than this one.
    if facts.class_level(name) & {"property", "method"}:
        return False  # The assignment goes through code of the class.
    return bool(facts.forward_value_reads(name))


def _made(stored: StoredTensor) -> tuple[Because, ...]:
    """Where the tensor was made, if that is another statement."""
    origin = stored.tensor.origin
    if not isinstance(origin, Site) or origin.statement is stored.site.statement:
        return ()
    return (Because(origin, "the tensor is made here"),)


def _fix(stored: StoredTensor, facts: Any, class_name: str) -> Fix | None:
    """Register it, where the assignment is a statement of its own in `__init__`.

    A name that is taken, or a second assignment, would raise at run time; what requires grad is
    rather a parameter; before `super().__init__()` there is no place to register it.
    """
    state, statement = stored.tensor.state, stored.site.statement
    if stored.scope.name != "__init__" or not stored.initialised or stored.site.unit.indent:
        return None
    if state.requires_grad is not Tri.NO or state.kind is not Kind.FLOAT:
        return None
    if len(facts.stores(stored.name)) != 1 or facts.class_level(stored.name) - {"annotation"}:
        return None
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target, value = small.targets[0].target, small.value
    elif isinstance(small, cst.AnnAssign) and small.value is not None:
        target, value = small.target, small.value
    else:
        return None
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return None
    if target.attr.value.startswith("__") and not target.attr.value.endswith("__"):
        return None  # The class's name is put before it, which register_buffer would not do.
    owner = target.value.value
    call = f'{owner}.register_buffer("{stored.name}", '
    edits = [
        Edit("replace", target, call, until=value.lpar[0] if value.lpar else value),
        Edit("append", small, ", persistent=False)"),
    ]
    if isinstance(small, cst.AnnAssign):  # Type checkers go on knowing what it is.
        annotation = stored.site.unit.module.code_for_node(small.annotation.annotation)
        edits.insert(0, Edit("insert_before", statement, f"{owner}.{stored.name}: {annotation}"))
    # What a caller gave may be something else the next time, which register_buffer refuses; and
    # another class derived from a base may use the name for something else.
    safe = _owner(stored) == class_name.rpartition(".")[2] and not isinstance(
        value, (cst.Name, cst.Attribute, cst.IfExp, cst.BooleanOperation)
    )
    return Fix("register it as a buffer", tuple(edits), safe)


def _owner(stored: StoredTensor) -> str:
    """The name of the class in whose `__init__` the assignment stands."""
    return stored.scope.qualname.rpartition(".")[0].rpartition(".")[2]
