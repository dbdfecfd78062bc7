"""Clipping of gradients: of which sets, and whether there is anything to clip yet."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd.objects import GradScaler
from autolint.autograd.values import NO, YES, Grade, Value, Word
from autolint.interpreter import optimizers, spent
from autolint.interpreter.events import Clip, GradientClipped
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

_INFINITE = re.compile(r"\binf(ty)?\b")
_EMPTY = frozenset({Word.NONE, Word.DROPPED})
_FRESH = frozenset({Word.FRESH})


def run(m: Machine, function: str, args: Arguments, node: cst.Call) -> Value:
    """A clipping function: the norm of the gradients, if it gives one."""
    _clip(m, function, args, node)
    return m.unknown(*args.all(), origin=m.site(node))


def _clip(m: Machine, function: str, args: Arguments, node: cst.Call) -> None:
    params = args.get(0, "parameters")
    if params is None:
        return
    site = m.site(node)
    spent.used(m, params, "clip", site)
    holders, complete = optimizers.parameter_sets(m, params)
    if not complete:
        return
    limit = next((each.value for each in node.args[1:]), None)
    unlimited = limit is not None and bool(_INFINITE.search(site._replace(node=limit).text))
    m.emit(
        GradientClipped,
        site,
        function=function,
        sets=tuple(optimizers.state(holder) for holder in holders),
        unlimited=unlimited,
    )
    if unlimited:
        return
    for holder in holders:
        empty = holder.words <= _EMPTY
        scaler = holder.scaler
        known = isinstance(scaler, GradScaler) and scaler.grade > Grade.NAMED
        scaled = holder.words == _FRESH and holder.scaled is YES and known
        scaled = scaled and scaler.enabled is not NO
        made = Clip(m.moment(site), function, empty) if empty or scaled else None
        m.change(holder, "clipped", made)
