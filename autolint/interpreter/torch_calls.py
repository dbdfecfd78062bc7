"""Calls of torch by the facts about what is called."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import layers, library, ops
from autolint.autograd.factories import factory
from autolint.autograd.objects import Module, Optimizer
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NO, GradMode, Scalar, Through, Unknown, Value, resolve
from autolint.interpreter import (
    autocasts,
    calls,
    factory_calls,
    forwards,
    functions,
    gradient_reads,
    losses,
    methods,
    modules,
    op_calls,
    optimizers,
    scalers,
    schedulers,
    torch_named,
    writes,
)
from autolint.interpreter.behind import behind
from autolint.interpreter.events import FunctionalDropout, LossApplied
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, Manager
from autolint.interpreter.unit import Site


def call_torch(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """Call something of torch by its canonical name."""
    special = torch_named.HANDLERS.get(name)
    if special is not None:
        return special(m, args, node)
    site = m.site(node)
    mode = library.grad_mode(name)
    if mode is not None:
        return _grad_mode(m, name, mode, args)
    facts = layers.layer(name)
    if facts is not None:
        return modules.build(m, facts, args, site)
    if library.is_optimizer(name):
        return optimizers.build(m, name.rpartition(".")[2], args, site)
    if library.is_scheduler(name):
        return schedulers.build(name, args)
    if library.is_scaler(name):
        return scalers.build(args, site)
    if library.is_autocast(name):
        return autocasts.called(name, args)
    made = factory(name)
    if made is not None:
        return factory_calls.make(m, made, args, node)
    if library.is_initializer(name) and args.positional:
        return _initialise(m, args, node)
    if name.startswith("torch._foreach_"):
        return _foreach(m, name, args, site)
    unbound = _unbound(m, name, args, node)
    if unbound is not None:
        return unbound
    if name.startswith("torch.Tensor.") and args.positional:
        receiver = resolve(args.positional[0])
        if isinstance(receiver, Tensor):
            rest = Arguments(args.positional[1:], args.keywords, args.star)
            return methods.call(m, receiver, name.rpartition(".")[2], rest, node)
    op = ops.function(name)
    if op is not None:
        gradient_reads.used_all(m, args.positional, node)
        return _op(m, name, op, args, node)
    if library.returns_no_tensor(name):
        return Scalar()
    if library.is_utility(name):
        return _utility(m, name, args, node)
    for value in args.all():
        functions.run_passed(m, value)
    return m.unknown(*args.all(), origin=site)


def _foreach(m: Machine, name: str, args: Arguments, site: Site) -> Value:
    """`torch._foreach_zero_(gradients)` and its like."""
    for item in behind(args.positional[0]) if args.positional else ():
        if isinstance(item, Tensor) and item.state.grad_of:
            if name == "torch._foreach_zero_":
                writes.clear(m, item.state.grad_of, site, NO)
            elif name.endswith("_"):
                writes.touch_gradient(m, item)
    return m.unknown(*args.all(), origin=site)


def _unbound(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value | None:
    """`torch.optim.SGD.zero_grad(optimizer)`, `nn.Module.zero_grad(model)`."""
    owner, _, method = name.rpartition(".")
    first = resolve(args.positional[0]) if args.positional else None
    rest = Arguments(args.positional[1:], args.keywords, args.star)
    if isinstance(first, Optimizer) and library.is_optimizer(owner):
        return optimizers.method(m, first, method, rest, node, own=False)
    if isinstance(first, Module) and layers.layer(owner) is not None:
        return modules.method(m, first, method, rest, node)
    return None


def _op(m: Machine, name: str, op: OpFacts, args: Arguments, node: cst.Call) -> Value:
    short = name.rpartition(".")[2]
    first = resolve(args.positional[0]) if args.positional else None
    if short in ("reshape", "flatten") and isinstance(first, Tensor):
        rest = Arguments(args.positional[1:], args.keywords, args.star)
        return methods.call(m, first, short, rest, node)
    if op.inplace and short.endswith("_") and isinstance(first, Tensor):
        others = [item for item in op_calls.positions(op, args) if item[0]]
        return writes.write(m, first, op, others, m.site(node), node.args[0].value, short)
    if short == "detach" and isinstance(first, Tensor):
        return m.autograd.detached(first, Through.DETACH, m.site(node))
    if short in forwards.DROPPING and m.listens(FunctionalDropout):
        forwards.dropped(m, short, args, node)
    if short in losses.JUDGED and m.listens(LossApplied):
        losses.applied(m, short, args.get(0, "input"), node)
    return op_calls.run(m, short, op, args, node)


def _grad_mode(m: Machine, name: str, facts: library.ModeFacts, args: Arguments) -> Value:
    """`no_grad()`, `enable_grad()`, `inference_mode(mode)`, `set_grad_enabled(mode)`."""
    given = args.get(0, "mode")
    mode = facts.default
    function: Value | None = None
    if given is not None:
        known = resolve(given)
        if isinstance(known, Scalar):
            mode = GradMode.EITHER
            if known.known:
                mode = facts.when_true if known.value else facts.when_false
        elif facts.default is not None and not isinstance(known, Unknown):
            function = known  # no_grad(function)
        else:
            mode = GradMode.EITHER
    short = name.rpartition(".")[2]
    if function is not None:
        return calls.call(m, Manager(mode), Arguments([function]), _NO_CALL)
    if short == "set_grad_enabled" and mode is not None:
        before = m.autograd.mode
        if before is not GradMode.INFERENCE:
            if before is not mode:
                m.autograd.block = object()
            m.autograd.mode = mode
        return Manager(mode, before)
    leaves = short == "inference_mode" and mode is not None and not mode.off
    if leaves and m.autograd.mode is not GradMode.INFERENCE:
        return Manager()  # inference_mode(False) outside changes nothing
    return Manager(mode, leaves_inference=leaves)


_NO_CALL = cst.Call(func=cst.Name("_"))


def _initialise(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """A function of torch.nn.init: writes its tensor under no_grad and hands it back."""
    first = resolve(args.positional[0])
    if isinstance(first, Tensor):
        mode = m.autograd.mode
        m.autograd.mode = GradMode.OFF
        writes.write(m, first, None, [], m.site(node), node.args[0].value, "init")
        m.autograd.mode = mode
        return first
    return m.unknown(*args.all())


_WRAPPING = frozenset({"spectral_norm", "weight_norm", "skip_init", "fuse_conv_bn_eval"})


def _utility(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """A function of torch.nn.utils: clipping leaves the gradient states as they are."""
    short = name.rpartition(".")[2]
    if short in _WRAPPING and args.positional:
        return args.positional[0]
    return m.unknown(*args.all(), origin=m.site(node))
