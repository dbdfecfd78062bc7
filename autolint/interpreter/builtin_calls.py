"""Calls of Python's builtins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from autolint.autograd.objects import Instance, Module, Parameters, StateDict
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import NONE, Kind, Mapping, Scalar, Sequence, Unknown, Value, resolve
from autolint.interpreter import (
    alternatives,
    attribute_writes,
    attributes,
    calls,
    classes,
    operators,
    snapshots,
    spent,
    unseen,
)
from autolint.interpreter.iteration import Zipped, items_of, unknown_item
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments

if TYPE_CHECKING:
    from autolint.interpreter.outside import Handler


def run_range(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`range(...)`: short known ranges as their numbers."""
    known = [resolve(value) for value in args.positional]
    numbers = [v.value for v in known if isinstance(v, Scalar) and isinstance(v.value, int)]
    if len(numbers) == len(known) and 1 <= len(known) <= 3:
        try:
            span = range(*numbers)
        except ValueError:
            return Sequence(None, Scalar(kind=Kind.INT))
        if len(span) <= 6:
            return Sequence(tuple(Scalar(n, known=True, kind=Kind.INT) for n in span))
    return Sequence(None, Scalar(kind=Kind.INT))


def _enumerate(m: Machine, args: Arguments, node: cst.Call) -> Value:
    source = args.positional[0] if args.positional else Unknown()
    items = items_of(m, source)
    if items is not None:
        return Sequence(
            tuple(
                Sequence((Scalar(n, known=True, kind=Kind.INT), item), mutable=False)
                for n, item in enumerate(items)
            )
        )
    return Zipped((Sequence(None, Scalar(kind=Kind.INT)), source))


def _zip(m: Machine, args: Arguments, node: cst.Call) -> Value:
    columns = [items_of(m, value) for value in args.positional]
    lengths = [len(column) for column in columns if column is not None]
    if columns and len(lengths) == len(columns):
        rows = zip(*[column for column in columns if column is not None], strict=False)
        return Sequence(tuple(Sequence(tuple(row), mutable=False) for row in rows))
    return Zipped(tuple(args.positional))


def run_iter(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`iter(iterable)` and wrappers of an iterable: as good as the iterable."""
    return args.positional[0] if args.positional else Unknown()


def _next(m: Machine, args: Arguments, node: cst.Call) -> Value:
    source = resolve(args.positional[0]) if args.positional else Unknown()
    spent.perhaps_used(m, source)
    items = items_of(m, source)
    if items:
        return items[0] if len(items) == 1 else alternatives.any_of(m, items) or Unknown()
    return unknown_item(m, source, m.site(node))


def run_list(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`list(iterable)` and what holds the same items in an order of its own."""
    if not args.positional:
        return Sequence(())
    source = resolve(args.positional[0])
    spent.used(m, source, "list", m.site(node))
    if isinstance(source, Parameters) and not source.named:
        return Parameters(source.holders)
    items = items_of(m, source)
    if items is not None:
        return Sequence(tuple(items))
    return Sequence(None, unknown_item(m, source, m.site(node)))


def _tuple(m: Machine, args: Arguments, node: cst.Call) -> Value:
    value = run_list(m, args, node)
    if isinstance(value, Sequence):
        value.mutable = False
    return value


def run_dict(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`dict(mapping, key=value)`."""
    result = Mapping({}, args.star)
    if args.positional:
        first = resolve(args.positional[0])
        if isinstance(first, StateDict) and not args.keywords:
            return snapshots.again(m, first)
        if isinstance(first, Mapping):
            result.items, result.open = dict(first.items), result.open or first.open
            result.rest = first.rest
        else:
            result.open = True
    result.items.update({k: v for k, v in args.keywords.items() if not k.startswith("*")})
    return result


def _sum(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`sum(list of tensors)` adds them."""
    source = args.positional[0] if args.positional else Unknown()
    found = resolve(source)
    spent.used(m, found, "list", m.site(node))
    items = items_of(m, found)
    if items is None and isinstance(found, Sequence):
        items = [found.rest, found.rest] if found.rest is not None else None
    if items:
        total = args.get(1, "start") or items[0]
        for item in items if args.get(1, "start") else items[1:]:
            total = operators.binary(m, "+", total, item, node)
        return total
    return m.unknown(source, origin=m.site(node))


def _number(kind: Kind) -> Handler:
    def convert(m: Machine, args: Arguments, node: cst.Call) -> Value:
        return Scalar(kind=kind)

    return convert


def _quiet(m: Machine, args: Arguments, node: cst.Call) -> Value:
    return Scalar()


def _everything(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`locals()`, `globals()`: whoever gets it may do anything to what is in sight."""
    unseen.weaken(m, list(m.optimizers()))
    return m.unknown(*m.optimizers(), origin=m.site(node))


def _isinstance(m: Machine, args: Arguments, node: cst.Call) -> Value:
    return Scalar(kind=Kind.BOOL)


def _getattr(m: Machine, args: Arguments, node: cst.Call) -> Value:
    name = resolve(args.positional[1]) if len(args.positional) > 1 else None
    if isinstance(name, Scalar) and name.known and isinstance(name.value, str):
        return attributes.get(m, args.positional[0], name.value, node)
    return m.unknown(*args.positional[:1], origin=m.site(node))


def _setattr(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if len(args.positional) != 3:
        return NONE
    receiver, value = resolve(args.positional[0]), args.positional[2]
    name = resolve(args.positional[1])
    if isinstance(receiver, Instance):
        if isinstance(name, Scalar) and name.known and isinstance(name.value, str):
            classes.store(m, receiver, name.value, value, m.site(node))
        elif isinstance(resolve(value), (Module, Tensor)):
            m.heap.put(receiver.attributes, f"*{len(receiver.attributes)}", value)
    elif isinstance(receiver, Tensor) and isinstance(name, Scalar) and name.value == "grad":
        attribute_writes.put_gradient(m, receiver, value, m.site(node))
    return NONE


def _map(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if len(args.positional) == 2:
        items = items_of(m, args.positional[1])
        source = items or [unknown_item(m, args.positional[1], m.site(node))]
        results = [calls.call(m, args.positional[0], Arguments([item]), node) for item in source]
        if items is not None:
            return Sequence(tuple(results))
        return Sequence(None, alternatives.any_of(m, results))
    return m.unknown(*args.all(), origin=m.site(node))


def _filter(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if len(args.positional) == 2:
        found = resolve(args.positional[1])
        if isinstance(found, Parameters):
            spent.perhaps_used(m, found)
            return Parameters(found.holders, found.named, made=m.site(node))
        return Sequence(None, unknown_item(m, found, m.site(node)))
    return Unknown()


HANDLERS: dict[str, Handler] = {
    "builtins.range": run_range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.iter": run_iter,
    "builtins.next": _next,
    "builtins.reversed": run_list,
    "builtins.sorted": run_list,
    "builtins.list": run_list,
    "builtins.set": run_list,
    "builtins.tuple": _tuple,
    "builtins.dict": run_dict,
    "builtins.sum": _sum,
    "builtins.int": _number(Kind.INT),
    "builtins.len": _number(Kind.INT),
    "builtins.id": _number(Kind.INT),
    "builtins.hash": _number(Kind.INT),
    "builtins.float": _number(Kind.FLOAT),
    "builtins.round": _number(Kind.UNKNOWN),
    "builtins.complex": _number(Kind.COMPLEX),
    "builtins.bool": _number(Kind.BOOL),
    "builtins.str": _quiet,
    "builtins.repr": _quiet,
    "builtins.print": _quiet,
    "builtins.isinstance": _isinstance,
    "builtins.issubclass": _isinstance,
    "builtins.hasattr": _isinstance,
    "builtins.callable": _isinstance,
    "builtins.locals": _everything,
    "builtins.globals": _everything,
    "builtins.vars": _everything,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.map": _map,
    "builtins.filter": _filter,
}
