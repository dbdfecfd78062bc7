"""Values that have code: functions, methods, classes; and the contexts of `with`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from autolint.autograd.casting import Autocast
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import GradMode, Scalar, Value
from autolint.interpreter.index import ClassInfo, FileIndex, FunctionInfo
from autolint.interpreter.unit import Site, Unit

if TYPE_CHECKING:
    from autolint.interpreter.machine import Frame


_CLEARING = frozenset({"zero_grad", "zero_grads", "zero_"})


class FileContext:
    """A file whose code runs: its index, its global names, and its parsed source if it is the
    linted one.

    `names_of` are the names used per qualified name of a function, for the screen and for guards.
    """

    def __init__(self, index: FileIndex, unit: Unit | None) -> None:
        self.index = index
        self.unit = unit
        self.globals: dict[str, Value] = {}
        self.functions: dict[str, FunctionInfo] = {}
        self.names: dict[str, frozenset[str]] = {}
        for info in index.all_functions:
            self.functions.setdefault(info.qualname, info)
            known = self.names.get(info.qualname, frozenset())
            self.names[info.qualname] = known | info.names

    @cached_property
    def clears(self) -> bool:
        """Whether anything in the file clears gradients."""
        everything = [self.index.module_level_names, *self.names.values()]
        return not all(names.isdisjoint(_CLEARING) for names in everything)

    @property
    def foreign(self) -> bool:
        """Whether this is another file than the linted one."""
        return self.unit is None


@dataclass(eq=False, slots=True)
class FunctionValue(Value):
    """A function of the project. `node` and `unit` are None until it is cut out of another file.

    `mode` is the grad mode a decorator sets, `autocast` the autocast that it enters; `decorated`:
    by something that was not understood, which `wrappers` are where they were given something.
    """

    name: str
    qualname: str
    context: FileContext
    node: cst.FunctionDef | cst.Lambda | None
    unit: Unit | None
    closure: Frame | None
    cls: ClassValue | None = None
    mode: GradMode | None = None
    autocast: Autocast | None = None
    decorated: bool = False
    binding: str = "function"
    generator: bool = False
    manager: bool = False
    wrappers: tuple[Value, ...] = ()
    defaults: dict[str, Value] = field(default_factory=dict)

    @property
    def info(self) -> FunctionInfo | None:
        """What the index knows of it."""
        return self.context.functions.get(self.qualname)


@dataclass(eq=False, slots=True)
class BoundMethod(Value):
    """A function with its first argument."""

    function: FunctionValue
    receiver: Value


@dataclass(eq=False, slots=True)
class MethodOf(Value):
    """A method of a value that is not written in Python here: `tensor.sum`, `optimizer.step`."""

    receiver: Value
    name: str


class NoGradient(Scalar):
    """The None that a read of `.grad` gave: of which tensor, where, and whether surely so."""

    __slots__ = ("certain", "read", "tensor")

    def __init__(self, tensor: Tensor, read: Site, certain: bool) -> None:
        super().__init__(None, known=True)
        self.tensor = tensor
        self.read = read
        self.certain = certain


@dataclass(eq=False, slots=True)
class Imported(Value):
    """What an import statement bound, before anybody asked for it; `name` is None for a module."""

    importer: FileIndex
    module: str
    name: str | None
    level: int


@dataclass(eq=False, slots=True)
class DtypeOf(Value):
    """The dtype of a tensor, as a value."""

    tensor: Tensor


@dataclass(eq=False, slots=True)
class ClassValue(Value):
    """A class of the project. `fields` are its annotated names; of a dataclass they are set by its
    constructor (`fields_from_body`)."""

    name: str
    qualname: str
    context: FileContext
    bases: tuple[Value, ...]
    namespace: dict[str, Value]
    info: ClassInfo | None = None
    node: cst.ClassDef | None = None
    fields: tuple[str, ...] = ()
    fields_from_body: bool = False


@dataclass(eq=False, slots=True)
class SuperValue(Value):
    """`super()`: the receiver, seen as an instance of the bases of `cls`."""

    cls: ClassValue
    receiver: Value


@dataclass(eq=False, slots=True)
class Manager(Value):
    """What a `with` statement enters. `mode` is the grad mode inside, None if it stays as it is.

    `before` is the mode to return to where making the context has switched already; `swallows`: an
    exception may end the block and go no further; `mutes`: the block is there to raise;
    `leaves_inference`: it is `inference_mode(False)`, the only mode that ends inference mode;
    `autocast`: it is, or may be, an autocast context.
    """

    mode: GradMode | None = None
    before: GradMode | None = None
    swallows: bool = False
    mutes: bool = False
    leaves_inference: bool = False
    autocast: Autocast | None = None
    value: Value | None = None


@dataclass(eq=False, slots=True)
class Partial(Value):
    """`functools.partial`: a callable with arguments given already."""

    function: Value
    arguments: Arguments


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of a call. `star`: some came through `*` or `**`, not known."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    star: bool = False

    def all(self) -> list[Value]:
        """Every value given."""
        return [*self.positional, *self.keywords.values()]

    def get(self, position: int, name: str) -> Value | None:
        """The value given for a parameter, None if it is not given (or hidden by a star)."""
        found = self.keywords.get(name)
        if found is None and 0 <= position < len(self.positional):
            return self.positional[position]
        return found
