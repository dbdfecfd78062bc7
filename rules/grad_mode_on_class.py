"""`@torch.no_grad()` stands on a class, where it covers nothing but the construction.

The decorator is made for functions. Put on a class it returns a function that builds an instance
with recording switched off; the methods, `forward` among them, run as before and record. The name
is no class any more, so `isinstance(x, Model)` and `class Other(Model)` raise a TypeError, and
torch warns that decorating classes is deprecated. The same holds of `enable_grad`,
`inference_mode` and `set_grad_enabled`.

Bad:

    @torch.no_grad()
    class Teacher(nn.Module):
        def forward(self, x):
            return self.net(x)

Good:

    class Teacher(nn.Module):
        @torch.no_grad()
        def forward(self, x):
            return self.net(x)

Not reported: the decorator on a function or method, and any other decorator of a class.

Fix (offered, since forward then records nothing any more): the decorator moves to `forward`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import ClassDecorated, Edit, Finding, Fix, Rule, Severity

RULE = Rule(__name__, __doc__, code="AG116", severity=Severity.ERROR)


@RULE.on(ClassDecorated)
def check(decorated: ClassDecorated) -> Iterator[Finding]:
    """Whatever the mode, its decorator does nothing for the methods of a class."""
    node, module = decorated.site.node, decorated.site.unit.module
    assert isinstance(node, cst.Decorator)
    text = " ".join(module.code_for_node(node.decorator).split())
    yield Finding(
        decorated.site,
        f"`{text}` covers the construction of `{decorated.class_name}` only and makes a function "
        "of the class; decorate its methods",
        fix=_fix(decorated.site.statement, node, module),
    )


def _fix(statement: cst.CSTNode, decorator: cst.Decorator, module: cst.Module) -> Fix | None:
    """Move the decorator to `forward`, where it is the class's only one."""
    if not isinstance(statement, cst.ClassDef) or len(statement.decorators) != 1:
        return None
    if statement.lines_after_decorators or not isinstance(statement.body, cst.IndentedBlock):
        return None
    forward = [
        each
        for each in statement.body.body
        if isinstance(each, cst.FunctionDef) and each.name.value == "forward"
    ]
    text = module.code_for_node(decorator.decorator)
    if len(forward) != 1 or forward[0].decorators or "\n" in text:
        return None
    edits = (
        Edit("replace", decorator, "class ", until=statement.name),
        Edit("insert_before", forward[0], f"@{text}"),
    )
    return Fix("decorate `forward`", edits, safe=False)
