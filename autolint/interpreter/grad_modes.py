"""Grad modes that are made and not entered, entered and not left, or left open across a yield."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import library
from autolint.autograd.values import GradMode, Qualified, Scalar, Value, resolve
from autolint.interpreter.events.modes import GradModeUnused, YieldedInMode
from autolint.interpreter.index import SWITCHED_ON
from autolint.interpreter.machine import Frame, Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site


def dropped(m: Machine, name: str, args: Arguments, node: cst.Call) -> None:
    """`torch.no_grad()` or `torch.set_grad_enabled(False)` is a statement of its own."""
    if name != "set_grad_enabled":
        _tell(m, name, "dropped", node)
        return
    given = args.get(0, "mode")
    mode = resolve(given) if given is not None else None
    if not isinstance(mode, Scalar) or not mode.known or mode.value:
        return
    # A script switches recording off for all that follows; another method may switch it back.
    if not m.frame.is_module and not _mentions(m, SWITCHED_ON):
        _tell(m, name, "switched", node)


def entered(m: Machine, node: cst.Call) -> None:
    """`torch.no_grad().__enter__()` is a statement of its own."""
    if not _mentions(m, "__exit__"):
        _tell(m, "__enter__", "entered", node)


def uncalled(m: Machine, value: Value, node: cst.CSTNode) -> None:
    """A `with` gets a value: `torch.no_grad` itself is no context."""
    if isinstance(value, Qualified):
        name = library.canonical(value.name)
        if library.grad_mode(name) is not None:
            _tell(m, name.rpartition(".")[2], "uncalled", node)


def _tell(m: Machine, name: str, how: str, node: cst.CSTNode) -> None:
    if not m.listens(GradModeUnused):
        return
    frame = m.frame
    around = frame.function.node if frame.function is not None else None
    info = frame.function.info if frame.function is not None else None
    recording = info is None or info.records
    m.emit(
        GradModeUnused,
        m.site(node),
        name=name,
        how=how,
        records=any(each.records for each in frame.context.index.all_functions),
        function=around if isinstance(around, cst.FunctionDef) and not recording else None,
    )


def _mentions(m: Machine, name: str) -> bool:
    """Whether something in the running file uses a name."""
    context = m.frame.context
    everything = [context.index.module_level_names, *context.names.values()]
    return any(name in names for names in everything)


def yielded(m: Machine, node: cst.Yield) -> None:
    """A generator hands out a value: the mode of its `with` holds for whoever gets it."""
    frame = m.frame
    if not frame.mode_blocks or not m.listens(YieldedInMode) or not _plain(frame):
        return
    block, before = frame.mode_blocks[-1]
    function = frame.function
    off = function is not None and function.name in frame.context.index.calls_off
    m.emit(YieldedInMode, m.site(node), block=block, evaluation=off or before.off)


def _plain(frame: Frame) -> bool:
    """Whether the running function is a generator that nothing turns into something else."""
    function = frame.function
    if function is None or function.manager or function.decorated:
        return False
    info = function.info
    return info is not None and not any(
        name.rpartition(".")[2] in _TURNING for name in info.decorators
    )


_TURNING = frozenset({"contextmanager", "asynccontextmanager", "fixture", "hookimpl"})
"""Decorators of functions that change something for as long as somebody else runs."""


def opened(m: Machine, before: GradMode, site: Site) -> bool:
    """Note that a block switches recording off; whether it does."""
    if before.off or not m.autograd.mode.off:
        return False
    m.frame.mode_blocks.append((site, before))
    return True
