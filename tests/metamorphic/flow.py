"""Rewrites of the order in which a function says what it does: loops and nested calls."""

import re

import libcst as cst

from .trees import CASE, Statement, after_docstring, outermost_functions, parse_statement


def as_while(module: cst.Module) -> cst.Module:
    """Each `for` counts through a list with `while`; a function without one runs in one that ends.

    `range` is counted without a list, as it is done by hand.
    """
    return outermost_functions(module, _counted)


def _counted(function: cst.FunctionDef, module: cst.Module) -> cst.FunctionDef:
    loops = _Loops(module)
    changed = function.visit(loops)
    assert isinstance(changed, cst.FunctionDef)
    if loops.number or not CASE.match(function.name.value):
        return changed
    lines, rest = after_docstring(changed)
    once = parse_statement("while True:\n    break\n")
    assert isinstance(once, cst.While)
    assert isinstance(once.body, cst.IndentedBlock)
    block = once.body.with_changes(body=[*rest, *once.body.body])
    return changed.with_changes(
        body=changed.body.with_changes(body=[*lines, once.with_changes(body=block)])
    )


class _Loops(cst.CSTTransformer):
    """`for` statements without an `else`, as `while`."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.number = 0
        self.generators = {
            node.name.value
            for node in module.body
            if isinstance(node, cst.FunctionDef) and "yield" in module.code_for_node(node)
        }

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[Statement]:
        if updated_node.orelse is not None or not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node
        made_by = self.module.code_for_node(updated_node.iter).partition("(")[0]
        if made_by in self.generators:
            return updated_node  # draining it first would do too early what it does between items
        self.number += 1
        counter, items = f"count_{self.number}", f"items_{self.number}"
        target = self.module.code_for_node(updated_node.target)
        source = self.module.code_for_node(updated_node.iter)
        bound = re.fullmatch(r"range\((\w+)\)", source)
        end = bound.group(1) if bound else f"len({items})"
        before = [] if bound else [f"{items} = list({source})"]
        item = counter if bound else f"{items}[{counter}]"
        loop = parse_statement(f"while {counter} < {end}:\n    pass\n")
        assert isinstance(loop, cst.While)
        body = [
            parse_statement(f"{target} = {item}"),
            parse_statement(f"{counter} += 1"),
            *updated_node.body.body,
        ]
        first, *others = [parse_statement(text) for text in (*before, f"{counter} = 0")]
        return cst.FlattenSentinel(
            [
                first.with_changes(leading_lines=updated_node.leading_lines),
                *others,
                loop.with_changes(body=updated_node.body.with_changes(body=body)),
            ]
        )


def split_assignments(module: cst.Module) -> cst.Module:
    """`x = f(g(y))` becomes `part = g(y); x = f(part)`, and `a.b().c()` likewise.

    Both stand on one line, for the marks.
    """
    return outermost_functions(module, _split)


def _split(function: cst.FunctionDef, module: cst.Module) -> cst.FunctionDef:
    changed = function.visit(_Calls(module))
    assert isinstance(changed, cst.FunctionDef)
    return changed


class _Calls(cst.CSTTransformer):
    """Takes the first call that runs inside a statement's own call out of it."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.number = 0
        self.kept: set[int] = set()

    def visit_ClassDef_body(self, node: cst.ClassDef) -> None:
        # A name in a class body would become an attribute.
        self.kept.update(id(line) for line in node.body.body)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        if id(original_node) in self.kept or len(updated_node.body) != 1:
            return updated_node
        (small,) = updated_node.body
        if not isinstance(small, cst.Assign | cst.Expr | cst.Return):
            return updated_node
        outer = small.value
        inner = _first_inner_call(outer) if isinstance(outer, cst.Call) else None
        # A mark stands at one line: over several, the parts would part from it.
        if inner is None or outer is None or "\n" in self.module.code_for_node(outer):
            return updated_node
        self.number += 1
        name = cst.Name(f"part_{self.number}")
        part = cst.Assign([cst.AssignTarget(name)], inner)
        rest = small.with_changes(value=outer.deep_replace(inner, name))
        return updated_node.with_changes(body=[part, rest])


def _first_inner_call(outer: cst.Call) -> cst.Call | None:
    """The call that runs first inside `outer`, if nothing else that could matter runs before it."""
    if isinstance(outer.func, cst.Attribute):
        if isinstance(outer.func.value, cst.Call) and not _is_super(outer.func.value):
            return outer.func.value
        return _first_argument_call(outer) if _is_path(outer.func.value) else None
    return _first_argument_call(outer) if isinstance(outer.func, cst.Name) else None


def _first_argument_call(outer: cst.Call) -> cst.Call | None:
    first = outer.args[0] if outer.args else None
    if first is None or first.star or not isinstance(first.value, cst.Call):
        return None
    return None if _is_super(first.value) else first.value


def _is_super(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == "super"


def _is_path(node: cst.BaseExpression) -> bool:
    """Whether the expression is a dotted name."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
