"""What one file offers to the others: its imports, classes, functions and the names they use.

An index holds no syntax trees, so thousands of them can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

AUGMENTED = "+="
"""Stands in `names` for any augmented assignment."""
ACCUMULATED = "x+="
"""Stands in `names` for an augmented assignment to a name of what may be a tensor."""
ITEM_STORED = "[]="
"""Stands in `names` for a store into a subscript."""
COMPARED = "=="
"""Stands in `names` for a comparison whose result is passed on or given a name."""
WHOLE = "int()"
"""Stands in `names` for a cast to whole numbers or booleans, by method or by `dtype=`."""
REPEATED = "[]*"
"""Stands in `names` for a list or tuple display, not of constants, that is multiplied."""
DROPPED = "dropout()"
"""Stands in `names` for the call of a function for dropout that is no attribute of self."""
LISTED = "self.x=[]"
"""Stands in `names` for a list, tuple, dict or comprehension that is put into an attribute."""
EARLY = "self.x"
"""Stands in `names` of an `__init__` for an attribute that is set, to no constant, before any other
`__init__` is called; or for the lack of such a call."""
IN_PLACE = "_()"
"""Stands in `names` for the call of a method whose name ends with an underscore, and that writes.
"""
SWITCHED_ON = "set_grad_enabled(True);"
"""Stands in `names` for a statement that switches recording on, or back to what it was."""
YIELDED = "yield"
"""Stands in `names` for a yield."""
UNKNOWN_BASE = "?"
"""Stands in `ClassInfo.bases` for a base that is not a dotted name, such as a call."""


@dataclass(slots=True, frozen=True)
class Parameters:
    """The parameters of a function by the way they can be passed."""

    positional: tuple[str, ...]
    """Those that can be passed by position; a method's `self` is included."""
    keyword_only: tuple[str, ...]
    vararg: str | None
    kwarg: str | None
    defaults: int
    """How many of the positional ones, counted from the last, have a default."""


@dataclass(slots=True, eq=False)
class FunctionInfo:
    """A function or method as other files see it. Lines count from 1, columns are bytes from 0."""

    name: str
    qualname: str
    path: str
    params: Parameters
    first_line: int
    """Line of the first decorator, or of `def`."""
    line: int
    """Line of `def`."""
    last_line: int
    column: int
    """Column of `def` and of the `@` of its decorators."""
    decorators: tuple[str, ...]
    """Dotted names as written, without arguments; `?` for anything else."""
    names: frozenset[str]
    """Every name, attribute and keyword used in the body, nested functions and decorators.

    `AUGMENTED`, `ACCUMULATED`, `ITEM_STORED`, `COMPARED`, `WHOLE`, `REPEATED`, `DROPPED`,
    `LISTED`, `EARLY` and `IN_PLACE` stand for what has no name of its own, `data=` for a store to
    an attribute of that name, `detach();` for a statement that is such a call, `detach;` for one
    (or a `with`) that only names it. A decorator that switches recording off is not among them:
    what it covers is never recorded.
    """
    is_generator: bool
    is_async: bool
    class_name: str | None
    """Qualified name of the class that holds this method, None for plain functions."""
    records: bool
    """Its text backpropagates, steps an optimizer, or marks a tensor with requires_grad."""
    is_static: bool
    is_class: bool
    is_property: bool


@dataclass(slots=True, eq=False)
class ClassInfo:
    """A class as written, without what it inherits. Infos of one place in one file are equal."""

    name: str
    qualname: str
    path: str
    line: int
    last_line: int
    bases: tuple[str, ...]
    """Dotted text as written in its file, `UNKNOWN_BASE` where there is none."""
    decorators: tuple[str, ...]
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    class_attributes: set[str] = field(default_factory=set)
    """Names that the class body gives a value."""
    annotated: set[str] = field(default_factory=set)
    """Names that the class body annotates without a value."""
    properties: set[str] = field(default_factory=set)
    method_aliases: dict[str, str] = field(default_factory=dict)
    """`__call__ = forward` in the class body."""
    built: dict[str, str] = field(default_factory=dict)
    """Attributes that the constructor gives a new object, to the bare name of its class."""

    @property
    def key(self) -> tuple[str, int, str]:
        """What identifies the class, also after its file was indexed again."""
        return (self.path, self.line, self.qualname)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassInfo) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(slots=True, eq=False)
class FileIndex:
    """The names of one file and what they stand for. Qualified names are Python's own."""

    path: str
    imports: dict[str, str] = field(default_factory=dict)
    """Local name to qualified name; a relative import keeps its dots: `..layers.Block`.

    `import a.b` binds `a` to `a`. Of several imports of one name the first counts, module level
    before functions.
    """
    from_modules: dict[str, str] = field(default_factory=dict)
    """For names bound by `from m import x`: the text of `m`, with its dots."""
    star_imports: list[str] = field(default_factory=list)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    """By qualified name."""
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    """Those of module level, by name."""
    all_functions: list[FunctionInfo] = field(default_factory=list)
    """Methods and nested functions too, in the order of their ends."""
    aliases: dict[str, str] = field(default_factory=dict)
    """`Base = nn.Module` at module level, unless the name is given two different values."""
    module_level_names: frozenset[str] = frozenset()
    """As `FunctionInfo.names`, of all that runs on import: module and class bodies."""
    calls_off: set[str] = field(default_factory=set)
    """Bare names of functions and methods that are called where gradient recording is off."""
    imports_torch: bool = False
    mtime: float | None = None
