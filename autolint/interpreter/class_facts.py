"""Facts of a class and its project bases: what is stored on self, where, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from autolint.autograd import layers
from autolint.interpreter import filling
from autolint.interpreter.class_records import ClassScan, How, MethodScan, Read, Store
from autolint.interpreter.class_scan import scan_class
from autolint.interpreter.index import ClassInfo, FunctionInfo
from autolint.interpreter.project import Project
from autolint.interpreter.roles import Role

__all__ = ["ClassFacts", "How", "Read", "Role", "Store"]

_Key = tuple[str, int, str]
_Method = tuple[int, str]
"""Position of a class in the mro, and the name of one of its methods."""

_FORWARD = frozenset(
    {"forward", "__call__", "training_step", "validation_step", "test_step", "predict_step"}
)
_APPLY = frozenset({"_apply", "to", "cuda"})
_MOVING_NAMES = frozenset({"to", "device", "type_as", "cuda"})

_scans: WeakKeyDictionary[Project, dict[_Key, ClassScan]] = WeakKeyDictionary()
_facts: WeakKeyDictionary[Project, dict[_Key, ClassFacts]] = WeakKeyDictionary()


_LOOKING = frozenset(
    {"len", "enumerate", "zip", "reversed", "iter", "range", "isinstance", "print", "bool", "next"}
)
"""Builtins that keep nothing of what they get."""


class ClassFacts:
    """Facts about one class together with what it inherits from the project.

    Bases outside the project are unknown and add nothing.
    """

    def __init__(self, project: Project, cls: ClassInfo) -> None:
        """Prefer `ClassFacts.of`, which keeps what it computed."""
        self._project = project
        self._order = [c for c in project.mro(cls) if isinstance(c, ClassInfo)]
        self._scans = [_scan(project, c) for c in self._order]
        self._init = self._reached_from(["__init__"])
        self._forward = self._reached_from(_FORWARD)
        self.init_methods: frozenset[str] = frozenset(name for _, name in self._init)
        """`__init__` and the methods it reaches through self and super."""
        self.forward_methods: frozenset[str] = frozenset(name for _, name in self._forward)
        """`forward` (also `__call__` and Lightning's steps) and what it reaches."""
        self.handles_apply: bool = any(_APPLY & c.methods.keys() for c in self._order) or any(
            m.moves_unknown for m in self._all_methods()
        )
        """The class overrides `_apply`, `to` or `cuda`, or moves attributes by computed names."""
        self.registers_unknown_names: bool = self._registers_unknown()
        """Some buffer or parameter is registered under a name that cannot be read off."""
        self._registered = self._registered_names()

    @staticmethod
    def of(project: Project, cls: ClassInfo) -> ClassFacts:
        """The facts of a class, computed once for each project."""
        known = _facts.setdefault(project, {})
        facts = known.get(cls.key)
        if facts is None:
            facts = known[cls.key] = ClassFacts(project, cls)
        else:
            project.mro(cls)  # what the facts were read from, for whoever asks what was looked at
        return facts

    # Methods

    def _all_methods(self) -> Iterator[MethodScan]:
        for scan in self._scans:
            yield from scan.methods.values()

    def _effective(self) -> Iterator[tuple[_Method, MethodScan]]:
        """Methods that an instance can run: those an override hides only if super reaches them."""
        seen: set[str] = set()
        reached_by_super = self._called_past_overrides()
        for i, scan in enumerate(self._scans):
            for name, method in scan.methods.items():
                if name not in seen or (i, name) in reached_by_super:
                    yield (i, name), method
            seen |= scan.methods.keys()

    def _called_past_overrides(self) -> set[_Method]:
        return {
            target
            for i, scan in enumerate(self._scans)
            for method in scan.methods.values()
            for target in self._past(i, method)
        }

    def _past(self, position: int, method: MethodScan) -> Iterator[_Method]:
        """The methods that calls through super and through a base's name reach."""
        for name in method.super_calls:
            found = self._find(name, position + 1)
            if found is not None:
                yield found
        for base, name in method.base_calls:
            last = base.rpartition(".")[2]
            for i, cls in enumerate(self._order):
                if cls.name == last:
                    found = self._find(name, i)
                    if found is not None:
                        yield found
                    break

    def _find(self, name: str, start: int = 0) -> _Method | None:
        for i in range(start, len(self._scans)):
            name = self._order[i].method_aliases.get(name, name)
            if name in self._scans[i].methods:
                return i, name
        return None

    def _reached_from(self, names: Iterable[str]) -> frozenset[_Method]:
        stack = [m for name in names if (m := self._find(name)) is not None]
        reached = set(stack)
        while stack:
            position, name = stack.pop()
            method = self._scans[position].methods[name]
            called = [self._find(n) for n in method.reads]
            for target in (*called, *self._past(position, method)):
                if target is not None and target not in reached:
                    reached.add(target)
                    stack.append(target)
        return frozenset(reached)

    # Reads

    def reads(self, attribute: str) -> list[Read]:
        """Every read of the attribute in the class."""
        return [r for _, r in self._reads(attribute)]

    def forward_value_reads(self, attribute: str) -> list[Read]:
        """Reads in forward, or a method it reaches, that need the value where it lies."""
        return [r for m, r in self._reads(attribute) if m in self._forward and r.role is Role.VALUE]

    def _reads(self, attribute: str) -> list[tuple[_Method, Read]]:
        return [
            (key, self._judged(key, read, ()))
            for key, method in self._effective()
            for read in method.reads.get(attribute, ())
        ]

    def _judged(self, key: _Method, read: Read, below: tuple[_Method, ...]) -> Read:
        """The read with the role that the callee or the caller gives it."""
        moved = (read.callee is not None and self._moves_arguments(key, read.callee)) or (
            read.returned and self._callers_move(key, below)
        )
        if not moved:
            return read
        return Read(read.path, read.method, read.line, Role.MOVED, read.callee, read.returned)

    def _moves_arguments(self, key: _Method, callee: str) -> bool:
        """Whether a project function names a device or a move, and so cares for its arguments."""
        head, _, name = callee.partition(".")
        function: object = None
        if head == "self" and "." not in name:
            found = self._find(name)
            function = self._order[found[0]].methods.get(name) if found is not None else None
        else:
            file = self._project.file(self._order[key[0]].path)
            function = self._project.resolve(file, callee) if file is not None else None
        return isinstance(function, FunctionInfo) and bool(_MOVING_NAMES & function.names)

    def _callers_move(self, key: _Method, below: tuple[_Method, ...]) -> bool:
        """Whether every use of what a helper or property returns is a move."""
        if key in below or key[1] in _FORWARD:
            return False
        uses = [
            self._judged(caller, read, (*below, key))
            for caller, method in self._effective()
            for read in method.reads.get(key[1], ())
        ]
        return bool(uses) and all(u.role is Role.MOVED for u in uses)

    # Stores

    def stores(self, attribute: str) -> list[Store]:
        """Every place where the attribute gets a value, is registered or deleted."""
        return [
            store for _, method in self._effective() for store in method.stores.get(attribute, ())
        ]

    def rebound(self, attribute: str) -> bool:
        """Whether the attribute is stored in a method that runs after `__init__`.

        Methods that forward reaches count even if `__init__` calls them too.
        """
        return any(
            (attribute in method.stores or method.stores_unknown)
            and (key not in self._init or key in self._forward)
            for key, method in self._effective()
        )

    def updated(self, attribute: str) -> bool:
        """Whether all that is stored after `__init__` is the old value, changed by arithmetic.

        So running statistics are kept: the tensor of `__init__` lives on in them.
        """
        later = [
            store
            for key, method in self._effective()
            if key not in self._init or key in self._forward
            for store in method.stores.get(attribute, ())
        ]
        return bool(later) and all(store.updates for store in later)

    def converted(self, attribute: str) -> bool:
        """Whether the attribute is passed to something that may register what it holds.

        Builtins only look at it; a layer with parameters of its own gets numbers taken from it.
        """
        harmless = _LOOKING | layers.bare_names(dropout=False)
        return any(
            each.callee is not None and each.callee.rpartition(".")[2] not in harmless
            for each in self.reads(attribute)
        )

    def registers_computed_names(self) -> bool:
        """Whether parts are registered, or set as attributes, under names that are computed."""
        return self.registers_unknown_names or any(
            method.patterns or method.stores_unknown for method in self._all_methods()
        )

    def may_be_filled(self, attribute: str) -> bool:
        """Whether more than the constructor may give a parameter its first values."""
        return filling.may_be_filled(self._project, self, self._order[0], attribute)

    def moved(self, attribute: str) -> bool:
        """Whether the class itself takes care of the device of the attribute.

        So it is if a value put on a device is stored, if forward moves it wherever it needs the
        value, or if `_apply` is overridden.
        """
        if self.handles_apply or any(s.placed for s in self.stores(attribute)):
            return True
        roles = [r.role for m, r in self._reads(attribute) if m in self._forward]
        return Role.MOVED in roles and Role.VALUE not in roles

    # Names

    def registered(self, attribute: str) -> bool:
        """Whether the name is registered as a buffer, parameter or module anywhere in the class."""
        return attribute in self._registered or any(
            p.fullmatch(attribute) for m in self._all_methods() for p in m.patterns
        )

    def _registered_names(self) -> frozenset[str]:
        names = {n for m in self._all_methods() for n in m.registered}
        for method in self._all_methods():
            for name, position, literal in method.literal_calls:
                if position in self._helper_parameters(name):
                    names.add(literal)
        return frozenset(names)

    def _helper_parameters(self, name: str) -> set[int]:
        """Which arguments of a method name what it registers."""
        found = self._find(name)
        return self._scans[found[0]].methods[found[1]].helper_parameters if found else set()

    def _registers_unknown(self) -> bool:
        methods = list(self._all_methods())
        known = {
            name
            for m in methods
            for name, position, _ in m.literal_calls
            if position in self._helper_parameters(name)
        }
        return any(m.registers_unknown for m in methods) or any(
            m.helper_parameters and m.name not in known for m in methods
        )

    def class_level(self, attribute: str) -> frozenset[str]:
        """What else has the name: words out of attribute, property, annotation, method and none.

        `none` stands for `self.x = None` in a method. Only an annotation leaves room for a buffer.
        """
        words = {
            word
            for c in self._order
            for word, names in (
                ("attribute", c.class_attributes),
                ("property", c.properties),
                ("annotation", c.annotated),
                ("method", c.methods.keys() - c.properties),
            )
            if attribute in names
        }
        if any(s.is_none for s in self.stores(attribute)):
            words.add("none")
        return frozenset(words)


def _scan(project: Project, cls: ClassInfo) -> ClassScan:
    known = _scans.setdefault(project, {})
    scan = known.get(cls.key)
    if scan is None:
        tree = project.tree(cls.path)
        scan = ClassScan() if tree is None else scan_class(tree, cls.path, cls.line, cls.name)
        known[cls.key] = scan
    return scan
