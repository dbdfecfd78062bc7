"""Building the index of a file: one walk over its `ast`.

Every file of a project passes here before LibCST is asked to parse it, so this must cost little.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autolint.interpreter.ast_names import dotted, is_false, is_true, last_name
from autolint.interpreter.grad_off import calls_under, turns_recording_off
from autolint.interpreter.index import (
    ACCUMULATED,
    AUGMENTED,
    COMPARED,
    DROPPED,
    EARLY,
    IN_PLACE,
    ITEM_STORED,
    LISTED,
    REPEATED,
    SWITCHED_ON,
    UNKNOWN_BASE,
    WHOLE,
    YIELDED,
    ClassInfo,
    FileIndex,
    FunctionInfo,
    Parameters,
)

_OPTIMIZER_LIKE = re.compile(r"opt|adam|sgd", re.IGNORECASE)


def index_file(path: str, tree: ast.Module, mtime: float | None = None) -> FileIndex:
    """Index a parsed file. Raises RecursionError where functions nest hundreds deep."""
    builder = _Builder(path)
    builder.module(tree)
    builder.index.mtime = mtime
    return builder.index


def _child_fields() -> dict[type[ast.AST], tuple[str, ...]]:
    """Fields of each node class whose nodes can contain names, last first for use with a stack."""
    unwanted = {"ctx", "op", "ops", "type_comment", "kind", "returns", "annotation", "type_params"}
    unwanted.add("kwd_attrs")  # of a class pattern: a list of words, not of nodes
    classes = [c for c in vars(ast).values() if isinstance(c, type) and issubclass(c, ast.AST)]
    names_only: tuple[type[ast.AST], ...] = (ast.Global, ast.Nonlocal, ast.alias)
    return {
        c: ()
        if issubclass(c, names_only)
        else tuple(f for f in c._fields if f not in unwanted)[::-1]
        for c in classes
    }


_CHILDREN = _child_fields()

_CONTAINERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)

_NO_TENSORS = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.ListComp,
    ast.Tuple,
    ast.Dict,
    ast.Compare,
)
_TO_NUMBERS = frozenset({"len", "item", "int", "float", "str", "list", "sum", "size", "format"})
_NO_WRITES = frozenset({"requires_grad_", "share_memory_", "detach_"})


def _writes(function: ast.expr, name: str) -> bool:
    """Whether such a call may write a tensor that a graph has: not a helper, not torch.nn.init."""
    if not isinstance(function, ast.Attribute) or name in _NO_WRITES:
        return False
    return last_name(function.value) != "init"


@dataclass(slots=True)
class _Scope:
    """Where the walk is: the body of the module, a class or a function."""

    prefix: str
    owner: ClassInfo | None
    in_function: bool
    names: set[str] = field(default_factory=set)
    records: bool = False
    generator: bool = False
    switched_off_at: list[int] = field(default_factory=list)


class _Builder:
    def __init__(self, path: str) -> None:
        self.index = FileIndex(path)
        self._late_imports: list[tuple[str, str, str | None]] = []
        self._ambiguous_aliases: set[str] = set()

    def module(self, tree: ast.Module) -> None:
        scope = _Scope("", None, in_function=False)
        self._scan(tree.body, scope)
        self._switched(tree.body, scope)
        for name, target, module in self._late_imports:
            self._bind(name, target, module)
        for name in self._ambiguous_aliases:
            self.index.aliases.pop(name, None)
        self.index.module_level_names = frozenset(scope.names)

    def _scan(self, nodes: Iterable[ast.AST], scope: _Scope) -> None:
        names = scope.names
        children = _CHILDREN
        handlers = _HANDLERS
        # Any: the class of a node is compared by identity, which no type checker narrows by.
        stack: list[Any] = list(nodes)
        stack.reverse()
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is ast.Name:
                names.add(node.id)
            elif kind is ast.Attribute:
                names.add(node.attr)
                stack.append(node.value)
            elif kind is not ast.Constant and node is not None:
                handler = handlers.get(kind)
                if handler is not None and handler(self, node, scope):
                    continue
                for child in children[kind]:
                    value = getattr(node, child, None)
                    if value.__class__ is list:
                        stack.extend(value[::-1])
                    elif isinstance(value, ast.AST):
                        stack.append(value)

    # Handlers return whether they have dealt with the children themselves.

    def _call(self, node: ast.Call, scope: _Scope) -> bool:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else last_name(function)
        if name in _RECORDING_CALLS and self._records(name, node):
            scope.records = True
        if name is not None and name[-1:] == "_" and name[-2:] != "__" and _writes(function, name):
            scope.names.add(IN_PLACE)
        if name is not None and "drop" in name and dotted(function) != f"self.{name}":
            scope.names.add(DROPPED)
        if isinstance(function, ast.Attribute) and name in _WHOLE_DTYPES:
            scope.names.add(WHOLE)
        for argument in node.args:
            if isinstance(argument, ast.Compare):
                scope.names.add(COMPARED)
            elif isinstance(argument, ast.Attribute) and argument.attr in _WHOLE_DTYPES:
                scope.names.add(WHOLE)
        for keyword in node.keywords:
            if keyword.arg is not None:
                scope.names.add(keyword.arg)
                if keyword.arg == "dtype" and last_name(keyword.value) in _WHOLE_DTYPES:
                    scope.names.add(WHOLE)
                if keyword.arg == "requires_grad" and is_true(keyword.value):
                    scope.records = True
        return False

    def _records(self, name: str, node: ast.Call) -> bool:
        function = node.func
        if name == "grad":
            text = dotted(function) or ""
            return text.endswith("autograd.grad") or (
                self.index.imports.get(text) == "torch.autograd.grad"
            )
        if not isinstance(function, ast.Attribute):
            return False
        if name == "step":
            receivers = [last_name(function.value), *map(last_name, node.args)]
            return any(r is not None and _OPTIMIZER_LIKE.search(r) for r in receivers)
        if name == "requires_grad_":
            return not node.args or not is_false(node.args[0])
        return True

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> bool:
        qualname = scope.prefix + node.name
        inner = _Scope(qualname + ".<locals>.", None, in_function=True)
        recording = [d for d in node.decorator_list if not turns_recording_off(d)]
        self._scan(recording, scope)
        self._scan([*node.args.defaults, *(d for d in node.args.kw_defaults if d)], scope)
        self._scan(recording, inner)
        self._scan(node.body, inner)
        self._switched(node.body, inner)
        if node.name == "__init__" and scope.owner is not None:
            scope.owner.built.update(_built(node.body))
            if _sets_early(node.body):
                inner.names.add(EARLY)
        if any(map(turns_recording_off, node.decorator_list)):
            self.index.calls_off |= calls_under(node.body)
        if scope.in_function:
            scope.names |= inner.names
            scope.records = scope.records or inner.records
        decorators = _decorators(node)
        info = FunctionInfo(
            name=node.name,
            qualname=qualname,
            path=self.index.path,
            params=_parameters(node.args),
            first_line=min([node.lineno, *(d.lineno for d in node.decorator_list)]),
            line=node.lineno,
            last_line=node.end_lineno or node.lineno,
            column=node.col_offset,
            decorators=decorators,
            names=frozenset(inner.names),
            is_generator=inner.generator,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            class_name=scope.owner.qualname if scope.owner else None,
            records=inner.records,
            is_static="staticmethod" in decorators or node.name == "__new__",
            is_class="classmethod" in decorators or node.name == "__init_subclass__",
            is_property=any(d.rpartition(".")[2] in _PROPERTIES for d in decorators),
        )
        self._file_function(info, scope)
        return True

    def _file_function(self, info: FunctionInfo, scope: _Scope) -> None:
        self.index.all_functions.append(info)
        if scope.owner is not None:
            if info.is_property:
                scope.owner.properties.add(info.name)
            # A property's setter bears the getter's name and must not hide it.
            if not any(d.endswith((".setter", ".deleter")) for d in info.decorators):
                scope.owner.methods[info.name] = info
        elif not scope.in_function:
            self.index.functions[info.name] = info

    def _class(self, node: ast.ClassDef, scope: _Scope) -> bool:
        qualname = scope.prefix + node.name
        info = ClassInfo(
            name=node.name,
            qualname=qualname,
            path=self.index.path,
            line=node.lineno,
            last_line=node.end_lineno or node.lineno,
            bases=tuple(_base(b) for b in node.bases if not isinstance(b, ast.Starred)),
            decorators=_decorators(node),
        )
        self.index.classes[qualname] = info
        self._scan([*node.decorator_list, *node.bases, *node.keywords], scope)
        inner = _Scope(qualname + ".", info, scope.in_function, scope.names)
        self._scan(node.body, inner)
        scope.records = scope.records or inner.records
        return True

    def _with(self, node: ast.With | ast.AsyncWith, scope: _Scope) -> bool:
        if any(turns_recording_off(item.context_expr) for item in node.items):
            self.index.calls_off |= calls_under(node.body)
        for item in node.items:
            if not isinstance(item.context_expr, ast.Call):
                scope.names.add(f"{last_name(item.context_expr)};")
        return False

    def _expression(self, node: ast.Expr, scope: _Scope) -> bool:
        call = node.value
        if isinstance(call, ast.Attribute):
            scope.names.add(f"{call.attr};")
        elif isinstance(call, ast.Call):
            name = last_name(call.func)
            scope.names.add(f"{name}();")
            if name == "set_grad_enabled":
                if turns_recording_off(call):
                    scope.switched_off_at.append(node.lineno)
                else:
                    scope.names.add(SWITCHED_ON)
        return False

    def _switched(self, body: list[ast.stmt], scope: _Scope) -> None:
        """Calls after a bare `set_grad_enabled(False)`, wherever it is switched on again."""
        if scope.switched_off_at:
            self.index.calls_off |= calls_under(body, after=min(scope.switched_off_at))

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: _Scope) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node.value, _CONTAINERS) and isinstance(targets[0], ast.Attribute):
            scope.names.add(LISTED)
        if isinstance(node.value, ast.Compare):
            scope.names.add(COMPARED)
        for target in targets:
            if isinstance(target, ast.Name):
                if not scope.in_function or scope.owner is not None:
                    self._named(target.id, node.value, scope)
            elif isinstance(target, ast.Subscript):
                scope.names.add(ITEM_STORED)
            elif isinstance(target, (ast.Tuple, ast.List)):
                self._unpacked(target, scope)
            elif isinstance(target, ast.Attribute):
                scope.names.add(target.attr + "=")
                value = node.value
                if target.attr == "requires_grad" and value is not None and not is_false(value):
                    scope.records = True
        return False

    def _unpacked(self, target: ast.Tuple | ast.List, scope: _Scope) -> None:
        for part in target.elts:
            if isinstance(part, ast.Subscript):
                scope.names.add(ITEM_STORED)
            elif isinstance(part, ast.Attribute):
                scope.names.add(part.attr + "=")
            elif isinstance(part, ast.Name) and scope.owner is not None:
                scope.owner.class_attributes.add(part.id)

    def _named(self, name: str, value: ast.expr | None, scope: _Scope) -> None:
        text = dotted(value)
        if scope.owner is not None:
            if value is None:
                scope.owner.annotated.add(name)
                return
            scope.owner.class_attributes.add(name)
            if text is not None and text in scope.owner.methods:
                scope.owner.method_aliases[name] = text
        elif text is not None and text != name:
            if self.index.aliases.setdefault(name, text) != text:
                self._ambiguous_aliases.add(name)
        elif value is not None and name in self.index.aliases:
            self._ambiguous_aliases.add(name)

    def _augmented(self, node: ast.AugAssign, scope: _Scope) -> bool:
        scope.names.add(AUGMENTED)
        if isinstance(node.target, ast.Name) and not isinstance(node.value, _NO_TENSORS):
            called = last_name(node.value.func) if isinstance(node.value, ast.Call) else None
            if called not in _TO_NUMBERS:
                scope.names.add(ACCUMULATED)
        return False

    def _binary(self, node: ast.BinOp, scope: _Scope) -> bool:
        if isinstance(node.op, ast.Mult):
            for side in (node.left, node.right):
                if isinstance(side, (ast.List, ast.Tuple)) and not all(
                    isinstance(element, ast.Constant) for element in side.elts
                ):
                    scope.names.add(REPEATED)
        return False

    def _yield(self, node: ast.Yield | ast.YieldFrom, scope: _Scope) -> bool:
        scope.generator = True
        scope.names.add(YIELDED)
        return False

    def _import(self, node: ast.Import, scope: _Scope) -> bool:
        for alias in node.names:
            self._is_torch(alias.name)
            if alias.asname:
                self._bound(alias.asname, alias.name, None, scope)
            else:
                top = alias.name.partition(".")[0]
                self._bound(top, top, None, scope)
        return True

    def _import_from(self, node: ast.ImportFrom, scope: _Scope) -> bool:
        module = "." * node.level + (node.module or "")
        self._is_torch(module)
        for alias in node.names:
            if alias.name == "*":
                self.index.star_imports.append(module)
                continue
            joint = "" if module.endswith(".") else "."
            self._bound(alias.asname or alias.name, module + joint + alias.name, module, scope)
        return True

    def _is_torch(self, module: str) -> None:
        if module == "torch" or module.startswith("torch."):
            self.index.imports_torch = True

    def _bound(self, name: str, target: str, module: str | None, scope: _Scope) -> None:
        if scope.in_function:
            self._late_imports.append((name, target, module))
        else:
            self._bind(name, target, module)

    def _bind(self, name: str, target: str, module: str | None) -> None:
        if name not in self.index.imports:
            self.index.imports[name] = target
            if module is not None:
                self.index.from_modules[name] = module


_RECORDING_CALLS = frozenset({"backward", "grad", "step", "requires_grad_"})
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "lazy_property"})
# A handler's node is of the class that it is listed under.
_WHOLE_DTYPES = frozenset(
    {"int", "bool", "long", "short", "byte", "char", "int8", "int16", "int32", "int64", "uint8"}
)

_HANDLERS: dict[type[ast.AST], Callable[[_Builder, Any, _Scope], bool]] = {
    ast.Call: _Builder._call,
    ast.FunctionDef: _Builder._function,
    ast.AsyncFunctionDef: _Builder._function,
    ast.ClassDef: _Builder._class,
    ast.With: _Builder._with,
    ast.AsyncWith: _Builder._with,
    ast.Expr: _Builder._expression,
    ast.Assign: _Builder._assign,
    ast.AnnAssign: _Builder._assign,
    ast.AugAssign: _Builder._augmented,
    ast.BinOp: _Builder._binary,
    ast.Yield: _Builder._yield,
    ast.YieldFrom: _Builder._yield,
    ast.Import: _Builder._import,
    ast.ImportFrom: _Builder._import_from,
}


def _base(node: ast.expr) -> str:
    # `Generic[T]` inherits from Generic.
    return dotted(node.value if isinstance(node, ast.Subscript) else node) or UNKNOWN_BASE


def _built(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The attributes that a constructor gives a new object, with the bare name of its class."""
    for statement in body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            target, made = statement.targets[0], last_name(statement.value.func)
            if isinstance(target, ast.Attribute) and made and made[:1].isupper():
                yield target.attr, made


def _sets_early(body: list[ast.stmt]) -> bool:
    """Whether an `__init__` sets an attribute, to no constant, before it calls another one.

    A body that calls none does, whatever it sets.
    """
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Attribute) and not isinstance(statement.value, ast.Constant):
                return True
        elif any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "__init__"
            for node in ast.walk(statement)
        ):
            return False
    return True


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[str, ...]:
    return tuple(
        dotted(d.func if isinstance(d, ast.Call) else d) or "?" for d in node.decorator_list
    )


def _parameters(arguments: ast.arguments) -> Parameters:
    return Parameters(
        positional=tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args)),
        keyword_only=tuple(a.arg for a in arguments.kwonlyargs),
        vararg=arguments.vararg.arg if arguments.vararg else None,
        kwarg=arguments.kwarg.arg if arguments.kwarg else None,
        defaults=len(arguments.defaults),
    )
