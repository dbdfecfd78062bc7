"""What the rewrites share: walking over functions, and which definition uses which."""

import ast
import re
from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

Statement: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement

CASE = re.compile(r"(bad|good)_")


def parse_statement(text: str) -> Statement:
    """A statement, indented as the file will have it."""
    return cst.parse_statement(text)


def outermost_functions(
    module: cst.Module, change: Callable[[cst.FunctionDef, cst.Module], cst.FunctionDef]
) -> cst.Module:
    class Functions(cst.CSTTransformer):
        def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
            return False

        def leave_FunctionDef(
            self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
        ) -> cst.FunctionDef:
            return change(original_node, module)

    return module.visit(Functions())


def is_text(line: cst.CSTNode) -> bool:
    """Whether the statement is a docstring or `...`."""
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, cst.BaseString | cst.Ellipsis)
    )


def after_docstring(
    function: cst.FunctionDef,
) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]]:
    """The docstring as a list of at most one statement, and the other statements."""
    assert isinstance(function.body, cst.IndentedBlock)
    body = list(function.body.body)
    first = 1 if is_text(body[0]) and len(body) > 1 else 0
    return body[:first], body[first:]


def definitions(source: str) -> dict[str, str]:
    """The text of the functions and classes of a module, by name."""
    lines = source.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def needed(defined: dict[str, str]) -> dict[str, set[str]]:
    """For each definition the others that it needs, directly or not."""
    words = {name: set(re.findall(r"\w+", text)) for name, text in defined.items()}
    direct = {name: (words[name] & defined.keys()) - {name} for name in defined}
    return {name: _reached(name, direct) for name in defined}


def _reached(name: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        news = direct[pending.pop()] - found - {name}
        found |= news
        pending.extend(news)
    return found
