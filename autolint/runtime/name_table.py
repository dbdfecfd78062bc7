"""Derive ``autograd/names.csv`` from the installed torch: which names mean what.

One line is ``role,name,details``; the roles are described in :mod:`autolint.autograd.library`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
import torch.optim.swa_utils
from torch import nn

HOMES = (
    "torch.amp",
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.parametrize",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.autograd.graph",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cpu.amp",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.func",
    "torch.distributions",
    "torch.utils.data",
    "torch.utils.checkpoint",
    "torch.random",
)
"""Where things are documented, the preferred place first."""

WALKED = ("nn", "optim", "autograd", "amp", "cuda.amp", "cpu.amp", "utils.data", "utils.checkpoint")
"""Packages whose modules are searched for other names of the same things."""


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def modules() -> list[types.ModuleType]:
    """Public modules that may hold another name of something from `HOMES`."""
    names = [*HOMES, "torch.functional"]
    for package in WALKED:
        root = importlib.import_module("torch." + package)
        names.append(root.__name__)
        for found in pkgutil.walk_packages(getattr(root, "__path__", []), root.__name__ + "."):
            if is_public(found.name) and "backends" not in found.name:
                names.append(found.name)
    loaded = []
    for name in dict.fromkeys(names):
        with contextlib.suppress(ImportError, AttributeError):
            loaded.append(importlib.import_module(name))
    return loaded


def aliases() -> dict[str, str]:
    """Other public names of things, by name, with the name at the first of `HOMES` that has it."""
    home: dict[int, str] = {}
    for place in HOMES:
        module = importlib.import_module(place)
        for name, value in sorted(vars(module).items()):
            if is_public(name) and is_thing(value) and value.__name__ == name:
                home.setdefault(id(value), f"{place}.{name}")
    found = {}
    for module in modules():
        for name, value in sorted(vars(module).items()):
            here = f"{module.__name__}.{name}"
            known = home.get(id(value)) if is_thing(value) else None
            if known and known != here and is_public(here) and module is not F:
                found[here] = known
    found.pop("torch.random.manual_seed", None)  # importing torch._dynamo wraps one of the two
    return found


def is_thing(value: Any) -> bool:
    """A class or function of torch."""
    callable_ = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
    home = str(getattr(value, "__module__", None) or "torch")
    return callable_ and home.startswith("torch") and home != "torch.overrides"


def classes(place: str, base: type) -> list[str]:
    """Names of the classes at that place that derive from ``base``, which is named too."""
    module = importlib.import_module(place)
    return sorted(
        f"{place.removeprefix('torch.')}.{name}"
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base)
        if value.__module__.startswith(place)
    )


def dtypes() -> dict[str, str]:
    found = {}
    for name, value in sorted(vars(torch).items()):
        if isinstance(value, torch.dtype) and is_public(name):
            kind = "float" if value.is_floating_point else "complex" if value.is_complex else "int"
            found[name] = "bool" if value == torch.bool else kind
    return found


def grad_modes() -> dict[str, str]:
    """What grad mode is on inside of each context manager of torch.autograd's grad_mode module."""
    found = {}
    for name in torch.autograd.grad_mode.__all__:
        manager = getattr(torch.autograd.grad_mode, name)
        seen = [mode_in(manager, args) for args in ((), (True,), (False,))]
        if not hasattr(torch, name):
            continue
        default, when_true, when_false = seen
        if when_true is None:
            found[name] = default or ""
        else:
            found[name] = f"{default or ''} True={when_true} False={when_false}".strip()
    return found


def mode_in(manager: Any, args: tuple[bool, ...]) -> str | None:
    """``on``, ``off``, ``inference``, or ``keep`` for a manager that leaves the mode as it is."""
    seen = []
    for before in (True, False):
        with (
            contextlib.suppress(TypeError, RuntimeError),
            torch.set_grad_enabled(before),
            manager(*args),
        ):
            inference = torch.is_inference_mode_enabled()
            seen.append("inference" if inference else "on" if torch.is_grad_enabled() else "off")
    if not seen:
        return None
    return seen[0] if len(set(seen)) == 1 else "keep"


def losses() -> dict[str, str]:
    """Functions and classes with a ``reduction`` argument: its position and default."""
    found = {}
    for prefix, owner in (("nn.", nn), ("nn.functional.", F)):
        for name, value in sorted(vars(owner).items()):
            if not is_public(name) or not callable(value):
                continue
            with contextlib.suppress(ValueError, TypeError):
                parameters = inspect.signature(value).parameters
                if "reduction" in parameters and name != "EmbeddingBag":
                    place = list(parameters).index("reduction")
                    found[prefix + name] = f"{place} {parameters['reduction'].default}"
    return found


def without_tensor() -> list[str]:
    """Functions that return no tensor, as their annotation says or a call shows."""
    plain = (None, type(None), bool, int, float, str, "None", "bool", "int", "float", "str")
    found = []
    for place in ("torch", "torch.cuda", "torch.nn.utils", "torch.autograd"):
        for name, value in sorted(vars(importlib.import_module(place)).items()):
            if not is_public(name) or not isinstance(value, types.FunctionType):
                continue
            answer = typing.cast(Any, value).__annotations__.get("return", "unknown")
            if answer in plain or "TypeIs" in str(answer):
                found.append(f"{place}.{name}".removeprefix("torch."))
    return found + questions()


def questions() -> list[str]:
    """Built-in functions of torch that, called without arguments, return no tensor."""
    found = []
    for name, value in sorted(vars(torch).items()):
        if name.startswith(("is_", "get_")) and isinstance(value, types.BuiltinFunctionType):
            with contextlib.suppress(TypeError, RuntimeError):
                if not isinstance(value(), torch.Tensor):
                    found.append(name)
    return found


def rows() -> Iterator[tuple[str, str, str]]:
    """The lines of the table, names without ``torch.``."""
    for name in classes("torch.optim", torch.optim.Optimizer):
        cls = getattr(torch.optim, name.rsplit(".", 1)[1])
        step = inspect.signature(cls.step).parameters.get("closure")
        closure = step is not None and step.default is inspect.Parameter.empty
        yield "optimizer", name, "closure" if closure else ""
    for place in ("torch.optim.lr_scheduler", "torch.optim.swa_utils"):
        for name in classes(place, torch.optim.lr_scheduler.LRScheduler):
            yield "scheduler", name, ""
    for place in ("torch.amp", "torch.cuda.amp", "torch.cpu.amp"):
        for name in classes(place, torch.amp.GradScaler):
            yield "scaler", name, ""
    for place in ("torch.amp", "torch.cuda.amp", "torch.cpu.amp"):
        for name in classes(place, torch.amp.autocast):
            yield "autocast", name, ""
    for name, kind in dtypes().items():
        yield "dtype", name, kind
    for name, modes in grad_modes().items():
        yield "mode", name, modes
    for name, reduction in losses().items():
        yield "loss", name, reduction
    for place, role in (("torch.nn.init", "init"), ("torch.nn.utils", "util")):
        for name, value in sorted(vars(importlib.import_module(place)).items()):
            if is_public(name) and isinstance(value, types.FunctionType):
                inplace = role == "init" and name.endswith("_")
                if role == "util" or inplace:
                    yield role, f"{place.removeprefix('torch.')}.{name}", ""
    for name in without_tensor():
        yield "no_tensor", name, ""
    for name, known in sorted(aliases().items()):
        yield "alias", name.removeprefix("torch."), known.removeprefix("torch.")
