"""Modules: layers of torch, containers, opaque ones; their making, attributes and methods."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import layers
from autolint.autograd.layers import LayerFacts
from autolint.autograd.objects import CHILDREN, Module, Parameters
from autolint.autograd.tensor import Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NONE,
    YES,
    Grade,
    GradMode,
    Kind,
    Mapping,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.interpreter import (
    alternatives,
    calls,
    classes,
    containers,
    forwards,
    freezing,
    functions,
    layer_calls,
    names,
    optimizers,
    replaced,
    snapshots,
    training_mode,
    unseen,
    writes,
)
from autolint.interpreter.events import LayersRepeated
from autolint.interpreter.iteration import MAX_UNROLLED, holders_of, summary
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments, ClassValue
from autolint.interpreter.unit import Site


def opaque(site: Site, grade: Grade) -> Module:
    """A module of which only that is known: it may have parameters, which may require grad."""
    module = Module(None, None, MAYBE, MAYBE, site, grade)
    module.open = True
    return module


def parameter(m: Machine, value: Value, requires_grad: Tri, site: Site) -> Tensor:
    """`nn.Parameter(value)`: a new leaf that shares the memory of what it is made from."""
    found = resolve(value)
    if not isinstance(found, Tensor):
        return m.autograd.leaf(Kind.UNKNOWN, None, requires_grad, site, parameter=YES)
    old = found.state
    grad = requires_grad if old.kind.differentiable is not NO else NO
    state = TensorState(grad, YES, old.kind, old.rank, None, old.inference, YES)
    state.dtype = old.dtype
    return Tensor(state, found.storage, site, found.grade)


def inherited(cls: ClassValue) -> LayerFacts | None:
    """The facts of the layer of torch that a class derives from; None if it derives from none."""
    for name in classes.external(cls):
        facts = layers.layer(name) if name else None
        if facts is not None:
            return facts
    return None


# ---------------------------------------------------------------------- construction


def build(m: Machine, facts: LayerFacts, args: Arguments, site: Site) -> Value:
    """A layer, container or loss of torch.nn."""
    if facts.group == "data_parallel":
        inner = args.get(0, "module")
        return inner if inner is not None else opaque(site, Grade.BUILT)
    if facts.is_container:
        return _container(m, facts, args, site)
    given = {name: _known_bool(value) for name, value in _named(facts, args)}
    own = facts.has_parameters(given)
    if args.star and facts.parameter_switches:
        own = own & MAYBE
    module = Module(None, facts.name, own, YES if own is not NO else NO, site)
    module.inference = Tri.of(m.autograd.mode is GradMode.INFERENCE)
    module.training = YES
    for name, value in _named(facts, args):
        found = resolve(value)
        if isinstance(found, Scalar):
            m.heap.put(module.attributes, name, found)
    forwards.built(m, module, facts)
    return module


def _named(facts: LayerFacts, args: Arguments) -> list[tuple[str, Value]]:
    found = list(zip(facts.arguments, args.positional, strict=False))
    return found + [item for item in args.keywords.items() if not item[0].startswith("*")]


def _known_bool(value: Value) -> bool | None:
    found = resolve(value)
    if isinstance(found, Scalar) and found.known:
        return bool(found.value)
    return None


def _container(m: Machine, facts: LayerFacts, args: Arguments, site: Site) -> Value:
    module = Module(None, facts.name, NO, NO, site)
    name = facts.name.rpartition(".")[2]
    children: Value
    if name == "Sequential":
        if len(args.positional) == 1 and isinstance(resolve(args.positional[0]), Mapping):
            children = args.positional[0]
        elif args.star:
            spread = [names.spread(m, resolve(value)) for value in args.keywords.values()]
            children = Sequence(None, alternatives.any_of(m, [*args.positional, *spread]))
        else:
            children = Sequence(tuple(args.positional))
    elif args.positional or args.keywords:
        children = containers.copied(m, (args.positional or list(args.keywords.values()))[0])
    else:
        children = Mapping({}, False) if name.endswith("Dict") else Sequence(())
    if name.startswith("Parameter"):
        children = _as_parameters(m, children, site)
    if name == "Module":
        return module
    m.heap.put(module.attributes, CHILDREN, children)
    if m.listens(LayersRepeated):
        _tell_repeated(m, children, name)
    return module


def _tell_repeated(m: Machine, children: Value, container: str) -> None:
    """Tell the rules about the layers that a list held several times."""
    if not isinstance(children, (Sequence, Mapping)):
        return
    for child in {id(each): each for each in map(resolve, containers.elements(children))}.values():
        if isinstance(child, Module) and isinstance(child.repeated, Site):
            made = child.origin if isinstance(child.origin, Site) else None
            m.emit(LayersRepeated, child.repeated, container=container, made=made)


def _as_parameters(m: Machine, children: Value, site: Site) -> Value:
    """A ParameterList turns what it holds into parameters."""

    def convert(value: Value) -> Value:
        found = resolve(value)
        if isinstance(found, Tensor) and found.state.parameter is YES:
            return found
        return parameter(m, found, YES, site)

    found = resolve(children)
    if isinstance(found, Sequence):
        items = None if found.items is None else tuple(convert(item) for item in found.items)
        rest = None if found.rest is None else convert(found.rest)
        return Sequence(items, rest)
    if isinstance(found, Mapping):
        values = {key: convert(value) for key, value in found.items.items()}
        return Mapping(values, found.open, found.rest)
    return children


# ---------------------------------------------------------------------- attributes


def attribute(m: Machine, module: Module, name: str, site: Site) -> Value | None:
    """An attribute that a module of torch has; None if that is not known."""
    if name == "training":
        forwards.ask_training(m)
        return Scalar(kind=Kind.BOOL)
    if name == "module" and CHILDREN not in module.attributes:
        return module  # a wrapper such as DataParallel stands for what it wraps
    facts = layers.layer(module.library) if module.library is not None else None
    if facts is None and isinstance(module.cls, ClassValue):
        facts = inherited(module.cls)
    if facts is not None and name in facts.parameter_names and module.own is not NO:
        return _weight(m, module, name, module.own)
    if facts is not None and name in facts.buffer_names:
        made = m.autograd.leaf(Kind.UNKNOWN, None, NO, site)
        m.heap.put(module.attributes, name, made)
        return made
    if facts is None and name in ("weight", "bias") and module.cls is None:
        return _weight(m, module, name, MAYBE)
    return None


def _weight(m: Machine, module: Module, name: str, present: Tri) -> Value:
    state = TensorState(module.trainable, YES, Kind.FLOAT, None, parameter=YES)
    state.owner = module
    state.inference = module.inference
    # No layer saves its bias: a write to it alone changes nothing that a graph needs.
    memory = Storage() if name == "bias" else module.memory
    tensor = Tensor(state, memory, module.origin, module.grade, tensor=present)
    m.heap.put(module.attributes, name, tensor)
    return tensor


# ---------------------------------------------------------------------- methods


_SELF = frozenset(
    {
        "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "type", "xpu",
        "share_memory", "compile", "to_empty", "apply",
    }
)  # fmt: skip


_TENDING = frozenset({"load_state_dict", "apply", "train", "eval", "requires_grad_"})
"""Methods that set up a layer for what it is used for."""

_QUIET = frozenset(
    {
        "extra_repr", "register_forward_hook", "register_forward_pre_hook",
        "register_full_backward_hook", "register_backward_hook", "named_modules", "get_submodule",
        "named_buffers", "buffers", "_get_name",
    }
)  # fmt: skip


def method(m: Machine, module: Module, name: str, args: Arguments, node: cst.Call) -> Value:
    """A method that a module has from torch."""
    site = m.site(node)
    if name in ("parameters", "named_parameters"):
        held = holders_of(m, module) or (module,)
        return Parameters(held, name == "named_parameters", made=site)
    if name in _TENDING:
        m.change(module, "tended", True)
    if name == "apply" and args.positional:
        calls.call(m, args.positional[0], Arguments([module]), node)
        return module
    if name in ("train", "eval"):
        training_mode.switch(m, module, name, args, site)
    if name in _SELF:
        return module
    if name == "requires_grad_":
        given = resolve(args.get(0, "requires_grad") or Scalar(True, known=True))
        known = Tri.of(bool(given.value)) if isinstance(given, Scalar) and given.known else MAYBE
        freezing.flagged(m, holders_of(m, module), known, site)
        freeze(m, module, known)
        return module
    if name == "zero_grad":
        optimizers.clear_module(m, module, site, optimizers.to_none(args))
        return NONE
    if name in ("forward", "__call__"):
        return layer_calls.call_module(m, module, args, node)
    if name == "__init__":
        m.change(module, "initialised", YES)
        return NONE
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return _register(m, module, name, args, site)
    if name in ("children", "modules", "named_children"):
        return _children(m, module, name)
    if name == "load_state_dict":
        if args.positional:
            snapshots.used(m, args.positional[0], "load", node.args[0].value, module)
        _load(m, module, args, node)
        return Unknown()
    if name == "state_dict":
        return snapshots.made(m, module, site)
    if CHILDREN in module.attributes:
        return containers.method(m, resolve(module.attributes[CHILDREN]), name, args, node)
    if name in _QUIET:
        return m.unknown(module)
    unseen.weaken(m, [module, *args.all()])
    for value in args.all():
        functions.run_passed(m, value)
    return m.unknown(module, *args.all(), origin=site)


def _load(m: Machine, module: Module, args: Arguments, node: cst.Call) -> None:
    """`load_state_dict` copies into the parameters, under no_grad, or (`assign`) exchanges them."""
    assign, strict = args.get(2, "assign"), args.get(1, "strict")
    if _known_bool(assign or NONE) and (strict is None or _known_bool(strict)):
        replaced.assigned(m, module, m.site(node))
        return
    target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    mode = m.autograd.mode
    m.autograd.mode = GradMode.OFF
    for holder in holders_of(m, module):
        weights = summary((holder,))
        writes.write(m, weights, None, [], m.site(node), target, "load_state_dict")
    m.autograd.mode = mode


def freeze(m: Machine, module: Module, value: Tri) -> None:
    """Set requires_grad of all parameters of a module."""
    m.autograd.set_trainable(holders_of(m, module), value)


def _register(m: Machine, module: Module, name: str, args: Arguments, site: Site) -> Value:
    key = resolve(args.get(0, "name") or Unknown())
    value = args.get(1, "tensor") or args.get(1, "param") or args.get(1, "module") or NONE
    if isinstance(key, Scalar) and key.known and isinstance(key.value, str):
        replaced.stored(m, module, key.value, value, site)
        m.heap.put(module.attributes, key.value, value)
        found = resolve(value)
        if name == "register_buffer":
            m.heap.put(module.registered, key.value, site)
        elif isinstance(found, Tensor):
            classes.remember(m, module, key.value, found, site)
        return NONE
    found = resolve(value)
    if isinstance(found, (Module, Tensor)) and name != "register_buffer":
        m.heap.put(module.attributes, f"*{len(module.attributes)}", found)
    return NONE


def _children(m: Machine, module: Module, name: str) -> Value:
    named = {
        key: item for key, item in module.attributes.items() if isinstance(resolve(item), Module)
    }
    children = list(named.values())
    if CHILDREN in module.attributes:
        inner = resolve(module.attributes[CHILDREN])
        if isinstance(inner, Sequence):
            children += [*(inner.items or ()), *(() if inner.rest is None else (inner.rest,))]
        elif isinstance(inner, Mapping):
            children += inner.items.values()
    if name == "modules":
        children = [module, *children]
    rest = children[0] if len(children) == 1 else m.unknown(*children) if children else Unknown()
    if name == "children" and children and not module.open and len(children) <= 6:
        return Sequence(tuple(children))
    all_named = named and not module.open and children == list(named.values())
    if name == "named_children" and all_named and len(named) <= MAX_UNROLLED:
        pairs = ((Scalar(key, known=True), item) for key, item in named.items())
        return Sequence(tuple(Sequence(pair, mutable=False) for pair in pairs))
    if name == "named_children":
        return Sequence(None, Sequence((Scalar(), rest), mutable=False))
    return Sequence(None, rest)
