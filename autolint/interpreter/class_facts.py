"""Facts of a class and its project bases: what is stored on self, where, and what becomes of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from autolint.interpreter.index import ClassInfo
from autolint.interpreter.project import Project


class Role(enum.Enum):
    """What a read of an attribute is for."""

    VALUE = "value"
    """Operand of arithmetic, argument of a call, receiver of a method, returned."""
    MOVED = "moved"
    """Brought to a device or dtype by hand where it is read."""
    INDEX = "index"
    """Only an index, or a table of Python numbers."""
    TEST = "test"
    """Only tested, or compared with None."""
    SHAPE = "shape"
    """Only its shape, dtype or device."""
    OTHER = "other"
    """Logged, saved or exported."""


class How(enum.Enum):
    """The way an attribute is stored."""

    ASSIGNED = "assigned"
    AUGMENTED = "augmented"
    SETATTR = "setattr"
    BUFFER = "buffer"
    PARAMETER = "parameter"
    DELETED = "deleted"


@dataclass(slots=True, frozen=True)
class Read:
    """One read of an attribute. `line` is the line in the file at `path`."""

    path: str
    method: str
    line: int
    role: Role


@dataclass(slots=True, frozen=True)
class Store:
    """One place where an attribute gets a value. `is_none`: it gets None there."""

    path: str
    method: str
    line: int
    how: How
    is_none: bool


class ClassFacts:
    """Facts about one class together with what it inherits from the project."""

    init_methods: frozenset[str]
    forward_methods: frozenset[str]
    handles_apply: bool
    registers_unknown_names: bool

    @staticmethod
    def of(project: Project, cls: ClassInfo) -> ClassFacts:
        """The facts of a class; computed once per class and project."""
        raise NotImplementedError

    def reads(self, attribute: str) -> list[Read]:
        """Every read of the attribute in the class."""
        raise NotImplementedError

    def forward_value_reads(self, attribute: str) -> list[Read]:
        """Reads in forward, or a method it reaches, that need the value as it is."""
        raise NotImplementedError

    def stores(self, attribute: str) -> list[Store]:
        """Every place where the attribute gets a value."""
        raise NotImplementedError

    def rebound(self, attribute: str) -> bool:
        """Whether a method that `__init__` does not reach stores the attribute."""
        raise NotImplementedError

    def moved(self, attribute: str) -> bool:
        """Whether the class itself brings the attribute to another device or dtype."""
        raise NotImplementedError

    def registered(self, attribute: str) -> bool:
        """Whether the name is registered as a buffer or parameter anywhere in the class."""
        raise NotImplementedError

    def class_level(self, attribute: str) -> bool:
        """Whether a class attribute, property or an earlier `self.x = None` has the name."""
        raise NotImplementedError
