"""Calls of torch known by name: parameters and buffers, and functions that need no facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from autolint.autograd.tensor import Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Grade,
    Kind,
    Scalar,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import attribute_writes, calls, clipping, modules, snapshots, training
from autolint.interpreter.events import RequiresGradSet
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

if TYPE_CHECKING:
    from autolint.interpreter.outside import Handler


def _parameter(m: Machine, args: Arguments, node: cst.Call) -> Value:
    given = args.get(1, "requires_grad")
    wanted = YES
    if given is not None:
        known = resolve(given)
        wanted = MAYBE
        if isinstance(known, Scalar) and known.known:
            wanted = Tri.of(bool(known.value))
    data = args.get(0, "data")
    site = m.site(node)
    value = resolve(data) if data is not None else Unknown()
    if isinstance(value, Tensor) and m.listens(RequiresGradSet):
        m.emit(
            RequiresGradSet,
            site,
            tensor=value,
            kind=value.state.kind,
            how="parameter",
            value=wanted,
            made=value.origin,
            target_text=site._replace(node=node.args[0].value).text if node.args else site.text,
        )
    return modules.parameter(m, value, wanted, site)


def _buffer(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`nn.Buffer(tensor)`: a tensor that the module registers when it is assigned."""
    data = args.get(0, "data")
    value = resolve(data) if data is not None else Unknown()
    site = m.site(node)
    kind = value.state.kind if isinstance(value, Tensor) else Kind.UNKNOWN
    rank = value.state.rank if isinstance(value, Tensor) else None
    state = TensorState(NO, YES, kind, rank)
    state.buffer = True
    return Tensor(state, value.storage if isinstance(value, Tensor) else Storage(), site)


def _variable(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`Variable(t)`: t without history."""
    value = resolve(args.positional[0]) if args.positional else Unknown()
    asked = args.get(1, "requires_grad")
    if isinstance(value, Tensor):
        result = m.autograd.detached(value, Through.DETACH, m.site(node))
        result.through = value.through
        result.source = None
        if asked is not None:
            known = resolve(asked)
            sure = Tri.of(bool(known.value)) if isinstance(known, Scalar) and known.known else MAYBE
            attribute_writes.set_requires_grad(m, result, sure, "keyword", m.site(node), node)
        return result
    made = m.autograd.vague(m.site(node), Grade.BUILT)
    if asked is None:
        made.state.requires_grad, made.state.leaf = NO, YES
    return made


def _compiled(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`torch.compile(x)`, `torch.jit.script(x)`: x, for our purposes."""
    return args.positional[0] if args.positional else m.unknown(*args.all())


def _result_type(m: Machine, args: Arguments, node: cst.Call) -> Value:
    return Scalar(kind=Kind.BOOL)


def _checkpoint(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`checkpoint(function, *args)` runs the function."""
    if not args.positional:
        return m.unknown(*args.all(), origin=m.site(node))
    rest = {k: v for k, v in args.keywords.items() if k.startswith("*")}
    inner = Arguments(args.positional[1:], rest, args.star)
    result = calls.call(m, args.positional[0], inner, node)
    return m.unknown(result, origin=m.site(node))


def _device(m: Machine, node: cst.Call) -> Value:
    return Unknown("device")


def _from_numpy(m: Machine, args: Arguments, node: cst.Call) -> Value:
    made = m.autograd.vague(m.site(node), Grade.BUILT)
    made.state.requires_grad, made.state.leaf = NO, YES
    made.state.inference, made.state.parameter = NO, NO
    return made


def _save(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`torch.save(value, file)`."""
    if args.positional:
        snapshots.used(m, args.positional[0], "save", node.args[0].value)
    return NONE


HANDLERS: dict[str, Handler] = {
    "torch.nn.Parameter": _parameter,
    "torch.nn.UninitializedParameter": _parameter,
    "torch.nn.Buffer": _buffer,
    "torch.autograd.Variable": _variable,
    "torch.autograd.variable.Variable": _variable,
    "torch.nn.utils.clip_grad_norm": lambda m, a, n: clipping.run(m, "clip_grad_norm", a, n),
    "torch.nn.utils.clip_grad_norm_": lambda m, a, n: clipping.run(m, "clip_grad_norm_", a, n),
    "torch.nn.utils.clip_grad_value_": lambda m, a, n: clipping.run(m, "clip_grad_value_", a, n),
    "torch.autograd.backward": lambda m, a, n: training.autograd_backward(m, a, m.site(n)),
    "torch.autograd.grad": lambda m, a, n: training.autograd_grad(m, a, m.site(n)),
    "torch.compile": _compiled,
    "torch.jit.script": _compiled,
    "torch.jit.trace": _compiled,
    "torch.is_grad_enabled": _result_type,
    "torch.is_tensor": _result_type,
    "torch.device": lambda m, a, n: _device(m, n),
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.from_numpy": lambda m, a, n: _from_numpy(m, a, n),
    "torch.save": _save,
    "torch.numel": lambda m, a, n: Scalar(kind=Kind.INT),
}
