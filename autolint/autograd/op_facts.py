"""What can be known of an op, and how the cells of the tables say it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from autolint.autograd.values import MAYBE, NO, YES, Kind, Tri

MANY = -1
"""`OpFacts.outputs` of an op that returns a sequence whose length the arguments decide."""
EITHER = -2
"""`OpFacts.outputs` of an op that returns a tensor or a tuple, as the arguments decide."""

VARIANTS = {
    "dim": "a dimension is given",
    "no_dim": "no dimension is given",
    "number": "the second operand is a Python number",
    "tensor": "the second operand is a tensor",
    "reflected": "the first operand is a Python number (`2 ** x`)",
    "rounding": "a rounding mode is given",
    "no_rounding": "no rounding mode is given",
    "train": "training=True and a probability that is not 0",
    "eval": "training=False",
    "reduced": "reduction is not 'none'",
    "unreduced": "reduction='none'",
    "folded": "matmul of a tensor of lower rank with one of rank 3 or more",
    "padding_name": "a convolution with padding='same' or 'valid'",
    "single": "einsum of one tensor",
    "basic": "index of numbers, slices, None and ellipsis only",
    "advanced": "index with a tensor or a list",
}
"""Names of variants: what is known of the arguments.

The joined facts leave out folded, padding_name and single: calls so rare that they would only blur
what holds for all others.
"""


class Alias(enum.Flag):
    """What the result is to the operand at `OpFacts.alias_of`; several: arguments decide."""

    NONE = 0
    SAME = 1
    VIEW = 2
    FRESH = 4


@dataclass(frozen=True, slots=True)
class Saved:
    """Which operands (or results) an op keeps for backward, by whose requiring grad makes it."""

    pairs: tuple[tuple[int, int, Tri], ...]
    """(what is saved, position of the operand whose requiring grad saves it, YES or MAYBE)."""

    def when(self, requires_grad: Mapping[int, Tri]) -> dict[int, Tri]:
        """What is saved if the operands at these positions require grad so.

        Positions that are not named do not require grad. Only YES and MAYBE are in the answer.
        """
        found: dict[int, Tri] = {}
        for what, why, certain in self.pairs:
            answer = certain & requires_grad.get(why, NO)
            if answer is not NO:
                found[what] = found.get(what, NO) | answer
        return found

    def without(self, position: int) -> Saved:
        """The same, with that operand or result never saved."""
        return Saved(tuple(pair for pair in self.pairs if pair[0] != position))


@dataclass(frozen=True, slots=True)
class OpFacts:
    """What is known of one op; see the module's text for how each fact was found."""

    name: str
    parameters: tuple[str, ...]
    alias: Alias
    alias_of: int
    outputs: int
    """Number of tensors returned: 0 none, 1 a tensor, more a tuple, `MANY`, `EITHER`."""
    differentiable: tuple[Tri, ...]
    """Per output, the last one standing for those after it: can it require grad."""
    gradient: str
    """nonzero, zero, none, raises, or empty where it was not found."""
    inputs: Saved
    results: Saved
    keeps: Tri
    """Whether it keeps something else, that the program does not get to see."""
    kind_of: int | None
    """Position of the operand whose kind decides the result's, None: what all promote to."""
    kinds: str
    scalar: Tri
    rank: str
    inplace: bool
    variants: Mapping[str, OpFacts]
    cast_on: frozenset[str] = frozenset()
    """The device types on which autocast hands it copies of its operands in lower precision."""
    numbers: Saved = Saved(())
    """Operands that are Python numbers here, and that the node keeps all the same."""

    def variant(self, *names: str) -> OpFacts:
        """The facts for arguments of the first of these `VARIANTS` that has facts of its own."""
        for name in names:
            found = self.variants.get(name)
            if found is not None:
                return found
        return self

    def written(self) -> OpFacts:
        """The facts of the op when it writes its first operand, whose old value it cannot keep."""
        return self if self.inplace else replace(self, inputs=self.inputs.without(0))

    def result_kind(self, operands: Sequence[Kind]) -> Kind:
        """The kind of the (first) result for tensor operands of these kinds, in their order.

        A number that stands where a tensor could stand counts as an operand.
        """
        if not operands:
            return Kind.UNKNOWN
        operand = operands[0] if self.kind_of is not None else reduce(Kind.promote, operands)
        if operand is Kind.UNKNOWN:
            known = set(self.kinds) - {"."}
            return _KINDS.get(known.pop(), Kind.UNKNOWN) if len(known) == 1 else Kind.UNKNOWN
        return _KINDS.get(self.kinds[_KIND_COLUMN[operand]], Kind.UNKNOWN)

    def can_require_grad(self, output: int = 0) -> Tri:
        """Whether that result requires grad if an operand does, in a mode that records."""
        if not self.differentiable:
            return NO
        return self.differentiable[min(output, len(self.differentiable) - 1)]

    @property
    def saves_input(self) -> dict[int, Tri]:
        """Positions saved when every operand requires grad."""
        return self.inputs.when(_EVERY)

    @property
    def saves_input_first(self) -> dict[int, Tri]:
        """Positions saved when only the first operand requires grad."""
        return self.inputs.when(_FIRST)

    @property
    def saves_input_rest(self) -> dict[int, Tri]:
        """Positions saved when every operand but the first requires grad."""
        return self.inputs.when(_REST)

    @property
    def saves_result(self) -> dict[int, Tri]:
        """Outputs saved when every operand requires grad."""
        return self.results.when(_EVERY)

    @property
    def saves_result_first(self) -> dict[int, Tri]:
        """Outputs saved when only the first operand requires grad."""
        return self.results.when(_FIRST)

    @property
    def saves_result_rest(self) -> dict[int, Tri]:
        """Outputs saved when every operand but the first requires grad."""
        return self.results.when(_REST)


_OUTPUTS = {"many": MANY, "any": EITHER}
_POSITIONS = range(32)
_EVERY = dict.fromkeys(_POSITIONS, YES)
_FIRST = {0: YES}
_REST = dict.fromkeys(_POSITIONS[1:], YES)
_KINDS = {"b": Kind.BOOL, "i": Kind.INT, "f": Kind.FLOAT, "c": Kind.COMPLEX}
_KIND_COLUMN = {Kind.BOOL: 0, Kind.INT: 1, Kind.FLOAT: 2, Kind.COMPLEX: 3}


def parse_alias(cell: str) -> Alias:
    """Read a cell of a column ``alias``."""
    found = Alias.NONE
    for word in filter(None, cell.split("|")):
        found |= Alias[word.upper()]
    return found


def parse_outputs(cell: str) -> int:
    """Read a cell of a column ``outputs``."""
    return _OUTPUTS.get(cell) or int(cell)


def parse_saved(cell: str) -> Saved:
    """Read a cell of a column ``saves`` or ``saves_result``."""
    return Saved(tuple(_pairs(cell.split())))


def _pairs(words: Iterable[str]) -> Iterable[tuple[int, int, Tri]]:
    for word in words:
        what, why = word.rstrip("?").split("<")
        yield int(what), int(why), MAYBE if word.endswith("?") else YES
