"""Comparing what torch shows with what a mark claims."""

import warnings

import torch

from autolint.testing import Answer

_PLAIN = (bool, int, float, complex, str, type(None))


def plain(value: object) -> object:
    """`value` with tensors as nested lists, so that it can stand beside a literal.

    Raises TypeError for what no literal can say.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().cpu().tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value) in _PLAIN:
        return value
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be written as a literal")


def describe(value: object) -> Answer:
    """What is true of a real value, in the words of the reveal mark."""
    if not isinstance(value, torch.Tensor):
        return Answer("other")
    with warnings.catch_warnings():
        # `.grad` of a non-leaf warns; here it is asked for as a fact, not by the case.
        warnings.simplefilter("ignore")
        grad_is_none = value.grad is None
    return Answer(
        "tensor",
        "grad" if value.requires_grad else "no-grad",
        "leaf" if value.is_leaf else "non-leaf",
        _kind(value.dtype),
        value.dim(),
        value.is_inference(),
        grad_is_none,
    )


def _kind(dtype: torch.dtype) -> str:
    if dtype.is_floating_point:
        return "float"
    if dtype.is_complex:
        return "complex"
    return "bool" if dtype is torch.bool else "int"


def contradictions(claim: Answer, truth: Answer) -> list[str]:
    """The definite words of `claim` that are not true; what is left open contradicts nothing."""
    if claim.tensor == "maybe-tensor" and truth.tensor == "other":
        return []
    pairs = [
        (claim.tensor, truth.tensor),
        (claim.grad, truth.grad),
        (claim.leaf, truth.leaf),
        (claim.kind, truth.kind),
    ]
    wrong = [
        word
        for word, actual in pairs
        if word and not word.startswith("maybe-") and word != "any" and word != actual
    ]
    wrong += [f"rank={claim.rank}"] if claim.rank not in (None, truth.rank) else []
    wrong += ["inference"] if claim.inference and not truth.inference else []
    wrong += ["grad-is-none"] if claim.grad_is_none and not truth.grad_is_none else []
    return wrong
