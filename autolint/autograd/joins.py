"""What holds of a value, or of a fact, on two paths of a program.

Joins are memoised by pair while the paths of one branch are merged, so that two names of one
object are two names of one object afterwards.
"""

from __future__ import annotations

import copy
from typing import Any

from autolint.autograd import graph
from autolint.autograd.graph import Node
from autolint.autograd.heap import MISSING, Changes, Heap
from autolint.autograd.objects import Optimizer, StateDict
from autolint.autograd.tensor import Array, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    UNKNOWN_GRAD,
    Kind,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)

_FIRST_KNOWN = frozenset(
    {"stale_at", "dropped_at", "last_write", "last_hidden", "last_rebind", "refined", "owner"}
    | {"rest", "retained", "filled", "emptied", "wiped", "stepped", "clipped", "freed_at"}
    | {"passed_at", "lost_leaf", "rebound_from", "evaluated", "frozen"}
)


class Joiner:
    """The joins of one merge."""

    def __init__(self) -> None:
        self._memo: dict[tuple[int, int], Value] = {}
        self._alive: list[Value] = []  # while the ids of the memo must stay theirs
        self._made: list[Tensor] = []
        self.optimizers: list[Optimizer] = []
        self._ours: Changes = {}
        self._theirs: Changes = {}

    def arms(self, key: Any, left: Any, right: Any, ours: Changes, theirs: Changes) -> Any:
        """Join two values of one fact that two arms left behind, with what these changed."""
        self._ours, self._theirs = ours, theirs
        value = self.fact(key, left, right)
        self._ours, self._theirs = {}, {}
        return value

    def fact(self, key: Any, left: Any, right: Any) -> Any:
        """Join two values of one fact; MISSING takes the other's value."""
        if left is MISSING or right is MISSING:
            return right if left is MISSING else left
        if isinstance(left, Value) and isinstance(right, Value):
            return self.values(left, right)
        if key in ("open", "given", "guessed", "has_stepped", "outdated"):
            return left or right
        if isinstance(left, Tri) and isinstance(right, Tri):
            return Tri.join(left, right)
        if isinstance(left, Kind) and isinstance(right, Kind):
            return Kind.join(left, right)
        if isinstance(left, frozenset):
            return left | right
        if key in ("version", "hidden", "rebound"):
            return (min(left[0], right[0]), max(left[1], right[1]))
        if key == "pending":
            return left if left is right else None
        if key == "node":
            return _phi(left, right)
        if key in _FIRST_KNOWN:
            return right if left is None else left
        if key == "items":
            return self._items(left, right)
        if key == "gathered" and (left is None or right is None):
            return None
        if key == "savers":
            return (*left, *(item for item in right if item not in left))
        if key in ("rank", "dtype"):
            return left if left == right else None
        if isinstance(left, bool) and isinstance(right, bool):
            return left and right
        if isinstance(left, tuple) and isinstance(right, tuple):
            return (*left, *(item for item in right if item not in left))
        return left

    def values(self, left: Value, right: Value) -> Value:
        """Join two values."""
        left, right = resolve(left), resolve(right)
        if left is right:
            return left
        memo = self._memo.get((id(left), id(right)))
        if memo is None:
            memo = self._join(left, right)
            self._memo[(id(left), id(right))] = memo
            self._alive += (left, right)
        return memo

    def _join(self, left: Value, right: Value) -> Value:
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            return self._tensors(left, right)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Scalar):
                if isinstance(other, Tensor):
                    return _perhaps(other)
                if one.known and one.value is None and not isinstance(other, Scalar):
                    return other
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            same = left.known and right.known and left.value == right.value
            same = same and type(left.value) is type(right.value)
            return left if same else Scalar(kind=Kind.join(left.kind, right.kind))
        if isinstance(left, StateDict) or isinstance(right, StateDict):
            return _state_dicts(left, right)
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            return self._sequences(left, right)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            return self._mappings(left, right)
        if isinstance(left, Qualified) and isinstance(right, Qualified) and left.name == right.name:
            return left
        if isinstance(left, Array) and isinstance(right, Array):
            return Array(self._tensors(left.tensor, right.tensor))
        if isinstance(left, Optimizer) and isinstance(right, Optimizer):
            made = _optimizers(left, right)
            self.optimizers.append(made)
            return made
        either = Unknown(inputs=(left, right))
        either.joined = True
        return either

    def link(self, heap: Heap) -> None:
        """Let tensors know of the joined ones that may be them; once all facts are joined."""
        for made in self._made:
            for part in made.state.perhaps:
                heap.put(vars(part.state), "views", (*part.state.views, made))
        self._made = []

    def _tensors(self, left: Tensor, right: Tensor) -> Tensor:
        if left.state is right.state:
            return _tensors(left, right)
        made = _tensors(_as_in(self._ours, left), _as_in(self._theirs, right))
        made.state.perhaps = (left, right)
        self._made.append(made)
        return made

    def _sequences(self, left: Sequence, right: Sequence) -> Value:
        mutable = left.mutable or right.mutable
        if left.items is not None and right.items is not None:
            items = self._items(left.items, right.items)
            if items is not None:
                made = Sequence(items, mutable=mutable)
                made.gathered = None
                return made
        everything = [
            item
            for side in (left, right)
            for item in (*(side.items or ()), *(() if side.rest is None else (side.rest,)))
        ]
        rest: Value | None = None
        for item in everything:
            rest = item if rest is None else self.values(rest, item)
        made = Sequence(None, rest, mutable)
        made.gathered = None
        return made

    def _items(self, left: Any, right: Any) -> Any:
        """Join the items of lists, tuples or dicts; None where their shapes differ."""
        if isinstance(left, tuple) and isinstance(right, tuple):
            if len(left) != len(right):
                return None
            return tuple(self.values(one, two) for one, two in zip(left, right, strict=True))
        if isinstance(left, dict) and isinstance(right, dict):
            return {
                key: self.fact(None, left.get(key, MISSING), right.get(key, MISSING))
                for key in {**left, **right}
            }
        return None

    def _mappings(self, left: Mapping, right: Mapping) -> Value:
        rest = left.rest
        if right.rest is not None:
            rest = right.rest if rest is None else self.values(rest, right.rest)
        items = self._items(left.items, right.items)
        shut = not left.open and not right.open and left.items.keys() == right.items.keys()
        made = Mapping(items, not shut, rest)
        made.gathered = None
        return made


def _optimizers(left: Optimizer, right: Optimizer) -> Optimizer:
    holders = tuple(dict.fromkeys((*left.holders, *right.holders)))
    made = Optimizer(holders, False, left.origin, min(left.grade, right.grade), left.name)
    made.unsure = left.unsure | right.unsure | {*left.holders} ^ {*right.holders}
    made.hooks = (*left.hooks, *right.hooks)
    made.awaits = Tri.join(left.awaits, right.awaits)
    made.has_stepped = left.has_stepped or right.has_stepped
    return made


def _phi(left: Node | None, right: Node | None) -> Node | None:
    if left is None or right is None:
        only = left or right
        return None if only is None else Node("a branch", ((only, MAYBE),))
    return Node("a branch", ((left, MAYBE), (right, MAYBE)))


def _perhaps(tensor: Tensor) -> Tensor:
    """The same tensor, or no tensor at all."""
    return Tensor(
        tensor.state,
        tensor.storage,
        tensor.origin,
        tensor.grade,
        tensor.through,
        tensor.source,
        tensor.off,
        MAYBE,
    )


def _as_in(arm: Changes, tensor: Tensor) -> Tensor:
    """A tensor with the facts that it has at the end of an arm, which was undone."""
    state = tensor.state
    place = id(vars(state))
    changed = {name: arm[(place, name)][2] for name in vars(state) if (place, name) in arm}
    if not changed:
        return tensor
    seen = copy.copy(state)
    vars(seen).update(changed)
    if state.owner is None and not state.members:
        seen.owner = state  # Whoever reaches this one reaches the tensor itself.
    return Tensor(
        seen,
        tensor.storage,
        tensor.origin,
        tensor.grade,
        tensor.through,
        tensor.source,
        tensor.off,
        tensor.tensor,
    )


def _tensors(left: Tensor, right: Tensor) -> Tensor:
    """One of two tensors. Two references to one object stay references to it."""
    same_state = left.state is right.state
    storage = left.storage
    if left.storage is not right.storage:
        storage = Storage(parts=(left.storage, right.storage))
    return Tensor(
        left.state if same_state else _states(left, right),
        storage,
        left.origin,
        min(left.grade, right.grade),
        left.through if left.through is right.through else Through.SELF,
        left.source if left.source is right.source and left.state.cut is right.state.cut else None,
        left.off if left.off is right.off else None,
        Tri.join(left.tensor, right.tensor),
    )


def _state_dicts(left: Value, right: Value) -> Value:
    """One of two dicts of parameters; of something else there is nothing to tell."""
    if not isinstance(left, StateDict) or not isinstance(right, StateDict):
        return left if isinstance(left, StateDict) else right
    others = tuple(dict.fromkeys((*left.alternatives(), *right.alternatives())))
    holders = tuple(dict.fromkeys((*left.holders, *right.holders)))
    return StateDict(holders, (left, right), left.origin, left.loops, left.moved, others)


def _states(left: Tensor, right: Tensor) -> TensorState:
    one, two = left.state, right.state
    node = None
    if one.requires_grad is not NO or two.requires_grad is not NO:
        node = graph.merge("a branch", (left, right), left.origin)
    state = TensorState(
        Tri.join(one.requires_grad, two.requires_grad),
        Tri.join(one.leaf, two.leaf),
        Kind.join(one.kind, two.kind),
        one.rank if one.rank == two.rank else None,
        node,
        Tri.join(one.inference, two.inference),
        Tri.join(one.parameter, two.parameter),
        UNKNOWN_GRAD,  # Gradients gather in the tensors that it may be.
    )
    state.cut = one.cut or two.cut
    state.retains_grad = Tri.join(one.retains_grad, two.retains_grad)
    state.accumulates = False
    state.given = True
    state.dtype = one.dtype if one.dtype == two.dtype else None
    return state
