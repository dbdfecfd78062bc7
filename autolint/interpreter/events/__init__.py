"""The events: what the interpreter tells the rules, in the order in which the program does it.

Each event carries where it happens, under which grad mode, in which loops and under which tests,
and in which function, reached by which calls. `triggers` are the names of which at least one must
occur in a function (or in what it calls) for the event to be possible there: the screen runs no
other function. Where `company` is not empty, one of these must occur as well, there or in a
function that it calls.
"""

from autolint.interpreter.events.base import Attempt, Event, Guard, LoopMark, Moment, Scope
from autolint.interpreter.events.calls import Discarded
from autolint.interpreter.events.functions import (
    ConstantGiven,
    FunctionCalled,
    GradientForgotten,
    GradientsMiscounted,
    InputWritten,
    KeptOnContext,
)
from autolint.interpreter.events.leaves import (
    FlagRefused,
    GradRead,
    LeafLost,
    LeafRebound,
    OffAliasUsed,
    RequiresGradSet,
    Revealed,
)
from autolint.interpreter.events.memory import (
    AliasReshaped,
    DataRebind,
    InPlaceWrite,
    LeafWritten,
    SavedBy,
    SavedWritten,
    SourceUsed,
)
from autolint.interpreter.events.modes import (
    FlagMissed,
    GivenToNumpy,
    GradModeUnused,
    YieldedInMode,
)
from autolint.interpreter.events.modules import (
    ClassDecorated,
    FreshLayerCalled,
    FunctionalDropout,
    InitMissing,
    LayersRepeated,
    LossApplied,
    ModuleBuilt,
    PartsHidden,
    PartTooEarly,
    StoredTensor,
)
from autolint.interpreter.events.optimized import (
    FrozenMoves,
    GeneratorReused,
    NothingTrained,
    PartReplaced,
)
from autolint.interpreter.events.snapshots import AliasKept, SnapshotUsed
from autolint.interpreter.events.training import (
    Age,
    Backward,
    Carried,
    Clip,
    FreedNode,
    GradientClipped,
    Kept,
    LoopFinished,
    OptimizerStep,
    SchedulerTooEarly,
    SetState,
    StaleSaved,
    SteppedInEval,
)

__all__ = [
    "Age",
    "AliasKept",
    "AliasReshaped",
    "Attempt",
    "Backward",
    "Carried",
    "ClassDecorated",
    "Clip",
    "ConstantGiven",
    "DataRebind",
    "Discarded",
    "Event",
    "FlagMissed",
    "FlagRefused",
    "FreedNode",
    "FreshLayerCalled",
    "FrozenMoves",
    "FunctionCalled",
    "FunctionalDropout",
    "GeneratorReused",
    "GivenToNumpy",
    "GradModeUnused",
    "GradRead",
    "GradientClipped",
    "GradientForgotten",
    "GradientsMiscounted",
    "Guard",
    "InPlaceWrite",
    "InitMissing",
    "InputWritten",
    "Kept",
    "KeptOnContext",
    "LayersRepeated",
    "LeafLost",
    "LeafRebound",
    "LeafWritten",
    "LoopFinished",
    "LoopMark",
    "LossApplied",
    "ModuleBuilt",
    "Moment",
    "NothingTrained",
    "OffAliasUsed",
    "OptimizerStep",
    "PartReplaced",
    "PartTooEarly",
    "PartsHidden",
    "RequiresGradSet",
    "Revealed",
    "SavedBy",
    "SavedWritten",
    "SchedulerTooEarly",
    "Scope",
    "SetState",
    "SnapshotUsed",
    "SourceUsed",
    "StaleSaved",
    "SteppedInEval",
    "StoredTensor",
    "YieldedInMode",
]
