"""Ways to build and call every layer of torch.nn: ModuleInfo's samples, and ours for the rest."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import nn


class LayerSample(NamedTuple):
    """Constructor arguments of a layer and, where known, arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[Any, ...] | None


def module_classes() -> list[type[nn.Module]]:
    """All public classes of torch.nn that are modules."""
    found = (getattr(nn, name) for name in dir(nn) if not name.startswith("_"))
    return [c for c in found if isinstance(c, type) and issubclass(c, nn.Module)]


def _x(*shape: int) -> torch.Tensor:
    return torch.rand(shape) + 0.1


EXTRA: dict[str, list[tuple[tuple[Any, ...], tuple[tuple[int, ...], ...]]]] = {
    "AlphaDropout": [((0.5,), ((4, 4),))],
    "ChannelShuffle": [((2,), ((1, 4, 2, 2),))],
    "CosineSimilarity": [((), ((2, 3), (2, 3)))],
    "CrossMapLRN2d": [((2,), ((1, 4, 2, 2),))],
    "Dropout": [((0.5,), ((4, 4),))],
    "Dropout1d": [((0.5,), ((2, 4, 4),))],
    "Dropout2d": [((0.5,), ((2, 4, 3, 3),))],
    "Dropout3d": [((0.5,), ((2, 4, 3, 3, 3),))],
    "FeatureAlphaDropout": [((0.5,), ((2, 4, 3),))],
    "Flatten": [((), ((2, 3, 4),))],
    "Fold": [(((4, 4), (2, 2)), ((1, 12, 9),))],
    "Hardsigmoid": [((), ((2, 3),))],
    "Identity": [((), ((2, 3),))],
    "PairwiseDistance": [((), ((2, 3), (2, 3)))],
    "PixelShuffle": [((2,), ((1, 4, 2, 2),))],
    "PixelUnshuffle": [((2,), ((1, 1, 4, 4),))],
    "RReLU": [((), ((2, 3),))],
    "TripletMarginLoss": [((), ((2, 3), (2, 3), (2, 3)))],
    "TripletMarginWithDistanceLoss": [((), ((2, 3), (2, 3), (2, 3)))],
    "Unflatten": [((1, (2, 2)), ((2, 4),))],
    "Unfold": [(((2, 2),), ((1, 2, 4, 4),))],
    "Upsample": [((None, 2), ((1, 2, 3, 3),))],
    "UpsamplingBilinear2d": [((None, 2), ((1, 2, 3, 3),))],
    "UpsamplingNearest2d": [((None, 2), ((1, 2, 3, 3),))],
    "SyncBatchNorm": [((3,), ())],
    "DataParallel": [((nn.Linear(2, 2),), ((2, 2),))],
    "LazyLinear": [((3,), ())],
    "LazyBatchNorm1d": [((), ())],
    "LazyBatchNorm2d": [((), ())],
    "LazyBatchNorm3d": [((), ())],
    "LazyInstanceNorm1d": [((), ())],
    "LazyInstanceNorm2d": [((), ())],
    "LazyInstanceNorm3d": [((), ())],
    "RNNBase": [(("LSTM", 2, 3), ())],
    "RNNCellBase": [((2, 3, True, 1), ())],
    "Module": [((), ())],
    "Sequential": [((), ())],
    "ModuleList": [((), ())],
    "ModuleDict": [((), ())],
    "ParameterList": [((), ())],
    "ParameterDict": [((), ())],
}
"""Constructor arguments and shapes of the inputs, for classes that ModuleInfo leaves out."""


def samples_of(cls: type[nn.Module]) -> list[LayerSample]:
    """Ways to build that class, with defaults as far as they go first."""
    found = list(itertools.islice(module_info_samples(cls), 12)) + list(hand_samples(cls))
    return sorted(found, key=lambda sample: len(sample.kwargs))


def module_info_samples(cls: type[nn.Module]) -> Iterator[LayerSample]:
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        if info.module_cls is cls:
            for sample in info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
            ):
                built, called = sample.constructor_input, sample.forward_input
                inputs = None if called is None else in_order(cls, called.args, called.kwargs)
                yield LayerSample(tuple(built.args), dict(built.kwargs), inputs)


def in_order(
    cls: type[nn.Module], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...] | None:
    """The arguments of a call as positional ones, None where that cannot be."""
    bound = inspect.signature(cls.forward).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return None if bound.kwargs else (bound.args[1:] if kwargs else tuple(args))


def hand_samples(cls: type[nn.Module]) -> Iterator[LayerSample]:
    index = torch.tensor([[0, 1], [2, 1]])
    special: dict[str, LayerSample] = {
        "EmbeddingBag": LayerSample((4, 3), {}, (index,)),
        "AdaptiveLogSoftmaxWithLoss": LayerSample((3, 4, [2]), {}, (_x(2, 3), index[0])),
        "NLLLoss2d": LayerSample((), {}, (_x(2, 3, 1, 1), index[:, :1, None] * 0)),
        "TransformerDecoder": LayerSample(
            (nn.TransformerDecoderLayer(4, 2, 8), 1), {}, (_x(2, 1, 4), _x(2, 1, 4))
        ),
    }
    if cls.__name__ in special:
        yield special[cls.__name__]
    for n in (1, 2, 3):
        if cls.__name__ == f"MaxUnpool{n}d":
            pool = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)
            yield LayerSample((2,), {}, pool(_x(1, 2, *[4] * n)))
    for args, shapes in EXTRA.get(cls.__name__, []):
        yield LayerSample(args, {}, tuple(_x(*shape) for shape in shapes) or None)


def switches(cls: type[nn.Module]) -> dict[str, bool]:
    """Boolean constructor parameters with their defaults."""
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if isinstance(p.default, bool)}
