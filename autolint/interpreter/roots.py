"""What of a file is run: the module body, and functions with a trigger that nothing else ran."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from autolint.autograd.objects import Instance
from autolint.autograd.values import Cell, GradMode, Tri, Value
from autolint.interpreter import classes, flow, following, functions, replaced
from autolint.interpreter.events import Event
from autolint.interpreter.index import FileIndex
from autolint.interpreter.machine import BoundReached, Frame, Machine, Sink
from autolint.interpreter.objects import ClassValue, FileContext, FunctionValue
from autolint.interpreter.project import Project
from autolint.interpreter.screen import Screen
from autolint.interpreter.unit import Unit


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """How many functions were run as roots, and how many of them reached a bound."""

    roots: int
    not_followed: int


def has_roots(index: FileIndex, project: Project, wanted: frozenset[type[Event]]) -> bool:
    """Whether anything in a file can give one of these events."""
    screen = Screen(index, project, wanted)
    names = index.module_level_names
    return screen.possible(names) or bool(screen.rooted()) or bool(screen.builds())


def analyse(
    unit: Unit, index: FileIndex, project: Project, sink: Sink, screened: bool = True
) -> FileAnalysis:
    """Run a file and tell the sink what happens in it; every function of it if not `screened`."""
    context = FileContext(index, unit)
    machine = Machine(context, project, sink)
    runner = _Runner(machine, context, unit, screened)
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


class _Runner:
    """The roots of one file, one after the other."""

    def __init__(self, machine: Machine, context: FileContext, unit: Unit, screened: bool) -> None:
        self.m = machine
        self.context = context
        self.unit = unit
        if screened:
            screen = Screen(context.index, machine.project, machine.wanted)
            self.rooted, self.builds = screen.rooted(), screen.builds()
        else:
            self.rooted = frozenset(info.qualname for info in context.index.all_functions)
            self.builds = frozenset(context.index.classes)
        self.roots = 0
        self.not_followed = 0

    def _frame(self) -> Frame:
        m = self.m
        names = self.context.globals
        return Frame(self.context, self.unit, None, names, None, None, None, m.heap.mark())

    def _root(self) -> None:
        m = self.m
        m.count_anew()
        m.depth = 0
        m.muted = 0
        m.born = Cell.clock()
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
        rest: list[cst.CSTNode] = list(body)
        complete = True
        try:
            for statement in body:
                m.frame.statement = statement
                rest.pop(0)
                if not flow.run(m, statement):
                    break
        except BoundReached:
            complete = False
            self._define_rest(rest)
        self._finish(complete)

    def _define_rest(self, body: list[cst.CSTNode]) -> None:
        """Bind what is defined and imported after the point where the bound was reached."""
        m = self.m
        m.frame = self._frame()
        m.count_anew()
        m.loops, m.guards = (), ()
        try:
            for statement in body:
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
            replacements = replaced.count(m)
            following.run_function(m, function, bound, None)
            replaced.method_left(m, receiver, replacements)
        except BoundReached:
            complete = False
        m.heap.undo(mark)
        self._finish(complete)

    def _mode(self, function: FunctionValue) -> GradMode:
        """The grad mode that a function is taken to run in when no call of it is seen.

        On, if its own text records something and no call of it in the file stands where recording
        is off; else unknown.
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
        rooted = f"{cls.qualname}.__init__" in self.rooted
        builds = late and (cls.qualname in self.builds or rooted) and "__init__" in cls.namespace
        if not wanted and not builds:
            return
        init = classes.lookup(cls, "__init__")
        seen = isinstance(init, FunctionValue) and id(init.node) in m.followed
        if not wanted and seen:
            return
        if not wanted and not rooted and classes.is_module(cls) is Tri.NO:
            return
        m.shallow = not wanted and not rooted
        receiver = self._receiver(cls)
        m.shallow = False
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
