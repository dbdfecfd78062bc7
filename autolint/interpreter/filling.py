"""Whether the parameters of a class may get their first values in a way that nobody can follow.

A constructor is run, and what it writes is counted. Beside that, other methods, subclasses, and the
functions of the file may fill what it leaves as it is: by name, or all parameters in bulk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from autolint.interpreter.index import ClassInfo, FileIndex
from autolint.interpreter.project import Project
from autolint.interpreter.roles import Role

if TYPE_CHECKING:
    from autolint.interpreter.class_facts import ClassFacts

_PLAIN_BASES = frozenset(
    {"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"}
    | {"builtins.object", "abc.ABC", "typing.Generic"}
)
"""Bases that initialise nothing."""
_EVERYTHING = frozenset(
    {"parameters", "named_parameters", "state_dict", "children", "modules", "named_modules"}
    | {"named_children", "_parameters"}
)
"""Names by which all parameters are reached at once."""
_COMPUTED = frozenset({"apply", "setattr", "getattr", "__dict__", "vars"})
"""Names by which a class reaches what it does not name."""
_LOADING = frozenset({"load_state_dict", "from_pretrained", "load_checkpoint", "load_weights"})
_INITIALISING = (
    frozenset({"normal_", "uniform_", "zeros_", "ones_", "constant_", "eye_", "dirac_", "sparse_"})
    | {"orthogonal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_"}
    | {"kaiming_normal_", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"}
)
"""Names of what is there to initialise; the last are of old releases."""
_FILLING = (
    _INITIALISING
    | {"zero_", "fill_", "copy_", "set_", "random_", "exponential_", "log_normal_", "cauchy_"}
    | {"bernoulli_", "geometric_", "data=", "[]=", "normal", "uniform", "constant", "orthogonal"}
)
"""Names of what gives a tensor its values."""


def may_be_filled(project: Project, facts: ClassFacts, cls: ClassInfo, attribute: str) -> bool:
    """Whether anything but what a constructor is seen to do may fill an attribute of the class."""
    order = project.mro(cls)
    if any(isinstance(base, str) and base not in _PLAIN_BASES for base in order):
        return True  # The base may have a hook for it.
    own = [base for base in order if isinstance(base, ClassInfo)]
    if any(_reaches_all(method.names) for base in own for method in base.methods.values()):
        return True
    for read in facts.reads(attribute):
        if read.role in (Role.SHAPE, Role.TEST):
            continue
        if read.method not in facts.forward_methods or read.role is Role.OTHER:
            return True
        if _fills((read.callee or "").rpartition(".")[2]):
            return True
    file = project.file(cls.path)
    return file is None or any(_others(project, file, own, attribute)) or _loaded(project, own)


def _loaded(project: Project, own: list[ClassInfo]) -> bool:
    """Whether the values may come from a checkpoint that another file of the package loads.

    Models of packages are mostly made for their weights; one that initialises some of its
    parameters itself is there to be trained.
    """
    package = project.file(os.path.join(os.path.dirname(own[0].path), "__init__.py"))
    return package is not None and not any(
        not _INITIALISING.isdisjoint(method.names)
        for base in own
        for method in base.methods.values()
    )


def _reaches_all(names: frozenset[str]) -> bool:
    return not names.isdisjoint(_EVERYTHING | _LOADING | _COMPUTED)


def _fills(name: str) -> bool:
    return name in _FILLING or (
        not name.startswith("__") and ("init" in name.strip("_") or "reset" in name)
    )


def _others(
    project: Project, file: FileIndex, own: list[ClassInfo], attribute: str
) -> Iterator[bool]:
    """For each piece of code outside of the class, whether it may fill the attribute."""
    own_names = {base.qualname for base in own if base.path == file.path}
    said = frozenset().union(*(m.names for base in own for m in base.methods.values()))
    for owner, code in _bodies(file):
        if owner in own_names:
            continue
        loads = not code.names.isdisjoint(_LOADING)
        around = own[0].qualname.startswith(f"{code.qualname}.<locals>.")
        fills = any(map(_fills, code.names - said if around else code.names))
        everything = fills and not code.names.isdisjoint(_EVERYTHING)
        if loads or everything or (fills and attribute in code.names):
            other = file.classes.get(owner) if owner is not None else None
            if other is not None and own[0] in project.mro(other):
                yield True  # A class derived from it means its own objects.
            elif other is None or loads or everything or not _has(project, other, attribute):
                yield _may_get(file, code, other, own[0])


class _Code(NamedTuple):
    """A function, or the module body, and the names that it uses."""

    qualname: str
    names: frozenset[str]

    def uses(self, cls: ClassInfo) -> bool:
        """Whether it names a class; that of a function is seen there, and counts for all around."""
        function, inside, _ = cls.qualname.rpartition(".<locals>.")
        here, there = f"{self.qualname}.", f"{function}."
        seen = not inside or here.startswith(there) or there.startswith(here)
        return seen and cls.name in self.names


def _bodies(file: FileIndex) -> Iterator[tuple[str | None, _Code]]:
    """All code of a file, with the class that it belongs to."""
    yield None, _Code("", file.module_level_names)
    for each in file.all_functions:
        yield each.class_name, _Code(each.qualname, each.names)


def _has(project: Project, cls: ClassInfo, attribute: str) -> bool:
    """Whether a class stores an attribute of that name itself, and so means its own."""
    from autolint.interpreter.class_facts import ClassFacts

    return bool(ClassFacts.of(project, cls).stores(attribute))


def _may_get(file: FileIndex, code: _Code, owner: ClassInfo | None, cls: ClassInfo) -> bool:
    """Whether code may have an object of the class.

    It may if it names the class, or one whose methods name it, or one that is named together with
    it, whose part it may be; and if it names no class at all.
    """
    built = {info.qualname for info in file.classes.values() if code.uses(info) or info is owner}
    if not built:
        return True
    fresh = list(built)
    while fresh:
        info = file.classes[fresh.pop()]
        used = [_Code(each.qualname, each.names) for each in info.methods.values()]
        for other in file.classes.values():
            if other.qualname not in built and any(method.uses(other) for method in used):
                built.add(other.qualname)
                fresh.append(other.qualname)
    return cls.qualname in built or any(
        body.uses(cls) and any(body.uses(file.classes[each]) for each in built)
        for _, body in _bodies(file)
    )
