"""The literals that `# observe:` marks hold, and their equality."""

import ast
import math


def literal(text: str) -> object:
    """The value of a Python literal in which `nan` and `inf` may stand.

    Raises ValueError or SyntaxError for anything else.
    """

    class Named(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in ("nan", "inf"):
                raise ValueError(f"{node.id!r} is no literal")
            return ast.copy_location(ast.Constant(float(node.id)), node)

    return ast.literal_eval(Named().visit(ast.parse(text.strip(), mode="eval")))


def same(left: object, right: object) -> bool:
    """Equality of plain values in which nan equals nan, and 1, 1.0 and True differ."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return left == right
