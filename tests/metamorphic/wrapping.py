"""Rewrites that put statements somewhere else: under a `with` or an `if`, or into a helper."""

import re

import libcst as cst

from .trees import (
    CASE,
    Statement,
    after_docstring,
    definitions,
    is_text,
    needed,
    outermost_functions,
    parse_statement,
)

GRAD_MODES = re.compile(r"no_grad|enable_grad|inference_mode|set_grad_enabled|grad_mode")


def under_with(module: cst.Module) -> cst.Module:
    """Each simple statement of each function stands in a `with nullcontext()` of its own.

    In cases that no grad mode concerns it is `torch.enable_grad()`, the mode they run in.
    """
    text = definitions(module.code)
    needs = needed(text)

    def change(function: cst.FunctionDef, module: cst.Module) -> cst.FunctionDef:
        name = function.name.value
        recorded = CASE.match(name) and not any(
            GRAD_MODES.search(text[related]) for related in (name, *needs[name])
        )
        context = "torch.enable_grad()" if recorded else "contextlib.nullcontext()"
        return _wrapped(function, f"with {context}:\n    pass\n")

    return _with_import(outermost_functions(module, change), "import contextlib")


def under_if(module: cst.Module) -> cst.Module:
    """Each simple statement of each function stands under an `if True` of its own."""
    return outermost_functions(
        module, lambda function, _: _wrapped(function, "if True:\n    pass\n")
    )


def _wrapped(function: cst.FunctionDef, header: str) -> cst.FunctionDef:
    class Wrap(cst.CSTTransformer):
        def visit_ClassDef(self, node: cst.ClassDef) -> bool:
            return False

        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Statement:
            if not _movable(original_node):
                return updated_node
            compound = parse_statement(header)
            body = updated_node.with_changes(leading_lines=())
            return compound.with_changes(
                body=cst.IndentedBlock([body]), leading_lines=updated_node.leading_lines
            )

    wrapped = function.visit(Wrap())
    assert isinstance(wrapped, cst.FunctionDef)
    return wrapped


def _movable(line: cst.SimpleStatementLine) -> bool:
    fixed = cst.Global | cst.Nonlocal | cst.Import | cst.ImportFrom | cst.Pass
    return not any(isinstance(small, fixed) for small in line.body) and not is_text(line)


def _with_import(module: cst.Module, line: str) -> cst.Module:
    """The module with one more import, after its docstring and `__future__`."""
    position = next(
        index
        for index, statement in enumerate(module.body)
        if not is_text(statement) and "__future__" not in module.code_for_node(statement)
    )
    body = [*module.body[:position], parse_statement(line), *module.body[position:]]
    return module.with_changes(body=body)


def into_helper(module: cst.Module) -> cst.Module:
    """The body of each case becomes a function inside it, called with the device."""

    def change(function: cst.FunctionDef, module: cst.Module) -> cst.FunctionDef:
        if not CASE.match(function.name.value):
            return function
        code = module.code_for_node(function)
        observed = re.search(r"# observe: .*", code)
        lines, rest = after_docstring(function)
        moved = function.with_changes(
            name=cst.Name("moved"), body=function.body.with_changes(body=rest), leading_lines=()
        ).visit(_WithoutObserve())
        call = parse_statement(f"return moved(device)  {observed.group() if observed else ''}\n")
        return function.with_changes(body=function.body.with_changes(body=[*lines, moved, call]))

    return outermost_functions(module, change)


class _WithoutObserve(cst.CSTTransformer):
    """Takes `observe` marks away: the value is the case's, not the inner function's."""

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        return updated_node.with_changes(
            value=re.sub(r"# observe: .*", "# (returned)", updated_node.value)
        )
