"""Light code generation gives the positions of LibCST's own PositionProvider."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from autolint.positions import Span, spans

# What holds the end of a file, where the two differ by a line end; no finding is about these.
EDGES = (cst.Module, cst.EmptyLine, cst.Newline, cst.TrailingWhitespace)

REPOSITORY = Path(__file__).parent.parent
SAMPLES = [
    "x = (a + (b)) ; y = f(1)(\n  2,\n)  # c\n",
    "# head\n\nif x:  # c\n\n    a = 1\n\n\n    # d\nelse: pass\n",
    '@d\n# c\n@e(1)\nasync def f(a, *, b: int = 1, **k) -> "é": return [i for i in (a)]\n',
    "try:\n  with (open('é') as f, g): \n    ü = '''a\nb'''; z\nexcept (A, B) as e:\n  raise\n",
    "match x:\n  case [1, *_] if y: pass\n  case {'a': A(b=1)} | None: z = 1\n",
    "\ufeffclass A(B, metaclass=C):\n\t'''d'''\n\n\tx: int = 1\n\n\tdef m(self): ...\n",
    "x = not (a and b) or c if (yield) else lambda q: -q ** 2; del x[1:2, ...], y.z\n",
    "\n\na\n# no line end",
]


class AllNodes(cst.CSTVisitor):
    """Collects every node."""

    def __init__(self) -> None:
        self.nodes: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.nodes.append(node)
        return True


def compare(text: str) -> int:
    wrapper = MetadataWrapper(cst.parse_module(text))
    expected = wrapper.resolve(PositionProvider)
    visitor = AllNodes()
    wrapper.module.visit(visitor)
    nodes = [node for node in visitor.nodes if node in expected and not isinstance(node, EDGES)]
    found = spans(wrapper.module, nodes)
    for node in nodes:
        place = expected[node]
        span = Span(place.start.line, place.start.column, place.end.line, place.end.column)
        assert found[id(node)] == span, (type(node).__name__, text)
    return len(nodes)


@pytest.mark.parametrize("text", SAMPLES)
def test_positions_of_every_node_equal_position_provider(text: str) -> None:
    assert compare(text) > 0


def test_positions_equal_on_our_own_modules() -> None:
    paths = sorted((REPOSITORY / "autolint").glob("*.py"))
    assert sum(compare(path.read_text("utf-8")) for path in paths) > 5_000


def test_wanting_one_node_does_not_depend_on_the_others() -> None:
    module = cst.parse_module("a = f(x)\nb = g(\n    y,\n)\n")
    call = cst.ensure_type(
        cst.ensure_type(module.body[1], cst.SimpleStatementLine).body[0], cst.Assign
    )
    assert spans(module, [call.value]) == {id(call.value): Span(2, 4, 4, 1)}


def test_a_node_of_another_module_has_no_span() -> None:
    assert spans(cst.parse_module("a\n"), [cst.Name("a")]) == {}
