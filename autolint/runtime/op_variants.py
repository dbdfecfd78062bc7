"""Which variant of an op the arguments of a sample show, and samples that show more of them."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autolint.runtime.op_names import lookup, schemas_of
from autolint.runtime.op_samples import Sample, takes
from autolint.runtime.op_seen import kind_of, tensors


def variants_of(name: str, sample: Sample) -> list[str]:
    """The variants of `op_facts.VARIANTS` that the arguments of this sample show."""
    found = []
    args, kwargs = sample.args, sample.kwargs
    schemas = schemas_of(name)
    if any(arg.name == "dim" for s in schemas for arg in s.arguments):
        if gives_dim(schemas, args, kwargs):
            found.append("dim")
        elif len(tensors(args)) < 2:
            found.append("no_dim")
    if name in ("div", "divide", "true_divide"):
        found.append("rounding" if kwargs.get("rounding_mode") else "no_rounding")
    value = lookup(name)
    if takes(value, "training"):
        default = inspect.signature(value).parameters["training"].default
        if not kwargs.get("training", default):
            found.append("eval")
        elif kwargs.get("p") != 0:
            found.append("train")
    if takes(value, "reduction"):
        found.append("unreduced" if kwargs.get("reduction") == "none" else "reduced")
    return found


def rare_variant(name: str, sample: Sample) -> str:
    """The variant of arguments so rare that the joined line leaves them out, or nothing."""
    first, second = (*sample.args, None, None)[:2]
    if name.endswith("matmul") and isinstance(first, torch.Tensor) and tensors([second]):
        ranks = first.dim(), tensors([second])[0].dim()
        if name == "__rmatmul__":
            ranks = ranks[::-1]
        return "folded" if ranks[0] < ranks[1] and ranks[1] > 2 else ""
    if "functional.conv" in name and isinstance(sample.kwargs.get("padding"), str):
        return "padding_name"
    return "single" if name == "einsum" and len(tensors(first)) == 1 else ""


def gives_dim(schemas: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if kwargs.get("dim") is not None:
        return True
    places = {n for s in schemas for n, arg in enumerate(s.arguments) if arg.name == "dim"}
    return any(
        isinstance(args[n], (int, tuple, list)) and not isinstance(args[n], bool) and args[n] != ()
        for n in places
        if n < len(args)
    )


NUMBERS: dict[str, Any] = {"bool": True, "int": 2, "float": 2.5, "complex": 2.5j}
"""By the kind of the tensor: one that leaves open what the two promote to would blur the kinds."""

REFLECTED: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "true_divide": operator.truediv,
    "pow": operator.pow,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}


def number_samples(name: str, sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The same call with a number in place of its second tensor, or of its first one."""
    if not two_tensors(sample) or sample.kwargs:
        return
    tensor, function = sample.args[0], sample.function
    number = NUMBERS[kind_of(tensor)]
    yield "number", Sample(function, (tensor, number), {})
    if name in REFLECTED:
        reflected = REFLECTED[name]
        yield "reflected", Sample(lambda x: reflected(number, x), (tensor,), {})


def two_tensors(sample: Sample) -> bool:
    return len(sample.args) == 2 and all(isinstance(arg, torch.Tensor) for arg in sample.args)


def transposed(sample: Sample) -> Iterator[Sample]:
    """The same call on the same values in another order of memory."""
    first = sample.args[0] if sample.args else None
    if isinstance(first, torch.Tensor) and first.dim() >= 2:
        turned = first.detach().mT.contiguous().mT
        yield Sample(sample.function, (turned, *sample.args[1:]), sample.kwargs)
