"""Rewrites of names: imports and local variables."""

import ast
from collections.abc import Iterator

import libcst as cst

from .trees import outermost_functions


def alias_imports(module: cst.Module) -> cst.Module:
    """`import torch` becomes `import torch as torch_1`, and so on for all of torch; uses follow."""
    bound = [name for node in ast.walk(ast.parse(module.code)) for name in _bound_names(node)]
    names: dict[str, str] = {}

    class Imports(cst.CSTTransformer):
        def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
            return False

        def leave_ImportAlias(
            self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias
        ) -> cst.ImportAlias:
            path = module.code_for_node(original_node.name)
            name = path if original_node.asname is None else _name_of(original_node.asname)
            # A dotted import binds its first part, which has no alias; names bound twice stay.
            if not self.of_torch(path) or "." in name or bound.count(name) > 1:
                return updated_node
            names[name] = f"{name}_1"
            return updated_node.with_changes(asname=cst.AsName(cst.Name(names[name]), *_spaces()))

        def of_torch(self, path: str) -> bool:
            return self.source == "torch" or path.partition(".")[0] == "torch"

        source = ""

        def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
            source = "" if node.module is None else module.code_for_node(node.module)
            self.source = source.partition(".")[0]

        def leave_ImportFrom(
            self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
        ) -> cst.ImportFrom:
            self.source = ""
            return updated_node

    return module.visit(Imports()).visit(_Rename(names))


def _spaces() -> tuple[cst.SimpleWhitespace, cst.SimpleWhitespace]:
    return cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" ")


def _name_of(asname: cst.AsName) -> str:
    assert isinstance(asname.name, cst.Name)
    return asname.name.value


class _Rename(cst.CSTTransformer):
    """Names that stand for variables, not attributes, keywords or imported names."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.kept: set[int] = set()

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self.kept.add(id(node.attr))

    def visit_Arg_keyword(self, node: cst.Arg) -> None:
        self.kept.add(id(node.keyword))

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if id(original_node) in self.kept or original_node.value not in self.names:
            return updated_node
        return updated_node.with_changes(value=self.names[original_node.value])


def _bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds, in whatever scope."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
        yield node.name or ""
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names


def rename_locals(module: cst.Module) -> cst.Module:
    """Each local variable of each function gets a name that says nothing."""
    return outermost_functions(module, _renamed)


def _renamed(function: cst.FunctionDef, module: cst.Module) -> cst.FunctionDef:
    tree = ast.parse(module.code_for_node(function).strip())
    stored: dict[str, None] = {}
    kept = {"_"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] = None
        else:
            # Parameters may be passed by keyword; functions, classes and imports are no variables.
            kept.update(_bound_names(node))
        if isinstance(node, ast.ClassDef):
            kept.update(
                name
                for statement in node.body
                if not isinstance(statement, ast.FunctionDef)
                for inner in ast.walk(statement)
                for name in _bound_names(inner)
            )
    names = [name for name in stored if name not in kept]
    new = {name: f"v{number}" for number, name in enumerate(names, 1)}
    renamed = function.visit(_Rename(new))
    assert isinstance(renamed, cst.FunctionDef)
    return renamed
