"""Optimizer that does not hold the parameters it is there for, or a spent generator of them.

An optimizer keeps the parameter objects that it was given when it was built. A layer that is put
into the model afterwards, or a model that is built anew, has other parameters: backward fills their
gradients, and no step ever uses them. Nothing raises; that part of the model stays as it was
initialised. `load_state_dict(..., assign=True)` exchanges all parameters in this way, while the
ordinary `load_state_dict` copies into the old ones.

`model.parameters()` is a generator, which gives its parameters once. Used again it is empty:
`clip_grad_norm_` clips nothing, a loop does not run, a second optimizer raises "optimizer got an
empty parameter list".

Bad:

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head = nn.Linear(64, 10)

    params = model.parameters()
    optimizer = torch.optim.SGD(params, lr=0.1)
    ...
    clip_grad_norm_(params, 1.0)

Good:

    model.head = nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    params = list(model.parameters())

A warning for replaced parts, an error for a generator that is used again.

Not reported: `model.to(device)` and `load_state_dict` after the optimizer, which keep the
parameter objects; a new part that gets its own optimizer or parameter group; a model and its
optimizer that are both built anew; parts that are frozen or not reached by a backward; buffers;
code that works on `param_groups`; optimizers of which not all is known; generators that are used in
branches that exclude each other, or that were perhaps left before their end.

Fix: `list(...)` around the generator where it is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import (
    Because,
    Edit,
    Finding,
    Fix,
    GeneratorReused,
    PartReplaced,
    Rule,
    Severity,
)

RULE = Rule(__name__, __doc__, code="AG208", severity=Severity.ERROR, more_specific_than=("AG403",))

_CONSEQUENCES = {
    "optimizer": "the optimizer gets no parameters and raises",
    "clip": "nothing is clipped",
    "loop": "nothing is left to run over",
    "list": "nothing is left in it",
}


@RULE.on(PartReplaced)
def check_part(replaced: PartReplaced) -> Iterator[Finding]:
    """Reported where the new parameters come in."""
    what = f"`{replaced.part_text}` is set"
    if replaced.assigned:
        what = f"`{replaced.part_text}` puts new parameters into the model"
    because = []
    if replaced.built is not None:
        because.append(Because(replaced.built, "the optimizer is built here"))
    if replaced.stepped_at is not None:
        because.append(Because(replaced.stepped_at, "it steps here, without the new parameters"))
    yield Finding(
        replaced.site,
        f"{what} after `{replaced.optimizer_text}` was built, which does not train it; "
        "build the optimizer afterwards",
        because=tuple(because),
        severity=Severity.WARNING,
        fault=replaced.stepped_at or replaced.site,
        scope=replaced.owner,
    )


@RULE.on(GeneratorReused)
def check_generator(reused: GeneratorReused) -> Iterator[Finding]:
    """Reported at the second use, which finds the generator empty."""
    yield Finding(
        reused.site,
        f"the generator `{reused.name}` is used up: {_CONSEQUENCES[reused.use]}; make it a list",
        because=(
            Because(reused.made, "a generator, not a list"),
            Because(reused.spent_at, "used up here"),
        ),
        fix=_fix(reused),
        fault=reused.site,
    )


def _fix(reused: GeneratorReused) -> Fix | None:
    """A list where the generator is made."""
    made = reused.made
    if made.unit is not reused.site.unit or made.unit.indent or not isinstance(made.node, cst.Call):
        return None
    edits = (
        Edit("replace", made.node, "list(", until=made.node.func),
        Edit("append", made.node, ")"),
    )
    return Fix("make it a list", edits, safe=True)
