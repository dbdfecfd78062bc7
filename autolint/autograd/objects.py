"""What a training program builds around its tensors: objects of classes, modules with their
parameters, optimizers, schedulers and gradient scalers.
"""

from __future__ import annotations

from typing import Any

from autolint.autograd.tensor import GradHolder, Storage
from autolint.autograd.values import (
    MAYBE,
    NO,
    NO_GRAD_YET,
    UNKNOWN_GRAD,
    Cell,
    Grade,
    Origin,
    Tri,
    Unknown,
    Value,
    Word,
)

CHILDREN = "[]"
"""The key under which a container keeps its modules among its attributes."""


class Instance(Value, Cell):
    """An object of a class of the project (or of a layer of torch, see `Module`).

    `open`: it may have attributes that were not seen. `assumed`: nobody was seen to build it, so
    it may be of a derived class.
    """

    def __init__(self, cls: Any, origin: Origin = None, grade: Grade = Grade.BUILT) -> None:
        Cell.__init__(self)
        self.cls = cls
        self.origin = origin
        self.grade = grade
        self.attributes: dict[str, Value] = {}
        self.open = False
        self.assumed = False


class Module(Instance, GradHolder):
    """An `nn.Module`. As a `GradHolder` it stands for the parameters no attribute of it names.

    `library` is the qualified name of a torch layer (then `cls` is None). `own` says whether such
    parameters exist; `trainable` is their requires_grad. `memory` is the storage of
    these parameters; `registered` are its buffers by name; `stores` remembers where its attributes
    were assigned, `lists` where plain containers were; `initialised`: the constructor of
    `nn.Module` has run; `trained`: it was put into training mode, and `evaluated` is when it was
    put into evaluation mode since; `inference`: its own parameters are inference tensors.
    Of a layer of torch, `repeated` is where a list that holds it was multiplied, `forward` the run
    of a forward in which it was built (any object), and `tended`: it was set up by hand since.
    `perhaps` are the parameter sets of the modules that it is one of, as a branch decided.
    """

    def __init__(
        self,
        cls: Any,
        library: str | None,
        own: Tri,
        trainable: Tri,
        origin: Origin = None,
        grade: Grade = Grade.BUILT,
        words: frozenset[Word] = NO_GRAD_YET,
    ) -> None:
        Instance.__init__(self, cls, origin, grade)
        GradHolder.__init__(self, words)
        self.library = library
        self.own = own
        self.trainable = trainable
        self.training = MAYBE
        self.memory = Storage()
        self.registered: dict[str, Origin] = {}
        self.stores: dict[str, Any] = {}
        self.initialised = NO
        self.lists: dict[str, Any] = {}
        self.inference = NO
        self.trained = NO
        self.evaluated: Any = None
        self.repeated: Origin = None
        self.forward: Any = None
        self.perhaps: tuple[GradHolder, ...] = ()
        self.tended = False

    def takes_gradient(self) -> Tri:
        """Frozen parameters take no gradient, whenever they were frozen."""
        return self.trainable


class Parameters(Value, Cell):
    """The result of `parameters()` and the like: an iterable over the parameters of `holders`.

    A generator knows where it was `made`, a list does not; `name` is the first name it was given,
    `spent` whether it was used up, `spent_at` by what.
    """

    def __init__(
        self, holders: tuple[GradHolder, ...], named: bool = False, made: Origin = None
    ) -> None:
        Cell.__init__(self)
        self.holders = holders
        self.named = named
        self.made = made
        self.name = ""
        self.spent = NO
        self.spent_at: Origin = None


class StateDict(Unknown):
    """What `state_dict()` of a module gives: its values share memory with the parameters.

    `holders` are the parameter sets, `loops` the loops that ran when it was made, `since` the clock
    then; `moved` is what may have copied it on the way (`cpu`, on another device), `edited` whether
    values were replaced since. After a join `others` are the dicts that it may be.
    """

    def __init__(
        self,
        holders: tuple[GradHolder, ...],
        inputs: tuple[Value, ...],
        origin: Origin,
        loops: tuple[Any, ...],
        moved: str = "",
        others: tuple[StateDict, ...] = (),
    ) -> None:
        super().__init__("", inputs, origin)
        self.holders = holders
        self.loops = loops
        self.since = self.birth
        self.moved = moved
        self.edited = NO
        self.others = others

    def again(self, moved: str) -> StateDict:
        """Another dict, or a part of this one, with the same memory."""
        other = StateDict(self.holders, self.inputs, self.origin, self.loops, moved or self.moved)
        other.since = self.since
        return other

    def alternatives(self) -> tuple[StateDict, ...]:
        """The dicts that it may be."""
        return self.others or (self,)


class Optimizer(Value, Cell):
    """An optimizer. `known`: `holders` is all it steps, else it has an `opaque` set too.

    `cls` is its class in the project, if it has one; `hooks` are run after each step; `awaits`: a
    scaler stepped it and was not updated since; `has_stepped`: it may have stepped,
    and `early` is when a scheduler of it did so before; `unsure` are the holders that it may be
    without. `moves_on`: it moves parameters whose gradient is zero.
    """

    def __init__(
        self,
        holders: tuple[GradHolder, ...],
        known: bool,
        origin: Origin = None,
        grade: Grade = Grade.BUILT,
        name: str = "",
    ) -> None:
        Cell.__init__(self)
        self.holders = holders
        self.known = known
        self.opaque: GradHolder | None = None if known else GradHolder(UNKNOWN_GRAD)
        self.origin = origin
        self.grade = grade
        self.name = name
        self.cls: Any = None
        self.hooks: tuple[Value, ...] = ()
        self.awaits = NO
        self.has_stepped = False
        self.early: Any = None
        self.unsure: frozenset[GradHolder] = frozenset()
        self.moves_on = MAYBE

    def sets(self) -> tuple[GradHolder, ...]:
        """All parameter sets that a step of it uses."""
        return self.holders if self.opaque is None else (*self.holders, self.opaque)


class Scheduler(Value):
    """A learning-rate scheduler of torch; `optimizer` is the one whose rates it is to set from the
    start, None if that is not known.
    """

    def __init__(self, optimizer: Optimizer | None = None) -> None:
        self.optimizer = optimizer


class GradScaler(Value, Cell):
    """A gradient scaler of torch.amp. `place` is where it was last named in the program."""

    def __init__(self, enabled: Tri, grade: Grade = Grade.BUILT, place: Origin = None) -> None:
        Cell.__init__(self)
        self.enabled = enabled
        self.grade = grade
        self.place = place
