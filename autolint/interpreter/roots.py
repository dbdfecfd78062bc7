"""What of a file is run: its module body, and the functions with a trigger that nothing else ran."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd.values import GradMode, Instance, Value
from autolint.interpreter import calls, classes, flow, functions
from autolint.interpreter.events import Event, ModuleBuilt
from autolint.interpreter.index import FileIndex, FunctionInfo
from autolint.interpreter.machine import BoundReached, Frame, Machine, Sink
from autolint.interpreter.objects import ClassValue, FileContext, FunctionValue
from autolint.interpreter.project import Project
from autolint.interpreter.unit import Unit


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """How many functions were run as roots, and how many of them reached a bound."""

    roots: int
    not_followed: int


def triggers(wanted: frozenset[type[Event]]) -> frozenset[str]:
    """The names of which one must occur for any of these events to be possible."""
    return frozenset(name for event in wanted for name in event.triggers)


def has_roots(index: FileIndex, wanted: frozenset[type[Event]]) -> bool:
    """Whether anything in a file can give one of these events."""
    names = triggers(wanted)
    if index.module_level_names & names:
        return True
    builds = ModuleBuilt in wanted
    return bool(rooted(index, names, builds)) or (builds and _builds_modules(index))


def _builds_modules(index: FileIndex) -> bool:
    return any("__init__" in cls.methods for cls in index.classes.values())


def analyse(unit: Unit, index: FileIndex, project: Project, sink: Sink) -> FileAnalysis:
    """Run a file and tell the sink what happens in it."""
    context = FileContext(index, unit)
    machine = Machine(context, project, sink)
    runner = _Runner(machine, context, unit)
    runner.run_module()
    called = _called_names(index)
    for late in (False, True):  # what others call is run by them first
        for function in list(machine.defined):
            if function.cls is None and (function.name in called) is late:
                runner.run_function(function)
        for cls in machine.classes:
            runner.run_class(cls, called, late)
    return FileAnalysis(runner.roots, runner.not_followed)


def _called_names(index: FileIndex) -> frozenset[str]:
    """Names that functions of the file use, apart from their own."""
    found: set[str] = set()
    for info in index.all_functions:
        found |= info.names - {info.name}
    return frozenset(found)


_TOO_COMMON = frozenset({"forward", "__init__", "__call__", "setup", "__enter__", "__exit__"})
_CALLER_LEVELS = 2
_FACTORIES = frozenset(
    {"tensor", "zeros", "ones", "full", "eye", "arange", "linspace", "rand", "randn", "empty"}
)


def _hands_tensors_to_classes(index: FileIndex, info: FunctionInfo) -> bool:
    """Whether a function makes tensors and objects: a module may get its plain tensors so."""
    if not info.names & _FACTORIES:
        return False
    return any(
        name[:1].isupper() and (name in index.classes or name in index.imports)
        for name in info.names
    )


def rooted(index: FileIndex, names: frozenset[str], builds: bool) -> frozenset[str]:
    """Qualified names of the functions that hold a trigger, and of those of the file that call them.

    Calls are seen by bare name, two levels up: a loop around a helper that steps an optimizer holds no
    trigger itself. Names that every class has would lead to everything.
    """
    chosen = {
        info.qualname: info
        for info in index.all_functions
        if info.names & names or (builds and _hands_tensors_to_classes(index, info))
    }
    fresh = list(chosen.values())
    for _ in range(_CALLER_LEVELS):
        called = {info.name for info in fresh} - _TOO_COMMON
        fresh = [
            info
            for info in index.all_functions
            if info.qualname not in chosen and info.names & called
        ]
        chosen.update((info.qualname, info) for info in fresh)
    return frozenset(chosen)


class _Runner:
    """The roots of one file, one after the other."""

    def __init__(self, machine: Machine, context: FileContext, unit: Unit) -> None:
        self.m = machine
        self.context = context
        self.unit = unit
        self.rooted = rooted(context.index, machine.triggers, ModuleBuilt in machine.wanted)
        self.roots = 0
        self.not_followed = 0

    def _frame(self) -> Frame:
        m = self.m
        names = self.context.globals
        return Frame(self.context, self.unit, None, names, None, None, None, m.heap.mark())

    def _root(self) -> None:
        m = self.m
        m.steps = 0
        m.depth = 0
        m.muted = 0
        m.loops, m.guards = (), ()
        m.loop_births = []
        m.autograd.stamp = ()
        m.autograd.mode, m.autograd.block = GradMode.ON, None
        m.frame = self._frame()
        self.roots += 1

    def _finish(self, complete: bool) -> None:
        self.not_followed += not complete
        self.m.sink.root_finished(complete)

    def run_module(self) -> None:
        """The module body: a function like any other, surely run with recording on."""
        m = self.m
        self._root()
        m.sink.scope_entered(m.scope())
        body = self.unit.module.body
        position = 0
        complete = True
        try:
            for position, statement in enumerate(body):
                m.frame.statement = statement
                if not flow.run(m, statement):
                    break
        except BoundReached:
            complete = False
            self._define_rest(body[position:])
        self._finish(complete)

    def _define_rest(self, body: object) -> None:
        """Bind what is defined and imported after the point where the bound was reached."""
        m = self.m
        m.frame = self._frame()
        m.steps = 0
        m.loops, m.guards = (), ()
        try:
            for statement in body:  # type: ignore[attr-defined]
                if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                    flow.run(m, statement)
                elif isinstance(statement, cst.SimpleStatementLine):
                    for small in statement.body:
                        if isinstance(small, (cst.Import, cst.ImportFrom)):
                            flow.run(m, small)
        except BoundReached:
            return

    def run_function(self, function: FunctionValue) -> None:
        """A function that was not followed from elsewhere, if it holds a trigger."""
        if not self._is_root(function):
            return
        self._run(function, None)

    def _is_root(self, function: FunctionValue) -> bool:
        m = self.m
        if id(function.node) in m.followed or function.binding == "property":
            return False
        return function.qualname in self.rooted

    def _run(self, function: FunctionValue, receiver: Value | None) -> None:
        m = self.m
        self._root()
        mark = m.heap.mark()
        m.autograd.mode = self._mode(function)
        complete = True
        try:
            if isinstance(receiver, Instance):
                classes.weaken_gradients(m, receiver)
            bound = functions.unknown_arguments(m, function, receiver)
            calls.run_function(m, function, bound, None)
        except BoundReached:
            complete = False
        m.heap.undo(mark)
        self._finish(complete)

    def _mode(self, function: FunctionValue) -> GradMode:
        """The grad mode that a function is taken to run in when no call of it is seen.

        On, if its own text records something and no call of it in the file stands where recording is
        off; else unknown.
        """
        info = function.info
        if info is None or not info.records or function.decorated:
            return GradMode.UNKNOWN
        off = function.name in self.context.index.calls_off
        return GradMode.UNKNOWN if off else GradMode.ON

    def run_class(self, cls: ClassValue, called: frozenset[str], late: bool) -> None:
        """The methods of a class that hold a trigger, on an object whose `__init__` ran once."""
        m = self.m
        members = [f for f in cls.namespace.values() if isinstance(f, FunctionValue)]
        wanted = [
            f
            for f in members
            if f.name != "__init__" and (f.name in called) is late and self._is_root(f)
        ]
        builds = late and ModuleBuilt in m.wanted and "__init__" in cls.namespace
        if not wanted and not builds:
            return
        init = classes.lookup(cls, "__init__")
        seen = isinstance(init, FunctionValue) and id(init.node) in m.followed
        if not wanted and seen:
            return
        if not wanted and classes.is_module(cls).value == 0:
            return
        receiver = self._receiver(cls)
        for function in wanted:
            if self._is_root(function):  # not followed from one of its neighbours meanwhile
                self._run(function, receiver)

    def _receiver(self, cls: ClassValue) -> Value | None:
        """An object of the class: `__init__` is a root of its own."""
        m = self.m
        self._root()
        m.autograd.mode = GradMode.ON
        node = cls.node
        if node is None:
            return None
        m.frame.statement = node
        mark = m.heap.mark()
        try:
            receiver = classes.instance_for_methods(m, cls, node)
        except BoundReached:
            m.heap.undo(mark)
            self._finish(False)
            return None
        self._finish(True)
        return receiver
