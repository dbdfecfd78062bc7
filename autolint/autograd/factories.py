"""What a call that makes a new tensor gives: the committed table ``factories.csv``.

Written by ``autolint verify --ops --write`` from calls of torch. Columns:

name
    Public name without ``torch.``; ``.new_zeros`` is a tensor method.
parameters
    Parameter names in order where torch tells them; the receiver of a method is position 0.
kind_of
    Positions whose kind decides the result's, found by calling with arguments of every kind; empty:
    the result has the same kind whatever is given.
kinds
    The kind of the result if those arguments promote to bool, int, float, complex, a letter each
    (``.`` = cannot be called so). An argument ``dtype=`` overrides it.
requires_grad
    Whether the call takes ``requires_grad=True``.
rank
    ``size``: the number of sizes given; ``like``: that of the tensor at position 0; ``data``: the
    depth of the data given; a number: always that; empty: not known.
size_at
    Position of the size, given as one tuple or as separate arguments from there on; empty for a
    call whose size is a tuple at a position that varies (``randint``).
alias
    What the result is to a tensor (or numpy array) given at position 0: fresh, view (shares its
    memory), same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce

from autolint.autograd import committed
from autolint.autograd.op_facts import Alias
from autolint.autograd.values import Kind

_KINDS = {"b": Kind.BOOL, "i": Kind.INT, "f": Kind.FLOAT, "c": Kind.COMPLEX}
_ORDER = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)


@dataclass(frozen=True, slots=True)
class FactoryFacts:
    """What is known of a call that makes a tensor; see the module's text."""

    name: str
    parameters: tuple[str, ...]
    kind_of: tuple[int, ...]
    kinds: str
    requires_grad_kwarg: bool
    rank: str
    size_at: int | None
    alias: Alias

    @property
    def like(self) -> bool:
        """Whether kind and rank are those of the tensor given first."""
        return self.rank == "like"

    def result_kind(self, arguments: Mapping[int, Kind]) -> Kind:
        """The kind of the result, given the kinds of the arguments by position.

        A list has the kind that its elements promote to. An explicit dtype is the caller's affair.
        """
        if not self.kind_of:
            return _KINDS[self.kinds.strip(".")[0]]
        given = [arguments[position] for position in self.kind_of if position in arguments]
        promoted = reduce(Kind.promote, given) if given else Kind.UNKNOWN
        if promoted is Kind.UNKNOWN:
            return Kind.UNKNOWN
        return _KINDS.get(self.kinds[_ORDER.index(promoted)], Kind.UNKNOWN)

    def result_rank(self, sizes: Sequence[int | None]) -> int | None:
        """The rank, if it follows from the sizes given.

        ``sizes`` has one entry per argument that is a size: the length of a tuple or list, None for
        a single number.
        """
        if self.rank.isdigit():
            return int(self.rank)
        if self.rank != "size" or not sizes:
            return None
        return sizes[0] if sizes[0] is not None else len(sizes)


def factory(qualified: str) -> FactoryFacts | None:
    """Facts of a function such as ``torch.zeros``, None if it is not known to make a tensor."""
    if not qualified.startswith("torch."):
        return None
    return _facts(qualified[6:].removeprefix("cuda.") if "Tensor" in qualified else qualified[6:])


def factory_method(name: str) -> FactoryFacts | None:
    """Facts of a tensor method such as ``new_zeros``, None if it does not make a new tensor."""
    return _facts("." + name)


def _facts(name: str) -> FactoryFacts | None:
    line = _table().get(name)
    return None if line is None else _parsed(line)


@cache
def _parsed(line: str) -> FactoryFacts:
    name, parameters, kind_of, kinds, requires_grad, rank, size_at, alias = line.split(",")
    return FactoryFacts(
        name=name,
        parameters=tuple(parameters.split()),
        kind_of=tuple(map(int, kind_of.split())),
        kinds=kinds,
        requires_grad_kwarg=requires_grad == "yes",
        rank=rank,
        size_at=int(size_at) if size_at else None,
        alias=Alias[alias.upper()],
    )


@cache
def _table() -> dict[str, str]:
    return {line.split(",", 1)[0]: line for line in committed.lines("factories.csv")[1:]}
