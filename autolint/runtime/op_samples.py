"""Calls of torch's ops to run: OpInfo's samples, and small ones for what OpInfo lacks."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten

MAX_NUMEL = 5000


class Sample(NamedTuple):
    """A call to make: arguments in the order of the public function's parameters."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


MOVED = {
    "where": (1, 0),
    "polygamma": (1, 0),
    "special.polygamma": (1, 0),
    "nn.functional.embedding": (1, 0),
    "nn.functional.embedding_bag": (1, 0),
}
"""Ops whose OpInfo takes its first arguments in another order than the public function."""


def opinfo_samples(op: Any, dtype: torch.dtype, limit: int) -> Iterator[Sample]:
    """At most ``limit`` small strided samples of an OpInfo, spread over all of its samples.

    Neighbours in the list of an OpInfo tend to test one special case.
    """
    function = op.op
    if op.name in MOVED:
        function = public(op.name)
    # op.sample_inputs() reads the whole stack for each sample, to name a test in its errors: that
    # took three quarters of a probe.
    made = op.sample_inputs_func(op, "cpu", dtype, False)
    pool = [
        Sample(function, moved(op.name, (s.input, *s.args)), dict(s.kwargs))
        for s in itertools.islice(made, 150)
    ]
    pool = [sample for sample in pool if small(sample)]
    if len(pool) > limit:
        pool = [pool[i * (len(pool) - 1) // (limit - 1)] for i in range(limit)]
    yield from pool


def public(name: str) -> Any:
    value: Any = torch
    for part in name.split("."):
        value = getattr(value, part)
    return value


def moved(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    order = MOVED.get(name, ())
    return tuple(args[i] for i in order) + args[len(order) :]


def small(sample: Sample) -> bool:
    flat = tree_flatten((sample.args, sample.kwargs))[0]
    tensors = [leaf for leaf in flat if isinstance(leaf, torch.Tensor)]
    strided = all(tensor.layout == torch.strided for tensor in tensors)
    return strided and sum(tensor.numel() for tensor in tensors) <= MAX_NUMEL


def receivers(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Tensors to call a method on: contiguous and not, of several ranks, and a float64 one."""
    base = torch.arange(1, 7).reshape(2, 3).to(dtype)
    if dtype == torch.float32:
        base = base / 8
    found = [base, base.t(), base[0], base[:1, :1].reshape(1), base[0, 0], torch.eye(3).to(dtype)]
    if dtype == torch.float32:
        found.append(base.double())
    return found


def method_samples(name: str, dtype: torch.dtype = torch.float32) -> Iterator[Sample]:
    """Calls of that tensor method with each of the arguments it is known to take."""

    def call(receiver: torch.Tensor, *args: Any) -> Any:
        return getattr(receiver, name)(*args)

    for receiver in receivers(dtype):
        for args in arguments(name, receiver):
            yield Sample(call, (receiver, *args), {})


def arguments(name: str, receiver: torch.Tensor) -> list[tuple[Any, ...]]:
    """Arguments for a method: those it is known to need, or those that ops commonly take."""
    known = ARGUMENTS.get(name)
    if known is not None:
        return known
    other = receiver.detach().clone()
    first = torch.zeros(1, dtype=torch.long)
    return [
        (),
        (other,),
        (1,),
        (0,),
        (0, 1),
        (other, other),
        (1.0, 2.0),
        (torch.zeros_like(other, dtype=torch.bool), 1.0),
        (0, first, other.reshape(-1)[:1]),
    ]


ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "to": [(torch.float32,), ("cpu",), (torch.float64,)],
    "type": [(torch.float32,), (torch.float64,)],
    "type_as": [(torch.zeros(1),), (torch.zeros(1, dtype=torch.float64),)],
    "copy_": [(torch.tensor(0.5),)],
    "fill_": [(1.0,), (torch.tensor(0.5),)],
    "zero_": [()],
    "detach": [()],
    "detach_": [()],
    "cpu": [()],
    "item": [()],
    "tolist": [()],
    "size": [(), (0,)],
    "dim": [()],
    "requires_grad_": [()],
    "random_": [()],
    "bernoulli_": [()],
    "normal_": [()],
    "uniform_": [()],
    "log_normal_": [()],
    "cauchy_": [()],
    "exponential_": [()],
    "geometric_": [(0.5,)],
    "prelu": [(torch.tensor([0.25]),)],
}

INDEXES: dict[str, list[Any]] = {
    "basic": [0, -1, slice(None), slice(0, 1), Ellipsis, None, (Ellipsis, 0), (None, 0)],
    "advanced": [
        [0, 0],
        torch.tensor([0, 1]),
        (torch.tensor([0]), torch.tensor([0])),
        (slice(None), torch.tensor([0])),
    ],
}


def index_samples(dtype: torch.dtype = torch.float32) -> Iterator[tuple[str, Sample]]:
    """Reads of ``x[...]`` with the name of the variant."""

    def read(receiver: torch.Tensor, index: Any) -> Any:
        return receiver[index]

    for receiver in receivers(dtype)[:2]:
        for variant, indexes in INDEXES.items():
            for index in indexes:
                yield variant, Sample(read, (receiver, index), {})
        yield "advanced", Sample(read, (receiver, receiver.bool()), {})


def function_samples() -> Iterator[tuple[str, Sample]]:
    """Calls of functions without runnable OpInfo samples, those of one function in a row."""
    weight, index = torch.rand(4, 3), torch.tensor([0, 2])
    rows = torch.rand(3, 4) + 0.1
    targets = torch.tensor([[1, 2], [2, 1]])
    lengths = torch.tensor([5, 5]), torch.tensor([2, 2])
    log_p = torch.rand(5, 2, 3).log_softmax(2)
    calls: list[tuple[Any, ...]] = [
        ("nn.functional.affine_grid", (torch.rand(1, 2, 3), [1, 1, 2, 2], False)),
        ("nn.functional.ctc_loss", (log_p, targets, *lengths)),
        ("nn.functional.ctc_loss", (log_p, targets, *lengths), {"reduction": "none"}),
        ("nn.functional.dropout1d", (torch.rand(2, 3, 4), 0.5), {"training": True}),
        ("nn.functional.dropout1d", (torch.rand(2, 3, 4), 0.5), {"training": False}),
        ("nn.functional.fold", (torch.rand(1, 12, 9), (4, 4), (2, 2))),
        ("nn.functional.gumbel_softmax", (rows,)),
        ("nn.functional.gumbel_softmax", (rows, 0.5, True)),
        ("nn.functional.lp_pool1d", (torch.rand(1, 2, 6), 2.0, 2)),
        ("nn.functional.lp_pool2d", (torch.rand(1, 2, 6, 6), 2.0, 2)),
        ("nn.functional.lp_pool3d", (torch.rand(1, 1, 4, 4, 4), 2.0, 2)),
        ("nn.functional.soft_margin_loss", (rows, rows.sign())),
        ("nn.functional.upsample", (torch.rand(1, 2, 3, 3), None, 2)),
        (".where", (rows, rows > 0.5, rows.clone())),
        (".polygamma", (rows, 1)),
        ("poisson", (rows,)),
        ("binomial", (torch.full((3,), 5.0), rows[:, 0].clamp(0, 1))),
        ("vander", (rows[0],)),
        ("chain_matmul", (weight, rows)),
        ("slice_scatter", (weight, weight[:2].clone(), 0, 1, 3)),
        ("slogdet", (torch.eye(3) + 0.1,)),
        ("dropout", (rows, 0.5, True)),
        ("dropout", (rows, 0.5, False)),
        ("embedding", (weight, index)),
        ("layer_norm", (rows, (4,), rows[0], rows[1])),
        ("detach_copy", (rows,)),
        ("select_copy", (rows, 0, 1)),
    ]
    for name, args, *kwargs in calls:
        function = getattr(torch.Tensor, name[1:]) if name[0] == "." else public(name)
        yield name, Sample(function, args, *(kwargs or [{}]))


def takes(function: Any, name: str) -> bool:
    """Whether a Python function has a parameter of that name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
