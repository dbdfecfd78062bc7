"""Use of tensors whose memory was written through an alias, and of aliases made under no_grad."""

from __future__ import annotations

from autolint.autograd.recording import Operand
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import YES, Through
from autolint.interpreter.events import OffAliasUsed, SourceUsed
from autolint.interpreter.machine import Machine
from autolint.interpreter.unit import Site


def use(m: Machine, operands: list[Operand], site: Site) -> tuple[OffAliasUsed, ...]:
    """What a recorded operation takes that was tampered with.

    A tensor whose memory was written through a detached alias is told to the rules at once. An
    alias made under no_grad matters where a backward runs through the result: that is given back,
    to be told then.
    """
    if m.autograd.mode.off:
        return ()
    claims: list[OffAliasUsed] = []
    recorded = {id(tensor) for _, tensor in operands if tensor.state.requires_grad is YES}
    for _, tensor in operands:
        alone = recorded <= {id(tensor)}
        claim = off_alias_used(m, tensor, "operation", site, alone)
        if claim is not None:
            claims.append(claim)
        pending = tensor.storage.pending
        if pending is not None and tensor.through is Through.SELF:
            m.change(tensor.storage, "pending", None)
            m.emit(SourceUsed, site, tensor=tensor, write=pending)
    return tuple(claims)


def off_alias_used(
    m: Machine, tensor: Tensor, how: str, site: Site, alone: bool = True
) -> OffAliasUsed | None:
    """The use of an alias made under no_grad, outside its block, as if it were detached."""
    for alias in tensor.sources():
        off = alias.off
        if alias.through is not Through.SELF:
            return None
        if off is None:
            continue
        inside = off.block is m.autograd.block and m.autograd.mode.off
        if inside or off.written or not m.listens(OffAliasUsed):
            return None
        if tensor.tensor is not YES or off.source.state.requires_grad is not YES:
            return None
        return m.build(
            OffAliasUsed,
            site,
            alias=off,
            tensor=tensor,
            how=how,
            alone=alone,
            made=off.made,
            target_text=off.name or off.made.text,
        )
    return None
