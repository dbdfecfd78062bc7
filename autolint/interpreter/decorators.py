"""What a decorator of a known name does to a function."""

from __future__ import annotations

import re

from autolint.autograd import library
from autolint.interpreter.objects import FunctionValue

_TRANSPARENT = re.compile(
    r"^(functools|torch\.(jit|compile|compiler|cuda\.amp|amp)|typing|typing_extensions|abc|pytest"
    r"|click|hydra|numba|dataclasses|overload)\b"
)


def decorate_by_name(function: FunctionValue, name: str) -> None:
    """Apply a decorator of this qualified name: binding, grad mode, or something not understood."""
    facts = library.grad_mode(name)
    if facts is not None:
        function.mode = facts.default or facts.when_true
    elif name == "builtins.staticmethod":
        function.binding = "static"
    elif name == "builtins.classmethod":
        function.binding = "class"
    elif name.endswith(("property", "lazy_attribute")):
        function.binding = "property"
    elif name.endswith("contextmanager"):
        function.manager = True
    elif not _TRANSPARENT.match(name):
        function.decorated = True
