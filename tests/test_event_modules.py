"""Events of modules and their classes, and of the losses that are given what modules make."""

from __future__ import annotations

import pytest

from autolint.autograd.values import MAYBE, NO, YES, GradMode, Tri
from autolint.interpreter.events import (
    ClassDecorated,
    FreshLayerCalled,
    FunctionalDropout,
    InitMissing,
    LayersRepeated,
    LossApplied,
    PartsHidden,
    PartTooEarly,
)

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


# ---------------------------------------------------------------------- repeated layers


@pytest.mark.parametrize(
    ("program", "container"),
    [
        ("nn.ModuleList([nn.Linear(1, 1)] * n)", "ModuleList"),
        ("nn.Sequential(*[nn.Linear(1, 1)] * 3)", "Sequential"),
        ("nn.Sequential(*3 * [nn.Linear(1, 1)])", "Sequential"),
        ("nn.ModuleList([nn.ReLU(), nn.Linear(1, 1)] * 2)", "ModuleList"),
    ],
)
def test_a_container_of_a_multiplied_list(program: str, container: str) -> None:
    event = run(program).one(LayersRepeated)
    assert event.made is not None
    assert (event.container, event.made.text) == (container, "nn.Linear(1, 1)")
    assert "*" in event.site.text


@pytest.mark.parametrize(
    "program",
    [
        "nn.ModuleList([nn.Linear(1, 1)] * 1)",
        "nn.ModuleList([nn.ReLU()] * 2)",
        "layers = [nn.Linear(1, 1)] * 2",
        "layer = nn.Linear(1, 1)\nnn.ModuleList([layer, layer] + [1] * n)",
    ],
)
def test_no_layer_is_repeated(program: str) -> None:
    assert run(program + "\n[x] * 2, nn.ModuleList").of(LayersRepeated) == []


# ---------------------------------------------------------------------- forward


FORWARD = """
import torch.nn.functional as F
class Base(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p
    def helper(net, x):
        return {helper}
    def forward(self, x):
        {line}
"""


def forward(line: str, helper: str = "x") -> str:
    return FORWARD.format(line=line, helper=helper)


@pytest.mark.parametrize(
    ("program", "layer", "parameters", "asked"),
    [
        (forward("return nn.Linear(2, 2)(x)"), "Linear", YES, False),
        (forward("return nn.BatchNorm1d(2, affine=self.a)(x)"), "BatchNorm1d", MAYBE, False),
        (forward("return nn.Dropout(0.1)(x)"), "Dropout", NO, False),
        (forward("self.training\n        return nn.Dropout(0.1)(x)"), "Dropout", NO, True),
        (forward("return self.helper(x)", "nn.PReLU()(x)"), "PReLU", YES, False),
        (forward("return self.helper(x)(x)", "nn.PReLU()"), "PReLU", YES, False),
    ],
)
def test_a_layer_that_lives_for_one_forward(
    program: str, layer: str, parameters: Tri, asked: bool
) -> None:
    event = run(program).one(FreshLayerCalled)
    assert (event.layer, event.parameters, event.asked) == (layer, parameters, asked)
    assert event.training_matters is (layer != "Linear" and layer != "PReLU")
    assert event.probability == (0.1 if layer == "Dropout" else None)


@pytest.mark.parametrize(
    "line",
    [
        "return nn.ReLU()(x)",
        "self.l = nn.Linear(2, 2)\n        return self.l(x)",
        "self.m = {'a': nn.Linear(2, 2)}\n        return self.m['a'](x)",
        "l = nn.Linear(2, 2)\n        l.weight.data.fill_(1)\n        return l(x)",
        "l = nn.Linear(2, 2)\n        f(l)\n        return l(x)",
        "return nn.Linear(2, 2).eval()(x)",
    ],
)
def test_a_layer_that_is_kept_or_set_up_by_hand(line: str) -> None:
    assert run(forward(line)).of(FreshLayerCalled) == []


@pytest.mark.parametrize(
    ("call", "operation", "switch", "probability"),
    [
        ("F.dropout(x)", "dropout", "training", 0.5),
        ("F.dropout2d(x, 0.1, True)", "dropout2d", "training", 0.1),
        ("torch.dropout(x, self.p, train=True)", "dropout", "train", None),
        ("F.alpha_dropout(x, training=True)", "alpha_dropout", "training", 0.5),
        (
            "F.scaled_dot_product_attention(x, x, x, dropout_p=0.2)",
            "scaled_dot_product_attention",
            "dropout_p",
            0.2,
        ),
    ],
)
def test_functional_dropout(call: str, operation: str, switch: str, probability: object) -> None:
    event = run(forward(f"return {call}")).one(FunctionalDropout)
    assert (event.operation, event.switch, event.receiver) == (operation, switch, "self")
    assert (event.probability, event.asked) == (probability, False)
    assert (event.training is None) is (call == "F.dropout(x)")


def test_functional_dropout_in_a_method_names_its_module() -> None:
    event = run(forward("return self.helper(x)", "F.dropout(x)")).one(FunctionalDropout)
    assert (event.receiver, line(event.site)) == ("net", 7)


def test_who_asks_for_the_mode_asks_for_all_that_called_it() -> None:
    body = "self.helper(x)\n        return F.dropout(x, training=True)"
    assert run(forward(body, "net.training")).one(FunctionalDropout).asked


@pytest.mark.parametrize("call", ["F.alpha_dropout(x)", "self.dropout(x)", "F.dropout(*x)"])
def test_what_is_off_or_unknown_is_no_functional_dropout(call: str) -> None:
    assert run(forward(f"return {call}")).of(FunctionalDropout) == []


HIDDEN = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.kept = nn.ModuleList([nn.Linear(2, 2)])
M()
"""


def test_parts_in_a_plain_list_are_told_with_their_place() -> None:
    [event] = run(HIDDEN, PartsHidden).events
    assert isinstance(event, PartsHidden)
    assert event.name == "plain"
    assert event.stored.text == "self.plain"
    assert len(event.parts) == 2


def test_a_part_before_the_constructor_and_a_constructor_that_lacks() -> None:
    early = HIDDEN.replace(
        "super().__init__()", "self.a = nn.Linear(2, 2)\n        super().__init__()"
    )
    [event] = run(early, PartTooEarly).events
    assert isinstance(event, PartTooEarly)
    assert event.name == "a"
    assert not run(HIDDEN, PartTooEarly).events
    lacking = (
        "class N(nn.Module):\n    def __init__(self):\n        self.n = 3\n"
        "    def forward(self, x):\n        return x\nN()\n"
    )
    [missing] = run(lacking, InitMissing).events
    assert isinstance(missing, InitMissing)
    assert missing.only_module
    assert missing.built_at.text == "N()"
    assert not run(HIDDEN, InitMissing).events
