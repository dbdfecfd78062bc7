"""Ask the installed torch what its ops do and write the answers as ``autograd/ops.csv``.

    python -m autolint.runtime.probe [OUT.csv]

The inputs are torch's own OpInfo samples (which need numpy and expecttest beside torch) and, for
methods without OpInfo, a few small tensors. Nothing is read off a formula: that an op saves a
tensor is found by writing to that tensor between forward and backward and seeing backward raise;
which operand must require grad for it, by letting one operand at a time require grad. The columns
are described in :mod:`autolint.autograd.ops`.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import itertools
import pathlib
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch

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
    observe,
    observe_alias,
    observe_kind,
)
from autolint.runtime.op_variants import number_samples, rare_variant, transposed, variants_of

_COLUMNS = (
    "names inplace variant parameters alias alias_of outputs differentiable gradient "
    "saves saves_result kind_of kinds scalar rank"
)
COLUMNS = _COLUMNS.split()
KIND_DTYPES = (torch.bool, torch.int64, torch.float32, torch.complex64)
MAX_SAMPLES, MAX_SECONDS = 10, 6.0


def probe_opinfo(op: Any, found: dict[str, Seen], parameters: tuple[str, ...]) -> None:
    """Observe the samples of one OpInfo, adding to what other OpInfos of that name showed."""
    dtypes = set(op.dtypes)
    preferred = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
    dtype = next((d for d in preferred if d in dtypes), None)
    stop = time.process_time() + MAX_SECONDS  # a busy machine must not see fewer samples
    for sample in opinfo_samples(op, dtype, MAX_SAMPLES) if dtype is not None else ():
        if time.process_time() > stop:
            break
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
        with contextlib.suppress(*ERRORS):
            observe(call, seen)


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


def rows_of(
    names: list[str], inplace: list[str], parameters: tuple[str, ...], found: dict[str, Seen]
) -> Iterator[dict[str, str]]:
    """The joined line first, then those of the variants that differ from it."""
    base: dict[str, str] = {}
    for variant, seen in sorted(found.items()):
        if not seen.runs:
            continue
        if not variant:
            seen.scalar = scalar_by_default(names[0])
        row = seen.row()
        if not variant:
            base = row
        elif not seen.kinds:
            row.update(kind_of=base["kind_of"], kinds=base["kinds"])
        if variant not in ("dim", "no_dim", "reduced", "unreduced"):
            row["scalar"] = base["scalar"]
        if returns_list(names[0]) and row["outputs"] not in ("0", "1", "any"):
            row["outputs"] = "many"
        if not variant or any(row[column] != base[column] for column in row):
            yield {
                "names": " ".join(names),
                "inplace": " ".join(inplace),
                "variant": variant,
                "parameters": " ".join(parameters),
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


def all_rows() -> Iterator[dict[str, str]]:
    """Every line of the table, OpInfo's ops first, then the methods that they leave over."""
    covered: set[str] = set()
    yield from opinfo_rows(covered)
    yield from function_rows(covered)
    yield from method_rows(covered)


def opinfo_rows(covered: set[str]) -> Iterator[dict[str, str]]:
    from torch.testing._internal.common_methods_invocations import op_db

    groups = itertools.groupby(sorted(op_db, key=lambda op: op.name), key=lambda op: op.name)
    for name, ops in groups:
        members = list(ops)
        shared = set.intersection(*({alias.name for alias in op.aliases} for op in members))
        names = names_of(name, sorted(shared))
        names = [n for n in names if n not in covered]
        if not names or name in SKIP:
            continue
        parameters = parameters_of(names[0])
        found: dict[str, Seen] = {"": Seen()}
        if name == "__getitem__":
            for variant, sample in index_samples():
                try_to_observe(sample, (), found, [variant])
            for dtype in KIND_DTYPES:
                for _, sample in index_samples(dtype):
                    observe_kind(sample, found[""])
        else:
            for op in members:
                torch.manual_seed(0)
                probe_opinfo(op, found, parameters)
            if name in ARGUMENTS:
                probe_method(name, found)
        inplace = inplace_names(names)
        if found[""].runs:
            covered.update(names, inplace)
        yield from rows_of(names, inplace, parameters, found)


def function_rows(covered: set[str]) -> Iterator[dict[str, str]]:
    """Functions that OpInfo lacks, or that differ from the function of torch.nn.functional."""
    for name, samples in itertools.groupby(function_samples(), key=lambda pair: pair[0]):
        names = [n for n in names_of(name, []) if n not in covered]
        if name not in names:
            continue
        parameters = parameters_of(name)
        if name[1:] in METHOD_DIFFERS:
            parameters = (parameters[1], parameters[0], *parameters[2:])
        found: dict[str, Seen] = {"": Seen()}
        for _, sample in samples:
            variants = [] if name.startswith(".") else variants_of(name, sample)
            try_to_observe(sample, parameters, found, variants)
            with contextlib.suppress(*ERRORS):
                observe_kind(sample, found[""])
        covered.update(names)
        yield from rows_of(names, inplace_names(names), parameters, found)


def method_rows(covered: set[str]) -> Iterator[dict[str, str]]:
    for short in sorted(dir(torch.Tensor)):
        name = "." + short
        if name in covered or short in SKIP or short.startswith("_"):
            continue
        if not callable(lookup(name)) or inspect.isclass(lookup(name)):
            continue
        names = [n for n in (name, short) if n not in covered and lookup(n) is not None]
        inplace = [n for n in inplace_names(names) if n not in covered]
        found: dict[str, Seen] = {"": Seen()}
        probe_method(short, found)
        covered.update(names, inplace)
        if short == "cpu":  # the same call for other devices, which this machine may lack
            names += [".cuda", ".xpu"]
            found[""].alias |= {"same", "fresh"}
        yield from rows_of(names, inplace, parameters_of(name), found)


def main(out: pathlib.Path) -> None:
    """Write the table of the installed torch to ``out``."""
    warnings.simplefilter("ignore")
    started = time.time()
    rows = list(all_rows())
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} lines for torch {torch.__version__} in {time.time() - started:.0f} s")


if __name__ == "__main__":
    default = pathlib.Path(__file__).parent.parent / "autograd" / "ops.csv"
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default)
