"""The facts that the model keeps, and the values of plain Python.

Three-valued facts (`Tri`) say yes, no or maybe. Objects that change while a program runs (a
tensor's state, its storage, a module) are `Cell`s: their fields are written through
`heap.Heap.put` only, so that a branch can be undone and joined. Where a value came from is an
opaque `Origin`: nothing here knows about source code. Tensors are in `tensor`, modules and
optimizers in `objects`.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple, TypeAlias

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


class Lost(NamedTuple):
    """Where a value lost its history: `how` is "off" (not recorded), "detach", "copy" (made anew
    from numbers) or "operation" (one without derivative, named by `operation`).
    """

    how: str
    origin: Origin
    operation: str = ""


class Value:
    """Anything a name can be bound to."""

    grade: Grade = Grade.BUILT


class Scalar(Value):
    """A Python number, string, None, type …; `known` tells whether `value` is its value.

    `kind` is the kind a tensor made from it would have; `lost`: it was read from a tensor with
    history.
    """

    __slots__ = ("kind", "known", "lost", "value")

    def __init__(
        self,
        value: object = None,
        known: bool = False,
        kind: Kind = Kind.UNKNOWN,
        lost: Lost | None = None,
    ) -> None:
        self.lost = lost
        self.value = value
        self.known = known
        self.kind = kind


NONE = Scalar(None, known=True)
"""Python's None."""

Gathered: TypeAlias = "tuple[tuple[Value, Origin], ...] | None"
"""What a container gathered, each value with the place where it was put in."""


class Sequence(Value, Cell):
    """A list or tuple; `items` is None where its length is not known, `rest` then stands for any
    item.

    `source` is the generator function that yields the items, if one does, or what a generator
    expression runs over. `gathered` is what was
    put in one by one, with history; None if something was taken out, or may have been.
    """

    def __init__(
        self, items: tuple[Value, ...] | None, rest: Value | None = None, mutable: bool = True
    ) -> None:
        Cell.__init__(self)
        self.items = items
        self.rest = rest
        self.mutable = mutable
        self.source: Any = None
        self.gathered: Gathered = ()


class Mapping(Value, Cell):
    """A dict: `items` by literal key; `open` when other keys may be there, `rest` standing for
    them. `gathered` as in lists.
    """

    def __init__(self, items: dict[Hashable, Value], open: bool, rest: Value | None = None) -> None:
        Cell.__init__(self)
        self.items = items
        self.open = open
        self.rest = rest
        self.gathered: Gathered = ()


class Qualified(Value):
    """Something outside the project, by its full name: `torch.nn.Linear`, `math.sqrt`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Unknown(Value, Cell):
    """A value about which nothing is known yet.

    `refined` is what a later use proved it to be; `inputs` are the values it was computed from
    (graph edges pass through as maybe); `attributes` keep one identity per attribute read; `name`
    is the last name it was read under, the weakest evidence; `joined`: it is one of its inputs.
    """

    def __init__(
        self, name: str = "", inputs: tuple[Value, ...] = (), origin: Origin = None
    ) -> None:
        Cell.__init__(self)
        self.name = name
        self.inputs = inputs
        self.origin = origin
        self.refined: Value | None = None
        self.joined = False
        self.attributes: dict[str, Value] = {}


def resolve(value: Value) -> Value:
    """What a value is known to be: follows the refinements of unknown values."""
    while type(value) is Unknown and value.refined is not None:
        value = value.refined
    return value
