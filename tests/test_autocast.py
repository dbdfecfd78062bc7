"""What is saved under autocast: each claim of the model is asked of torch."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from autolint.autograd import casting, library
from autolint.autograd.casting import Autocast
from autolint.autograd.values import MAYBE, NO, YES

from .linting import Linter

ON = "torch.autocast('cpu', dtype=torch.bfloat16)"
PROGRAM = """
    import torch
    import torch.nn.functional as F
    w = torch.full((2, 2), 0.5, requires_grad=True)
    v = torch.full((2, 2), 0.5, requires_grad=True)
    image = torch.ones(1, 1, 2, 2, requires_grad=True)
    kernel = torch.ones(1, 1, 2, 2, requires_grad=True)
    with {context}:
        y = {op}
        loss = y.float().sum()
    with torch.no_grad():
        {written}.add_(1)
    loss.backward()
"""
CAST = [
    "v @ w", "torch.mm(v, w)", "torch.bmm(v[None], w[None])", "F.linear(v, w)", "v.matmul(w)",
    "torch.addmm(torch.zeros(2, 2), v, w)", "torch.inner(v, w)",
]  # fmt: skip
NOT_CAST = [
    "v * w", "v / w", "w.log()", "F.layer_norm(v, (2, 2), w)", "torch.mv(v, w[0])",
    "F.mse_loss(v, w)", "torch.outer(v[0], w[0])",
]  # fmt: skip


def _program(op: str, context: str, written: str = "w") -> str:
    return textwrap.dedent(PROGRAM.format(op=op, context=context, written=written))


def _raises(text: str) -> bool:
    """Whether torch finds a saved value changed."""
    pytest.importorskip("torch")
    names: dict[str, Any] = {}
    try:
        exec(compile(text, "program", "exec"), names)  # the program is a test's own
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return True
    return False


def _reported(text: str) -> bool:
    found = {each.code for each in Linter().check(Path("program.py"), text)}
    return not found.isdisjoint({"AG410", "AG506"})


MAYBE_SAVED = ["torch.einsum('ij,jk->ik', v, w)", "F.scaled_dot_product_attention(v, w, w)"]
"""Ops of which the table says that their arguments decide what they save."""


@pytest.mark.parametrize("op", [*CAST, *MAYBE_SAVED])
def test_what_is_cast_saves_copies(op: str) -> None:
    text = _program(op, ON)
    assert not _raises(text)
    assert not _reported(text)


@pytest.mark.parametrize("op", [*CAST, *NOT_CAST])
def test_without_autocast_the_operand_is_saved(op: str) -> None:
    text = _program(op, "torch.autocast('cpu', enabled=False)")
    assert _raises(text)
    assert _reported(text)


@pytest.mark.parametrize("op", NOT_CAST)
def test_what_is_not_cast_saves_the_operand(op: str) -> None:
    text = _program(op, ON)
    assert _raises(text)
    assert _reported(text)


def test_the_weight_of_a_convolution() -> None:
    text = _program("F.conv2d(image, kernel)", ON, "kernel")
    assert not _raises(text)
    assert not _reported(text)


@pytest.mark.parametrize(
    ("context", "raises"),
    [
        ("torch.autocast('cpu', torch.bfloat16, True)", False),
        ("torch.autocast('cpu', torch.bfloat16, False)", True),
        ("torch.amp.autocast(device_type='cpu', dtype=torch.bfloat16)", False),
        ("torch.cpu.amp.autocast(True, torch.bfloat16)", False),
        ("torch.cpu.amp.autocast(False)", True),
        (f"{ON}, torch.autocast('cpu', enabled=False)", True),
        (f"torch.autocast('cpu', enabled=False), {ON}", False),
        (f"torch.enable_grad(), {ON}", False),
    ],
)
def test_contexts(context: str, raises: bool) -> None:
    text = _program("v @ w", context)
    assert _raises(text) is raises
    assert _reported(text) is raises


@pytest.mark.parametrize(
    "context",
    [
        "make_autocast()",
        "self_amp_context",
        f"{ON} if flag else contextlib.nullcontext()",
        "torch.autocast(device, enabled=flag)",
    ],
)
def test_what_may_be_autocast_makes_the_model_silent(context: str) -> None:
    assert not _reported("import contextlib\nfrom other import *\n" + _program("v @ w", context))


def test_after_the_block_nothing_is_cast() -> None:
    text = _program("w", ON).replace("    loss = y.float().sum()", "loss = (v @ w).sum()")
    assert _raises(text)
    assert _reported(text)


def test_devices() -> None:
    on, off = Autocast("cuda", YES), Autocast("cuda", NO)
    assert on.inside(casting.OFF) == {"cuda"}
    assert Autocast("cpu", MAYBE).inside(frozenset({"cuda"})) == {"cpu", "cuda"}
    assert off.inside(frozenset({"cpu", "cuda"})) == {"cpu"}
    only_cuda = library.cast_devices("mv")
    assert only_cuda == {"cuda"}
    assert not casting.reaches(frozenset({"cpu"}), only_cuda)
    assert casting.reaches(frozenset({"cuda"}), only_cuda)
    assert casting.reaches(frozenset({""}), only_cuda)
    assert casting.reaches(frozenset({"xpu"}), only_cuda)
    assert not casting.reaches(frozenset({"", "cpu", "cuda"}), library.cast_devices("mul"))
