"""The graph: nodes, what they saved and at which version, and the gradients that are filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from autolint.autograd.heap import Heap
from autolint.autograd.tensor import GradHolder, Storage, Tensor, Write
from autolint.autograd.values import MAYBE, NO, UNKNOWN_GRAD, YES, Cell, Origin, Through, Tri, Word

Stamp: TypeAlias = "tuple[tuple[object, int], ...]"
"""When a node was made: the enclosing loops, each with the iteration that was being run."""


class Saved:
    """A value that an operation saved for its backward, with the versions its memory had then.

    `by_memory`: not the tensor object is kept but a view of its memory, which `.data =` does not
    reach.
    """

    __slots__ = ("hidden", "holder", "parts", "rebound", "storage", "sure", "tensor", "version")

    def __init__(
        self, tensor: Tensor | None, storage: Storage, sure: Tri, by_memory: bool = False
    ) -> None:
        self.tensor = tensor
        self.storage = storage
        self.version = storage.version
        self.parts = tuple((part, part.version) for part in storage.all_parts())
        self.hidden = storage.hidden
        self.sure = sure
        self.holder = None if tensor is None or by_memory else _holder(tensor)
        self.rebound = self.holder.rebound if self.holder is not None else (0, 0)

    def changed(self) -> Write | None:
        """The write that changed the value since, on some path at least; None if it was not
        changed.

        A `.data =` under the saved tensor counts only where it was saved as an operand: a result
        is kept by its memory.
        """
        storage, holder = self.storage, self.holder
        seen, hidden = storage.last_write, storage.last_hidden
        if storage.version[1] > self.version[1] and seen is not None and seen.sure:
            return seen
        if storage.hidden[1] > self.hidden[1] and hidden is not None and hidden.sure:
            return hidden
        if holder is not None and holder.rebound[1] > self.rebound[1]:
            return holder.last_rebind
        return None


def _holder(tensor: Tensor) -> GradHolder:
    """The object whose memory `.data =` exchanges: a tensor, or the layer it is a weight of."""
    state = tensor.state
    if len(state.members) == 1:
        return state.members[0]
    return state if state.owner is None else state.owner


class Node(Cell):
    """One recorded operation.

    `inputs` are the nodes and leaves it came from, each with how sure the edge is; `freed` says
    whether a backward freed what it saved, `freed_at` which one did, `passed_at` which one that
    fills `.grad` went through it for sure. An `opaque` node stands for code that was not seen.
    `scaler` is the gradient scaler that multiplied a loss here.
    """

    def __init__(
        self,
        operation: str,
        inputs: tuple[tuple[Node | GradHolder, Tri], ...],
        saved: tuple[Saved, ...] = (),
        origin: Origin = None,
        stamp: Stamp = (),
        opaque: bool = False,
    ) -> None:
        super().__init__()
        self.operation = operation
        self.inputs = inputs
        self.saved = saved
        self.origin = origin
        self.stamp = stamp
        self.opaque = opaque
        self.freed = NO
        self.freed_at: Origin = None
        self.retained: GradHolder | None = None
        self.passed_at: Origin = None
        self.claims: tuple[Any, ...] = ()
        self.scaler: Any = None


def recorded(tensor: Tensor) -> Tri:
    """Whether an operation on this operand is part of the graph.

    An inference tensor that requires grad is recorded only beside an operand that is none.
    """
    state = tensor.state
    sure = state.requires_grad & tensor.tensor
    return sure if sure is NO or state.inference is NO or _seen_nowhere(tensor) else sure & MAYBE


def _seen_nowhere(tensor: Tensor) -> bool:
    """Whether nothing speaks for an inference tensor but that it was not seen being made."""
    storage = tensor.storage
    return tensor.state.inference is MAYBE and (
        storage.unseen or any(part.unseen for part in storage.all_parts())
    )


def edge(tensor: Tensor) -> Iterable[tuple[Node | GradHolder, Tri]]:
    """The edges from an operation to one operand of it: to its node, or to the leaf itself."""
    state = tensor.state
    sure = recorded(tensor)
    if sure is NO:
        return
    if state.node is not None:
        yield state.node, sure if state.leaf is NO else sure & MAYBE
    if state.leaf is not NO and state.accumulates:
        sure = sure if state.node is None and state.leaf is YES else sure & MAYBE
        if state.owner is not None:
            yield state.owner, sure
        elif state.members:
            only = len(state.members) == 1
            for member in state.members:
                yield member, sure if only else sure & MAYBE
        else:
            yield state, sure


_AFTER_BACKWARD = {
    Word.NONE: Word.FRESH,
    Word.FRESH: Word.FRESH,
    Word.USED: Word.STALE,
    Word.STALE: Word.STALE,
    Word.DROPPED: Word.FRESH,
    Word.UNKNOWN: Word.FRESH,
}
_AFTER_STEP = {
    Word.NONE: Word.NONE,
    Word.FRESH: Word.USED,
    Word.USED: Word.USED,
    Word.STALE: Word.USED,
    Word.DROPPED: Word.DROPPED,
    Word.UNKNOWN: Word.USED,
}


def reach(heap: Heap, holder: GradHolder, sure: Tri, origin: Origin) -> None:
    """A backward adds to the gradients of a set."""
    words = frozenset(_AFTER_BACKWARD[word] for word in holder.words)
    if Word.USED in holder.words or Word.STALE in holder.words:
        heap.put(vars(holder), "stale_at", origin)
    heap.put(vars(holder), "words", words if sure is YES else words | holder.words)
    heap.put(vars(holder), "read", False)
    heap.put(vars(holder), "absent", NO if sure is YES else holder.absent & MAYBE)


def forget(heap: Heap, holder: GradHolder) -> None:
    """Unseen code may have done anything to the gradients of a set."""
    heap.put(vars(holder), "words", UNKNOWN_GRAD)
    heap.put(vars(holder), "guessed", True)
    heap.put(vars(holder), "absent", MAYBE)


def step(heap: Heap, holder: GradHolder, sure: bool = True) -> None:
    """An optimizer uses the gradients of a set."""
    words = frozenset(_AFTER_STEP[word] for word in holder.words)
    heap.put(vars(holder), "words", words if sure else words | holder.words)


def clear_perhaps(heap: Heap, holder: GradHolder, to_none: Tri = YES) -> None:
    """The gradients of a set, or of another one, are set to None (`to_none`) or zero."""
    heap.put(vars(holder), "words", holder.words | {Word.NONE})
    if to_none is not NO and holder.absent is not YES:
        heap.put(vars(holder), "absent", MAYBE)


def clear(heap: Heap, holder: GradHolder, origin: Origin, to_none: Tri = YES) -> None:
    """The gradients of a set are set to None (`to_none`) or zero."""
    after = {Word.STALE: Word.DROPPED}
    if not holder.read:
        after[Word.FRESH] = Word.DROPPED
    words = frozenset(after.get(word, Word.NONE) for word in holder.words)
    if Word.DROPPED in words:
        heap.put(vars(holder), "dropped_at", origin)
    heap.put(vars(holder), "words", words)
    if to_none is not NO and holder.absent is not YES:
        heap.put(vars(holder), "absent", to_none)
        heap.put(vars(holder), "cleared", True)
    if to_none is YES:
        heap.put(vars(holder), "given", False)
        heap.put(vars(holder), "guessed", False)


def write(
    heap: Heap,
    tensor: Tensor,
    through: Through,
    origin: Origin,
    sure: Tri = YES,
    event: object = None,
) -> None:
    """The memory of a tensor is written, by one more write on this path."""
    _bump(heap, tensor.storage, through, Write(origin, through, event), sure)


def _bump(heap: Heap, storage: Storage, through: Through, made: Write, sure: Tri) -> None:
    facts = vars(storage)
    if through in (Through.SELF, Through.DETACH):
        low, high = storage.version
        heap.put(facts, "version", (low + (sure is YES), high + 1))
        heap.put(facts, "last_write", made)
    else:
        low, high = storage.hidden
        heap.put(facts, "hidden", (low + (sure is YES), high + 1))
        heap.put(facts, "last_hidden", made)
    if through is not Through.SELF and sure is YES:
        heap.put(facts, "pending", made.event)
    part_write, part_sure = made, sure
    if not storage.together:
        part_write, part_sure = Write(made.origin, through, made.event, sure=False), MAYBE
    for part in storage.parts:
        _bump(heap, part, through, part_write, part_sure)


def merge(op: str, tensors: Sequence[Tensor], origin: Origin) -> Node:
    """A node behind which each of several values may stand (a phi)."""
    edges = tuple(
        (target, MAYBE) for tensor in tensors for target, sure in edge(tensor) if sure is not NO
    )
    return Node(op, edges, origin=origin)
