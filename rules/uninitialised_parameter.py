"""Parameter made from memory that nobody gives values.

`torch.empty`, `torch.empty_like`, `x.new_empty` and `torch.Tensor(2, 3)` hand out memory as it is.
A parameter made from it starts with what lay there: zeros on a fresh page, which hides the mistake,
else remains of other tensors, among them huge numbers and NaN. The model trains from there, or its
first loss is NaN; no two runs begin alike, whatever the seed. (Under
`torch.use_deterministic_algorithms(True)` such memory is filled with NaN, which makes it visible.)

Bad:

    self.weight = nn.Parameter(torch.empty(n_out, n_in))

Good:

    self.weight = nn.Parameter(torch.empty(n_out, n_in))
    nn.init.kaiming_uniform_(self.weight, a=5**0.5)

Not reported: a parameter that the class names outside of forward, so that a method may fill it; a
class that goes over all its parameters (`parameters()`, `apply`, `load_state_dict`), or that
derives from anything but `nn.Module`, whose hooks may do it; a file in which a function
initialises, or loads, what may be this model; a class of a package that initialises nothing, which
another file may fill from a checkpoint; parameters that require no gradient, and those on the meta
device; what forward does not compute with; `torch.Tensor(x)` where `x` may be a list of values.

Fix: `kaiming_uniform_` as `nn.Linear` uses it for two and more dimensions, zeros for a bias
(offered: another initialisation may suit the model better).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    Kind,
    ModuleBuilt,
    Rule,
    Severity,
    Site,
    StoredTensor,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG207", severity=Severity.WARNING)

_FILLED = {
    "empty": "zeros",
    "Tensor": "zeros",
    "FloatTensor": "zeros",
    "empty_like": "zeros_like",
    "new_empty": "new_zeros",
}


@RULE.on(ModuleBuilt)
def check(built: ModuleBuilt) -> Iterator[Finding]:
    """Reported where the attribute gets its parameter."""
    for stored in built.tensors:
        if not _raw(stored):
            continue
        facts = built.facts()
        if facts.may_be_filled(stored.name) or facts.rebound(stored.name):
            continue  # Somebody else gives it its values, or puts another in its place.
        if facts.class_level(stored.name) & {"property", "method"}:
            continue  # The assignment goes through code of the class.
        reads = facts.forward_value_reads(stored.name)
        if not reads:
            continue  # Nothing is computed from it here.
        yield Finding(
            stored.site,
            f"`self.{stored.name}` is never initialised: `{reads[0].method}` computes with "
            "whatever lay in memory; fill it, with `nn.init` for example",
            because=_made(stored),
            fix=_fix(stored),
            fault=stored.site,
            scope=stored.scope,
        )


def _raw(stored: StoredTensor) -> bool:
    """Whether it is a parameter to train in memory that was surely not written."""
    state = stored.tensor.state
    if state.parameter is not Tri.YES or state.requires_grad is not Tri.YES:
        return False  # What is not trained is loaded or computed later.
    return state.kind is not Kind.INT and stored.tensor.storage.unfilled


def _made(stored: StoredTensor) -> tuple[Because, ...]:
    """Where the parameter was made, if that is another statement."""
    origin = stored.tensor.origin
    if not isinstance(origin, Site) or origin.statement is stored.site.statement:
        return ()
    return (Because(origin, "the parameter is made here"),)


def _fix(stored: StoredTensor) -> Fix | None:
    """Initialise it where it is made, if that is the statement that stores it."""
    statement = stored.site.statement
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target, maker = small.targets[0].target, _maker(small.value)
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return None
    if maker is None or stored.assignments != 1:
        return None
    rank = stored.tensor.state.rank
    if "bias" in stored.name:
        name = maker.attr
        return Fix("start with zeros", (Edit("replace", name, _FILLED[name.value]),), safe=False)
    if rank is None or rank < 2:
        return None  # A scale begins with ones, an offset with zeros: nobody knows which it is.
    owner = target.value.value
    call = f"torch.nn.init.kaiming_uniform_({owner}.{stored.name}, a=5**0.5)"
    edit = Edit("insert_after", statement, call)
    return Fix("initialise it as nn.Linear does", (edit,), safe=False, imports=("import torch",))


def _maker(value: cst.BaseExpression) -> cst.Attribute | None:
    """The function that hands out the memory, in `nn.Parameter(torch.empty(…))`."""
    if not isinstance(value, cst.Call) or not value.args:
        return None
    inner = value.args[0].value
    if not isinstance(inner, cst.Call) or not isinstance(inner.func, cst.Attribute):
        return None
    name = inner.func.attr.value
    return inner.func if name in _FILLED else None
