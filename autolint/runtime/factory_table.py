"""Derive ``autograd/factories.csv`` from the installed torch: what calls that make tensors give."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from autolint.runtime.findings import Part, Row
from autolint.runtime.op_names import lookup, parameters_of
from autolint.runtime.op_seen import ERRORS, KINDS, kind_of, shares_memory

DATA: dict[str, Any] = {"bool": True, "int": 2, "float": 2.5, "complex": 2j}
"""A number of each kind."""


class Hole:
    """Stands in a call for data of the kind in question."""

    def __init__(self, wrap: Callable[[Any], Any] = lambda number: number) -> None:
        self.wrap = wrap


NUMBER = Hole()
LIST = Hole(lambda number: [number])
TENSOR = Hole(lambda number: torch.full((2, 2), number))
ARRAY = Hole(lambda number: numpy.full((2, 2), number))

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "tensor": [(LIST,)],
    "as_tensor": [(LIST,)],
    "asarray": [(LIST,)],
    "from_numpy": [(ARRAY,)],
    "scalar_tensor": [(NUMBER,)],
    "arange": [(NUMBER, NUMBER), (NUMBER, NUMBER, NUMBER), (NUMBER,)],
    "range": [(NUMBER, NUMBER)],
    "linspace": [(NUMBER, NUMBER, 3)],
    "logspace": [(NUMBER, NUMBER, 3)],
    "full": [((2,), NUMBER)],
    "full_like": [(TENSOR, 1), (TENSOR, NUMBER)],
    "new_full": [(TENSOR, (2,), 1), (TENSOR, (2,), NUMBER)],
    "new_tensor": [(TENSOR, LIST)],
    "randint": [(0, 3, (2,)), (3, (2,))],
    "randint_like": [(TENSOR, 3), (TENSOR, 0, 3)],
    "randperm": [(4,)],
    "eye": [(3,), (3, 3)],
    "normal": [(0.0, 1.0, (2,))],
    "tril_indices": [(3, 3)],
    "triu_indices": [(3, 3)],
    "empty_strided": [((2,), (1,))],
    "empty_permuted": [((2, 2), (0, 1))],
    "new_empty_strided": [(TENSOR, (2,), (1,))],
}
"""How to call what is not called with sizes alone; the first call shows the rank."""

NOT_FACTORIES = {"to", "from_file", "empty_quantized", "normal"}
"""Operators with a factory's keywords that change a tensor, read a file or draw from means."""


def names() -> list[str]:
    """Names of the operators that take dtype, layout and pin_memory, and of Python's own ways."""
    wanted = {"dtype", "layout", "pin_memory"}
    found = {
        schema.name.removeprefix("aten::")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("aten::") and wanted <= {arg.name for arg in schema.arguments}
    }
    found = {name.replace("fft_", "fft.") for name in found if not name.startswith(("_", "sparse"))}
    legacy = {n for n in dir(torch) if n.endswith("Tensor") and isinstance(lookup(n), type)}
    python = {"tensor", "as_tensor", "asarray", "from_numpy", "new_tensor"}
    return sorted((found - NOT_FACTORIES) | legacy | python)


def calls_of(name: str) -> list[tuple[Any, ...]]:
    known = CALLS.get(name)
    if known is not None:
        return known
    if name.endswith("_like"):
        return [(TENSOR,)]
    if name.startswith("new_"):
        return [(TENSOR, (2,))]
    if "window" in name or "freq" in name:
        return [(4,)]
    return [((2,),)]


def fill(call: tuple[Any, ...], kinds: dict[int, str]) -> tuple[Any, ...]:
    """The call's arguments with data of the given kinds in its holes, by position."""
    return tuple(
        arg.wrap(DATA[kinds[n]]) if isinstance(arg, Hole) else arg for n, arg in enumerate(call)
    )


def holes(call: tuple[Any, ...]) -> list[int]:
    return [n for n, arg in enumerate(call) if isinstance(arg, Hole)]


def result(function: Any, call: tuple[Any, ...], kinds: dict[int, str]) -> torch.Tensor | None:
    with contextlib.suppress(*ERRORS):
        made = function(*fill(call, kinds))
        return made if isinstance(made, torch.Tensor) else None
    return None


def letters(function: Any, call: tuple[Any, ...]) -> str:
    """The kind of the result if all holes have one kind, for each kind."""
    made = [result(function, call, dict.fromkeys(holes(call), kind)) for kind in KINDS]
    return "".join("." if out is None else kind_of(out)[0] for out in made)


def deciding(function: Any, call: tuple[Any, ...]) -> set[int]:
    """Positions whose kind changes the kind of the result while the others keep theirs."""
    found = set()
    for position in holes(call):
        for rest, kinds in itertools.product(KINDS[1:3], itertools.combinations(KINDS, 2)):
            base = dict.fromkeys(holes(call), rest)
            made = [result(function, call, {**base, position: kind}) for kind in kinds]
            if None not in made and len({kind_of(out) for out in made if out is not None}) > 1:
                found.add(position)
    return found


def rank_of(function: Any, name: str, call: tuple[Any, ...]) -> tuple[str, str]:
    """The columns rank and size_at, as one call shows them."""
    first = result(function, call, dict.fromkeys(holes(call), "float"))
    if first is None:
        first = result(function, call, dict.fromkeys(holes(call), "int"))
    if first is None:
        return "", ""
    if name.endswith("_like"):
        return "like", ""
    for position, arg in enumerate(call):
        if arg == (2,):
            longer = (*call[:position], (2, 2, 2), *call[position + 1 :])
            kinds = dict.fromkeys(holes(call), "float")
            out = result(function, longer, kinds)
            return ("size", str(position)) if out is not None and out.dim() == 3 else ("", "")
    if any(arg in (LIST, ARRAY) for arg in call):
        return "data", ""
    sized = any(isinstance(arg, tuple) for arg in call)
    return ("", "") if sized else (str(first.dim()), "")


def takes_requires_grad(function: Any, call: tuple[Any, ...]) -> bool:
    for kind in ("float", "int"):
        args = fill(call, dict.fromkeys(holes(call), kind))
        try:
            return bool(function(*args, requires_grad=True).requires_grad)
        except RuntimeError as error:
            if "floating point" in str(error):
                return True
        except (TypeError, ValueError):
            continue
    return False


def alias_of(function: Any) -> str:
    """What the result is to a tensor, or else to an array, given as the only argument."""
    tensor = torch.ones(2)
    for argument in (tensor, tensor.numpy()):
        with contextlib.suppress(*ERRORS):
            made = function(argument)
            return "same" if made is tensor else "view" if shares_memory(made, tensor) else "fresh"
    return "fresh"


def factory_part(tell: Callable[[object], None], skip: Sequence[str]) -> Part:
    """The lines of the table but for names to skip; `tell` gets each name before it is called."""
    part = Part()
    for short in names():
        name = "." + short if lookup(short) is None else short
        if name in skip or lookup(name) is None:
            continue
        tell(name)
        row = row_of(name, short)
        if set(row["kinds"]) == {"."}:
            part.reasons[name] = "no call of it is known that runs"
        else:
            part.rows.append(row)
    return part


def row_of(name: str, short: str) -> Row:
    function, calls = lookup(name), calls_of(short)
    kinds = max((letters(function, call) for call in calls), key=lambda k: -k.count("."))
    decides: set[int] = set().union(*(deciding(function, call) for call in calls))
    rank, size_at = rank_of(function, short, calls[0])
    if any(rank_of(function, short, call)[1] != size_at for call in calls):
        size_at = ""
    return {
        "name": name,
        "parameters": " ".join(parameters_of(name)),
        "kind_of": " ".join(map(str, sorted(decides))),
        "kinds": kinds,
        "requires_grad": "yes" if takes_requires_grad(function, calls[0]) else "no",
        "rank": rank,
        "size_at": size_at,
        "alias": alias_of(function),
    }
