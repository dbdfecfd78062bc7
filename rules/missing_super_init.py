"""Part set on a module before, or without, the constructor of `nn.Module`.

`nn.Module.__init__` makes the tables in which parameters, buffers and submodules are kept. A layer
or parameter that is assigned before it has run raises "cannot assign module before
Module.__init__() call". Numbers, strings and plain tensors are accepted before; but a module whose
`__init__` never calls that of `nn.Module` raises as soon as it is called.

Bad:

    def __init__(self, size):
        self.head = nn.Linear(size, 1)
        super().__init__()

Good:

    def __init__(self, size):
        super().__init__()
        self.head = nn.Linear(size, 1)

Not reported: attributes that are no modules, parameters or buffers; the call in any spelling
(`super(Base, self).__init__()`, `Base.__init__(self)`, `nn.Module.__init__(self)`), or in a base
class; classes with an unknown base, `__new__` or `__setattr__`; dataclasses.

Fix: `super().__init__()` as the first statement, where `nn.Module` is the only base and nothing
calls it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    InitMissing,
    Module,
    PartTooEarly,
    Rule,
    Severity,
    resolve,
)

RULE = Rule(__name__, __doc__, code="AG305", severity=Severity.ERROR)


@RULE.on(PartTooEarly)
def check_part(early: PartTooEarly) -> Iterator[Finding]:
    """An assignment that raises."""
    kind = "module" if isinstance(resolve(early.part), Module) else "parameter"
    yield Finding(
        early.site,
        f"`self.{early.name}` is set before `super().__init__()`, which raises for a {kind}; "
        "call it first",
        fault=early.site.unit.path + early.scope.qualname,
    )


@RULE.on(InitMissing)
def check_init(missing: InitMissing) -> Iterator[Finding]:
    """A constructor that leaves a module which raises when it is called."""
    yield Finding(
        missing.site,
        f"`{missing.class_name}.__init__` never calls that of `nn.Module`: the module raises when "
        "it is used; call `super().__init__()` first",
        because=(Because(missing.built_at, "constructed here"),)
        if missing.built_at.node is not missing.site.node
        else (),
        fix=_fix(missing),
        fault=missing.site.unit.path + missing.class_name + ".__init__",
    )


def _fix(missing: InitMissing) -> Fix | None:
    """The call in front, behind the docstring."""
    init = missing.site.statement
    if missing.site.unit.indent or not isinstance(init, cst.FunctionDef):
        return None
    if not missing.only_module or not isinstance(init.body, cst.IndentedBlock):
        return None
    first, *rest = init.body.body
    call = Edit("insert_before", first, "super().__init__()")
    if init.get_docstring() is not None:
        if not rest:
            return None
        call = Edit("insert_before", rest[0], "super().__init__()")
    return Fix("insert `super().__init__()`", (call,), safe=True)
