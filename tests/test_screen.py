"""Which functions of a file are worth running, and which of another file are followed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autolint.interpreter.events import (
    Discarded,
    Event,
    LayersRepeated,
    ModuleBuilt,
    SavedWritten,
)
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project
from autolint.interpreter.screen import Needs, Screen
from autolint.source import read_text

from .running import run_file

MODULES = """
import torch
from torch import Tensor
from torch.nn import Module
from outside import Part
class Net(Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
class Box:
    def __init__(self):
        self.scale = torch.ones(1)
class Own(Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(1)
class Perhaps(Part):
    def __init__(self):
        self.scale = torch.ones(1)
def build_net(): return Net(torch.ones(1))
def build_box(): return Box(torch.ones(1))
def hint(x: Tensor): return Tensor(torch.ones(1))
def no_tensor(): return Net(None)
"""


def screen(text: str, *wanted: type[Event]) -> Screen:
    index = index_file("/nowhere/file.py", ast.parse(text))
    return Screen(index, Project(read_text), frozenset(wanted))


def test_only_who_builds_a_module_of_the_project_hands_it_tensors() -> None:
    assert screen(MODULES, ModuleBuilt).rooted() == {"build_net"}


def test_only_what_may_be_a_module_is_built_for_its_tensors() -> None:
    assert screen(MODULES, ModuleBuilt).builds() == {"Own", "Perhaps"}


@pytest.mark.parametrize(
    ("names", "around", "met"),
    [
        ({"[]*"}, (), False),
        ({"[]*", "ModuleList"}, (), True),
        ({"[]*"}, ({"x"}, {"Sequential"}), True),
        ({"ModuleList"}, ({"[]*"},), False),
        ({"add();"}, (), True),
    ],
)
def test_a_trigger_needs_its_company_there_or_around(
    names: set[str], around: tuple[set[str], ...], met: bool
) -> None:
    needs = Needs([LayersRepeated, Discarded])
    assert needs.met(frozenset(names), lambda: map(frozenset, around)) is met


@pytest.mark.parametrize(
    ("call", "wanted", "followed"),
    [
        ("lib.drop(x)", Discarded, True),  # the tensor is given
        ("lib.drop([x])", Discarded, True),
        ("lib.drop(len)", Discarded, False),  # what is known there is told there
        ("lib.drop(1)\nx.backward()", SavedWritten, False),
        ("lib.write(1)", SavedWritten, False),
        ("lib.write(1)\nx.backward()", SavedWritten, True),  # company around the call
    ],
)
def test_a_function_of_another_file_is_followed_only_if_an_event_can_come_of_it(
    tmp_path: Path, call: str, wanted: type[Event], followed: bool
) -> None:
    library = tmp_path / "lib.py"
    library.write_text("def drop(y):\n    y.add(1)\ndef write(y):\n    y.mul_(2)\n")
    program = f"import lib\nimport torch\nx = torch.ones(2)\n{call}\n"
    found = run_file(tmp_path / "x.py", program, wanted)
    assert ({"drop", "write"} & {scope.name for scope in found.entered} != set()) is followed


CALLED_AS_PART = """
class Part(Module):
    def forward(self, x):
        x.add(1)
        return x
class Whole(Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.other = Other()
    def embed(self, x): return self.part(x)
    def rest(self, x): return self.other(x)
"""


def test_who_calls_a_part_tells_what_its_forward_gets() -> None:
    assert screen(CALLED_AS_PART, Discarded).rooted() == {"Part.forward", "Whole.embed"}
