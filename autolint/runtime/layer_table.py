"""Derive ``autograd/layers.csv`` from the installed torch: what each layer has, gives and saves."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.modules.lazy import LazyModuleMixin

from autolint.runtime.findings import Part, Row
from autolint.runtime.layer_samples import LayerSample, module_classes, samples_of, switches
from autolint.runtime.op_samples import Sample
from autolint.runtime.op_seen import ERRORS, Call, Seen, failure, observe
from autolint.runtime.probe import seed

OF_CALLS = ["alias", "outputs", "differentiable", "rank", "saves", "saves_result", "keeps"]
"""Columns that calls of the layer show."""

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
            seen = found.setdefault(name, Seen())
            try:
                observe(call, seen, rank_of=FIRST_INPUT)
            except ERRORS as error:
                seen.error = failure(error)
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


def layer_classes() -> list[type[nn.Module]]:
    """The classes that the table is of, in its order."""
    return sorted(module_classes(), key=lambda cls: cls.__name__)


def layer_part(
    classes: Sequence[type[nn.Module]], tell: Callable[[object], None], skip: Sequence[str]
) -> Part:
    """The lines of these classes but for those to skip; `tell` gets each name before it is built.

    A class whose calls do not run has a reason beside its lines.
    """
    part = Part()
    for cls in classes:
        name = "nn." + cls.__name__
        if name in skip:
            continue
        tell(name)
        seed()
        try:
            part.rows += rows_of(cls, part.reasons)
        except Exception as error:  # samples of another torch may do anything
            part.reasons[name] = failure(error)
    return part


def rows_of(cls: type[nn.Module], reasons: dict[str, str]) -> list[Row]:
    """The lines of a class; an entry in `reasons` if it was not built or not called."""
    name, rows = "nn." + cls.__name__, []
    samples = samples_of(cls)
    first = next((s for s in samples if build(cls, s) is not None), None)
    if first is None:
        reasons[name] = "no arguments are known with which it can be built"
        return []
    parameters, buffers = state(build(cls, first))
    for variant, seen in sorted(observe_layer(cls, samples).items()):
        row = seen.row()
        if not seen.runs:
            reasons[name] = seen.error or "no call of it is known"
        rows.append(
            {
                "name": name,
                "group": cls.__module__.rsplit(".", 1)[1],
                "arguments": " ".join(inspect.signature(cls).parameters),
                "parameters": parameters,
                "parameters_if": conditions(cls, first, 0),
                "buffers": buffers,
                "buffers_if": conditions(cls, first, 1),
                "training": "yes" if uses_training(cls) else "no",
                "call": variant,
                **{column: row[column] if seen.runs else "" for column in OF_CALLS},
            }
        )
    return rows
