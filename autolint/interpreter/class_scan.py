"""What the methods of one class, as written, do with the attributes of self."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from autolint.interpreter.ast_names import dotted, last_name
from autolint.interpreter.class_records import ClassScan, How, MethodScan, Read, Store
from autolint.interpreter.roles import Parents, Role, Use, is_placed, parents_of, uses_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


_REGISTERING = {
    "register_buffer": How.BUFFER,
    "add_state": How.BUFFER,
    "register_parameter": How.PARAMETER,
    "register_module": How.PARAMETER,
    "add_module": How.PARAMETER,
}
_REGISTERED_CALLS = {
    "Buffer": How.BUFFER,
    "Parameter": How.PARAMETER,
    "UninitializedParameter": How.PARAMETER,
    "UninitializedBuffer": How.BUFFER,
}
_REGISTRIES = {"_buffers": How.BUFFER, "_parameters": How.PARAMETER, "_modules": How.PARAMETER}


def scan_class(tree: ast.Module, path: str, line: int, name: str) -> ClassScan:
    """Scan the class whose `class` stands in `line` of the file."""
    scan = ClassScan()
    node = _class_at(tree, line, name)
    for statement in _statements(node.body if node is not None else ()):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = _MethodScanner(statement, path).scan()
            earlier = scan.methods.get(statement.name)
            if earlier is not None and statement.decorator_list:
                method.reads.update(earlier.reads)  # a property and its setter
                method.stores.update(earlier.stores)
            scan.methods[statement.name] = method
    return scan


def _class_at(tree: ast.Module, line: int, name: str) -> ast.ClassDef | None:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef) and node.lineno == line and node.name == name:
            return node
        for block in ("body", "orelse", "finalbody"):
            statements: list[ast.stmt] = getattr(node, block, [])
            # No compound statement shares its first line with another statement before it.
            at = bisect_right(statements, line, key=lambda each: each.lineno)
            pending.extend(statements[max(at - 1, 0) : at])
        for block in ("handlers", "cases"):
            pending.extend(getattr(node, block, ()))
    return None


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a class body, those under `if` and `try` too."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _statements(statement.body)
            if not isinstance(statement, ast.With):
                yield from _statements(statement.orelse)
            if isinstance(statement, ast.Try):
                for handler in statement.handlers:
                    yield from _statements(handler.body)


class _MethodScanner:
    def __init__(self, node: FunctionNode, path: str) -> None:
        self._node = node
        self._path = path
        self._result = MethodScan(node.name)
        arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        static = any(dotted(d) == "staticmethod" for d in node.decorator_list)
        self._self = arguments[0] if arguments and not static else None
        self._parameters = arguments[1:]
        self._nodes: list[ast.AST] = []
        self._parents: Parents = {}
        self._literals: dict[str, list[str]] = defaultdict(list)
        self._registering: dict[str, How] = {}
        self._local_uses: dict[str, list[ast.Name]] = defaultdict(list)

    def scan(self) -> MethodScan:
        if self._self is None:
            return self._result
        self._parents = parents_of(self._node)
        self._nodes = list(self._parents)
        for node in self._nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._local_uses[node.id].append(node)
            elif isinstance(node, (ast.For, ast.comprehension)):
                self._literal_loop(node.target, node.iter)
            elif isinstance(node, (ast.FunctionDef, ast.Assign)):
                self._local_helper(node)
        for node in self._nodes:
            if isinstance(node, ast.Attribute) and self._is_self(node.value):
                self._attribute(node)
            elif isinstance(node, ast.Call):
                self._call(node)
        return self._result

    def _is_self(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._self

    # Names that are known only by value

    def _literal_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        """`for n in ("a", "b")`, `for n, t in {"a": ..}.items()`, `for n, t in (("a", ..), ..)`."""
        if isinstance(iterated, ast.Call):
            if dotted(iterated.func) in ("zip", "enumerate", "sorted", "list") and iterated.args:
                for i, argument in enumerate(iterated.args):
                    if isinstance(target, ast.Tuple) and len(target.elts) > i:
                        self._literal_loop(target.elts[i], argument)
                return
            if isinstance(iterated.func, ast.Attribute) and not iterated.args:
                iterated = iterated.func.value
        parts: list[ast.expr | None] = []
        if isinstance(iterated, (ast.Tuple, ast.List, ast.Set)):
            parts = list(iterated.elts)
        elif isinstance(iterated, ast.Dict):
            parts = list(iterated.keys)
        if isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
            parts = [p.elts[0] if isinstance(p, ast.Tuple) and p.elts else p for p in parts]
        if isinstance(target, ast.Name):
            self._literals[target.id] += [
                p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)
            ]

    def _local_helper(self, node: ast.FunctionDef | ast.Assign) -> None:
        """`reg = lambda n, v: self.register_buffer(n, v)`, and local functions like it."""
        name: str | None
        if isinstance(node, ast.FunctionDef):
            name, body = node.name, list(ast.walk(node))
        else:
            target = node.targets[0]
            name = target.id if isinstance(target, ast.Name) else None
            body = list(ast.walk(node.value)) if isinstance(node.value, _HELPERS) else []
        for part in body:
            if isinstance(part, ast.Attribute) and self._is_self(part.value) and name is not None:
                how = _REGISTERING.get(part.attr)
                if how is not None:
                    self._registering[name] = how

    def _names(self, node: ast.expr | None) -> list[str] | None:
        """The strings an expression can be; None if unknown."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.Name):
            return self._literals.get(node.id) or None
        return None

    # Reads and stores

    def _attribute(self, node: ast.Attribute) -> None:
        statement = self._parents.get(node)
        if isinstance(node.ctx, ast.Del):
            self._store(node.attr, node, How.DELETED, None)
        elif isinstance(node.ctx, ast.Store):
            if isinstance(statement, ast.AugAssign):
                self._read(node.attr, node.lineno, [Use(Role.VALUE)])
                self._store(node.attr, node, How.AUGMENTED, statement.value)
            elif not isinstance(statement, ast.AnnAssign) or statement.value is not None:
                value = self._assigned(node)
                self._store(node.attr, node, _how(value), value)
        elif node.attr in _REGISTRIES:
            self._registry(node)
        elif node.attr not in _REGISTERING:
            self._read(node.attr, node.lineno, self._uses(node))

    def _assigned(self, target: ast.expr) -> ast.expr | None:
        """The value that goes to a target; None if it is not written out."""
        parent = self._parents.get(target)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            return parent.value
        if isinstance(parent, (ast.Tuple, ast.List)):
            statement = self._parents.get(parent)
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parent.elts):
                return value.elts[parent.elts.index(target)]
            return value
        return None

    def _store(self, name: str, node: ast.expr, how: How, value: ast.expr | None) -> None:
        if how in (How.BUFFER, How.PARAMETER):
            self._result.registered.add(name)
        is_none = isinstance(value, ast.Constant) and value.value is None
        updates = how is How.AUGMENTED or self._is_changed(name, value)
        self._result.stores[name].append(
            Store(self._path, self._node.name, node.lineno, how, is_none, is_placed(value), updates)
        )

    def _is_changed(self, name: str, value: ast.expr | None) -> bool:
        """Whether a value is arithmetic on the attribute, like `0.9 * self.mean + x.mean()`.

        Passing it to a function does not count: the cell of a recurrent net returns a new state.
        """
        if isinstance(value, ast.BinOp):
            return self._is_changed(name, value.left) or self._is_changed(name, value.right)
        if isinstance(value, ast.UnaryOp):
            return self._is_changed(name, value.operand)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return self._is_changed(name, value.func.value)
        return (
            isinstance(value, ast.Attribute) and value.attr == name and self._is_self(value.value)
        )

    def _read(self, name: str, line: int, uses: Iterable[Use]) -> None:
        for use in uses:
            self._result.reads[name].append(
                Read(self._path, self._node.name, line, use.role, use.callee, use.returned)
            )

    def _uses(self, node: ast.expr) -> list[Use]:
        """Uses of an expression, followed through one local name."""
        uses: list[Use] = []
        for use in uses_of(node, self._parents):
            if use.local is None:
                uses.append(use)
                continue
            if any(map(self._is_drawn_from, self._local_uses[use.local])):
                uses.append(Use(Role.OTHER))  # weights of a choice, made on the host
                continue
            later = [u for n in self._local_uses[use.local] for u in uses_of(n, self._parents)]
            # `c = c.to(d)` once moves c for all that comes after.
            moved = any(u.role is Role.MOVED for u in later)
            uses += [Use(Role.MOVED)] if moved else later or [Use(Role.OTHER)]
        return uses

    def _is_drawn_from(self, node: ast.AST) -> bool:
        call = self._parents.get(node)
        return isinstance(call, ast.Call) and last_name(call.func) == "multinomial"

    def _registry(self, node: ast.Attribute) -> None:
        """`self._buffers["x"] = value`."""
        item = self._parents.get(node)
        if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store):
            self._register(item.slice, item, _REGISTRIES[node.attr])

    # Calls

    def _call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            if self._is_self(function.value):
                self._self_call(node, function.attr)
            elif isinstance(function.value, ast.Call) and dotted(function.value.func) == "super":
                self._result.super_calls.add(function.attr)
                if function.attr in _REGISTERING:
                    self._register_call(node, _REGISTERING[function.attr])
            elif node.args and self._is_self(node.args[0]):
                base = dotted(function.value)
                if function.attr == "__setattr__":
                    self._setattr(node)
                elif base is not None:
                    self._result.base_calls.add((base, function.attr))
        elif isinstance(function, ast.Name):
            if function.id in self._registering:
                self._register_call(node, self._registering[function.id])
            elif node.args and self._is_self(node.args[0]):
                if function.id == "setattr":
                    self._setattr(node)
                elif function.id == "delattr" and len(node.args) > 1:
                    for name in self._names(node.args[1]) or ():
                        self._store(name, node, How.DELETED, None)
                elif function.id == "getattr":
                    self._getattr(node)

    def _self_call(self, node: ast.Call, name: str) -> None:
        how = _REGISTERING.get(name)
        if how is not None:
            self._register_call(node, how)
        elif name == "__setattr__":
            self._setattr(ast.Call(node.func, [node.func, *node.args], []), node)
        else:
            for i, argument in enumerate(node.args):
                for literal in self._names(argument) or ():
                    self._result.literal_calls.append((name, i, literal))

    def _register_call(self, node: ast.Call, how: How) -> None:
        argument = node.args[0] if node.args else None
        for keyword in node.keywords:
            if keyword.arg == "name":
                argument = keyword.value
        if argument is not None:
            self._register(argument, node, how)

    def _register(self, name: ast.expr, node: ast.expr, how: How) -> None:
        names = self._names(name)
        if names is not None:
            for known in names:
                self._store(known, node, how, None)
        elif isinstance(name, ast.JoinedStr):
            self._result.patterns.append(_pattern(name))
        elif isinstance(name, ast.Name) and name.id in self._parameters:
            self._result.helper_parameters.add(self._parameters.index(name.id))
        elif not self._in_local_helper(node):
            self._result.registers_unknown = True

    def _in_local_helper(self, node: ast.AST) -> bool:
        parent = self._parents.get(node)
        while parent is not None and parent is not self._node:
            if isinstance(parent, (ast.Lambda, ast.FunctionDef)):
                return True
            parent = self._parents.get(parent)
        return False

    def _setattr(self, node: ast.Call, place: ast.Call | None = None) -> None:
        if len(node.args) < 2:
            return
        value = node.args[2] if len(node.args) > 2 else None
        names = self._names(node.args[1])
        for name in names or ():
            how = _how(value)
            how = How.SETATTR if how is How.ASSIGNED else how
            self._store(name, place or node, how, value)
        if names is None:
            self._result.stores_unknown = True
            self._result.moves_unknown |= is_placed(value)

    def _getattr(self, node: ast.Call) -> None:
        if len(node.args) < 2:
            return
        for name in self._names(node.args[1]) or ():
            self._read(name, node.lineno, self._uses(node))


_HELPERS = (ast.Lambda, ast.Call, ast.Attribute)


def _how(value: ast.expr | None) -> How:
    if isinstance(value, ast.IfExp):  # `nn.Parameter(..) if scale else None`
        arms = (_how(value.body), _how(value.orelse))
        return arms[1] if arms[0] is How.ASSIGNED else arms[0]
    if isinstance(value, ast.Call):
        return _REGISTERED_CALLS.get((dotted(value.func) or "").rpartition(".")[2], How.ASSIGNED)
    return How.ASSIGNED


def _pattern(name: ast.JoinedStr) -> re.Pattern[str]:
    parts = [
        re.escape(v.value) if isinstance(v, ast.Constant) and isinstance(v.value, str) else ".+"
        for v in name.values
    ]
    return re.compile("".join(parts))
