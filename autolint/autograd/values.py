"""The abstract values: what is known of a tensor, a module, an optimizer … at one point of a
program.

Three-valued facts (`Tri`) say yes, no or maybe. Objects that change while a program runs (a
tensor's state, its storage, a module) are `Cell`s: their fields are written through
`heap.Heap.put` only, so that a branch can be undone and joined. Where a value came from is an
opaque `Origin`: nothing here knows about source code.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator
from typing import Any, ClassVar, TypeAlias

Origin: TypeAlias = Any
"""Where something happened: kept and handed back, never looked into."""


class Tri(enum.Enum):
    """A three-valued truth."""

    NO = 0
    MAYBE = 1
    YES = 2

    def __and__(self, other: Tri) -> Tri:
        return self if self.value <= other.value else other

    def __or__(self, other: Tri) -> Tri:
        return self if self.value >= other.value else other

    def __invert__(self) -> Tri:
        return _INVERSE[self]

    @staticmethod
    def of(truth: bool) -> Tri:
        """The certain answer for a known truth."""
        return Tri.YES if truth else Tri.NO

    @staticmethod
    def join(left: Tri, right: Tri) -> Tri:
        """What holds on two paths: equal stays, different becomes maybe."""
        return left if left is right else Tri.MAYBE


_INVERSE = {Tri.NO: Tri.YES, Tri.MAYBE: Tri.MAYBE, Tri.YES: Tri.NO}
NO, MAYBE, YES = Tri.NO, Tri.MAYBE, Tri.YES


class Kind(enum.Enum):
    """The kind of a dtype: all that autograd asks of it."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    COMPLEX = "complex"
    UNKNOWN = "any"

    @property
    def differentiable(self) -> Tri:
        """Whether a tensor of this kind may require grad."""
        if self is Kind.UNKNOWN:
            return MAYBE
        return Tri.of(self in (Kind.FLOAT, Kind.COMPLEX))

    @staticmethod
    def join(left: Kind, right: Kind) -> Kind:
        """What holds on two paths."""
        return left if left is right else Kind.UNKNOWN

    @staticmethod
    def promote(left: Kind, right: Kind) -> Kind:
        """The kind of an arithmetic result of two operands, as `torch.result_type` gives it."""
        if left is Kind.UNKNOWN or right is Kind.UNKNOWN:
            return Kind.COMPLEX if Kind.COMPLEX in (left, right) else Kind.UNKNOWN
        return left if _KIND_ORDER[left] >= _KIND_ORDER[right] else right


_KIND_ORDER = {Kind.BOOL: 0, Kind.INT: 1, Kind.FLOAT: 2, Kind.COMPLEX: 3}


class GradMode(enum.Enum):
    """Whether operations are recorded where a statement runs."""

    ON = "on"
    OFF = "off"
    INFERENCE = "inference"
    EITHER = "either"
    """A flag that is not known decides."""
    UNKNOWN = "unknown"
    """Nobody is seen to call the code: it counts as on where operations are recorded."""

    @property
    def off(self) -> bool:
        """Nothing is recorded, for sure."""
        return self is GradMode.OFF or self is GradMode.INFERENCE


class Grade(enum.IntEnum):
    """How well it is known that a value is what it is taken for, weakest first."""

    NAMED = 0
    USED = 1
    ANNOTATED = 2
    BUILT = 3


class Through(enum.Enum):
    """By which kind of alias memory is reached."""

    SELF = "self"
    DATA = "data"
    DETACH = "detach"
    NUMPY = "numpy"


class Word(enum.Enum):
    """The state of the gradients of a parameter set between two steps (DESIGN §4's table)."""

    NONE = "none"
    FRESH = "fresh"
    USED = "used"
    STALE = "stale"
    DROPPED = "dropped"
    UNKNOWN = "unknown"


UNKNOWN_GRAD = frozenset({Word.UNKNOWN})
NO_GRAD_YET = frozenset({Word.NONE})


class Cell:
    """Something whose facts change as the program runs; `birth` orders cells by creation."""

    birth: int
    _births: ClassVar[int] = 0

    def __init__(self) -> None:
        Cell._births += 1
        self.birth = Cell._births

    @staticmethod
    def clock() -> int:
        """The number of the youngest cell: older cells existed before this moment."""
        return Cell._births


class Value:
    """Anything a name can be bound to."""

    grade: Grade = Grade.BUILT


class GradHolder(Cell):
    """A set of parameters that share one gradient state: a leaf tensor, or a layer's own
    parameters.

    `words` is the set of states it can be in (joins are unions); `stale_at` is where a backward
    added to gradients that a step had used; `dropped_at` where fresh gradients were cleared.
    `absent` says whether `.grad` is None, `cleared` whether that is because it was cleared.
    `rebound` counts, over all paths, how often `.data =` put other memory under it; `kept`: a name
    was given to its memory through `.data`.
    """

    def __init__(self, words: frozenset[Word]) -> None:
        super().__init__()
        self.words = words
        self.read = False
        self.absent = YES if words == NO_GRAD_YET else MAYBE
        self.cleared = False
        self.stale_at: Origin = None
        self.dropped_at: Origin = None
        self.kept = False
        self.rebound = (0, 0)
        self.last_rebind: Write | None = None


class Storage(Cell):
    """Memory that tensors share, with its version counter as a range (low, high) over all paths.

    `version` counts the writes that autograd sees, `hidden` those through `.data` or numpy, which
    bump no counter that it reads. `parts` are the storages this one may be, after a join (all of
    them, if `together`); `savers` are the latest (node, saved value) that keep a value of it;
    `last_write` and `last_hidden` are the last writes by counter; `pending` is a write through a
    detached alias whose effect nobody used yet.
    """

    def __init__(self, parts: tuple[Storage, ...] = (), together: bool = False) -> None:
        super().__init__()
        self.together = together
        self.version = (0, 0)
        self.hidden = (0, 0)
        self.parts = parts
        self.last_write: Write | None = None
        self.last_hidden: Write | None = None
        self.pending: Any = None
        self.savers: tuple[Any, ...] = ()


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
    is False for a view made under no_grad, whose gradient goes nowhere; `members` are the holders
    that a summary element stands for (the `p` of `for p in model.parameters()`); `owner` is the
    layer that a `.weight` belongs to; `grad_of` are the sets whose `.grad` this is; `memory` is
    its storage; `buffer` marks an `nn.Buffer`.
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
        self.cut = False
        self.views: tuple[Tensor, ...] = ()
        self.perhaps: tuple[Tensor, ...] = ()
        self.members: tuple[GradHolder, ...] = ()
        self.owner: GradHolder | None = None
        self.grad_of: tuple[GradHolder, ...] = ()
        self.memory: Storage | None = None
        self.buffer = False


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


class Scalar(Value):
    """A Python number, string, None, type …; `known` tells whether `value` is its value.

    `kind` is the kind a tensor made from it would have.
    """

    __slots__ = ("kind", "known", "value")

    def __init__(
        self, value: object = None, known: bool = False, kind: Kind = Kind.UNKNOWN
    ) -> None:
        self.value = value
        self.known = known
        self.kind = kind


NONE = Scalar(None, known=True)
"""Python's None."""


class Sequence(Value, Cell):
    """A list or tuple; `items` is None where its length is not known, `rest` then stands for any
    item.

    `source` is the generator function that yields the items, if one does.
    """

    def __init__(
        self, items: tuple[Value, ...] | None, rest: Value | None = None, mutable: bool = True
    ) -> None:
        Cell.__init__(self)
        self.items = items
        self.rest = rest
        self.mutable = mutable
        self.source: Any = None


class Mapping(Value, Cell):
    """A dict: `items` by literal key; `open` when other keys may be there, `rest` standing for
    them.
    """

    def __init__(self, items: dict[Hashable, Value], open: bool, rest: Value | None = None) -> None:
        Cell.__init__(self)
        self.items = items
        self.open = open
        self.rest = rest


class Qualified(Value):
    """Something outside the project, by its full name: `torch.nn.Linear`, `math.sqrt`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Unknown(Value, Cell):
    """A value about which nothing is known yet.

    `refined` is what a later use proved it to be; `inputs` are the values it was computed from
    (graph edges pass through as maybe); `attributes` keep one identity per attribute read; `name`
    is the last name it was read under, the weakest evidence.
    """

    def __init__(
        self, name: str = "", inputs: tuple[Value, ...] = (), origin: Origin = None
    ) -> None:
        Cell.__init__(self)
        self.name = name
        self.inputs = inputs
        self.origin = origin
        self.refined: Value | None = None
        self.attributes: dict[str, Value] = {}


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
    were assigned; `initialised`: the constructor of `nn.Module` has run.
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
        self.initialised = False


class Parameters(Value):
    """The result of `parameters()` and the like: an iterable over the parameters of `holders`."""

    __slots__ = ("holders", "named")

    def __init__(self, holders: tuple[GradHolder, ...], named: bool = False) -> None:
        self.holders = holders
        self.named = named


class Optimizer(Value, Cell):
    """An optimizer; `contents` is YES where `holders` is all it steps, else it has an `opaque` set
    too.
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

    def sets(self) -> tuple[GradHolder, ...]:
        """All parameter sets that a step of it uses."""
        return self.holders if self.opaque is None else (*self.holders, self.opaque)


class Scheduler(Value):
    """A learning-rate scheduler of torch."""


class GradScaler(Value):
    """A gradient scaler of torch.amp."""


def resolve(value: Value) -> Value:
    """What a value is known to be: follows the refinements of unknown values."""
    while type(value) is Unknown and value.refined is not None:
        value = value.refined
    return value


_GRAD = {YES: "grad", NO: "no-grad", MAYBE: "maybe-grad"}
_LEAF = {YES: "leaf", NO: "non-leaf", MAYBE: "maybe-leaf"}


def describe(value: Value) -> str:
    """The model's answer in the words of the `# reveal:` mark."""
    value = resolve(value)
    if isinstance(value, Unknown):
        return "maybe-tensor maybe-grad maybe-leaf any"
    if not isinstance(value, Tensor) or value.tensor is NO:
        return "other"
    state = value.state
    words = [
        "tensor" if value.tensor is YES else "maybe-tensor",
        _GRAD[state.requires_grad],
        _LEAF[state.leaf],
        state.kind.value,
    ]
    if state.rank is not None:
        words.append(f"rank={state.rank}")
    if state.inference is YES:
        words.append("inference")
    if state.cleared and state.absent is YES:
        words.append("grad-is-none")
    return " ".join(words)
