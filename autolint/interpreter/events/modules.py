"""Events of modules: what their classes build and keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autolint.autograd.objects import Module
from autolint.autograd.tensor import Tensor
from autolint.interpreter.events.base import Event, Scope
from autolint.interpreter.unit import Site


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor kept as an attribute: where it was assigned, and by how many assignments.

    `initialised`: nn.Module's own `__init__` had run by then. `placed`: the tensor was put on a
    device by hand on its way here (`device=`, `.to(device)`, `.cuda()`).
    """

    name: str
    tensor: Tensor
    site: Site
    scope: Scope
    assignments: int
    initialised: bool = False
    placed: bool = False


@dataclass(frozen=True, slots=True)
class ModuleBuilt(Event):
    """An `nn.Module` of a project class was constructed: its plain tensor attributes.

    `facts` (computed when asked) answers what the class does with an attribute: see
    `class_facts.ClassFacts`.
    """

    module: Module
    class_name: str
    tensors: tuple[StoredTensor, ...]
    facts: Callable[[], Any]
