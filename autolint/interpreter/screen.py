"""The screen: which functions of a file are worth running, by the names that occur in them.

It looks at the `ast` index only, so a file without such a function is never parsed by LibCST.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from autolint.interpreter.events import (
    ConstantGiven,
    Event,
    FunctionCalled,
    ModuleBuilt,
    PartReplaced,
)
from autolint.interpreter.events.functions import FUNCTION_BASES
from autolint.interpreter.index import LISTED, ClassInfo, FileIndex, FunctionInfo
from autolint.interpreter.project import Project

TOO_COMMON = frozenset({"forward", "__init__", "__call__", "setup", "__enter__", "__exit__"})
"""Names that every class has: following them would lead to everything."""
_CALLER_LEVELS = 2
FACTORIES = frozenset(
    {"tensor", "zeros", "ones", "full", "eye", "arange", "linspace", "rand", "randn", "empty"}
    | {"Tensor", "FloatTensor", "from_numpy", "as_tensor", "logspace", "randperm", "randint"}
    | {"hann_window", "hamming_window", "meshgrid", "tril", "triu", "one_hot", "kaiser_window"}
)
"""Names of what makes the tensors that classes keep."""
_OPTIMIZERS = frozenset({"optimizer", "optim", "opt", "optimizers", "SGD", "Adam", "AdamW"})


class Needs:
    """What the names of a function must be for a wanted event to be possible there."""

    def __init__(self, events: Iterable[type[Event]]) -> None:
        self._pairs = {(event.triggers, event.company) for event in events}

    def met(self, names: frozenset[str], around: Callable[[], Iterable[frozenset[str]]]) -> bool:
        """Whether a trigger is among the names, and its company there or among those `around`.

        What stands around is asked for only if a company is to be found there.
        """
        wider: list[frozenset[str]] | None = None
        for triggers, company in self._pairs:
            if names.isdisjoint(triggers):
                continue
            if not company or not names.isdisjoint(company):
                return True
            wider = list(around()) if wider is None else wider
            if not all(company.isdisjoint(each) for each in wider):
                return True
        return False


def _class_of(constructor: FunctionInfo) -> str:
    """The bare name of the class that a constructor belongs to."""
    return (constructor.class_name or "").rpartition(".")[2]


class Screen:
    """The functions of one file that can lead to one of the wanted events."""

    def __init__(self, index: FileIndex, project: Project, wanted: frozenset[type[Event]]) -> None:
        self._index = index
        self._project = project
        anywhere = [e for e in wanted if not e.in_forward and not e.at_construction]
        self._at_construction = [e for e in wanted if e.at_construction]
        self._needs = Needs(anywhere)
        self._in_forward = frozenset(
            name for event in wanted if event.in_forward for name in event.triggers
        )
        self._builds = ModuleBuilt in wanted
        self._replaces = PartReplaced in wanted
        self._applies = FunctionCalled in wanted or ConstantGiven in wanted
        self._called: dict[str, frozenset[str]] = {}

    def possible(self, names: frozenset[str], owner: str | None = None) -> bool:
        """Whether code with these names, and what it calls in the file, can give a wanted event.

        Of a method of the class `owner`, what the constructor makes counts as well.
        """
        return self._needs.met(names, lambda: self._callees(names, owner))

    def _callees(self, names: frozenset[str], owner: str | None) -> list[frozenset[str]]:
        if not self._called:
            for info in self._index.all_functions:
                self._called[info.name] = self._called.get(info.name, frozenset()) | info.names
        callees = [self._called[name] for name in names if name in self._called]
        cls = self._index.classes.get(owner) if owner is not None else None
        if cls is not None and "__init__" in cls.methods:
            callees.append(cls.methods["__init__"].names)
        return callees

    def builds(self) -> frozenset[str]:
        """Qualified names of the classes whose construction can give an event by itself."""
        return frozenset(
            name
            for name, cls in self._index.classes.items()
            if (self._builds and self._makes_tensors(cls) and self._may_be_module(cls))
            or self._keeps_parts(cls)
        )

    def _may_be_module(self, cls: ClassInfo) -> bool:
        return self._project.is_module(cls) is not False

    def _keeps_parts(self, cls: ClassInfo) -> bool:
        """Whether a class may be a module that has its parts at the wrong place or time."""
        init = cls.methods.get("__init__")
        if init is None or not cls.bases:
            return False
        imports = self._index.imports
        names = init.names | {
            imports[name].rpartition(".")[2] for name in init.names if name in imports
        }
        return any(
            not names.isdisjoint(event.triggers)
            and (not event.company or not names.isdisjoint(event.company))
            for event in self._at_construction
        ) and bool(self._project.is_module(cls))

    def rooted(self) -> frozenset[str]:
        """Qualified names of the functions that can give an event, and of their callers in the
        file.

        Calls are seen by bare name, two levels up: a loop around a helper that steps an optimizer
        holds no trigger itself.
        """
        functions = self._index.all_functions
        chosen = {
            info.qualname: info
            for info in functions
            if self.possible(info.names, info.class_name)
            or (self._builds and self._hands_tensors(info))
            or self._hands_optimizer(info)
        }
        chosen.update((info.qualname, info) for info in self._users_of(list(chosen.values())))
        chosen.update((info.qualname, info) for info in self._forwards())
        chosen.update((info.qualname, info) for info in self._builders())
        chosen.update((info.qualname, info) for info in self._appliers())
        chosen.update((info.qualname, info) for info in self._replacers())
        fresh = list(chosen.values())
        for level in range(_CALLER_LEVELS):
            called = {info.name for info in fresh} - TOO_COMMON
            built = {_class_of(info) for info in fresh if info.name == "__init__"}
            fresh = [
                info
                for info in functions
                if info.qualname not in chosen
                and (
                    not info.names.isdisjoint(called)
                    # Who builds an object decides what its constructor gets; models that build
                    # their layers would lead to everything.
                    or (level == 0 and info.name != "__init__" and not info.names.isdisjoint(built))
                )
            ]
            chosen.update((info.qualname, info) for info in fresh)
        return frozenset(chosen)

    def _users_of(self, chosen: list[FunctionInfo]) -> Iterator[FunctionInfo]:
        """The methods that name a part of their object whose forward is chosen: they give it the
        tensors that its own parameters may not be known to be.
        """
        forwards = {
            (info.class_name or "").rpartition(".")[2] for info in chosen if info.name == "forward"
        }
        for cls in self._index.classes.values():
            parts = {part for part, made in cls.built.items() if made in forwards}
            for method in cls.methods.values():
                if method.name != "__init__" and not method.names.isdisjoint(parts):
                    yield method

    def _builders(self) -> Iterator[FunctionInfo]:
        """The functions that hand something to a class which may keep it in a wrong way."""
        classes = {
            name.rpartition(".")[2]
            for name, cls in self._index.classes.items()
            if self._keeps_parts(cls) or self._collects_parts(cls)
        }
        if classes:
            for info in self._index.all_functions:
                if info.name != "__init__" and not info.names.isdisjoint(classes):
                    yield info

    def _replacers(self) -> Iterator[FunctionInfo]:
        """The methods that set again what the constructor has set, of a class that trains it."""
        for cls in self._index.classes.values() if self._replaces else ():
            init = cls.methods.get("__init__")
            if init is None or "parameters" not in init.names:
                continue
            if not any(each.names >= {"step", "backward"} for each in cls.methods.values()):
                continue
            stored = {name for name in init.names if name.endswith("=")}
            for name, info in cls.methods.items():
                if name != "__init__" and not info.names.isdisjoint(stored):
                    yield info

    def _appliers(self) -> Iterator[FunctionInfo]:
        """The functions that use a custom autograd function of the file: how, is the question."""
        if not self._applies:
            return
        index = self._index
        custom = {
            cls.name
            for cls in index.classes.values()
            if any(
                index.imports.get(base, base).rpartition(".")[2] in FUNCTION_BASES
                for base in cls.bases
            )
        }
        if custom:
            for info in index.all_functions:
                if not info.names.isdisjoint(custom):
                    yield info

    def _collects_parts(self, cls: ClassInfo) -> bool:
        """Whether a module has a list in an attribute, to which a method of it appends."""
        init = cls.methods.get("__init__")
        if init is None or LISTED not in init.names or not self._at_construction:
            return False
        others = (method for name, method in cls.methods.items() if name != "__init__")
        return any("append" in method.names for method in others) and bool(
            self._project.is_module(cls)
        )

    def _forwards(self) -> Iterator[FunctionInfo]:
        """The forwards of the file that lead to what only a forward can do wrong."""
        if not self._in_forward:
            return
        functions = self._index.functions
        for cls in self._index.classes.values():
            forward = cls.methods.get("forward")
            if forward is None or self._project.is_module(cls) is False:
                continue
            reached, fresh = {"forward"}, [forward]
            while fresh:
                info = fresh.pop()
                if not info.names.isdisjoint(self._in_forward):
                    yield forward
                    break
                for name in info.names - reached:
                    called = cls.methods.get(name) or functions.get(name)
                    if called is not None and called.name != "__init__":
                        reached.add(name)
                        fresh.append(called)

    def _makes_tensors(self, cls: ClassInfo) -> bool:
        """Whether the constructor of a class, or what it calls, may make a tensor."""
        init = cls.methods.get("__init__")
        if init is None:
            return False
        run = [init, *(method for name, method in cls.methods.items() if name in init.names)]
        functions = self._index.functions
        run += [functions[name] for name in init.names if name in functions]
        return any(not each.names.isdisjoint(FACTORIES) for each in run)

    def _hands_optimizer(self, info: FunctionInfo) -> bool:
        """Whether a function with an optimizer calls one of another file that can give an event,
        or builds an object that runs the backward.
        """
        if info.names.isdisjoint(_OPTIMIZERS):
            return False
        for name in info.names:
            if name in self._index.imports:
                found = self._project.resolve(self._index, name)
                if isinstance(found, FunctionInfo) and self.possible(found.names):
                    return True
                if isinstance(found, ClassInfo) and self._propagates(found):
                    return True
        return False

    def _propagates(self, cls: ClassInfo) -> bool:
        """Whether a method of a class calls backward, if that is wanted."""
        methods = [each for each in cls.methods.values() if "backward" in each.names]
        return any(self.possible(each.names) for each in methods)

    def _hands_tensors(self, info: FunctionInfo) -> bool:
        """Whether a function makes tensors and builds modules, which may get them so."""
        if info.names.isdisjoint(FACTORIES) or info.name == "__init__":
            return False
        return any(name[:1].isupper() and self._names_module(name) for name in info.names)

    def _names_module(self, name: str) -> bool:
        """Whether a name may stand for a module class of the project."""
        index = self._index
        if name not in index.classes and name not in index.imports:
            return False
        found = self._project.resolve(index, name)
        return isinstance(found, ClassInfo) and self._may_be_module(found)
