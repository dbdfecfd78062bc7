"""What torch shows of a generated program while it runs."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import traceback
import warnings
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from autolint.runtime import observing
from autolint.runtime.layout import Layout
from autolint.runtime.questions import Answers, Observed, Place, Raised
from autolint.testing import recording

_PATH = "program.py"
_OURS = re.compile(
    "modified by an inplace|second time|require grad|requires grad|leaf|no_grad mode|multiple views"
    "|Inplace update to inference|inside inference|is a view|implicitly created"
)
"""Errors that backward and writes in place raise, by their messages; shapes are no matter here."""


def run_torch(source: str) -> Observed:
    """Execute a program: what it showed until it ended or raised."""
    code = compile(source, _PATH, "exec")
    run = _Run(Layout(ast.parse(source)))
    mode = torch.is_grad_enabled()
    torch.manual_seed(0)
    raised = None
    handle = register_optimizer_step_pre_hook(run.gradients.stepped)
    tracing = sys.gettrace()
    with warnings.catch_warnings(), recording(run.record):
        warnings.simplefilter("ignore")
        try:
            sys.settrace(run.trace)
            exec(code, {"__name__": "program"})
        except Exception as error:
            sys.settrace(tracing)
            frames = traceback.extract_tb(error.__traceback__)
            [line, *_] = [frame.lineno for frame in frames if frame.filename == _PATH]
            raised = Raised(
                run.place(line or 0), _first_line(error), bool(_OURS.search(str(error)))
            )
        finally:
            sys.settrace(tracing)
            torch.set_grad_enabled(mode)
            handle.remove()
    return Observed(run.answers, frozenset(run.reached), raised)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


class _Run:
    """A program being run: where it is, in which iterations, and what it revealed."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.gradients = _Gradients()
        self.answers: dict[Place, Answers] = {}
        self.reached: set[Place] = set()
        self._iterations: dict[int, int] = {}
        self._line = 0

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """Follow the lines of the module body."""
        if frame.f_code.co_filename != _PATH or frame.f_code.co_name != "<module>":
            return None
        if event == "line":
            self._arrive(frame.f_lineno)
            self.gradients.watch(frame.f_globals)
        return self.trace

    def _arrive(self, line: int) -> None:
        last = self.layout.loops.get(line)
        if last is not None:
            inside = line <= self._line <= last
            self._iterations[line] = self._iterations.get(line, 0) + 1 if inside else 1
        self._line = line
        self.reached.add(self.place(line))

    def place(self, line: int) -> Place:
        """A line, in the present iterations of the loops around it."""
        around = self.layout.around(line)
        return line, tuple(self._iterations.get(loop, 0) for loop in around)

    def record(self, path: str, line: int, value: object) -> None:
        """A `reveal` is executed."""
        self.answers[self.place(line)] = self._describe(value)

    def _describe(self, value: object) -> Answers:
        if isinstance(value, tuple):
            left, right = value
            if not isinstance(left, Tensor) or not isinstance(right, Tensor):
                return {}
            one, two = (each.untyped_storage().data_ptr() for each in (left, right))
            return {"same storage": one == two}
        if not isinstance(value, Tensor):
            return {"tensor": False}
        words = observing.describe(value)
        answers: Answers = {
            "tensor": True,
            "requires grad": words.grad == "grad",
            "leaf": words.leaf == "leaf",
            "dtype kind": words.kind,
            "rank": words.rank,
            "inference": words.inference,
            "grad is None": words.grad_is_none,
        }
        if words.leaf == "leaf":
            answers["gradient state"] = self.gradients.state(value)
        return answers


class _Gradients:
    """The gradient states of leaves (DESIGN §4's table), seen through hooks of torch."""

    def __init__(self) -> None:
        self._states: dict[int, str] = {}
        self._empty: dict[int, bool] = {}
        self._unclear: set[int] = set()
        self._seen: dict[int, Tensor] = {}

    def watch(self, names: dict[str, Any]) -> None:
        """Put hooks on the leaves that are there now."""
        for value in list(names.values()):
            if isinstance(value, Tensor):
                self._hook(value)
            elif isinstance(value, nn.Module):
                for parameter in value.parameters():
                    self._hook(parameter)

    def _hook(self, tensor: Tensor) -> None:
        key = id(tensor)
        if key in self._seen:
            return
        with contextlib.suppress(RuntimeError):
            if tensor.requires_grad and tensor.is_leaf:
                hook: Any = tensor.register_hook
                hook_after: Any = tensor.register_post_accumulate_grad_hook
                hook(lambda gradient: self._reaches(tensor))
                hook_after(self._reached)
                self._seen[key] = tensor

    def _reaches(self, tensor: Tensor) -> None:
        self._empty[id(tensor)] = self._is_none(tensor)

    def _reached(self, tensor: Tensor) -> None:
        key = id(tensor)
        kept = self._states.get(key) in ("used", "stale") and not self._empty.get(key, False)
        self._states[key] = "stale" if kept else "fresh"

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """An optimizer is about to step."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if not self._is_none(parameter):
                    self._states[id(parameter)] = "used"

    def _is_none(self, tensor: Tensor) -> bool:
        """Whether there is no gradient. One of zeros may be a cleared one: nobody can tell."""
        key = id(tensor)
        if tensor.grad is None:
            self._unclear.discard(key)
            return True
        if not tensor.grad.any():
            self._unclear.add(key)
        return False

    def state(self, tensor: Tensor) -> str | None:
        """The state of a leaf, None if it cannot be told."""
        if self._is_none(tensor):
            return "none"
        return None if id(tensor) in self._unclear else self._states.get(id(tensor))
