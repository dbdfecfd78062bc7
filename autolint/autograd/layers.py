"""What layers of torch.nn have, give and save: the committed table ``layers.csv``.

Written by ``autolint verify --ops --write`` from building and calling each class of torch.nn.
One line per class, and one more per kind of call (``reduced``, ``unreduced``) of a loss. Its
columns are the fields of `LayerFacts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from autolint.autograd import committed
from autolint.autograd.library import canonical
from autolint.autograd.op_facts import Alias, Saved, parse_alias, parse_outputs, parse_saved
from autolint.autograd.values import MAYBE, Tri

PARAMETERS = 0
"""Position that stands for the parameters of a layer in `LayerFacts.inputs` and ``results``."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A constructor argument that decides whether a layer has parameters (or buffers) at all."""

    argument: str
    value: bool
    present: bool
    """Whether there are any if the argument has that value."""


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What is known of a class of torch.nn."""

    name: str
    group: str
    """The module of torch.nn.modules it stands in: conv, loss, dropout, container, …"""
    arguments: tuple[str, ...]
    """Constructor parameters in order."""
    parameter_names: tuple[str, ...]
    """With the constructor's defaults; dotted for those of its parts."""
    parameter_switches: tuple[Switch, ...]
    buffer_names: tuple[str, ...]
    buffer_switches: tuple[Switch, ...]
    training_matters: bool
    """Whether its forward asks for ``self.training``."""
    alias: Alias
    """What the result is to the (first) input."""
    outputs: int
    """As in `OpFacts.outputs`; 0 where no call was made (containers)."""
    differentiable: tuple[Tri, ...]
    rank: str
    """``same`` as the input, ``0``, ``other``, or empty where calls differ."""
    inputs: Saved
    """What is saved, by position: 0 the parameters, 1 the first input, 2 the second, …"""
    results: Saved
    keeps: Tri
    """As in `OpFacts.keeps`."""
    calls: Mapping[str, LayerFacts]
    """Facts of losses for ``reduced`` and ``unreduced`` calls."""

    def has_parameters(self, arguments: Mapping[str, bool | None]) -> Tri:
        """Whether it has parameters if built so.

        ``arguments`` are the constructor arguments that are given, by name: their value if it is a
        known bool, None if it is not known.
        """
        return _present(bool(self.parameter_names), self.parameter_switches, arguments)

    def has_buffers(self, arguments: Mapping[str, bool | None]) -> Tri:
        """Whether it has buffers if built so, see `has_parameters`."""
        return _present(bool(self.buffer_names), self.buffer_switches, arguments)

    @property
    def is_loss(self) -> bool:
        """Whether it is one of the losses."""
        return self.group == "loss"

    @property
    def is_container(self) -> bool:
        """Whether what it has and does is what its parts have and do."""
        return self.group in ("container", "module", "data_parallel")


def _present(
    usual: bool, switches: tuple[Switch, ...], arguments: Mapping[str, bool | None]
) -> Tri:
    answer = Tri.of(usual)
    for switch in switches:
        if switch.argument not in arguments:
            continue
        given = arguments[switch.argument]
        if given is None:
            answer = MAYBE
        elif given is switch.value:
            return Tri.of(switch.present)
    return answer


@cache
def bare_names(*, dropout: bool) -> frozenset[str]:
    """Bare names of the layers that have parameters, or of those for dropout."""
    return frozenset(
        name.rpartition(".")[2]
        for name, lines in _layers().items()
        if (lines[""]["group"] == "dropout" if dropout else lines[""]["parameters"])
    )


def layer(qualified: str) -> LayerFacts | None:
    """Facts of a class of torch.nn."""
    name = canonical(qualified)
    return _layer(name[6:]) if name.startswith("torch.") else None


@cache
def _layer(name: str) -> LayerFacts | None:
    lines = _layers().get(name)
    if lines is None:
        return None
    calls = {call: _parsed(cell, {}) for call, cell in lines.items() if call}
    return _parsed(lines[""], calls)


def _parsed(cell: dict[str, str], calls: Mapping[str, LayerFacts]) -> LayerFacts:
    return LayerFacts(
        name="torch." + cell["name"],
        group=cell["group"],
        arguments=tuple(cell["arguments"].split()),
        parameter_names=tuple(cell["parameters"].split()),
        parameter_switches=_switches(cell["parameters_if"]),
        buffer_names=tuple(cell["buffers"].split()),
        buffer_switches=_switches(cell["buffers_if"]),
        training_matters=cell["training"] == "yes",
        alias=parse_alias(cell["alias"]),
        outputs=parse_outputs(cell["outputs"] or "0"),
        differentiable=tuple(Tri[word.upper()] for word in cell["differentiable"].split()),
        rank=cell["rank"],
        inputs=parse_saved(cell["saves"]),
        results=parse_saved(cell["saves_result"]),
        keeps=Tri[cell["keeps"].upper() or "NO"],
        calls=calls,
    )


def _switches(text: str) -> tuple[Switch, ...]:
    """``affine=False:no`` as a switch."""
    found = []
    for word in text.split():
        argument, rest = word.split("=")
        value, present = rest.split(":")
        found.append(Switch(argument, value == "True", present == "yes"))
    return tuple(found)


@cache
def _layers() -> dict[str, dict[str, dict[str, str]]]:
    """Cells of the lines by class and by kind of call."""
    head, *lines = committed.lines("layers.csv")
    table: dict[str, dict[str, dict[str, str]]] = {}
    for line in lines:
        cell = dict(zip(head.split(","), line.split(","), strict=True))
        table.setdefault(cell["name"], {})[cell["call"]] = cell
    return table
