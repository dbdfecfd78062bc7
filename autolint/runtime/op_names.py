"""Under which public names torch offers an op, and what its signature and schemas say of it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch


def lookup(name: str) -> Any:
    """The object of that dotted name below ``torch``, or None; ``.name`` is a tensor method."""
    value: Any = torch
    for part in ("Tensor" + name if name.startswith(".") else name).split("."):
        value = getattr(value, part, None)
    return value


def parameters_of(name: str) -> tuple[str, ...]:
    """The parameter names of a function or method, in order."""
    value = lookup(name)
    with contextlib.suppress(ValueError, TypeError):
        found = tuple(inspect.signature(value).parameters)
        if found and found[0] not in ("args", "_", "input_"):
            return found
    plain = schemas_of(name)
    if not plain:
        return ()

    def weight(schema: Any) -> int:
        return sum("Tensor" in str(arg.type) for arg in schema.arguments)

    best = max(plain, key=weight)
    return tuple("input" if arg.name == "self" else arg.name for arg in best.arguments)


NOT_ALIKE = {"embedding", "embedding_bag", "dropout", "batch_norm", "layer_norm", "norm", "bias"}
"""Names that torch and torch.nn.functional give to functions with other parameters."""

METHOD_DIFFERS = {"where", "polygamma"}
"""Functions whose method takes its operands in another order."""


def names_of(name: str, aliases: Iterable[str]) -> list[str]:
    """Public names under which this op can be called, the name given first."""
    short = name.split(".")[-1]
    found = [name] if lookup(name) is not None else []
    is_method = "." not in name or name.startswith("nn.functional.")
    candidates = ["." + short] if is_method and name not in METHOD_DIFFERS else []
    if "." not in name:
        candidates += ["nn.functional." + name]
    elif name.startswith("nn.functional.") and short not in NOT_ALIKE:
        candidates += [short]
    for alias in aliases:
        candidates += [
            alias,
            alias.replace("special_", "special."),
            alias.replace("linalg_", "linalg."),
        ]
        candidates += ["." + alias] if "." not in alias else []
    if short in NOT_ALIKE and name in (short, "nn.functional." + short):
        candidates = [] if name != short else ["." + short]
    for candidate in candidates:
        if candidate not in found and lookup(candidate) is not None:
            found.append(candidate)
    return found


@cache
def schemas_of(name: str) -> list[Any]:
    """The operator schemas of that name, those with ``out`` arguments left out."""
    short = name.removeprefix("nn.functional.").strip(".").replace(".", "_")
    found = torch._C._jit_get_schemas_for_operator("aten::" + short)
    return [s for s in found if not any(arg.is_out for arg in s.arguments)]


def returns_list(name: str) -> bool:
    returns = [str(s.returns[0].type) for s in schemas_of(name) if s.returns]
    return "List[Tensor]" in returns


def inplace_names(names: list[str]) -> list[str]:
    return [name + "_" for name in names if lookup(name + "_") is not None]
