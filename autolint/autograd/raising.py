"""Whether torch raises: when memory is written in place, and when a graph is walked backward.

The answers are three-valued and judge autograd's own errors only: that shapes and dtypes fit is
taken for granted.
"""

from __future__ import annotations

from collections.abc import Sequence

from autolint.autograd.graph import Node, Saved
from autolint.autograd.identity import alternatives, doubles
from autolint.autograd.recording import Operand
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import MAYBE, NO, YES, GradMode, Kind, Through, Tri
from autolint.autograd.walking import Walk


def write_raises(mode: GradMode, target: Tensor, operands: Sequence[Operand]) -> Tri:
    """Whether torch refuses an in-place operation on `target` with these other operands."""
    if target.through is Through.NUMPY:
        return NO
    state = target.state
    outside = NO if mode is GradMode.INFERENCE else state.inference
    if any(source.state.cut or source.state.rebound[1] for source in target.sources()):
        outside = outside & MAYBE  # An alias of an inference tensor may have a counter of its own.
    if mode.off or outside is YES:
        return outside & target.tensor
    recorded = state.requires_grad
    for _, operand in operands:
        recorded = recorded | operand.state.requires_grad
    if state.kind in (Kind.INT, Kind.BOOL):
        recorded = NO
    refused = NO
    for other, same in ((target, YES), *((other, MAYBE) for other in alternatives(state))):
        refused = refused | (same & _refuses(other, recorded))
    if any(tensor.state.outdated for tensor in (target, *(given for _, given in operands))):
        refused = refused | MAYBE
    if state.inference is not NO:
        refused = refused & MAYBE  # Autograd's checks are not made for an inference tensor.
    raises = outside | refused
    return raises & MAYBE if mode in (GradMode.EITHER, GradMode.UNKNOWN) else raises & target.tensor


def _refuses(tensor: Tensor, recorded: Tri) -> Tri:
    """Whether a write that is recorded is refused: to a leaf, or to a view that may not follow."""
    state = tensor.state
    refused = recorded & state.requires_grad & state.leaf
    base = tensor
    while base.source is not None and not base.state.cut:
        if base.state.fixed:
            # One of several views, or made where nothing was recorded: so are views of it.
            refused = refused | (recorded & MAYBE if base.state.perhaps else recorded)
        base = base.source
    if tensor.storage.unseen:
        refused = refused | (recorded & MAYBE)  # A gradient may be a view, made under no_grad.
    if base is not tensor:
        # Torch asks the base only whether it is a leaf: the view may still have its history.
        refused = refused | (recorded & state.requires_grad & base.state.leaf)
        for other in alternatives(base.state):
            refused = refused | (recorded & MAYBE & _refuses(other, recorded))
    return refused


def backward_raises(loss: Tensor, found: Walk, given: bool) -> Tri:
    """Whether a backward from `loss` that meets `found` raises; `given`: a gradient is given."""
    if loss.tensor is not YES:
        return MAYBE
    if loss.state.requires_grad is NO or found.freed:
        return YES
    if loss.state.fixed and loss.state.leaf is YES and not loss.state.accumulates:
        return YES  # A view made under no_grad has the flag of its base, and no place of its own.
    if any(_surely_changed(saved) for _, saved, _ in found.stale):
        return YES
    if loss.state.requires_grad is MAYBE or found.opaque is not NO or loss.state.outdated:
        return MAYBE
    if not given and loss.state.kind is Kind.COMPLEX:
        return YES
    if not given and (loss.state.rank != 0 or loss.state.kind is Kind.UNKNOWN):
        return MAYBE
    return NO if all(_sound(node) for node, _ in found.nodes) else MAYBE


def _sound(node: Node) -> bool:
    """Whether everything that a node saved is there, for sure, as it was saved."""
    saved = [each for each in node.saved if each.sure is not NO]
    return not saved or (node.freed is NO and not any(_perhaps_changed(each) for each in saved))


def _surely_changed(saved: Saved) -> bool:
    return saved.storage.version[0] > saved.version[1]


def _perhaps_changed(saved: Saved) -> bool:
    """Whether a write that autograd counts came after; `.data =` is not counted."""
    tensor = saved.tensor
    own = tensor is not None and (tensor.through is not Through.SELF or tensor.state.perhaps)
    if own and saved.storage.hidden[1] > saved.hidden[1]:
        return True  # What was reached through `.data` counts the writes through itself.
    memory = ((saved.storage, saved.version), *saved.parts)
    return any(storage.version[1] > version[1] for storage, version in memory)


def same_memory(left: Tensor, right: Tensor) -> Tri:
    """Whether two tensors share one storage; after `.data =` that is not known any more."""
    if any(_rebound(tensor) for one in (left, right) for tensor in one.sources()):
        return MAYBE
    if left.storage is right.storage:
        whole = left.base.state is right.base.state or left.base.state.owner is None
        return YES if whole else MAYBE  # All parameters of a layer have one storage here.
    mine, theirs = ({each.storage, *each.storage.all_parts()} for each in (left, right))
    if any(storage.unseen for storage in mine | theirs):
        return MAYBE
    return NO if mine.isdisjoint(theirs) else MAYBE


def _rebound(tensor: Tensor) -> bool:
    states = [tensor.state, *(other.state for other in doubles(tensor.state))]
    holders = [holder for state in states for holder in (state, *state.members)]
    return any(holder.rebound[1] for holder in holders)
