"""Calls of modules: a forward of the project, a layer of torch by its facts, or a Sequential."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from autolint.autograd import layers, library, ops
from autolint.autograd.layers import LayerFacts
from autolint.autograd.objects import CHILDREN, Module
from autolint.autograd.op_facts import Alias, OpFacts
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Value,
    resolve,
)
from autolint.interpreter import (
    calls,
    classes,
    following,
    forwards,
    losses,
    modules,
    registration,
    tensors,
    unseen,
    writes,
)
from autolint.interpreter.events import LossApplied
from autolint.interpreter.iteration import summary
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, ClassValue, FunctionValue


def call_module(m: Machine, module: Module, args: Arguments, node: cst.Call) -> Value:
    """`module(...)`."""
    if isinstance(module.cls, ClassValue):
        for name in ("__call__", "forward"):
            method_ = classes.lookup(module.cls, name)
            if isinstance(method_, FunctionValue):
                given = Arguments([module, *args.positional], args.keywords, args.star)
                done = following.follow_checked(m, method_, given, node)
                registration.tell_hidden(m, module, m.site(node))
                return done if done is not None else _unseen(m, module, args, node)
        facts = modules.inherited(module.cls)
        if facts is not None and not facts.is_container:
            return _call_layer(m, module, facts, args, node)
        if facts is not None and CHILDREN in module.attributes:
            return _call_children(m, module, args, node)
        return _unseen(m, module, args, node)
    if module.library is not None:
        facts = layers.layer(module.library)
        if facts is not None and not facts.is_container:
            return _call_layer(m, module, facts, args, node)
        if CHILDREN in module.attributes:
            return _call_children(m, module, args, node)
    return _unseen(m, module, args, node)


def _unseen(m: Machine, module: Module, args: Arguments, node: cst.CSTNode) -> Value:
    """The result of a module whose forward is not seen. Its gradients are not touched by that."""
    unseen.weaken(m, [value for value in args.all() if isinstance(resolve(value), Sequence)])
    return m.unknown(module, *args.all(), origin=m.site(node))


def _call_children(m: Machine, module: Module, args: Arguments, node: cst.Call) -> Value:
    """A Sequential: its modules in order."""
    found = resolve(module.attributes[CHILDREN])
    items: list[Value] | None = None
    if isinstance(found, Sequence) and found.items is not None:
        items = list(found.items)
    elif isinstance(found, Mapping) and not found.open:
        items = list(found.items.values())
    if items is None or len(args.positional) != 1 or args.keywords:
        return _unseen(m, module, args, node)
    value = args.positional[0]
    for item in items:
        value = calls.call(m, item, Arguments([value]), node)
    return value


def _call_layer(
    m: Machine, module: Module, facts: LayerFacts, args: Arguments, node: cst.Call
) -> Value:
    """A layer or loss of torch: by the facts that were probed for it."""
    if module.forward is not None:
        forwards.called(m, module, facts)
    if facts.outputs == 0:
        return _unseen(m, module, args, node)
    if facts.is_loss:
        facts = _loss_call(module, facts)
        short = facts.name.rpartition(".")[2]
        if short in losses.JUDGED and m.listens(LossApplied):
            losses.applied(m, short, args.get(0, "input"), node)
    site = m.site(node)
    values: list[tuple[int, Value]] = []
    if module.own is not NO:
        weights = summary((module,))
        weights.tensor = module.own
        values.append((0, weights))
    values += [(number, value) for number, value in enumerate(args.positional, 1)]
    extra = len(args.positional) + 1
    values += [(extra + n, value) for n, value in enumerate(args.keywords.values())]
    first = resolve(args.positional[0]) if args.positional else None
    inplace = module.attributes.get("inplace")
    if isinstance(inplace, Scalar) and inplace.value is True and isinstance(first, Tensor):
        return writes.write(m, first, as_op(facts), [], site, node.args[0].value, "inplace")
    kind = _result_kind(module, facts, values[-len(args.all()) :] if args.all() else [])
    rank = 0 if facts.rank == "0" else None
    # Linear works on the last dimension, whatever the rank of its input: the table cannot say so.
    if (facts.rank == "same" or module.library == "torch.nn.Linear") and isinstance(first, Tensor):
        rank = first.state.rank
    op = as_op(facts)
    alias = _dropped(module) if facts.group == "dropout" else None
    if alias is not None and Alias.FRESH in alias:
        op = replace(op, keeps=op.keeps & MAYBE)
    result = tensors.operate(m, op, values, site, kind=kind, rank=rank, ranked=True, alias=alias)
    return _with_states(result) if facts.name.rpartition(".")[2] == "LSTM" else result


def _dropped(module: Module) -> Alias | None:
    """What a layer for dropout gives where it may drop nothing: the tensor that it is given."""
    chance = module.attributes.get("p")
    if module.training is NO or (isinstance(chance, Scalar) and chance.known and not chance.value):
        return Alias.SAME
    return None if module.training is YES else Alias.SAME | Alias.FRESH


def _with_states(result: Value) -> Value:
    """What an LSTM gives: its output and a pair of states; the table lists three tensors."""
    if not isinstance(result, Sequence) or result.items is None or len(result.items) != 3:
        return result
    output, *states = result.items
    return Sequence((output, Sequence(tuple(states), mutable=False)), mutable=False)


def _loss_call(module: Module, facts: LayerFacts) -> LayerFacts:
    reduction = module.attributes.get("reduction")
    if reduction is None:
        return facts.calls.get("reduced", facts)
    if isinstance(reduction, Scalar) and reduction.known:
        return facts.calls.get("unreduced" if reduction.value == "none" else "reduced", facts)
    return facts


def _result_kind(module: Module, facts: LayerFacts, inputs: list[tuple[int, Value]]) -> Kind:
    if module.own is YES or facts.is_loss:
        return Kind.FLOAT
    kind = tensors.promoted(inputs)
    return kind if kind in (Kind.FLOAT, Kind.COMPLEX) else Kind.UNKNOWN


_OPS: dict[int, OpFacts] = {}


def as_op(facts: LayerFacts) -> OpFacts:
    """The facts of a layer's call in the form of an op whose operand 0 are the parameters."""
    known = _OPS.get(id(facts))
    if known is None:
        base = ops.function("torch.add")
        assert base is not None
        known = replace(
            base,
            name=facts.name.rpartition(".")[2],
            parameters=(),
            alias=facts.alias if facts.alias else Alias.FRESH,
            alias_of=1,
            outputs=facts.outputs,
            differentiable=facts.differentiable,
            inputs=facts.inputs,
            results=facts.results,
            keeps=facts.keeps,
            rank=facts.rank,
            variants={},
            cast_on=library.cast_devices(facts.name.removeprefix("torch.")),
        )
        _OPS[id(facts)] = known
    return known
