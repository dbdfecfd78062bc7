"""Shape changed in place through `.data` or `.detach()`, where it stays on the alias.

`x.data` and `x.detach()` are new tensors over the same memory, with a shape of their own. `t_()`,
`transpose_()`, `squeeze_()`, `unsqueeze_()`, `resize_()`, `set_()` and `as_strided_()` change the
shape of the tensor that they are called on. Called on an alias that nothing holds, they change
nothing: no error, and `x` keeps the shape it had. What follows then works on the wrong shape, or
broadcasts silently. (`resize_()` to more elements also enlarges the memory that is shared.)

Bad:

    self.decoder.data.transpose_(0, 1)

Good:

    self.decoder = nn.Parameter(self.decoder.detach().t().contiguous())

Not reported: an alias that has a name and is used (`flat = x.detach()`, `flat.t_()`); calls whose
result is used; calls on the tensor itself; other objects with an attribute `data`.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import AliasReshaped, Finding, Grade, Rule, Severity, Tri

RULE = Rule(__name__, __doc__, code="AG105", severity=Severity.ERROR, more_specific_than=("AG104",))


@RULE.on(AliasReshaped)
def check(reshaped: AliasReshaped) -> Iterator[Finding]:
    """The alias is made and reshaped in one expression, whose value is dropped."""
    base = reshaped.base
    if base.tensor is not Tri.YES or base.grade is Grade.NAMED:
        return  # TensorRT bindings and the like have a `data` as well.
    yield Finding(
        reshaped.site,
        f"`{reshaped.operation}` changes the shape of `{reshaped.target_text}` only, an alias that "
        f"nothing keeps: the tensor itself keeps its shape; bind the reshaped tensor",
        fault=reshaped.site,
    )
