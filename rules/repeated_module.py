"""List of one layer is multiplied, so that all layers of the container are one and the same.

`[layer] * n` holds one object n times. In `nn.ModuleList` or `nn.Sequential` it looks like a stack
of n layers, and forward runs n of them, but there is one set of weights: the model has an n-th of
the parameters it should have, and every use adds to the same gradient. Nothing raises; `state_dict`
even lists the weights n times.

Bad:

    self.layers = nn.ModuleList([Block(dim)] * depth)

Good:

    self.layers = nn.ModuleList([Block(dim) for _ in range(depth)])

An error where the layer is built inside the list, a warning where it has a name.

Not reported: layers without parameters; a layer that is an attribute, whose weights are meant to be
shared; lists that become no container of modules; `[layer] * 1`.

Fix (offered, since it changes the number of parameters): a comprehension, where the layer is built
inside the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from autolint.api import Because, Edit, Finding, Fix, LayersRepeated, Rule, Severity

_SHARED = re.compile(r"shar|tie|same|common", re.IGNORECASE)

RULE = Rule(__name__, __doc__, code="AG312", severity=Severity.ERROR)


@RULE.on(LayersRepeated)
def check(repeated: LayersRepeated) -> Iterator[Finding]:
    """A container that holds one layer several times, because of `*`."""
    node = repeated.site.node
    if not isinstance(node, cst.BinaryOperation):
        return
    elements, times = _elements(node)
    if any(isinstance(element, cst.Attribute) for element in elements):
        return  # It is registered under a name of its own: sharing it is plain to see.
    if any(_SHARED.search(text) for text in _texts(repeated)):
        return  # A name or a test says that the layers are meant to share their weights.
    built_inside = any(isinstance(element, cst.Call) for element in elements)
    made = repeated.made
    because = () if built_inside or made is None else (Because(made, "the only layer is here"),)
    yield Finding(
        repeated.site,
        f"`{repeated.site.text}` is one layer several times, with one set of weights; "
        f"build one for each place in the `{repeated.container}`",
        because=because,
        fix=_fix(node, elements, times, repeated),
        severity=Severity.ERROR if built_inside else Severity.WARNING,
        fault=repeated.site,
    )


def _texts(repeated: LayersRepeated) -> Iterator[str]:
    """What tells of the intent: the element and the tests around it."""
    yield repeated.site.text
    yield from (guard.test.text for guard in repeated.guards)


def _elements(
    node: cst.BinaryOperation,
) -> tuple[list[cst.BaseExpression], cst.BaseExpression]:
    """The elements of the list that is multiplied, and the factor."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, (cst.List, cst.Tuple)):
            return [element.value for element in side.elements], other
    return [], node.right


def _fix(
    node: cst.BinaryOperation,
    elements: list[cst.BaseExpression],
    times: cst.BaseExpression,
    repeated: LayersRepeated,
) -> Fix | None:
    """A comprehension builds the layer anew for each place."""
    if len(elements) != 1 or not isinstance(elements[0], cst.Call) or node.lpar:
        return None
    code = repeated.site.unit.module.code_for_node
    text = f"[{code(elements[0])} for _ in range({code(times)})]"
    if "\n" in text or repeated.scope.name == "<module>":
        return None  # In the body of a class a comprehension does not see its names.
    return Fix("build each layer", (Edit("replace", node, text),), safe=False)
