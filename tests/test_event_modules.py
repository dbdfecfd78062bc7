"""Events of modules and their classes, and of the losses that are given what modules make."""

from __future__ import annotations

import pytest

from autolint.autograd.values import GradMode
from autolint.interpreter.events import ClassDecorated, LossApplied

from .running import line, run

# ---------------------------------------------------------------------- grad modes on classes


@pytest.mark.parametrize(
    ("decorator", "mode"),
    [
        ("torch.no_grad()", GradMode.OFF),
        ("torch.no_grad", GradMode.OFF),
        ("torch.enable_grad()", GradMode.ON),
        ("torch.inference_mode()", GradMode.INFERENCE),
        ("torch.set_grad_enabled(False)", GradMode.OFF),
    ],
)
def test_a_grad_mode_on_a_class(decorator: str, mode: GradMode) -> None:
    event = run(f"@{decorator}\nclass A:\n    pass\nreveal(1)").one(ClassDecorated)
    assert (line(event.site), event.class_name, event.set_mode) == (1, "A", mode)
    assert event.mode is GradMode.ON


@pytest.mark.parametrize(
    "decorator", ["torch.jit.script", "f()", "torch.no_grad()\ndef f(): ...\n@f"]
)
def test_other_decorators_set_no_mode(decorator: str) -> None:
    assert run(f"@{decorator}\nclass A:\n    pass").of(ClassDecorated) == []


# ---------------------------------------------------------------------- losses


LOSSES = """
import torch.nn.functional as F
def f(z, t):
    {line}
"""


@pytest.mark.parametrize(
    ("text", "loss", "activation", "before"),
    [
        ("F.cross_entropy(F.softmax(z, dim=1), t)", "cross_entropy", "softmax", None),
        (
            "F.cross_entropy(input=F.softmax(z, 1).float(), target=t)",
            "cross_entropy",
            "softmax",
            None,
        ),
        (
            "nn.BCEWithLogitsLoss()(torch.sigmoid(z).squeeze(1), t)",
            "BCEWithLogitsLoss",
            "sigmoid",
            None,
        ),
        ("nn.NLLLoss()(torch.log(nn.Softmax(1)(z)), t)", "NLLLoss", "log", "Softmax"),
        ("F.binary_cross_entropy(nn.Linear(2, 2)(z), t)", "binary_cross_entropy", "Linear", None),
    ],
)
def test_the_last_operation_before_a_loss(
    text: str, loss: str, activation: str, before: str | None
) -> None:
    program = LOSSES.format(line=text + ".backward()")
    [event] = run(program).of(LossApplied)
    assert (event.loss, event.activation, event.before) == (loss, activation, before)
    assert line(event.site) == line(event.made) == 3


@pytest.mark.parametrize(
    "text",
    [
        "F.cross_entropy(z, F.softmax(t, dim=1))",
        "F.cross_entropy(g(F.softmax(z, 1)), t)",
        "F.cross_entropy(F.softmax(z, 1) if c() else z, t)",
        "F.mse_loss(F.softmax(z, 1), t)",
    ],
)
def test_an_unknown_prediction_gives_no_event(text: str) -> None:
    assert run(LOSSES.format(line=text + ".backward()")).of(LossApplied) == []
