"""Run one call of an op and see what it does to its operands and its results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from autolint.runtime.op_samples import Sample

KINDS = ("bool", "int", "float", "complex")
MAX_OUTPUTS = 4
"""Results beyond this many are like the ones before them (split, unbind)."""
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError)
"""What an op raises for a sample that does not suit it or this machine."""


def failure(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def differentiable(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def kind_of(tensor: torch.Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    if tensor.dtype.is_complex:
        return "complex"
    return "float" if tensor.dtype.is_floating_point else "int"


def shares_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        first, second = one.untyped_storage(), other.untyped_storage()
        return bool(first.nbytes()) and first.data_ptr() == second.data_ptr()
    except (RuntimeError, NotImplementedError):
        return False


def write(tensor: torch.Tensor) -> None:
    """Change the tensor in place, in a way that every dtype allows."""
    with torch.no_grad():
        try:
            tensor.mul_(1)
        except (RuntimeError, NotImplementedError):
            torch.autograd.graph.increment_version(tensor)


class Run(NamedTuple):
    """One execution of a call."""

    results: list[torch.Tensor]
    returned: Any
    operands: list[torch.Tensor]  # as the op saw them
    leaves: list[torch.Tensor]

    def backward(self) -> list[torch.Tensor]:
        outs = [out for out in self.results if out.requires_grad]
        wanted = [leaf for leaf in self.leaves if leaf.requires_grad]
        seeds = [torch.full_like(out, 0.75) + 0.5 * torch.rand_like(out.real) for out in outs]
        grads = torch.autograd.grad(outs, wanted, seeds, allow_unused=True)
        return [grad for grad in grads if grad is not None]

    def passable(self) -> bool:
        """Whether backward goes the same way once more: nothing was kept that it has freed."""
        try:
            self.backward()
        except RuntimeError as error:
            if "second time" in str(error):
                return False
            raise
        return True

    def stale(self) -> bool:
        """Whether backward complains that a saved tensor was changed."""
        try:
            self.backward()
        except RuntimeError as error:
            if "modified by an inplace operation" in str(error):
                return True
            raise
        return False


class Call:
    """A call that can be run again and again on fresh copies of its tensors."""

    def __init__(self, sample: Sample, parameters: tuple[str, ...]) -> None:
        self.function = sample.function
        self.flat, self.spec = tree_flatten((sample.args, sample.kwargs))
        places: list[int] = []
        for position, arg in enumerate(sample.args):
            places += [position] * len(tree_flatten(arg)[0])
        for name, arg in sample.kwargs.items():
            known = parameters.index(name) if name in parameters else -1
            places += [known] * len(tree_flatten(arg)[0])
        self.tensor_at = [n for n, v in enumerate(self.flat) if isinstance(v, torch.Tensor)]
        self.position = [places[n] for n in self.tensor_at]

    def positions(self) -> list[int]:
        return sorted({p for p in self.position if p >= 0})

    def float_positions(self) -> list[int]:
        pairs = zip(self.tensor_at, self.position, strict=True)
        return sorted({p for n, p in pairs if p >= 0 and differentiable(self.flat[n])})

    def run(self, grad_at: Iterable[int] = ()) -> Run:
        """Run with the float tensors at these positions requiring grad (as non-leaf tensors)."""
        wanted = set(grad_at)
        flat, leaves = list(self.flat), []
        for n, position in zip(self.tensor_at, self.position, strict=True):
            tensor = self.flat[n].detach().clone()
            if position in wanted and differentiable(tensor):
                leaves.append(tensor.requires_grad_())
                tensor = tensor.clone()  # which keeps nothing for its own backward
            flat[n] = tensor
        args, kwargs = tree_unflatten(flat, self.spec)
        returned = self.function(*args, **kwargs)
        return Run(tensors(returned), returned, [flat[n] for n in self.tensor_at], leaves)


@dataclass
class Seen:
    """What was seen over all samples of one op and variant."""

    alias: set[str] = field(default_factory=set)
    alias_of: set[int] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    differentiable: dict[int, set[bool]] = field(default_factory=dict)
    gradient: set[str] = field(default_factory=set)
    saves: dict[tuple[int, int], set[bool]] = field(default_factory=dict)
    saves_result: dict[tuple[int, int], set[bool]] = field(default_factory=dict)
    keeps: set[bool] = field(default_factory=set)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    kinds_of_first: dict[str, set[str]] = field(default_factory=dict)
    scalar: set[bool] = field(default_factory=set)
    rank: set[str] = field(default_factory=set)
    runs: int = 0
    empty: bool = False
    """Whether a result had no elements."""
    error: str = ""
    """Why the last call that failed did."""

    def row(self) -> dict[str, str]:
        kinds, kind_of_which = letters(self.kinds), ""
        if "?" in kinds and "?" not in letters(self.kinds_of_first):
            kinds, kind_of_which = letters(self.kinds_of_first), "0"
        gradient = next(
            (g for g in ("nonzero", "zero", "raises", "none") if g in self.gradient), ""
        )
        saves = matrix(self.saves) + matrix(self.saves_result)
        return {
            "alias": "|".join(sorted(self.alias)) or ("fresh" if self.empty else ""),
            "alias_of": str(min(self.alias_of)) if self.alias_of else "",
            "outputs": next(iter(self.outputs))
            if len(self.outputs) == 1
            else "any"
            if "1" in self.outputs
            else "many",
            "differentiable": " ".join(tri(v) for _, v in sorted(self.differentiable.items())),
            "gradient": gradient,
            "saves": matrix(self.saves),
            "saves_result": matrix(self.saves_result),
            "keeps": tri(self.keeps) if not saves and True in self.keeps else "",
            "kind_of": kind_of_which,
            "kinds": kinds,
            "scalar": tri(self.scalar),
            "rank": next(iter(self.rank)) if len(self.rank) == 1 else "",
        }


def letters(kinds: dict[str, set[str]]) -> str:
    """The kind of the result for operands of each of `KINDS`, one letter each."""
    found = (kinds.get(kind, {"."}) for kind in KINDS)
    return "".join(next(iter(answers))[0] if len(answers) == 1 else "?" for answers in found)


def tri(answers: set[bool]) -> str:
    return {"": "", "T": "yes", "F": "no"}.get("".join(sorted(str(a)[0] for a in answers)), "maybe")


def matrix(saved: dict[tuple[int, int], set[bool]]) -> str:
    """``1<0`` = operand 1 is saved if operand 0 requires grad; ``?`` = under some arguments."""
    return " ".join(
        f"{what}<{why}{'' if answers == {True} else '?'}"
        for (what, why), answers in sorted(saved.items())
        if True in answers
    )


def observe(call: Call, seen: Seen, rank_of: int | None = None) -> None:
    """Add to ``seen`` what this call shows, the rank compared as `observe_rank` has it.

    Raises whatever the op raises: the sample does not run on this machine.
    """
    floats = call.float_positions()
    try:
        run = call.run(floats)
    except RuntimeError as error:
        if "requires grad" not in str(error):
            raise
        floats, run = [], call.run()  # numpy() and its like
    if run.returned is NotImplemented:
        raise TypeError("no such call")
    many = isinstance(run.returned, (tuple, list))
    seen.outputs.add(str(len(run.results)) if len(run.results) != 1 or not many else "many")
    seen.runs += 1
    if not run.results:
        return
    for grad_at in (floats, []):
        observe_alias(call, call.run(grad_at), seen)
    observe_rank(call, run, seen, rank_of)
    for k, out in enumerate(run.results[:MAX_OUTPUTS]):
        if floats:
            seen.differentiable.setdefault(k, set()).add(out.requires_grad)
    if not floats:
        return
    if not any(out.requires_grad for out in run.results):
        seen.gradient.add("none")
        return
    try:
        grads = run.backward()
    except RuntimeError as error:
        seen.gradient.add("raises" if "implemented" in str(error) else "error")
        return
    if any(leaf.numel() for leaf in run.leaves):
        seen.gradient.add("zero" if all(is_zero(grad) for grad in grads) else "nonzero")
        with contextlib.suppress(RuntimeError):
            seen.keeps.add(not run.passable())
        observe_saving(call, floats, seen)


def is_zero(grad: torch.Tensor) -> bool:
    return grad._is_zerotensor() or (grad.layout == torch.strided and not bool((grad != 0).any()))


def observe_alias(call: Call, run: Run, seen: Seen) -> None:
    out = run.results[0]
    operands = list(zip(call.position, run.operands, strict=True))
    same = [p for p, operand in operands if operand is out]
    if not same and out.layout == torch.strided and not out.numel():
        seen.empty = True
        return  # no memory tells whether it is shared
    view = [p for p, operand in operands if shares_memory(operand, out)]
    seen.alias.add("same" if same else "view" if view else "fresh")
    seen.alias_of.update(same or view)


def observe_rank(call: Call, run: Run, seen: Seen, rank_of: int | None) -> None:
    """Compare the result's rank with that of the operand at a position, or the highest of all."""
    operands = run.operands if rank_of is None else at(call, run, rank_of)
    ranks = [operand.dim() for operand in operands]
    out = run.results[0].dim()
    if ranks and max(ranks) > 0:
        seen.rank.add("same" if out == max(ranks) else "0" if out == 0 else "other")


def observe_saving(call: Call, floats: list[int], seen: Seen) -> None:
    """Which operands and results are saved, for each operand that alone requires grad."""
    for why in floats:
        run = call.run([why])
        if not any(out.requires_grad for out in run.results):
            continue
        for what in call.positions():
            if any(operand is out for operand in at(call, run, what) for out in run.results):
                continue  # writing to it is writing to the result
            again = call.run([why])
            for operand in at(call, again, what):
                write(operand)
            with contextlib.suppress(RuntimeError):
                seen.saves.setdefault((what, why), set()).add(again.stale())
        for k, out in enumerate(run.results[:MAX_OUTPUTS]):
            if any(operand is out or shares_memory(operand, out) for operand in run.operands):
                continue
            again = call.run([why])
            write(again.results[k])
            with contextlib.suppress(RuntimeError):
                seen.saves_result.setdefault((k, why), set()).add(again.stale())


def at(call: Call, run: Run, position: int) -> list[torch.Tensor]:
    return [t for p, t in zip(call.position, run.operands, strict=True) if p == position]


def observe_kind(sample: Sample, seen: Seen) -> None:
    """Note the kind of the first result for the kind that the operands promote to."""
    operands = tensors((sample.args, sample.kwargs))
    results = tensors(sample.function(*sample.args, **sample.kwargs))
    if operands and results and sample.kwargs.get("dtype") is None:
        promoted = max(map(kind_of, operands), key=KINDS.index)
        seen.kinds.setdefault(promoted, set()).add(kind_of(results[0]))
        seen.kinds_of_first.setdefault(kind_of(operands[0]), set()).add(kind_of(results[0]))
