"""A part of a probe, as a process of its own asks for it by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence

# Samples are made for the CPU alone, but their modules start CUDA where they see it.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch

from autolint.runtime import cast_table, factory_table, layer_table, name_table, probe
from autolint.runtime.findings import Part
from autolint.runtime.op_names import lookup
from autolint.runtime.tables import COLUMNS

Tell = Callable[[object], None]


def part(tell: Tell, name: str, covered: Sequence[str], skip: Sequence[str]) -> Part:
    """The part of that name: ``ops 0/8``, ``layers 0/4``, ``methods``, ``factories``, ``names``,
    ``casts 0/8``.

    `tell` gets each name before torch is asked about it; those in `skip` are left out. Methods that
    are `covered` have lines in other parts.
    """
    torch.set_num_threads(1)  # The tensors are tiny: threads would only wait for each other.
    warnings.simplefilter("ignore")
    kind, _, place = name.partition(" ")
    if kind == "ops":
        groups = probe.part_of(probe.opinfo_groups(), *_place(place))
        return probe.probe_groups(groups, probe.ask_opinfo, tell, skip)
    if kind == "layers":
        classes = probe.part_of(layer_table.layer_classes(), *_place(place))
        return layer_table.layer_part(classes, tell, skip)
    if kind == "factories":
        return factory_table.factory_part(tell, skip)
    if kind == "names":
        return _named(name_table.rows())
    if kind == "casts":
        asked = probe.part_of(cast_table.candidates(), *_place(place))
        return _named(cast_table.rows(asked, tell, skip))
    known = set(covered)
    functions = probe.function_part(known, tell, skip)
    methods = probe.method_part(known, tell, skip)
    return Part(functions.rows + methods.rows, {**functions.reasons, **methods.reasons})


def _named(rows: Iterable[tuple[str, str, str]]) -> Part:
    return Part([dict(zip(COLUMNS["names.csv"], row, strict=True)) for row in rows])


def present(names: Sequence[str]) -> list[str]:
    """Those of the names that this torch has."""
    return [name for name in names if lookup(name) is not None]


def _place(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    return int(number), int(parts)
