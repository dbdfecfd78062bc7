"""Derive ``autograd/layers.csv`` from the installed torch: what each layer has, gives and saves."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.modules.lazy import LazyModuleMixin

from autolint.runtime.layer_samples import LayerSample, module_classes, samples_of, switches
from autolint.runtime.op_samples import Sample
from autolint.runtime.op_seen import ERRORS, Call, Seen, observe

COLUMNS = (
    "name",
    "group",
    "arguments",
    "parameters",
    "parameters_if",
    "buffers",
    "buffers_if",
    "training",
    "call",
    "alias",
    "outputs",
    "differentiable",
    "rank",
    "saves",
    "saves_result",
)
MAX_CALLS = 6
FIRST_INPUT = 1
"""Position in a call; the parameters stand before it."""


def build(cls: type[nn.Module], sample: LayerSample, **more: Any) -> nn.Module | None:
    with contextlib.suppress(*ERRORS, AssertionError):
        torch.manual_seed(0)
        return cls(*sample.args, **{**sample.kwargs, **more})
    return None


def state(module: nn.Module | None) -> tuple[str, str]:
    """Names of the parameters and of the buffers that a layer has itself or in its parts."""
    if module is None:
        return "", ""
    parameters = [name for name, _ in module.named_parameters()]
    return " ".join(parameters), " ".join(name for name, _ in module.named_buffers())


def conditions(cls: type[nn.Module], sample: LayerSample, which: int) -> str:
    """``affine=False:no``: switches that change whether there is such a state at all."""
    usual = bool(state(build(cls, sample))[which])
    found = []
    for name, default in switches(cls).items():
        module = build(cls, sample, **{name: not default})
        if module is not None and bool(state(module)[which]) != usual:
            found.append(f"{name}={not default}:{'no' if usual else 'yes'}")
    return " ".join(found)


def observe_layer(cls: type[nn.Module], samples: list[LayerSample]) -> dict[str, Seen]:
    """What calls of the layer show, joined ("") and with reduction='none' and without."""
    found: dict[str, Seen] = {"": Seen()}
    called = [sample for sample in samples if sample.inputs is not None][:MAX_CALLS]
    if "reduction" in inspect.signature(cls).parameters:
        called += [with_reduction(s, word) for s in called[:2] for word in ("none", "sum")]
    for sample in called:
        module = build(cls, sample)
        if (
            module is None
            or getattr(module, "inplace", False)
            or isinstance(module, LazyModuleMixin)
        ):
            continue
        own = {name: p.detach() for name, p in module.named_parameters()}
        call = Call(Sample(caller(module), (own, *(sample.inputs or ())), {}), ())
        names = [""]
        if hasattr(module, "reduction"):
            names.append("unreduced" if module.reduction == "none" else "reduced")
        for name in names:
            with contextlib.suppress(*ERRORS):
                observe(call, found.setdefault(name, Seen()), rank_of=FIRST_INPUT)
    return found


def with_reduction(sample: LayerSample, reduction: str) -> LayerSample:
    return sample._replace(kwargs={**sample.kwargs, "reduction": reduction})


def caller(module: nn.Module) -> Any:
    def call(parameters: dict[str, torch.Tensor], *inputs: Any) -> Any:
        torch.manual_seed(0)
        return functional_call(module, parameters, inputs)

    return call


def uses_training(cls: type[nn.Module]) -> bool:
    """Whether the layer itself asks for its mode."""
    for base in cls.__mro__:
        if base is not nn.Module and base.__module__.startswith("torch.nn.modules"):
            with contextlib.suppress(OSError, TypeError):
                if "self.training" in inspect.getsource(base):
                    return True
    return False


def rows(step: int = 1) -> Iterator[dict[str, str]]:
    """The lines of the table, or those of every ``step``-th class."""
    for cls in sorted(module_classes(), key=lambda c: c.__name__)[::step]:
        samples = samples_of(cls)
        first = next((s for s in samples if build(cls, s) is not None), None)
        if first is None:
            continue  # Container, which torch keeps for old pickles only
        parameters, buffers = state(build(cls, first))
        found = observe_layer(cls, samples)
        for variant, seen in sorted(found.items()):
            row = seen.row()
            yield {
                "name": "nn." + cls.__name__,
                "group": cls.__module__.rsplit(".", 1)[1],
                "arguments": " ".join(inspect.signature(cls).parameters),
                "parameters": parameters,
                "parameters_if": conditions(cls, first, 0),
                "buffers": buffers,
                "buffers_if": conditions(cls, first, 1),
                "training": "yes" if uses_training(cls) else "no",
                "call": variant,
                **{column: row[column] if seen.runs else "" for column in COLUMNS[9:]},
            }
