"""Calls of the standard library's and other libraries' functions that hand values on."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import libcst as cst

from autolint.autograd.describe import describe
from autolint.autograd.objects import Module, Optimizer, Parameters, StateDict
from autolint.autograd.tensor import Storage, Tensor, TensorState
from autolint.autograd.values import NONE, YES, Grade, Mapping, Sequence, Unknown, Value, resolve
from autolint.interpreter import assignment, builtin_calls, containers, modules, snapshots
from autolint.interpreter.events import Revealed
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, Manager, Partial

if TYPE_CHECKING:
    from autolint.interpreter.outside import Handler


def _reveal(m: Machine, args: Arguments, node: cst.Call) -> Value:
    value = args.positional[0] if args.positional else NONE
    m.emit(Revealed, m.site(node), value=value, answer=describe(value))
    return value


def _partial(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if not args.positional:
        return Unknown()
    rest = Arguments(args.positional[1:], args.keywords, args.star)
    return Partial(args.positional[0], rest)


def _chain(m: Machine, args: Arguments, node: cst.Call) -> Value:
    found = [resolve(value) for value in args.positional]
    if found and all(isinstance(value, Parameters) for value in found):
        holders = [h for value in found if isinstance(value, Parameters) for h in value.holders]
        return Parameters(tuple(dict.fromkeys(holders)), made=m.site(node))
    result = Sequence((), None)
    for value in args.positional:
        if isinstance(resolve(value), Parameters):
            value = Sequence((value,))
        assignment.extend(m, result, value)
    return result


def _deepcopy(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """A copy that shares nothing; a module's copy is a module of its own."""
    found = resolve(args.positional[0]) if args.positional else Unknown()
    site = m.site(node)
    if isinstance(found, Tensor):
        old = found.state
        state = TensorState(old.requires_grad, YES, old.kind, old.rank, parameter=old.parameter)
        state.dtype = old.dtype
        return Tensor(state, Storage(), site, found.grade, tensor=found.tensor)
    if isinstance(found, Module):
        copy = modules.opaque(site, Grade.BUILT)
        copy.cls, copy.library = None, None
        return copy
    if isinstance(found, (Sequence, Mapping)):
        return containers.copied(m, found)
    if isinstance(found, Optimizer):
        return Unknown()
    return Unknown(inputs=())


def _copy(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """A copy of the outermost object only."""
    found = resolve(args.positional[0]) if args.positional else Unknown()
    return snapshots.again(m, found) if isinstance(found, StateDict) else _deepcopy(m, args, node)


def _deque(m: Machine, args: Arguments, node: cst.Call) -> Value:
    """`deque(items, maxlen)`: a list that may drop its oldest items."""
    items = builtin_calls.run_list(m, Arguments(args.positional[:1]), node)
    if args.get(1, "maxlen") is not None and isinstance(items, Sequence):
        items.gathered = None
    return items


def _manager(swallows: bool = False, mutes: bool = False) -> Handler:
    def make(m: Machine, args: Arguments, node: cst.Call) -> Value:
        return Manager(swallows=swallows, mutes=mutes)

    return make


@cache
def handlers() -> dict[str, Handler]:
    """Functions by qualified name and what runs them; made late: the modules need each other."""
    return {
        "autolint.testing.reveal": _reveal,
        "itertools.chain": _chain,
        "functools.partial": _partial,
        "copy.deepcopy": _deepcopy,
        "copy.copy": _copy,
        "contextlib.nullcontext": lambda m, a, n: Manager(
            value=a.positional[0] if a.positional else None
        ),
        "contextlib.suppress": _manager(swallows=True),
        "pytest.raises": _manager(swallows=True, mutes=True),
        "pytest.warns": _manager(),
        "collections.OrderedDict": builtin_calls.run_dict,
        "collections.defaultdict": lambda m, a, n: Mapping({}, True),
        "collections.deque": _deque,
        "tqdm.tqdm": builtin_calls.run_iter,
        "tqdm.auto.tqdm": builtin_calls.run_iter,
        "tqdm.trange": builtin_calls.run_range,
        "tqdm.notebook.tqdm": builtin_calls.run_iter,
    }
