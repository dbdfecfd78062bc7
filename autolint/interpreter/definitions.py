"""`def`, `lambda`, `class`, decorators; entering contexts; and what a use proves a value to be."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd import graph, library
from autolint.autograd.objects import GradScaler, Instance, Module, Optimizer
from autolint.autograd.ops import TENSOR_ONLY_METHODS
from autolint.autograd.tensor import Tensor
from autolint.autograd.values import MAYBE, NO, Grade, GradMode, Qualified, Unknown, Value, resolve
from autolint.interpreter import (
    calls,
    classes,
    custom_functions,
    expressions,
    flow,
    modules,
    names,
    scalers,
)
from autolint.interpreter.behind import behind, joined_modules
from autolint.interpreter.decorators import decorate_by_name
from autolint.interpreter.events import ClassDecorated
from autolint.interpreter.iteration import holders_of
from autolint.interpreter.machine import Frame, Machine
from autolint.interpreter.objects import (
    Arguments,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Manager,
    MethodOf,
    Partial,
)

# ---------------------------------------------------------------------- functions


def run_function_def(m: Machine, node: cst.FunctionDef) -> bool:
    """`def`: evaluates decorators and defaults, binds the name."""
    frame = m.frame
    holder = frame.defining
    prefix = _prefix(frame)
    function = FunctionValue(
        node.name.value,
        prefix + node.name.value,
        frame.context,
        node,
        frame.unit,
        None if frame.is_module else frame if holder is None else frame.closure,
        holder,
    )
    info = function.info
    function.generator = info is not None and info.is_generator
    for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
        if param.default is not None:
            function.defaults[param.name.value] = expressions.evaluate(m, param.default)
    value = decorate(m, function, node)
    if holder is None and not frame.is_module:
        frame.nested.append(function)
    else:
        m.defined.append(function)
    names.bind(m, node.name.value, value)
    return True


def _prefix(frame: Frame) -> str:
    if frame.defining is not None:
        return frame.defining.qualname + "."
    if frame.function is not None:
        return frame.function.qualname + ".<locals>."
    return ""


def decorate(m: Machine, function: FunctionValue, node: cst.FunctionDef) -> Value:
    """What the decorators make of a function: known ones tell its binding or grad mode.

    Those of the project are called; what they give back takes the function's place.
    """
    result: Value = function
    mode = m.autograd.mode
    for decorator in reversed(node.decorators):
        value = resolve(expressions.evaluate(m, decorator.decorator))
        m.autograd.mode = mode  # set_grad_enabled as a decorator does not leak
        if isinstance(value, Manager):
            if value.mode is not None:
                function.mode = value.mode
            if value.autocast is not None:
                function.autocast = value.autocast
        elif isinstance(value, Qualified):
            decorate_by_name(function, value.name)
        elif isinstance(value, (FunctionValue, BoundMethod)) and node.decorators:
            result = _wrapped(m, value, function, result, decorator)
        elif not isinstance(value, MethodOf):
            function.decorated = True
            function.wrappers = (*function.wrappers, value)
    return result


def _wrapped(
    m: Machine,
    decorator: FunctionValue | BoundMethod,
    function: FunctionValue,
    result: Value,
    node: cst.Decorator,
) -> Value:
    """Call a decorator of the project on a function."""
    function.decorated = True
    call = cst.Call(func=cst.Name("_"))
    made = resolve(calls.call(m, decorator, Arguments([result]), call))
    if isinstance(made, (FunctionValue, BoundMethod, Partial)):
        if isinstance(made, FunctionValue) and made.cls is None and made is not function:
            made.binding = function.binding
        return made
    return result


def make_lambda(m: Machine, node: cst.Lambda) -> Value:
    """A lambda."""
    frame = m.frame
    function = FunctionValue(
        "<lambda>",
        _prefix(frame) + "<lambda>",
        frame.context,
        node,
        frame.unit,
        None if frame.is_module else frame,
    )
    for param in (*node.params.params, *node.params.kwonly_params):
        if param.default is not None:
            function.defaults[param.name.value] = expressions.evaluate(m, param.default)
    return function


# ---------------------------------------------------------------------- classes


def run_class_def(m: Machine, node: cst.ClassDef) -> bool:
    """`class`: runs its body in a namespace of its own, binds the name."""
    frame = m.frame
    qualname = _prefix(frame) + node.name.value
    bases = tuple(
        resolve(expressions.evaluate(m, argument.value))
        for argument in node.bases
        if not argument.star
    )
    cls = ClassValue(
        node.name.value,
        qualname,
        frame.context,
        bases,
        {},
        frame.context.index.classes.get(qualname),
    )
    cls.node = node
    for decorator in node.decorators:
        value = resolve(expressions.evaluate(m, decorator.decorator))
        name = value.name if isinstance(value, Qualified) else ""
        _switch_mode(m, cls, value, decorator)
        cls.fields_from_body = cls.fields_from_body or name.endswith(("dataclass", "define"))
        if isinstance(value, Unknown) and "dataclass" in value.name:
            cls.fields_from_body = True
    inner = Frame(
        frame.context,
        frame.unit,
        frame.function,
        cls.namespace,
        None if frame.is_module else frame,
        frame.call,
        frame.caller,
        m.heap.mark(),
    )
    inner.defining = cls
    inner.statement = node
    m.frame = inner
    try:
        flow.run_body(m, node.body)
    finally:
        m.frame = frame
    cls.fields = _fields(node)
    custom_functions.defined(m, cls)
    if frame.is_module:
        m.classes.append(cls)
    names.bind(m, node.name.value, cls)
    return True


def _switch_mode(m: Machine, cls: ClassValue, value: Value, decorator: cst.Decorator) -> None:
    """`@torch.no_grad()` or `@torch.no_grad` on a class."""
    mode: GradMode | None = None
    if isinstance(value, Manager):
        mode = value.mode
        if value.before is not None:
            m.autograd.mode = value.before  # as a decorator set_grad_enabled does not leak
    elif isinstance(value, Qualified):
        facts = library.grad_mode(value.name)
        mode = facts.default if facts is not None else None
    if mode is not None:
        m.emit(ClassDecorated, m.site(decorator), class_name=cls.name, set_mode=mode)


def _fields(node: cst.ClassDef) -> tuple[str, ...]:
    """Names annotated in the class body, in order: a dataclass's fields."""
    found: list[str] = []
    if isinstance(node.body, cst.IndentedBlock):
        for statement in node.body.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        found.append(small.target.value)
    return tuple(found)


# ---------------------------------------------------------------------- contexts


def enter(m: Machine, value: Value, node: cst.CSTNode) -> Manager:
    """What entering a value does: nothing that is known, unless it is an object of the project."""
    if isinstance(value, Instance):
        call = cst.Call(func=cst.Name("__enter__"))
        if isinstance(value.cls, ClassValue) and classes.lookup(value.cls, "__enter__"):
            entered = calls.call_method(m, value, "__enter__", Arguments(), call)
            return Manager(value=entered)
        return Manager(value=value)
    return Manager(value=value)


# ---------------------------------------------------------------------- evidence by use

_OPTIMIZER_NAME = re.compile(
    r"(^|[._\[\]'])(opt|optim|optimi[sz]er)(s|_|\d|$)|_opt(im|imi[sz]er)?\w?$|^opt"
)
_MODULE_METHODS = frozenset(
    {
        "parameters", "named_parameters", "state_dict", "named_modules", "named_children",
        "register_buffer", "register_parameter", "load_state_dict", "modules", "named_buffers",
    }
)  # fmt: skip


def looks_like_optimizer(name: str) -> bool:
    """Whether a name says that it is an optimizer."""
    return _OPTIMIZER_NAME.search(name.lower()) is not None


def refine(m: Machine, value: Unknown, name: str, args: Arguments, node: cst.Call) -> Value | None:
    """What the call of a method proves an unknown value to be; None if it proves nothing."""
    known: Value | None = None
    site = m.site(node)
    if name in _MODULE_METHODS and not (name == "state_dict" and looks_like_optimizer(value.name)):
        if name in ("load_state_dict", "modules") and looks_like_optimizer(value.name):
            return None
        known = modules.opaque(site, Grade.USED)
        known.perhaps = tuple(
            holder for module in joined_modules(value) for holder in holders_of(m, module)
        )
        _forget_candidates(m, value)
    elif name == "backward" and all(_is_gradient(given) for given in args.positional[:1]):
        return _as_tensor(m, value, site)
    elif name in ("step", "zero_grad") and not args.positional:
        if looks_like_optimizer(value.name):
            known = m.saw(Optimizer((), False, site, Grade.USED, value.name))
    elif scalers.proves_scaler(value, name, args):
        known = GradScaler(MAYBE, Grade.USED)
    elif name in TENSOR_ONLY_METHODS and name not in ("requires_grad_", "backward"):
        known = m.autograd.vague(site, Grade.USED)
    if known is not None:
        m.change(value, "refined", known)
    return known


def _is_gradient(value: Value) -> bool:
    """Whether the argument of a backward is the gradient to begin with: no loss, but numbers."""
    found = resolve(value)
    if not isinstance(found, Tensor) or found.state.requires_grad is not NO:
        return False
    return found.grade is Grade.BUILT and found.state.lost is None


def _forget_candidates(m: Machine, value: Unknown) -> None:
    """One of several known modules is used under another name: which of them is not known."""
    for item in value.inputs:
        found = resolve(item)
        if isinstance(found, Module):
            for holder in holders_of(m, found):
                graph.forget(m.heap, holder)


def _as_tensor(m: Machine, value: Unknown, site: object) -> Value:
    known = value.origin is not None
    tensor = m.autograd.opaque(behind(value), value.origin or site, Grade.USED, known)
    m.change(value, "refined", tensor)
    return tensor
