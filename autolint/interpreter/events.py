"""The events: what the interpreter tells the rules, in the order in which the program does it.

Each event carries where it happens, under which grad mode, in which loops and under which tests,
and in which function, reached by which calls. `triggers` are the names of which at least one must
occur in a function (or in what it calls) for the event to be possible there: the screen runs no
other function. Where `company` is not empty, one of these must occur as well, there or in a
function that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from autolint.autograd.graph import Saved
from autolint.autograd.objects import Module, Optimizer
from autolint.autograd.tensor import GradHolder, OffAlias, Tensor
from autolint.autograd.values import GradMode, Kind, Through, Tri, Value, Word
from autolint.interpreter.index import AUGMENTED, COMPARED, IN_PLACE, ITEM_STORED, WHOLE
from autolint.interpreter.unit import Site

WRITING = frozenset(
    {IN_PLACE, AUGMENTED, ITEM_STORED, "out", "inplace", "fill", "sort", "put", "copyto", "putmask"}
)
"""Names of what writes memory."""

WHOLE_NUMBERS = frozenset(
    {COMPARED, WHOLE, "tensor", "arange", "full", "randint", "randperm", "zeros_like", "ones_like"}
    | {"full_like", "empty_like", "new_tensor", "new_full", "as_tensor", "from_numpy"}
    | {"LongTensor", "IntTensor", "ByteTensor", "BoolTensor", "argmax", "argmin", "argsort"}
    | {"nonzero", "one_hot", "isnan", "bincount", "tril_indices", "triu_indices", "bucketize"}
)
"""Names of what makes tensors of integers or booleans."""


@dataclass(frozen=True, slots=True)
class LoopMark:
    """An enclosing loop (its site) and the iteration of it that is being run (1 or 2)."""

    loop: Site
    iteration: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A test that holds (or not) where the event is, inside the innermost loop."""

    test: Site
    holds: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """The function an event happens in.

    `function` identifies the function, `context` the chain of calls it was reached by.
    `framework`: somebody else's engine owns the training loop here (CATALOGUE's framework guard);
    `optimizer_code`: writing parameters is the purpose here (optimizer guard). `clears` says
    whether anything in this file clears gradients.
    """

    name: str
    qualname: str
    function: Hashable
    context: Hashable
    calls: tuple[Site, ...]
    framework: bool
    optimizer_code: bool
    clears: bool


@dataclass(frozen=True, slots=True)
class Event:
    """What all events have."""

    triggers: ClassVar[frozenset[str]] = frozenset()
    company: ClassVar[frozenset[str]] = frozenset()

    site: Site
    scope: Scope
    mode: GradMode
    loops: tuple[LoopMark, ...]
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Revealed(Event):
    """`autolint.testing.reveal(value)` was called; `answer` is what was known of the value then."""

    triggers = frozenset({"reveal"})

    value: Value
    answer: str


@dataclass(frozen=True, slots=True)
class SavedBy:
    """An operation that saved the value now written: `sure` unless only some paths do."""

    saved: Saved
    operation: str
    origin: Site | None
    sure: Tri


@dataclass(frozen=True, slots=True)
class InPlaceWrite(Event):
    """Memory of a tensor is written.

    `target` is the reference written to (what stands at the left or before the method), `through`
    how it reaches the memory, `base` the tensor at the other end. `saved_by` are the operations
    that saved the old value and whose graph is still there. `parameter`: base is (part of) a
    module's parameters. `target_text` is the target as written, `made` where it was made.
    """

    triggers = frozenset({"data", "detach", "detach_", "numpy", "asarray"})
    company = WRITING

    target: Tensor
    base: Tensor
    through: Through
    saved_by: tuple[SavedBy, ...]
    parameter: Tri
    made: Site | None
    target_text: str
    operation: str


@dataclass(frozen=True, slots=True)
class SourceUsed(Event):
    """A tensor is used in the graph after its memory was changed through a detached alias.

    Emitted at the first such use: `write` is the write, `target_text` what was written to.
    """

    triggers = InPlaceWrite.triggers
    company = WRITING

    tensor: Tensor
    write: InPlaceWrite


@dataclass(frozen=True, slots=True)
class StaleSaved:
    """A saved value that was changed since: `through` tells whether autograd can see that.

    `write` is the event of the (last) change, None where it was not seen to happen in one place.
    """

    saved: Saved
    operation: str
    origin: Site | None
    write: InPlaceWrite | DataRebind | None
    through: Through


@dataclass(frozen=True, slots=True)
class Backward(Event):
    """`backward()` runs over a graph.

    `loss` is the value it is called on; `stale` are saved values changed since they were saved, for
    sure; `freed` the nodes met whose saved values an earlier backward freed, for sure.
    """

    triggers = frozenset({"backward"})

    loss: Value
    stale: tuple[StaleSaved, ...]
    freed: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DataRebind(Event):
    """`x.data = y`: another storage is put under a tensor.

    `ties` is the parameter whose memory is shared from now on, if both are known to live on.
    """

    triggers = frozenset({"data="})

    target: Tensor
    value: Value
    ties: Tensor | None
    saved_by: tuple[SavedBy, ...]
    parameter: Tri
    target_text: str


@dataclass(frozen=True, slots=True)
class SetState:
    """One parameter set of an optimizer at a step: its states before, and where they arose."""

    holder: GradHolder
    words: frozenset[Word]
    stale_at: Site | None
    dropped_at: Site | None


@dataclass(frozen=True, slots=True)
class OptimizerStep(Event):
    """An optimizer steps: the states of its parameter sets before the step.

    `backwards` counts the backward calls in the innermost loop's body so far, `optimizers` the
    optimizers that stepped in it.
    """

    triggers = frozenset({"step"})
    company = frozenset({"backward"})

    optimizer: Optimizer
    optimizer_text: str
    sets: tuple[SetState, ...]
    backwards_in_loop: int
    optimizers_in_loop: int


@dataclass(frozen=True, slots=True)
class RequiresGradSet(Event):
    """A tensor is asked to require grad: by keyword, method, attribute, or `nn.Parameter`.

    `how` is "keyword", "method", "attribute" or "parameter"; `value` is what is asked for; `made`
    is where the tensor was made.
    """

    triggers = frozenset({"requires_grad", "requires_grad_", "Parameter", "requires_grad="})
    company = WHOLE_NUMBERS

    tensor: Tensor
    kind: Kind
    how: str
    value: Tri
    made: Site | None
    target_text: str


@dataclass(frozen=True, slots=True)
class OffAliasUsed(Event):
    """An alias made under no_grad, of a tensor that requires grad, is used as if it were detached.

    `how` is "backward", "operation" or "requires_grad"; `alias.made` is where the alias was made.
    """

    triggers = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})

    alias: OffAlias
    tensor: Tensor
    how: str
    made: Site
    target_text: str


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor kept as an attribute: where it was assigned, and by how many assignments.

    `initialised`: nn.Module's own `__init__` had run by then. `placed`: the tensor was put on a
    device by hand on its way here (`device=`, `.to(device)`, `.cuda()`).
    """

    name: str
    tensor: Tensor
    site: Site
    scope: Scope
    assignments: int
    initialised: bool = False
    placed: bool = False


@dataclass(frozen=True, slots=True)
class ModuleBuilt(Event):
    """An `nn.Module` of a project class was constructed: its plain tensor attributes.

    `facts` (computed when asked) answers what the class does with an attribute: see
    `class_facts.ClassFacts`.
    """

    module: Module
    class_name: str
    tensors: tuple[StoredTensor, ...]
    facts: Callable[[], Any]
