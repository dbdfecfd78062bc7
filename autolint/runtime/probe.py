"""Ask the installed torch what its ops do: the lines of ``autograd/ops.csv``.

The inputs are torch's own OpInfo samples (which need numpy and expecttest beside torch) and, for
methods without OpInfo, a few small tensors. Nothing is read off a formula: that an op saves a
tensor is found by writing to that tensor between forward and backward and seeing backward raise;
which operand must require grad for it, by letting one operand at a time require grad. The columns
are described in :mod:`autolint.autograd.ops`.

Every op is asked with the same seeds, whatever was asked before: one torch gives one answer.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import torch

from autolint.runtime.findings import Part, Row
from autolint.runtime.op_names import (
    METHOD_DIFFERS,
    inplace_names,
    lookup,
    names_of,
    parameters_of,
    returns_list,
)
from autolint.runtime.op_samples import (
    ARGUMENTS,
    Sample,
    function_samples,
    index_samples,
    method_samples,
    opinfo_samples,
    takes,
)
from autolint.runtime.op_seen import (
    ERRORS,
    Call,
    Seen,
    failure,
    observe,
    observe_alias,
    observe_kind,
)
from autolint.runtime.op_variants import number_samples, rare_variant, transposed, variants_of

KIND_DTYPES = (torch.bool, torch.int64, torch.float32, torch.complex64)
MAX_SAMPLES = 10
NO_SAMPLE = "this torch has no sample of it that runs on the CPU"


def seed() -> None:
    """Put every source of chance that samples draw from into a known state."""
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)


def probe_opinfo(op: Any, found: dict[str, Seen], parameters: tuple[str, ...]) -> None:
    """Observe the samples of one OpInfo, adding to what other OpInfos of that name showed."""
    dtypes = set(op.dtypes)
    preferred = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
    dtype = next((d for d in preferred if d in dtypes), None)
    for sample in opinfo_samples(op, dtype, MAX_SAMPLES) if dtype is not None else ():
        if sample.kwargs.get("inplace"):
            continue
        rare = rare_variant(op.name, sample)
        if rare:
            with contextlib.suppress(*ERRORS):
                observe(Call(sample, parameters), found.setdefault(rare, Seen()))
            continue
        variants = variants_of(op.name, sample)
        numbers = list(number_samples(op.name, sample))
        try_to_observe(sample, parameters, found, variants + (["tensor"] if numbers else []))
        for name, other in numbers:
            try_to_observe(other, parameters, found, [name])
        if takes(lookup(op.name), "training"):
            other = sample._replace(kwargs={**sample.kwargs, "training": False})
            try_to_observe(other, parameters, found, variants_of(op.name, other))
        for turned in transposed(sample):
            with contextlib.suppress(*ERRORS):
                call = Call(turned, parameters)
                for name in ["", *variants]:
                    observe_alias(call, call.run(call.float_positions()), found[name])
    for kind in KIND_DTYPES:
        for sample in opinfo_samples(op, kind, 4) if kind in dtypes else ():
            calls = [(name, sample) for name in ["", *variants_of(op.name, sample)]]
            for name, call_of_kind in [*calls, *number_samples(op.name, sample)]:
                with contextlib.suppress(*ERRORS):
                    observe_kind(call_of_kind, found.setdefault(name, Seen()))


def try_to_observe(
    sample: Sample, parameters: tuple[str, ...], found: dict[str, Seen], variants: list[str]
) -> None:
    call = Call(sample, parameters)
    for name in ["", *variants]:
        seen = found.setdefault(name, Seen())
        try:
            observe(call, seen)
        except ERRORS as error:
            seen.error = failure(error)


def probe_method(name: str, found: dict[str, Seen]) -> None:
    """Observe a method on small tensors."""
    for sample in itertools.islice(method_samples(name), 40):
        try_to_observe(sample, (), found, [])
    for dtype in KIND_DTYPES:
        for sample in itertools.islice(method_samples(name, dtype), 12):
            with contextlib.suppress(*ERRORS):
                observe_kind(sample, found.setdefault("", Seen()))


def scalar_by_default(name: str) -> set[bool]:
    """Whether the call with the fewest arguments on a matrix (or a vector) gives a 0-d tensor."""
    for shape in ((2, 3), (3, 3), (3,)):
        x = torch.rand(shape) * 0.8 + 0.1
        for args in ((x,), (x, x.clone())):
            with contextlib.suppress(*ERRORS):
                out = lookup(name)(*args)
                return {isinstance(out, torch.Tensor) and out.dim() == 0}
    return set()


class Group(NamedTuple):
    """What is asked in one go, and the names that its lines are for."""

    names: list[str]
    inplace: list[str]
    parameters: tuple[str, ...]
    members: Sequence[Any] = ()
    """The OpInfos."""

    @property
    def name(self) -> str:
        return self.names[0]


def rows_of(group: Group, found: dict[str, Seen]) -> Iterator[Row]:
    """The joined line first, then that of each variant that ran; none if nothing ran."""
    base: dict[str, str] = {}
    for variant, seen in sorted(found.items()):
        if not seen.runs or (variant and not base):
            continue
        if not variant:
            seen.scalar = scalar_by_default(group.name)
        row = seen.row()
        if not variant:
            base = row
        elif not seen.kinds:
            row.update(kind_of=base["kind_of"], kinds=base["kinds"])
        if variant not in ("dim", "no_dim", "reduced", "unreduced"):
            row["scalar"] = base["scalar"]
        if returns_list(group.name) and row["outputs"] not in ("0", "1", "any"):
            row["outputs"] = "many"
        yield {
            "names": " ".join(group.names),
            "inplace": " ".join(group.inplace),
            "variant": variant,
            "parameters": " ".join(group.parameters),
            **row,
        }


_SKIP = (
    "register_hook register_post_accumulate_grad_hook storage untyped_storage storage_type cuda "
    "xpu ipu mtia hpu module_load share_memory_ is_shared map_ map2_ apply_ to_mkldnn pin_memory "
    "record_stream backward set_ resize resize_ resize_as resize_as_ resize_as_sparse_ swap "
    "dim_order new reinforce retain_grad as_subclass rename rename_ align_to align_as"
)
"""Methods that change the program around the probe or need a device that it does not have."""
SKIP = frozenset(_SKIP.split())
WHY_SKIPPED = "it changes the program around the probe, or needs another device"


def opinfo_groups() -> list[Group]:
    """The ops that have OpInfos, each with those of its names that none before it has."""
    from torch.testing._internal.common_methods_invocations import op_db

    covered: set[str] = set()
    found = []
    groups = itertools.groupby(sorted(op_db, key=lambda op: op.name), key=lambda op: op.name)
    for name, ops in groups:
        members = list(ops)
        shared = set.intersection(*({alias.name for alias in op.aliases} for op in members))
        names = [n for n in names_of(name, sorted(shared)) if n not in covered]
        if names and name not in SKIP:
            found.append(Group(names, inplace_names(names), parameters_of(names[0]), members))
            covered.update(names, found[-1].inplace)
    return found


def part_of(items: Sequence[Any], number: int, parts: int) -> Sequence[Any]:
    """The items of part ``number``, of so many parts in order."""
    return items[len(items) * number // parts : len(items) * (number + 1) // parts]


def probe_groups(
    groups: Sequence[Group],
    ask: Callable[[Group], dict[str, Seen]],
    tell: Callable[[object], None],
    skip: Sequence[str],
) -> Part:
    """The lines of these groups but for those to skip; `tell` gets each name before it is asked."""
    part = Part()
    for group in groups:
        if group.name in skip:
            continue
        tell(group.name)
        seed()
        try:
            found = ask(group)
        except Exception as error:  # samples of another torch may do anything
            found = {"": Seen(error=failure(error))}
        rows = list(rows_of(group, found))
        part.rows += rows
        if not rows:
            part.reasons.update(dict.fromkeys(group.names, found[""].error or NO_SAMPLE))
    return part


def ask_opinfo(group: Group) -> dict[str, Seen]:
    name = group.members[0].name
    found: dict[str, Seen] = {"": Seen()}
    if name == "__getitem__":
        for variant, sample in index_samples():
            try_to_observe(sample, (), found, [variant])
        for dtype in KIND_DTYPES:
            for _, sample in index_samples(dtype):
                observe_kind(sample, found[""])
        return found
    for op in group.members:
        seed()
        probe_opinfo(op, found, group.parameters)
    if name in ARGUMENTS:
        probe_method(name, found)
    return found


def function_part(covered: set[str], tell: Callable[[object], None], skip: Sequence[str]) -> Part:
    """Functions that OpInfo lacks, or that differ from the function of torch.nn.functional.

    Adds their names to those that are covered.
    """
    seed()
    samples: dict[str, list[Sample]] = {}
    for name, sample in function_samples():
        samples.setdefault(name, []).append(sample)
    groups = []
    for name in samples:
        names = [n for n in names_of(name, []) if n not in covered]
        if name in names:
            parameters = parameters_of(name)
            if name[1:] in METHOD_DIFFERS:
                parameters = (parameters[1], parameters[0], *parameters[2:])
            groups.append(Group(names, inplace_names(names), parameters))
            covered.update(names)

    def ask(group: Group) -> dict[str, Seen]:
        name = group.name
        found: dict[str, Seen] = {"": Seen()}
        for sample in samples[name]:
            variants = [] if name.startswith(".") else variants_of(name, sample)
            try_to_observe(sample, group.parameters, found, variants)
            with contextlib.suppress(*ERRORS):
                observe_kind(sample, found[""])
        return found

    return probe_groups(groups, ask, tell, skip)


def method_part(covered: set[str], tell: Callable[[object], None], skip: Sequence[str]) -> Part:
    """Methods that neither OpInfo nor a function covers."""
    groups, reasons = [], {}
    for short in sorted(dir(torch.Tensor)):
        name = "." + short
        if name in covered or short.startswith("_"):
            continue
        if not callable(lookup(name)) or inspect.isclass(lookup(name)):
            continue
        if short in SKIP:
            reasons[name] = WHY_SKIPPED
            continue
        names = [n for n in (name, short) if n not in covered and lookup(n) is not None]
        inplace = [n for n in inplace_names(names) if n not in covered]
        covered.update(names, inplace)
        if short == "cpu":  # the same call for other devices, which this machine may lack
            names += [".cuda", ".xpu"]
        groups.append(Group(names, inplace, parameters_of(name)))

    def ask(group: Group) -> dict[str, Seen]:
        found: dict[str, Seen] = {"": Seen()}
        probe_method(group.name[1:], found)
        if group.name == ".cpu":
            found[""].alias |= {"same", "fresh"}
        return found

    part = probe_groups(groups, ask, tell, skip)
    part.reasons.update(reasons)
    return part
