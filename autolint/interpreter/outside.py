"""Calls of things outside the project by qualified name: who knows what they do; numpy, and
libraries that are harmless.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from autolint.autograd import library
from autolint.autograd.values import Kind, Qualified, Scalar, Value
from autolint.interpreter import (
    builtin_calls,
    functions,
    library_calls,
    numpy_calls,
    torch_calls,
    unseen,
)
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

Handler = Callable[[Machine, Arguments, cst.Call], Value]
"""What runs the calls of one function, or of several that do the same."""


def call_qualified(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """Call something by its qualified name."""
    top = name.partition(".")[0]
    if top == "torch":
        return torch_calls.call_torch(m, library.canonical(name), args, node)
    handler = builtin_calls.HANDLERS.get(name) or library_calls.handlers().get(name)
    if handler is not None:
        return handler(m, args, node)
    if top == "builtins":
        for value in args.all():
            functions.run_passed(m, value)
        return m.unknown(*args.all(), origin=m.site(node))
    if top in ("numpy", "np"):
        return numpy_calls.function(m, name, args, node)
    if top == "math":
        return Scalar(kind=Kind.FLOAT)
    if name.rpartition(".")[2] in ("DistributedDataParallel", "FullyShardedDataParallel"):
        return args.positional[0] if args.positional else m.unknown()
    if top in _HARMLESS:
        if top in ("tqdm", "rich") and args.positional:
            return args.positional[0]
        return m.unknown(*args.all(), origin=m.site(node))
    return unseen.unknown_call(m, Qualified(name), args, node)


_HARMLESS = frozenset(
    {
        "logging", "tqdm", "time", "os", "sys", "random", "warnings", "json", "pathlib", "re",
        "collections", "itertools", "operator", "typing", "copy", "functools", "datetime", "rich",
        "matplotlib", "pandas", "scipy", "sklearn", "PIL", "argparse", "wandb", "pprint", "csv",
    }
)  # fmt: skip
