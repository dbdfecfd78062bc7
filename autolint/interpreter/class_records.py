"""What is noted about the methods of a class: reads, stores and registrations of attributes."""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from dataclasses import dataclass, field

from autolint.interpreter.roles import Role


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
    """One read of an attribute; `line` is one of the file `path`."""

    path: str
    method: str
    line: int
    role: Role
    callee: str | None = None
    """The function that the attribute is passed to, as written."""
    returned: bool = False
    """The method returns it."""


@dataclass(slots=True, frozen=True)
class Store:
    """One place where an attribute gets a value; `line` is one of the file `path`."""

    path: str
    method: str
    line: int
    how: How
    is_none: bool
    placed: bool
    """The value is put on a device by hand."""
    updates: bool
    """The value is the attribute's old value, changed by arithmetic or methods."""


@dataclass(slots=True)
class MethodScan:
    """One method. Keys of `reads` and `stores` are attribute names."""

    name: str
    reads: dict[str, list[Read]] = field(default_factory=lambda: defaultdict(list))
    stores: dict[str, list[Store]] = field(default_factory=lambda: defaultdict(list))
    super_calls: set[str] = field(default_factory=set)
    base_calls: set[tuple[str, str]] = field(default_factory=set)
    """(class as written, method) for `Base.method(self)`."""
    registered: set[str] = field(default_factory=set)
    patterns: list[re.Pattern[str]] = field(default_factory=list)
    """For names registered as f-strings."""
    registers_unknown: bool = False
    stores_unknown: bool = False
    moves_unknown: bool = False
    """Attributes whose names are computed are moved by hand."""
    helper_parameters: set[int] = field(default_factory=set)
    """Positions, self not counted, of parameters that name what this method registers."""
    literal_calls: list[tuple[str, int, str]] = field(default_factory=list)
    """Methods of self that are called with a literal string: (method, position, string)."""


@dataclass(slots=True)
class ClassScan:
    """All methods of one class as written, by name."""

    methods: dict[str, MethodScan] = field(default_factory=dict)
