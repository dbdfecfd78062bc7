"""Which ops and layers autocast hands copies of their operands in lower precision.

Torch is asked, not its list: under autocast each sample is run, and it is seen whether a float32
tensor was cast on the way. For CUDA the tensors are fake ones, so that no such device is needed.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_any, tree_map

from autolint.runtime import probe
from autolint.runtime.layer_samples import module_classes, samples_of
from autolint.runtime.layer_table import build, caller
from autolint.runtime.op_names import names_of
from autolint.runtime.op_samples import Sample, function_samples, opinfo_samples
from autolint.runtime.op_seen import ERRORS

DEVICES = ("cpu", "cuda")
LOW = torch.bfloat16
MAX_SAMPLES = 10
_CASTS_THEMSELVES = frozenset({"bfloat16"})
_ANY_ERROR = (*ERRORS, AssertionError, AttributeError, LookupError)


class _Casts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether anything was cast to the precision of autocast."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._to_copy.default and kwargs.get("dtype") is LOW:
            self.seen = True
        return func(*args, **kwargs)


@contextlib.contextmanager
def _autocast(device: str) -> Iterator[None]:
    """Autocast, also for a device that this machine lacks, where `torch.autocast` stays off."""
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, LOW)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, before[0])
        torch.set_autocast_dtype(device, before[1])
        torch.clear_autocast_cache()


def _casts(sample: Sample, device: str) -> bool | None:
    """Whether the call casts an operand under autocast for the device; None if it cannot be run."""
    where = contextlib.nullcontext() if device == "cpu" else FakeTensorMode()
    seen = _Casts()
    ran = False
    with contextlib.suppress(*_ANY_ERROR), where:
        placed, named = tree_map(lambda leaf: _placed(leaf, device), (sample.args, sample.kwargs))
        with _autocast(device), seen:
            sample.function(*placed, **named)
        ran = True
    return True if seen.seen else (False if ran else None)


def _devices(calls: Sequence[Sample]) -> list[str]:
    """The devices on which some of the calls cast.

    What fake tensors cannot run, because their values would decide, is taken to do as on the CPU.
    """
    found: list[str] = []
    for device in DEVICES:
        told = {_casts(call, device) for call in calls}
        if True in told or (told == {None} and found):
            found.append(device)
    return found


def _placed(value: Any, device: str) -> Any:
    """A tensor as the device would hold it; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    if device == "cpu":
        return value.detach().clone()
    return torch.empty(value.shape, dtype=value.dtype, device=device)


Candidate: TypeAlias = "tuple[list[str], Callable[[], Iterator[Sample]]]"
"""Names of one op or layer, and what makes calls of it with float32 tensors."""


def candidates() -> list[Candidate]:
    """All ops and layers that can be called, in a fixed order."""
    found: list[Candidate] = [
        (group.names, functools.partial(_op_samples, group))
        for group in probe.opinfo_groups()
        if group.name not in _CASTS_THEMSELVES
    ]
    matrices = Sample(torch.inner, (torch.rand(2, 2), torch.rand(2, 2)), {})
    for name, sample in (*function_samples(), ("inner", matrices)):
        found.append((names_of(name, []), functools.partial(iter, [sample])))
    found += [([f"nn.{c.__name__}"], functools.partial(_layer_samples, c)) for c in _layers()]
    return found


def _op_samples(group: probe.Group) -> Iterator[Sample]:
    for op in group.members:
        if torch.float32 in op.dtypes:
            for sample in opinfo_samples(op, torch.float32, MAX_SAMPLES):
                if tree_any(torch.is_tensor, sample.args) and not sample.kwargs.get("inplace"):
                    yield sample


def _layer_samples(cls: type[nn.Module]) -> Iterator[Sample]:
    for sample in itertools.islice(samples_of(cls), MAX_SAMPLES):
        module = build(cls, sample)
        if module is not None and sample.inputs is not None:
            own = {name: p.detach() for name, p in module.named_parameters()}
            yield Sample(caller(module), (own, *sample.inputs), {})


def _layers() -> list[type[nn.Module]]:
    return [cls for cls in module_classes() if not issubclass(cls, LazyModuleMixin)]


def rows(
    asked: Iterable[Candidate], tell: Callable[[object], None], skip: Sequence[str] = ()
) -> Iterator[tuple[str, str, str]]:
    """Lines of ``names.csv``: the devices on which autocast casts for an op or a layer.

    `tell` gets each name before torch is asked about it.
    """
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
    for names, samples in asked:
        if names[0] in skip:
            continue
        tell(names[0])
        probe.seed()
        calls = list(samples())
        devices = _devices(calls)
        for name in names if devices else ():
            yield "cast", name, " ".join(devices)
