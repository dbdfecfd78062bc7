"""A tensor as autograd sees it: a reference, the object it refers to, and the memory under it.

Several references (`Tensor`) may share one object (`TensorState`), and several objects one
`Storage`. A `GradHolder` is whatever gradients gather in: a leaf, or the parameters of a layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autolint.autograd.values import (
    MAYBE,
    NO,
    NO_GRAD_YET,
    YES,
    Cell,
    Grade,
    Kind,
    Lost,
    Origin,
    Through,
    Tri,
    Value,
    Word,
)


class GradHolder(Cell):
    """A set of parameters that share one gradient state: a leaf tensor, or a layer's own
    parameters.

    `words` is the set of states it can be in (joins are unions); `stale_at` is where a backward
    added to gradients that a step had used; `dropped_at` where fresh gradients were cleared.
    `filled`, `emptied` and `wiped` are the last moments when a backward reached the set,
    when it was cleared, and when that took gradients which no step had used.
    `stepped` is when it was last stepped, `clipped` the last clip since. `scaled` says whether the
    gradients are multiplied by the scale of `scaler`.
    `absent` says whether `.grad` is None, `cleared` whether that is because it was cleared;
    `given`: that tensor was not made by backward in the ordinary way; `guessed`: the words follow
    from a state that was not known.
    `frozen` tells where it was told not to require grad, `placed` where it was put into a module
    in the place of other parameters.
    `rebound` counts, over all paths, how often `.data =` put other memory under it; `kept`: a name
    was given to its memory through `.data`.
    """

    def __init__(self, words: frozenset[Word]) -> None:
        super().__init__()
        self.words = words
        self.read = False
        self.absent = YES if words == NO_GRAD_YET else MAYBE
        self.cleared = False
        self.given = False
        self.guessed = Word.UNKNOWN in words
        self.stale_at: Origin = None
        self.dropped_at: Origin = None
        self.filled: Origin = None
        self.emptied: Origin = None
        self.wiped: Origin = None
        self.stepped: Origin = None
        self.clipped: Any = None
        self.scaled = NO
        self.scaler: Any = None
        self.frozen: Any = None
        self.placed: Origin = None
        self.kept = False
        self.rebound = (0, 0)
        self.last_rebind: Write | None = None

    def takes_gradient(self) -> Tri:
        """Whether a backward that comes here adds to the gradients: torch asks at that moment."""
        return YES


class Storage(Cell):
    """Memory that tensors share, with its version counter as a range (low, high) over all paths.

    `version` counts the writes that autograd sees, `hidden` those through `.data` or numpy, which
    bump no counter that it reads. `parts` are the storages this one may be, after a join (all of
    them, if `together`); `unseen`: it came from where nothing was seen, so
    any other may be it; `raw`: whether nobody had given it values when it was made; `savers` are
    the latest (node, saved value) that keep a value of it;
    `last_write` and `last_hidden` are the last writes by counter; `pending` is a write through a
    detached alias whose effect nobody used yet.
    """

    def __init__(
        self, parts: tuple[Storage, ...] = (), together: bool = False, unseen: bool = False
    ) -> None:
        super().__init__()
        self.together = together
        self.unseen = unseen
        self.raw = NO
        self.version = (0, 0)
        self.hidden = (0, 0)
        self.parts = parts
        self.last_write: Write | None = None
        self.last_hidden: Write | None = None
        self.pending: Any = None
        self.savers: tuple[Any, ...] = ()

    @property
    def unfilled(self) -> bool:
        """Whether it surely holds what happened to be in memory: it was made raw, never written."""
        return self.raw is YES and self.version == (0, 0) and self.hidden == (0, 0)

    def all_parts(self) -> Iterator[Storage]:
        """The storages that this one may be, and those that these may be."""
        for part in self.parts:
            yield part
            yield from part.all_parts()


class Write:
    """One write into a storage; `event` is what was told about it, if anything.

    `sure`: the memory was this for sure, though the write may lie in a branch.
    """

    __slots__ = ("event", "origin", "sure", "through")

    def __init__(
        self, origin: Origin, through: Through, event: Any = None, sure: bool = True
    ) -> None:
        self.origin = origin
        self.sure = sure
        self.through = through
        self.event = event


class TensorState(GradHolder):
    """What all references to one tensor object share.

    `dtype` is the exact dtype's name where it is known (`float32`), `rank` the number of
    dimensions or None, `sized` whether it is surely not 0-d; `placed` whether a device was chosen
    for it; `parameter` says whether it is an `nn.Parameter`; `cut` is True for a detached alias:
    history does not pass from it to its source; `views` are the views that follow this tensor's
    history; `perhaps` are tensors that it may be a view of, or the same object as. `accumulates`
    is False for a view made under no_grad, whose gradient goes nowhere; `fixed`: it is such a view,
    or was made together with others; `outdated`: such a view whose base may have been written
    since, so that torch may refuse any use of it; `members` are the holders that a summary element
    stands for (the `p` of `for p in model.parameters()`); `owner` is the layer that a `.weight`
    belongs to; `grad_of` are the sets whose `.grad` this is; `memory` is its storage; `buffer`
    marks an `nn.Buffer`. `lost` tells where the history of what it was made from ended; `marked` is
    where it was told to require grad all the same. `lost_leaf` and `rebound_from` tell of a leaf
    whose place or name this tensor took.
    """

    def __init__(
        self,
        requires_grad: Tri,
        leaf: Tri,
        kind: Kind,
        rank: int | None,
        node: Any = None,
        inference: Tri = NO,
        parameter: Tri = NO,
        words: frozenset[Word] = NO_GRAD_YET,
    ) -> None:
        super().__init__(words)
        self.requires_grad = requires_grad
        self.leaf = leaf
        self.kind = kind
        self.dtype: str | None = None
        self.rank = rank
        self.node = node
        self.inference = inference
        self.sized = rank is not None and rank > 0
        self.placed = False
        self.parameter = parameter
        self.retains_grad = NO
        self.accumulates = True
        self.fixed = False
        self.outdated = False
        self.cut = False
        self.views: tuple[Tensor, ...] = ()
        self.perhaps: tuple[Tensor, ...] = ()
        self.members: tuple[GradHolder, ...] = ()
        self.owner: GradHolder | None = None
        self.grad_of: tuple[GradHolder, ...] = ()
        self.memory: Storage | None = None
        self.lost_leaf: Any = None
        self.rebound_from: Any = None
        self.buffer = False
        self.lost: Lost | None = None
        self.marked: Origin = None

    def takes_gradient(self) -> Tri:
        """A leaf that does not require grad any more takes no gradient."""
        return self.requires_grad


class OffAlias:
    """How a reference came about under no_grad: another name for a tensor, or a view of it.

    `name` is the first name it was bound to; `written`: it was written through, a handle to the
    tensor.
    """

    __slots__ = ("block", "made", "name", "source", "view", "written")

    def __init__(self, made: Origin, view: bool, source: Tensor, block: object) -> None:
        self.made = made
        self.name = ""
        self.written = False
        self.view = view
        self.source = source
        self.block = block


class Tensor(Value):
    """A reference to a tensor: which object (`state`), which memory, and how it was reached.

    `source` is the tensor this one is a view, `.data`, `.detach()` or `.numpy()` of; `through` says
    which; `tensor` is MAYBE where the value may also be None or something else.
    """

    __slots__ = ("grade", "off", "origin", "source", "state", "storage", "tensor", "through")

    def __init__(
        self,
        state: TensorState,
        storage: Storage,
        origin: Origin = None,
        grade: Grade = Grade.BUILT,
        through: Through = Through.SELF,
        source: Tensor | None = None,
        off: OffAlias | None = None,
        tensor: Tri = YES,
    ) -> None:
        self.state = state
        self.storage = storage
        if state.memory is None:
            state.memory = storage
        self.origin = origin
        self.grade = grade
        self.through = through
        self.source = source
        self.off = off
        self.tensor = tensor

    @property
    def base(self) -> Tensor:
        """The tensor at the end of the chain of views and detached aliases."""
        tensor = self
        while tensor.source is not None:
            tensor = tensor.source
        return tensor

    def sources(self) -> Iterator[Tensor]:
        """This tensor and those it is an alias of, nearest first."""
        tensor: Tensor | None = self
        while tensor is not None:
            yield tensor
            tensor = tensor.source


class Array(Value):
    """A numpy array that shares memory with a tensor."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
