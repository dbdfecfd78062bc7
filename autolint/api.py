"""All that a rule may import from autolint: `Rule`, what it yields, the events and the values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

import libcst as cst

from autolint.autograd.objects import Module
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    Grade,
    GradMode,
    Kind,
    Lost,
    Sequence,
    Through,
    Tri,
    Word,
    resolve,
)
from autolint.interpreter.events import (
    Age,
    AliasKept,
    AliasReshaped,
    Backward,
    Carried,
    ClassDecorated,
    ConstantGiven,
    DataRebind,
    Discarded,
    Event,
    FlagMissed,
    FlagRefused,
    FreedNode,
    FreshLayerCalled,
    FrozenMoves,
    FunctionalDropout,
    FunctionCalled,
    GeneratorReused,
    GivenToNumpy,
    GradientClipped,
    GradientForgotten,
    GradientsMiscounted,
    GradModeUnused,
    GradRead,
    Guard,
    InitMissing,
    InPlaceWrite,
    InputWritten,
    Kept,
    KeptOnContext,
    LayersRepeated,
    LeafLost,
    LeafRebound,
    LeafWritten,
    LoopFinished,
    LossApplied,
    ModuleBuilt,
    Moment,
    NothingTrained,
    OffAliasUsed,
    OptimizerStep,
    PartReplaced,
    PartsHidden,
    PartTooEarly,
    RequiresGradSet,
    SavedWritten,
    SchedulerTooEarly,
    Scope,
    SetState,
    SnapshotUsed,
    SourceUsed,
    SteppedInEval,
    StoredTensor,
    YieldedInMode,
)
from autolint.interpreter.layout import adjacent, line_of, periodic, same_block
from autolint.interpreter.unit import Site
from autolint.severity import Severity

__all__ = [
    "Age",
    "AliasKept",
    "AliasReshaped",
    "Backward",
    "Because",
    "Carried",
    "ClassDecorated",
    "ConstantGiven",
    "DataRebind",
    "Discarded",
    "Edit",
    "Event",
    "Finding",
    "Fix",
    "FlagMissed",
    "FlagRefused",
    "FreedNode",
    "FreshLayerCalled",
    "FrozenMoves",
    "FunctionCalled",
    "FunctionalDropout",
    "GeneratorReused",
    "GivenToNumpy",
    "GradMode",
    "GradModeUnused",
    "GradRead",
    "Grade",
    "GradientClipped",
    "GradientForgotten",
    "GradientsMiscounted",
    "Guard",
    "InPlaceWrite",
    "InitMissing",
    "InputWritten",
    "Kept",
    "KeptOnContext",
    "Kind",
    "LayersRepeated",
    "LeafLost",
    "LeafRebound",
    "LeafWritten",
    "LoopFinished",
    "LossApplied",
    "Lost",
    "Module",
    "ModuleBuilt",
    "Moment",
    "NothingTrained",
    "OffAliasUsed",
    "OptimizerStep",
    "PartReplaced",
    "PartTooEarly",
    "PartsHidden",
    "RequiresGradSet",
    "Rule",
    "SavedWritten",
    "SchedulerTooEarly",
    "Sequence",
    "SetState",
    "Severity",
    "Site",
    "SnapshotUsed",
    "SourceUsed",
    "SteppedInEval",
    "StoredTensor",
    "Tensor",
    "Through",
    "Tri",
    "Word",
    "YieldedInMode",
    "adjacent",
    "line_of",
    "periodic",
    "resolve",
    "same_block",
]


@dataclass(frozen=True, slots=True)
class Because:
    """A link of the chain that led to a finding: what happened at another place."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of source.

    replace: the node's exact span becomes `text`, or all up to where `until` begins. append: `text`
    follows the node. The span of an expression is within its parentheses; what may go over several
    lines is left as it is, since the code of a node alone lacks the block's indentation.
    insert_before, insert_after: `node` is a statement and `text` whole statements without
    indentation, which are put on lines of their own. wrap: the statement goes into a block with the
    header `text`. delete: the statement's lines go.
    """

    kind: Literal["replace", "append", "insert_before", "insert_after", "wrap", "delete"]
    node: cst.CSTNode
    text: str = ""
    until: cst.CSTNode | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A proposed repair; `safe` if nothing but the fault changes. `imports` are lines it needs."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields. `severity` None means the rule's own.

    `fault` is a key of the fault itself (the write, the node, the backward): of several rules that
    report one fault, the engine keeps the most specific. `scope` is the function that the site is
    in, if that is not the event's: a site in another file is shown at the call that led there.
    """

    site: Site
    message: str
    because: tuple[Because, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    fault: Hashable | None = None
    scope: Scope | None = None


E = TypeVar("E", bound=Event)
Check = Callable[[E], Iterator[Finding]]


class Rule:
    """A rule: name, page, code, severity, and the checks that it registers with `on`.

    `missing` marks rules about something absent: each followed context of the function must show
    the fault. `more_specific_than` lists the codes that it displaces where the fault is the same.
    """

    def __init__(
        self,
        module: str,
        page: str | None,
        *,
        code: str,
        severity: Severity,
        missing: bool = False,
        more_specific_than: tuple[str, ...] = (),
    ) -> None:
        self.module = module
        self.name = module.rpartition(".")[2].replace("_", "-")
        self.page = page or ""
        self.code = code
        self.severity = severity
        self.missing = missing
        self.more_specific_than = more_specific_than
        self.checks: dict[type[Event], list[Callable[..., Iterator[Finding]]]] = {}

    def on(self, event: type[E]) -> Callable[[Check[E]], Check[E]]:
        """Register a check for an event class."""

        def register(check: Check[E]) -> Check[E]:
            self.checks.setdefault(event, []).append(check)
            return check

        return register
