"""What an expression is used for, judged by the expressions and statements around it.

An index tensor may lie on the CPU, `copy_` copies across devices, and a cast to a dtype leaves a
tensor where it is.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from autolint.interpreter.ast_names import dotted


class Role(enum.Enum):
    """What a read of an attribute is for."""

    VALUE = "value"
    """Operand of arithmetic, argument of a call, receiver of a tensor method."""
    MOVED = "moved"
    """Brought to another device by hand where it is read."""
    INDEX = "index"
    """Only an index, or a table from which Python numbers are taken."""
    TEST = "test"
    """Only tested, or compared with a literal."""
    SHAPE = "shape"
    """Only its shape, dtype or device."""
    OTHER = "other"
    """Printed, saved, turned into a Python number, or kept under another name."""


@dataclass(slots=True, frozen=True)
class Use:
    """Where an expression ends up. At most one of the last three is set."""

    role: Role
    local: str | None = None
    """Bound to this local name."""
    callee: str | None = None
    """Passed to the function of this dotted name."""
    returned: bool = False


Parents = dict[ast.AST, ast.AST]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHAPE_OF = _words(
    "shape device dtype ndim size dim numel nelement ndimension element_size is_cuda layout stride "
    "requires_grad get_device is_floating_point is_complex is_contiguous is_leaf itemsize"
)
_CASTS = _words("float half double bfloat16 long int short byte bool")
_SAME_PLACE = _words(
    "T mT H mH data real imag grad view unsqueeze expand expand_as repeat detach clone permute "
    "transpose t contiguous reshape squeeze flatten unflatten narrow select chunk split unbind "
    "requires_grad_ view_as movedim roll flip tile repeat_interleave"
)
_NUMBERS = _words("item tolist numpy cpu")
_WRITES_OF_NUMBERS = _words("zero_ fill_ copy_ normal_ uniform_ set_ resize_ data_ptr")
_LIKE_ANOTHER = _words("to type_as expand_as view_as reshape_as new_tensor")
_TESTS = _words("isinstance hasattr callable is_tensor len type id")
_TO_PYTHON = _words("int float bool str repr print format list deepcopy save asarray multinomial")
_TO_TENSOR = _words("as_tensor tensor from_numpy")


def parents_of(root: ast.AST) -> Parents:
    """The parent of every node below `root`."""
    parents: Parents = {}
    stack = [root]
    while stack:
        node = stack.pop()
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            stack.append(child)
    return parents


def uses_of(node: ast.AST, parents: Parents) -> Iterator[Use]:
    """What becomes of the value of an expression; several uses where it gets several names."""
    subscripted = False
    while True:
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute):
            call = parents.get(parent)
            called = isinstance(call, ast.Call) and call.func is parent
            role = _method_role(parent.attr, call, subscripted) if called else None
            if role is None and not called and parent.attr in _SHAPE_OF:
                role = Role.SHAPE
            if role is not None:
                yield Use(role)
                return
            node = call if called and call is not None else parent
        elif isinstance(parent, ast.Subscript):
            if parent.slice is node:
                yield Use(Role.INDEX)
                return
            if not isinstance(parent.ctx, ast.Load):
                yield Use(Role.OTHER)
                return
            subscripted = True
            node = parent
        elif isinstance(parent, ast.Call):
            use = _argument_use(node, parent, subscripted)
            if use is not None:
                yield use
                return
            node = parent
        elif isinstance(parent, ast.BinOp):
            other = parent.left if parent.right is node else parent.right
            if not _is_literal(other):
                yield Use(Role.VALUE)
                return
            node = parent
        elif isinstance(parent, (ast.UnaryOp, ast.keyword, ast.Slice, ast.Starred, ast.Await)):
            node = parent
        elif isinstance(parent, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BoolOp)):
            pair = _paired_target(node, parent, parents.get(parent))
            if pair is not None:
                yield Use(Role.OTHER, local=pair)
                return
            node = parent
        elif (isinstance(parent, ast.IfExp) and parent.test is not node) or (
            isinstance(parent, ast.Compare) and _makes_mask(node, parent)
        ):
            node = parent
        else:
            yield from _statement_uses(node, parent)
            return


def _statement_uses(node: ast.AST, parent: ast.AST | None) -> Iterator[Use]:
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        yield Use(Role.TEST)
    elif isinstance(parent, ast.Compare):
        others = [c for c in (parent.left, *parent.comparators) if c is not node]
        tests = all(map(_is_literal, others)) or not any(
            isinstance(o, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)) for o in parent.ops
        )
        yield Use(Role.TEST if tests else Role.VALUE)
    elif isinstance(parent, ast.Assign):
        names = [t.id for t in parent.targets if isinstance(t, ast.Name)]
        if names:
            yield from (Use(Role.OTHER, local=name) for name in names)
        else:
            yield Use(Role.OTHER)
    elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension)):
        yield from _bound_names(parent.target)
    elif isinstance(parent, ast.Return):
        yield Use(Role.VALUE, returned=True)
    elif isinstance(parent, (ast.Expr, ast.FormattedValue, ast.Raise, ast.Delete)):
        yield Use(Role.OTHER)
    else:
        yield Use(Role.VALUE)


def _makes_mask(node: ast.AST, compare: ast.Compare) -> bool:
    """Whether a tensor is compared with a literal, element by element: `mask == 0`."""
    others = [c for c in (compare.left, *compare.comparators) if c is not node]
    ordering = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
    return all(isinstance(o, ordering) for o in compare.ops) and all(map(_is_number, others))


def _bound_names(target: ast.expr) -> Iterator[Use]:
    names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
    yield from (Use(Role.OTHER, local=name) for name in names)
    if not names:
        yield Use(Role.OTHER)


def _paired_target(node: ast.AST, display: ast.AST, statement: ast.AST | None) -> str | None:
    """`b` for the second part of `a, b = self.a, self.b`."""
    if not isinstance(statement, ast.Assign) or not isinstance(display, (ast.Tuple, ast.List)):
        return None
    target = statement.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(display.elts):
        return None
    named = next(t for t, v in zip(target.elts, display.elts, strict=True) if v is node)
    return named.id if isinstance(named, ast.Name) else None


def _method_role(name: str, call: ast.AST | None, subscripted: bool) -> Role | None:
    """The role of the receiver of a method; None: that of the result."""
    assert isinstance(call, ast.Call)
    if name in _SHAPE_OF:
        return Role.SHAPE
    if places(call):
        return Role.MOVED
    if name in _NUMBERS:
        return Role.INDEX if subscripted else Role.OTHER
    if name in _WRITES_OF_NUMBERS:
        return Role.OTHER
    if name in ("to", "type") or name in _CASTS or name in _SAME_PLACE:
        return None
    return Role.VALUE if call.args or call.keywords else None


def _argument_use(node: ast.AST, call: ast.Call, subscripted: bool) -> Use | None:
    """The use of an argument; None: that of the result."""
    if call.func is node:
        return None  # the result of a method or of something callable that was read
    name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    if any(k.arg == "device" for k in call.keywords if k is not node):
        return Use(Role.MOVED)
    if isinstance(call.func, ast.Attribute) and name in _LIKE_ANOTHER:
        return Use(Role.SHAPE)
    if name in _TESTS:
        return Use(Role.TEST)
    if name in _TO_TENSOR:
        return None
    if name in _TO_PYTHON:
        return Use(Role.INDEX if subscripted else Role.OTHER)
    if _is_logging(call.func):
        return Use(Role.OTHER)
    alone = all(a is node or _is_literal(a) for a in (*call.args, *call.keywords))
    text = dotted(call.func)
    if alone and text is not None and text.startswith(("torch.", "F.", "np.")):
        return None
    return Use(Role.VALUE, callee=text)


def _is_logging(function: ast.expr) -> bool:
    parts = (dotted(function) or "").split(".")
    return parts[0].lower() in {"logging", "logger", "warnings"} or parts[-1] in {"log", "log_dict"}


def places(call: ast.AST) -> bool:
    """Whether a call puts something on a device: `x.to(y.device)`, `zeros(3, device=d)`."""
    if not isinstance(call, ast.Call):
        return False
    if any(k.arg == "device" and not _is_none(k.value) for k in call.keywords):
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in ("cuda", "type_as", "xpu", "npu"):
        return True
    if call.func.attr != "to":
        return False
    return not call.args or not _is_dtype(call.args[0])


def is_placed(value: ast.expr | None) -> bool:
    """Whether an assigned value was put on a device by hand, in one of its arms at least."""
    while isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
        if places(value):
            return True
        value = value.func if isinstance(value, ast.Call) else value.value
    if isinstance(value, ast.IfExp):
        return is_placed(value.body) or is_placed(value.orelse)
    if isinstance(value, ast.BinOp):
        return is_placed(value.left) or is_placed(value.right)
    return False


def _is_dtype(node: ast.expr) -> bool:
    text = dotted(node) or ""
    return text.endswith("dtype") or text.rpartition(".")[2] in _DTYPES


_DTYPES = _words(
    "float float16 float32 float64 half double bfloat16 int int8 int16 int32 int64 long short "
    "uint8 bool complex64 complex128"
)


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.keyword):
        node = node.value
    return isinstance(node, ast.Constant)


def _is_number(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
