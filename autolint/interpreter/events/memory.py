"""Events of memory: writes in place, through aliases, and `.data =`."""

from __future__ import annotations

from dataclasses import dataclass

from autolint.autograd.graph import Saved
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import Through, Tri, Value
from autolint.interpreter.events.base import Event
from autolint.interpreter.index import ACCUMULATED, AUGMENTED, IN_PLACE, ITEM_STORED
from autolint.interpreter.unit import Site

WRITING = frozenset(
    {IN_PLACE, AUGMENTED, ITEM_STORED, "out", "inplace", "fill", "sort", "put", "copyto", "putmask"}
)
"""Names of what writes memory."""
OWN_WRITING = frozenset({IN_PLACE, AUGMENTED, ITEM_STORED, "out", "inplace"})
"""Names of what writes a tensor itself."""
REWRITING = frozenset({IN_PLACE, ACCUMULATED})
"""Names of what writes a result, as forward passes do."""
RESHAPING = frozenset(
    {"resize_", "resize_as_", "set_", "transpose_", "t_", "unsqueeze_", "squeeze_", "as_strided_"}
    | {"swapaxes_", "swapdims_", "movedim_"}
)
"""Methods that change the shape of the tensor they are called on, and write nothing."""
RECORDED = frozenset({"backward", "requires_grad", "requires_grad_", "requires_grad="})
"""Names of what is done to values of which a graph is surely recorded."""


@dataclass(frozen=True, slots=True)
class SavedBy:
    """An operation that saved the value now written: `sure` unless only some paths do."""

    saved: Saved
    operation: str
    origin: Site | None
    sure: Tri


@dataclass(frozen=True, slots=True)
class InPlaceWrite(Event):
    """Memory of a tensor is written.

    Told of writes through an alias without history; those through the tensor itself or a view are
    `LeafWritten` and `SavedWritten`. `target` is the reference written to (what stands at the left
    or before the method), `through` how it reaches the memory, `base` the tensor at the other end.
    `saved_by` are the operations that saved the old value and whose graph is still there.
    `parameter`: base is (part of) a module's parameters. `target_text` is the target as written,
    `made` where it was made.
    """

    triggers = frozenset({"data", "detach", "detach_", "numpy", "asarray"})
    company = WRITING

    target: Tensor
    base: Tensor
    through: Through
    saved_by: tuple[SavedBy, ...]
    parameter: Tri
    made: Site | None
    target_text: str
    operation: str


@dataclass(frozen=True, slots=True)
class LeafWritten(InPlaceWrite):
    """A leaf that surely requires grad, or a view of it, is written while it is not surely off."""

    triggers = frozenset({"requires_grad", "requires_grad_", "requires_grad="})
    company = OWN_WRITING


@dataclass(frozen=True, slots=True)
class SavedWritten(InPlaceWrite):
    """A tensor whose value is saved for backward is written itself, or through a view."""

    triggers = REWRITING
    company = RECORDED


@dataclass(frozen=True, slots=True)
class SourceUsed(Event):
    """A tensor is used in the graph after its memory was changed through a detached alias.

    Emitted at the first such use: `write` is the write, `target_text` what was written to.
    """

    triggers = InPlaceWrite.triggers
    company = WRITING

    tensor: Tensor
    write: InPlaceWrite


@dataclass(frozen=True, slots=True)
class DataRebind(Event):
    """`x.data = y`: another storage is put under a tensor.

    `ties` is the parameter whose memory is shared from now on, if both are known to live on.
    """

    triggers = frozenset({"data="})

    target: Tensor
    value: Value
    ties: Tensor | None
    saved_by: tuple[SavedBy, ...]
    parameter: Tri
    target_text: str


@dataclass(frozen=True, slots=True)
class AliasReshaped(Event):
    """The shape of `x.data` or `x.detach()` is changed in place by a statement that keeps neither.

    `base` is the tensor, `target_text` the alias as written.
    """

    triggers = RESHAPING
    company = frozenset({"data", "detach"})

    base: Tensor
    operation: str
    target_text: str
