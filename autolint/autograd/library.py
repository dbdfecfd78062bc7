"""What the names of torch's library mean: losses, optimizers, schedulers, modes, dtypes.

A committed table, written by ``autolint verify --ops --write`` from torch itself: no list
here is picked by hand. Every function takes a qualified name (``torch.nn.Linear``) under
any public alias (``torch.nn.modules.linear.Linear``) and answers None or False for what it does not
know.

``names.csv`` has ``role,name,details``, names without ``torch.``. Roles and their details:

alias
    A second public name; details: the name where the thing is documented.
optimizer, scheduler, scaler, autocast
    Classes that derive from Optimizer, LRScheduler, GradScaler, autocast;
    for an optimizer ``closure`` if its step cannot be called without one.
dtype
    Details: bool, int, float or complex.
mode
    A context manager of grad modes, with what torch reported inside it: on, off, inference; under
    ``True=`` and ``False=`` if it was called with that.
loss
    Takes a ``reduction``; details: the argument's position and default.
init
    Functions of torch.nn.init that write to their tensor under no_grad and return it.
util
    Functions of torch.nn.utils.
cast
    Ops and layers whose operands autocast casts to lower precision; details: the devices on which
    it does. Ops have the names of ``ops.csv``.
no_tensor
    Functions that return None, a number, a bool or a string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from autolint.autograd import committed
from autolint.autograd.values import GradMode, Kind


@dataclass(frozen=True, slots=True)
class LossFacts:
    """A loss: its result is 0-d unless the reduction is ``none``."""

    name: str
    reduction_at: int
    """Position of ``reduction`` among the arguments of the function or the constructor."""
    reduction: str
    """Its default."""


@dataclass(frozen=True, slots=True)
class ModeFacts:
    """The grad mode inside a context manager."""

    default: GradMode | None
    """Called without arguments; None if it needs one."""
    when_true: GradMode
    when_false: GradMode
    """Called with True and False; like ``default`` where it takes no argument."""


def canonical(qualified: str) -> str:
    """The name under which torch documents what this public name stands for.

    A name that torch does not know, or that is the documented one, comes back as it is.
    """
    if not qualified.startswith("torch."):
        return qualified
    known = _role("alias").get(qualified[6:])
    return qualified if known is None else "torch." + known


def is_optimizer(qualified: str) -> bool:
    """Whether it is an optimizer class of torch.optim, the base class included."""
    return _has("optimizer", qualified)


def needs_closure(qualified: str) -> bool:
    """Whether it is an optimizer whose step must be given a closure."""
    return _details("optimizer", qualified) == "closure"


def is_scheduler(qualified: str) -> bool:
    """Whether it is a learning rate scheduler class of torch."""
    return _has("scheduler", qualified)


def is_scaler(qualified: str) -> bool:
    """Whether it is a gradient scaler class of torch."""
    return _has("scaler", qualified)


def is_autocast(qualified: str) -> bool:
    """Whether it is an autocast context manager."""
    return _has("autocast", qualified)


@cache
def cast_devices(name: str) -> frozenset[str]:
    """The device types on which autocast casts the operands of an op or layer of our tables."""
    return frozenset(_role("cast").get(name, "").split())


def is_initializer(qualified: str) -> bool:
    """Whether it is a function of torch.nn.init that fills its first argument and returns it."""
    return _has("init", qualified)


def is_utility(qualified: str) -> bool:
    """Whether it is a function of torch.nn.utils."""
    return _has("util", qualified)


def returns_no_tensor(qualified: str) -> bool:
    """Whether it is a function that returns None, a number, a bool or a string."""
    return _has("no_tensor", qualified)


def dtype_kind(qualified: str) -> Kind | None:
    """The kind of a dtype of torch, or of one of Python's number types where it stands for one."""
    if qualified.removeprefix("builtins.") in ("bool", "int", "float", "complex"):
        return Kind(qualified.removeprefix("builtins."))
    found = _details("dtype", qualified)
    return None if found is None else Kind(found)


def grad_mode(qualified: str) -> ModeFacts | None:
    """What a context manager or decorator does to the grad mode."""
    found = _details("mode", qualified)
    if found is None:
        return None
    words = (word.rpartition("=") for word in found.split())
    modes = {argument: mode for argument, _, mode in words}
    default = modes.get("")
    plain = None if default is None else GradMode(default)
    when_true, when_false = modes.get("True", default), modes.get("False", default)
    return ModeFacts(plain, GradMode(when_true), GradMode(when_false))


def loss(qualified: str) -> LossFacts | None:
    """Facts of a loss of torch.nn or torch.nn.functional."""
    found = _details("loss", qualified)
    if found is None:
        return None
    position, default = found.split()
    return LossFacts(canonical(qualified), int(position), default)


def _has(role: str, qualified: str) -> bool:
    return _details(role, qualified) is not None


def _details(role: str, qualified: str) -> str | None:
    name = canonical(qualified)
    return _role(role).get(name[6:]) if name.startswith("torch.") else None


def _role(role: str) -> Mapping[str, str]:
    return _names().get(role, {})


@cache
def _names() -> dict[str, dict[str, str]]:
    """Details by role and name."""
    table: dict[str, dict[str, str]] = {}
    for line in committed.lines("names.csv")[1:]:
        role, name, details = line.split(",")
        table.setdefault(role, {})[name] = details
    return table
