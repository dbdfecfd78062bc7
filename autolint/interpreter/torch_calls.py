"""Calls of things outside the project: torch by its facts, builtins and harmless libraries by
name.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from autolint.autograd import layers, library, ops
from autolint.autograd.describe import describe
from autolint.autograd.factories import factory
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer, Parameters, Scheduler
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.tensor import Array, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Grade,
    GradMode,
    Kind,
    Mapping,
    Qualified,
    Scalar,
    Sequence,
    Through,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    assignment,
    attributes,
    calls,
    classes,
    containers,
    functions,
    methods,
    modules,
    op_calls,
    tensors,
    training,
    writes,
)
from autolint.interpreter.behind import behind
from autolint.interpreter.events import RequiresGradSet, Revealed
from autolint.interpreter.iteration import Zipped, items_of, unknown_item
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, Manager, Partial
from autolint.interpreter.unit import Site

Handler = Callable[[Machine, Arguments, cst.Call], Value]


def call_qualified(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """Call something by its qualified name."""
    top = name.partition(".")[0]
    if top == "torch":
        return _torch(m, library.canonical(name), args, node)
    handler = _OUTSIDE.get(name)
    if handler is not None:
        return handler(m, args, node)
    if top == "builtins":
        for value in args.all():
            functions.run_passed(m, value)
        return m.unknown(*args.all(), origin=m.site(node))
    if top in ("numpy", "np"):
        return _numpy(m, name, args, node)
    if top == "math":
        return Scalar(kind=Kind.FLOAT)
    if name.rpartition(".")[2] in ("DistributedDataParallel", "FullyShardedDataParallel"):
        return args.positional[0] if args.positional else m.unknown()
    if top in _HARMLESS:
        if top in ("tqdm", "rich") and args.positional:
            return args.positional[0]
        return m.unknown(*args.all(), origin=m.site(node))
    return calls.unknown_call(m, Qualified(name), args, node)


_HARMLESS = frozenset(
    {
        "logging", "tqdm", "time", "os", "sys", "random", "warnings", "json", "pathlib", "re",
        "collections", "itertools", "operator", "typing", "copy", "functools", "datetime", "rich",
        "matplotlib", "pandas", "scipy", "sklearn", "PIL", "argparse", "wandb", "pprint", "csv",
    }
)  # fmt: skip


# ---------------------------------------------------------------------- torch


def _torch(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    special = _TORCH.get(name)
    if special is not None:
        return special(m, args, node)
    site = m.site(node)
    mode = library.grad_mode(name)
    if mode is not None:
        return grad_mode(m, name, mode, args)
    facts = layers.layer(name)
    if facts is not None:
        return modules.build(m, facts, args, site)
    if library.is_optimizer(name):
        return training.build_optimizer(m, name.rpartition(".")[2], args, site)
    if library.is_scheduler(name):
        return Scheduler()
    if library.is_scaler(name):
        return GradScaler()
    if library.is_autocast(name):
        return Manager()
    made = factory(name)
    if made is not None:
        return op_calls.make(m, made, args, node)
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
        return training.optimizer_method(m, first, method, rest, node, own=False)
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
    return op_calls.run(m, short, op, args, node)


def grad_mode(m: Machine, name: str, facts: library.ModeFacts, args: Arguments) -> Value:
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
            attributes.set_requires_grad(m, result, sure, "keyword", m.site(node), node)
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


_TORCH: dict[str, Handler] = {
    "torch.nn.Parameter": _parameter,
    "torch.nn.UninitializedParameter": _parameter,
    "torch.nn.Buffer": _buffer,
    "torch.autograd.Variable": _variable,
    "torch.autograd.variable.Variable": _variable,
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
    "torch.numel": lambda m, a, n: Scalar(kind=Kind.INT),
}


def _device(m: Machine, node: cst.Call) -> Value:
    return Unknown("device")


def _from_numpy(m: Machine, args: Arguments, node: cst.Call) -> Value:
    made = m.autograd.vague(m.site(node), Grade.BUILT)
    made.state.requires_grad, made.state.leaf = NO, YES
    made.state.inference, made.state.parameter = NO, NO
    return made


# ---------------------------------------------------------------------- builtins and others


def _reveal(m: Machine, args: Arguments, node: cst.Call) -> Value:
    value = args.positional[0] if args.positional else NONE
    m.emit(Revealed, m.site(node), value=value, answer=describe(value))
    return value


def _range(m: Machine, args: Arguments, node: cst.Call) -> Value:
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


def _iter(m: Machine, args: Arguments, node: cst.Call) -> Value:
    return args.positional[0] if args.positional else Unknown()


def _next(m: Machine, args: Arguments, node: cst.Call) -> Value:
    source = resolve(args.positional[0]) if args.positional else Unknown()
    items = items_of(m, source)
    if items:
        return items[0] if len(items) == 1 else calls.any_of(m, items) or Unknown()
    return unknown_item(m, source, m.site(node))


def _list(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if not args.positional:
        return Sequence(())
    source = resolve(args.positional[0])
    if isinstance(source, Parameters) and not source.named:
        return source  # a list of parameters is as good as the iterator
    items = items_of(m, source)
    if items is not None:
        return Sequence(tuple(items))
    return Sequence(None, unknown_item(m, source, m.site(node)))


def _tuple(m: Machine, args: Arguments, node: cst.Call) -> Value:
    value = _list(m, args, node)
    if isinstance(value, Sequence):
        value.mutable = False
    return value


def _dict(m: Machine, args: Arguments, node: cst.Call) -> Value:
    result = Mapping({}, args.star)
    if args.positional:
        first = resolve(args.positional[0])
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
    items = items_of(m, found)
    if items is None and isinstance(found, Sequence):
        items = [found.rest, found.rest] if found.rest is not None else None
    if items:
        total = args.get(1, "start") or items[0]
        for item in items if args.get(1, "start") else items[1:]:
            total = tensors.binary(m, "+", total, item, node)
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
    calls.weaken(m, list(m.optimizers()))
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
        attributes.put_gradient(m, receiver, value, m.site(node))
    return NONE


def _partial(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if not args.positional:
        return Unknown()
    rest = Arguments(args.positional[1:], args.keywords, args.star)
    return Partial(args.positional[0], rest)


def _map(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if len(args.positional) == 2:
        items = items_of(m, args.positional[1])
        source = items or [unknown_item(m, args.positional[1], m.site(node))]
        results = [calls.call(m, args.positional[0], Arguments([item]), node) for item in source]
        if items is not None:
            return Sequence(tuple(results))
        return Sequence(None, calls.any_of(m, results))
    return m.unknown(*args.all(), origin=m.site(node))


def _filter(m: Machine, args: Arguments, node: cst.Call) -> Value:
    if len(args.positional) == 2:
        found = resolve(args.positional[1])
        if isinstance(found, Parameters):
            return found
        return Sequence(None, unknown_item(m, found, m.site(node)))
    return Unknown()


def _chain(m: Machine, args: Arguments, node: cst.Call) -> Value:
    found = [resolve(value) for value in args.positional]
    if found and all(isinstance(value, Parameters) for value in found):
        holders = [h for value in found if isinstance(value, Parameters) for h in value.holders]
        return Parameters(tuple(dict.fromkeys(holders)))
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


def _manager(swallows: bool = False, mutes: bool = False) -> Handler:
    def make(m: Machine, args: Arguments, node: cst.Call) -> Value:
        return Manager(swallows=swallows, mutes=mutes)

    return make


def _numpy(m: Machine, name: str, args: Arguments, node: cst.Call) -> Value:
    """numpy: arrays made from tensors share their memory, the rest computes something else."""
    short = name.rpartition(".")[2]
    first = resolve(args.positional[0]) if args.positional else None
    if short in ("asarray", "ascontiguousarray") and isinstance(first, (Tensor, Array)):
        return Array(first) if isinstance(first, Tensor) else first
    if short in ("copyto", "put", "place", "putmask", "fill_diagonal") and isinstance(first, Array):
        writes.write_alias(m, first, m.site(node), node.args[0].value, short)
        return NONE
    return Unknown()


_OUTSIDE: dict[str, Handler] = {
    "autolint.testing.reveal": _reveal,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.iter": _iter,
    "builtins.next": _next,
    "builtins.reversed": _list,
    "builtins.sorted": _list,
    "builtins.list": _list,
    "builtins.set": _list,
    "builtins.tuple": _tuple,
    "builtins.dict": _dict,
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
    "itertools.chain": _chain,
    "functools.partial": _partial,
    "copy.deepcopy": _deepcopy,
    "copy.copy": _deepcopy,
    "contextlib.nullcontext": lambda m, a, n: Manager(
        value=a.positional[0] if a.positional else None
    ),
    "contextlib.suppress": _manager(swallows=True),
    "pytest.raises": _manager(swallows=True, mutes=True),
    "pytest.warns": _manager(),
    "collections.OrderedDict": _dict,
    "collections.defaultdict": lambda m, a, n: Mapping({}, True),
    "collections.deque": _list,
    "tqdm.tqdm": _iter,
    "tqdm.auto.tqdm": _iter,
    "tqdm.trange": _range,
    "tqdm.notebook.tqdm": _iter,
}
