"""A result that is dropped, or a method that is named but not called.

`detach`, `to`, `float`, `clamp` and most other operations leave their tensor as it is and return
another one: as a statement of its own such a call does nothing. The tensor stays in the graph, on
its device and in its dtype, and what follows goes on with the old one; nothing raises. Modules
are different: `module.to(device)` moves the module itself. A method without its parentheses
(`optimizer.step`, `optimizer.zero_grad`, `loss.backward`, `x.requires_grad_`) is only looked up:
no step is taken, no gradient cleared or computed.

Bad:

    x.to(device)
    loss.backward()
    optimizer.step

Good:

    x = x.to(device)
    loss.backward()
    optimizer.step()

Not reported: modules that are moved or cast; methods whose name ends with `_`; a receiver that is
not known to be a tensor; `out=` and `inplace=True`; results that a call has just made, dropped as
a warm-up (`torch.zeros(1).cuda()`); a check of whether something raises (`try`, `pytest.raises`,
`x.expand_as(y)`); `loss.item()` as a barrier.

Fix: `x = x.to(device)`; `()` behind the method.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autolint.api import Discarded, Edit, Finding, Fix, Grade, Rule, Severity, Tensor, Tri

RULE = Rule(__name__, __doc__, code="AG113", severity=Severity.ERROR)

_TORCH_ONLY = frozenset({"zero_grad", "backward"})
_BY_KIND = {
    "tensor": frozenset({"backward", "requires_grad_", "retain_grad", "detach_", "zero_"}),
    "module": frozenset(
        {"train", "eval", "zero_grad", "requires_grad_", "to", "cuda", "cpu", "half", "float"}
    ),
    "optimizer": frozenset({"step", "zero_grad"}),
    "scheduler": frozenset({"step"}),
    "scaler": frozenset({"update"}),
}
"""What is called for its effect, by the kind of the receiver."""


@RULE.on(Discarded)
def check(dropped: Discarded) -> Iterator[Finding]:
    """A dropped call needs a proven tensor; a method without call is no statement at all."""
    if dropped.trial:
        return  # Whether it raises is what is asked.
    name, receiver = dropped.operation, dropped.receiver_node
    written = dropped.site._replace(node=receiver).text
    if dropped.called:
        if dropped.kind != "tensor" or dropped.grade is Grade.NAMED:
            return  # A module is moved in place; others may have such methods that do something.
        message = f"the result of `{name}` is dropped and `{written}` stays as it was"
        yield Finding(
            dropped.site,
            f"{message}; write `{written} = {dropped.site.text}`"
            if isinstance(receiver, (cst.Name, cst.Attribute, cst.Subscript))
            else f"{message}; give the result a name",
            fix=_rebind(dropped, written),
            fault=dropped.site,
        )
        return
    acts = name in _BY_KIND.get(dropped.kind, _TORCH_ONLY)
    if not acts and dropped.kind != "tensor":
        return  # An attribute of something unknown may be a property.
    fix = Fix("call it", (Edit("append", dropped.site.node, "()"),), safe=True)
    yield Finding(
        dropped.site,
        f"`{dropped.site.text}` is named but not called, so nothing happens; "
        + ("add `()`" if acts else f"write `{written} = {dropped.site.text}()`"),
        fix=fix if acts and name != "to" else None,
        fault=dropped.site,
    )


def _rebind(dropped: Discarded, written: str) -> Fix | None:
    """`x = x.to(...)`, where that reaches those who read `x` afterwards and may be assigned."""
    call, receiver = dropped.site.node, dropped.receiver_node
    if not isinstance(call, cst.Call) or not isinstance(receiver, (cst.Name, cst.Attribute)):
        return None
    if call.lpar or dropped.site.unit.indent or not dropped.local:
        return None  # An assignment would make a name of another scope local.
    if isinstance(receiver, cst.Attribute) and receiver.attr.value in ("data", "grad"):
        return None  # A new memory under the same tensor is something else.
    tensor = dropped.receiver
    parameter = isinstance(tensor, Tensor) and tensor.state.parameter is not Tri.NO
    if isinstance(receiver, cst.Attribute) and parameter:
        return None  # A module refuses a plain tensor in the place of its parameter.
    if dropped.loops:
        target = getattr(dropped.loops[-1].loop.statement, "target", None)
        if isinstance(target, cst.Name) and target.value == written:
            return None  # The loop's name is rebound in the next iteration anyway.
    function = call.func
    if isinstance(function, cst.Attribute) and function.value is receiver:
        edit = Edit("replace", receiver, f"{written} = {written}")
    else:
        name = dropped.site._replace(node=function).text
        edit = Edit("replace", function, f"{written} = {name}")
    return Fix("keep the result", (edit,), safe=True)
