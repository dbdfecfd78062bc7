"""What is known of a value, in the words of the `# reveal:` mark."""

from __future__ import annotations

from autolint.autograd.tensor import Tensor
from autolint.autograd.values import MAYBE, NO, YES, Unknown, Value, resolve

_GRAD = {YES: "grad", NO: "no-grad", MAYBE: "maybe-grad"}
_LEAF = {YES: "leaf", NO: "non-leaf", MAYBE: "maybe-leaf"}


def describe(value: Value) -> str:
    """The model's answer in the words of the `# reveal:` mark."""
    value = resolve(value)
    if isinstance(value, Unknown):
        return "maybe-tensor maybe-grad maybe-leaf any"
    if not isinstance(value, Tensor) or value.tensor is NO:
        return "other"
    state = value.state
    words = [
        "tensor" if value.tensor is YES else "maybe-tensor",
        _GRAD[state.requires_grad],
        _LEAF[state.leaf],
        state.kind.value,
    ]
    if state.rank is not None:
        words.append(f"rank={state.rank}")
    if state.inference is YES:
        words.append("inference")
    if state.cleared and state.absent is YES:
        words.append("grad-is-none")
    return " ".join(words)
