"""The state of an execution: frames, loops, tests, heap, bounds, and the events it emits."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import libcst as cst

from autolint.autograd import casting
from autolint.autograd.graph import Stamp
from autolint.autograd.heap import MISSING, Changes, Heap, History
from autolint.autograd.inplace import Autograd
from autolint.autograd.joins import Joiner
from autolint.autograd.objects import Optimizer
from autolint.autograd.values import Cell, GradMode, Scalar, Unknown, Value
from autolint.interpreter.events import Event, Guard, LoopMark, Moment, Scope
from autolint.interpreter.index import FileIndex
from autolint.interpreter.objects import ClassValue, FileContext, FunctionValue
from autolint.interpreter.project import Project
from autolint.interpreter.screen import TOO_COMMON, Needs
from autolint.interpreter.unit import Site, Unit

E = TypeVar("E", bound=Event)

MAX_STEPS = 4_000
"""Statements and lambdas run per root; a root that needs more yields nothing."""
MAX_EVALUATED = 100_000
"""Expressions evaluated per root: statements may be long. A real root needs three per statement."""
MAX_EVALUATED_IN_FILE = 250_000
"""Expressions evaluated per file; the roots after that yield nothing."""
MAX_SECONDS = 60
"""Processor time per file. The counts above end every known file long before."""
MAX_DEPTH = 6
"""Followed calls inside each other."""
MAX_RECURSION = 2
"""How often one function may be on the stack."""
MAX_LOOP_DEPTH = 3
"""Loops nested deeper run one iteration."""


class BoundReached(Exception):
    """The root used up its steps."""


class OutOfTime(Exception):
    """The file used up its processor time."""


class Sink(Protocol):
    """Where events go."""

    wanted: frozenset[type[Event]]

    def scope_entered(self, scope: Scope) -> None:
        """A function begins to run, in one context."""

    def emit(self, event: Event) -> None:
        """Something happened."""

    def root_finished(self, complete: bool) -> None:
        """A root ended; not complete: a bound was reached, what it emitted must be dropped."""


class LoopState:
    """A loop that is being run: where its states go that leave by break and continue.

    `entries` are the marks at which each iteration began.
    """

    __slots__ = ("breaks", "continues", "entries", "iteration_mark", "mark", "node")

    def __init__(self, mark: int, node: cst.CSTNode) -> None:
        self.mark = mark
        self.node = node
        self.entries: list[int] = []
        self.iteration_mark = mark
        self.breaks: list[Changes] = []
        self.continues: list[Changes] = []


class Frame:
    """A running function, module body or (then `defining` is the class) class body."""

    def __init__(
        self,
        context: FileContext,
        unit: Unit,
        function: FunctionValue | None,
        names: dict[str, Value],
        closure: Frame | None,
        call: Site | None,
        caller: Frame | None,
        mark: int,
    ) -> None:
        self.context = context
        self.unit = unit
        self.function = function
        self.names = names
        self.closure = closure
        self.call = call
        self.caller = caller
        self.mark = mark
        self.born = Cell.clock()
        self.statement: cst.CSTNode = unit.module
        self.returns: list[tuple[Changes, Value]] = []
        self.yields: list[Value] = []
        self.yield_modes: list[GradMode] = []
        self.casting_yielded = casting.OFF
        self.mode_blocks: list[tuple[Site, GradMode]] = []
        self.loops: list[LoopState] = []
        self.finals: list[tuple[cst.Finally, int]] = []
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.nested: list[FunctionValue] = []
        self.defining: ClassValue | None = None
        self.scope_: Scope | None = None
        self.asks_training = False

    @property
    def is_module(self) -> bool:
        """Whether this is a module body: its names are global."""
        return self.names is self.context.globals

    def names_used(self) -> frozenset[str]:
        """The names that the function, or module body, uses."""
        if self.function is None:
            return self.context.index.module_level_names
        return self.context.names.get(self.function.qualname, frozenset())

    @property
    def cls(self) -> ClassValue | None:
        """The class whose method runs, also from inside a function nested in it."""
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None and frame.function.cls is not None:
                return frame.function.cls
            frame = frame.closure
        return None


class Machine:
    """One file being executed symbolically.

    `born` is the age of the youngest cell when the present root began.
    `shallow`: a constructor is run for the tensors it keeps; the parts that get none are not built.
    `needs` are those of the wanted events; `needs_elsewhere`, in another file, where no tensor is
    given. `local_leads` are names of functions of this file that hold a trigger.
    `evaluated` counts the expressions of the file that were evaluated so far.
    `dropped` is the call that is a statement of its own; `trial`: where the innermost short block
    stands that catches what it raises.
    """

    def __init__(self, context: FileContext, project: Project, sink: Sink) -> None:
        self.main = context
        self.project = project
        self.sink = sink
        self.wanted = sink.wanted
        anywhere = [e for e in sink.wanted if not e.in_forward and not e.at_construction]
        triggers = frozenset(name for event in anywhere for name in event.triggers)
        self.needs = Needs(anywhere)
        self.needs_elsewhere = Needs(event for event in anywhere if not event.by_arguments)
        self.local_leads = frozenset(
            info.name
            for info in context.index.all_functions
            if not info.names.isdisjoint(triggers) and info.name not in TOO_COMMON
        )
        self.heap = Heap()
        self.autograd = Autograd(self.heap)
        self.contexts: dict[str, FileContext] = {context.index.path: context}
        self.facts: dict[str, Any] = {"optimizers": ()}
        self.frame: Frame = None  # type: ignore[assignment]  # set before anything runs
        self.depth = 0
        self.steps = 0
        self.evaluated = 0
        self._most = MAX_EVALUATED
        self._deadline = time.thread_time() + MAX_SECONDS
        self.muted = 0
        self.born = 0
        self.shallow = False
        self.loops: tuple[LoopMark, ...] = ()
        self.loop_births: list[int] = []
        self.guards: tuple[Guard, ...] = ()
        self.followed: set[Hashable] = set()
        self.defined: list[FunctionValue] = []
        self.classes: list[ClassValue] = []
        self.units: dict[Hashable, Any] = {}
        self.inits: dict[int, Value] = {}
        self.dropped: cst.CSTNode | None = None
        self.trial: tuple[Frame, tuple[LoopMark, ...]] | None = None

    # ------------------------------------------------------------------ places and events

    def site(self, node: cst.CSTNode) -> Site:
        """The place of a node of the function that runs."""
        frame = self.frame
        return Site(frame.unit, node, frame.statement)

    def moment(self, site: Site) -> Moment:
        """What happens here and now, for the state of gradients."""
        return Moment(site, self.loops, self.guards)

    def build(self, event: type[E], site: Site, **fields: Any) -> E:
        """An event that happens here and now."""
        return event(site, self.scope(), self.autograd.mode, self.loops, self.guards, **fields)

    def tell(self, event: Event) -> None:
        """Tell the rules, unless nobody listens or the block is there to raise."""
        if type(event) in self.wanted and not self.muted:
            self.sink.emit(event)

    def emit(self, event: type[E], site: Site, **fields: Any) -> E:
        """Build an event and tell the rules."""
        made = self.build(event, site, **fields)
        self.tell(made)
        return made

    def listens(self, event: type[Event]) -> bool:
        """Whether building the event is worth it."""
        return event in self.wanted and not self.muted

    def scope(self) -> Scope:
        """The description of the running function, for events."""
        frame = self.frame
        if frame.scope_ is None:
            frame.scope_ = _scope(frame)
        return frame.scope_

    def root_path(self) -> str:
        """The file in which the running functions were begun: the one that is linted."""
        frame = self.frame
        while frame.caller is not None:
            frame = frame.caller
        return frame.context.index.path

    def names_used(self) -> frozenset[str]:
        """The names that the running function, or module body, uses."""
        return self.frame.names_used()

    def count_anew(self) -> None:
        """A root begins: it may use up steps of its own. Raises OutOfTime."""
        self.steps = 0
        self._most = min(self.evaluated + MAX_EVALUATED, MAX_EVALUATED_IN_FILE)
        self._look_at_clock()

    def _look_at_clock(self) -> None:
        if time.thread_time() > self._deadline:
            raise OutOfTime

    def step(self) -> None:
        """Count one statement. Raises BoundReached and OutOfTime."""
        self.steps += 1
        if not self.steps & 63:
            self._look_at_clock()
        if self.steps > MAX_STEPS or self.evaluated > self._most:
            raise BoundReached

    # ------------------------------------------------------------------ state

    def change(self, cell: Any, name: str, value: Any) -> None:
        """Write one field of a cell."""
        self.heap.put(vars(cell), name, value)

    def branch(self, arms: list[Callable[[], bool]]) -> bool:
        """Run alternatives from the present state and join those that flow on."""
        heap = self.heap
        mark, born = heap.mark(), Cell.clock()
        mode, block = self.autograd.mode, self.autograd.block
        taken: list[Changes] = []
        modes: list[tuple[GradMode, object]] = []
        for arm in arms:
            self.autograd.mode, self.autograd.block = mode, block
            if arm():
                taken.append(heap.take(mark))
                modes.append((self.autograd.mode, self.autograd.block))
            else:
                heap.undo(mark)
        self.autograd.mode, self.autograd.block = mode, block
        if not taken:
            return False
        if all(after == modes[0] for after in modes):
            self.autograd.mode, self.autograd.block = modes[0]
        else:
            self.autograd.mode = GradMode.EITHER
        self.join(taken, born)
        return True

    def join(self, arms: list[Changes], born: int) -> None:
        """Make the join of several states, all given as changes of the present one."""
        joiner = Joiner()
        self.heap.join(arms, born, joiner.arms)
        self.settle(joiner)

    def settle(self, joiner: Joiner) -> None:
        """End a join, once all facts are joined: what it made is known like what code makes."""
        joiner.link(self.heap)
        for optimizer in joiner.optimizers:
            self.saw(optimizer)

    def any_moment(self, history: History) -> None:
        """Put the state of any moment: of each fact the join of all values that it had."""
        joiner = Joiner()
        for facts, key, values in history.values():
            value = values[0]
            for other in values[1:]:
                if value is not other:
                    value = joiner.fact(key, value, other)
            if value is not MISSING:
                self.heap.put(facts, key, value)
        self.settle(joiner)

    @contextmanager
    def under(self, guard: Guard | None) -> Iterator[None]:
        """Run something under one more test."""
        before = self.guards
        if guard is not None:
            self.guards = (*before, guard)
        try:
            yield
        finally:
            self.guards = before

    def stamp(self) -> Stamp:
        """In which iterations of which loops the program is."""
        return tuple((mark.loop.node, mark.iteration) for mark in self.loops)

    def loop_key(self) -> object:
        """The innermost loop's node, None outside loops."""
        return self.loops[-1].loop.node if self.loops else None

    # ------------------------------------------------------------------ what is in sight

    def backwards_in_loop(self) -> set[int]:
        """The places (by node) of the backward calls of the innermost loop."""
        key = self.loop_key()
        return {id(site.node) for loop, site in self.facts.get("backwards", ()) if loop is key}

    def optimizers_in_loop(self, optimizer: Optimizer) -> int:
        """How many optimizers have stepped in the innermost loop, this one included."""
        key = self.loop_key()
        stepped = self.facts.get("stepped", ())
        if (key, optimizer) not in stepped:
            stepped = (*stepped, (key, optimizer))
            self.heap.put(self.facts, "stepped", stepped)
        return len({id(other) for loop, other in stepped if loop is key})

    def optimizers(self) -> tuple[Optimizer, ...]:
        """The optimizers that were met so far."""
        found: tuple[Optimizer, ...] = self.facts["optimizers"]
        return found

    def saw(self, optimizer: Optimizer) -> Optimizer:
        """Remember an optimizer."""
        known = self.optimizers()
        if optimizer not in known:
            self.heap.put(self.facts, "optimizers", (*known, optimizer))
        return optimizer

    def context_of(self, index: FileIndex) -> FileContext:
        """The context of another file of the project."""
        context = self.contexts.get(index.path)
        if context is None:
            context = self.contexts[index.path] = FileContext(index, None)
        return context

    def unknown(self, *inputs: Value, name: str = "", origin: Site | None = None) -> Unknown:
        """A value about which nothing is known, made from some inputs."""
        return Unknown(name, tuple(v for v in inputs if not isinstance(v, Scalar)), origin)


_FRAMEWORK_NAMES = frozenset(
    {"accelerator", "fabric", "manual_backward", "automatic_optimization", "deepspeed", "strategy"}
)
_FRAMEWORK_BASES = frozenset({"LightningModule", "Trainer", "LightningLite", "Fabric"})
_OPTIMIZER_ARGUMENTS = frozenset({"params", "grads", "param_groups"})


def _scope(frame: Frame) -> Scope:
    context, function = frame.context, frame.function
    chain: list[Frame] = []
    caller: Frame | None = frame
    while caller is not None:
        chain.append(caller)
        caller = caller.caller
    chain.reverse()
    calls = tuple(f.call for f in chain if f.call is not None)
    qualname = function.qualname if function is not None else "<module>"
    key: Hashable = id(function.node) if function is not None else context.index.path
    names = context.names.get(qualname, frozenset())
    return Scope(
        function.name if function is not None else "<module>",
        qualname,
        key,
        tuple(id(site.node) for site in calls),
        calls,
        bool(names & _FRAMEWORK_NAMES) or _framework_class(frame.cls),
        any(_optimizer_code(f) for f in chain),
        context.clears,
    )


def _framework_class(cls: ClassValue | None) -> bool:
    if cls is None or cls.info is None:
        return False
    tails = {base.rpartition(".")[2] for base in cls.info.bases}
    return bool(tails & _FRAMEWORK_BASES)


def _optimizer_code(frame: Frame) -> bool:
    """Whether writing parameters is this function's purpose (CATALOGUE's optimizer guard)."""
    function = frame.function
    if function is None:
        return False
    name = function.name.lstrip("_")
    if name.startswith(("init", "reset", "load", "ema", "copy")) or (
        name.endswith("_") and not name.endswith("__")
    ):
        return True
    cls = frame.cls
    if cls is not None and any("Optimizer" in _base_name(base) for base in cls.bases):
        return True
    info = function.info
    return info is not None and bool(_OPTIMIZER_ARGUMENTS & set(info.params.positional))


def _base_name(base: Value) -> str:
    return getattr(base, "name", "")
