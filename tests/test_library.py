"""Library knowledge: lookups without torch, and the committed tables against torch."""

from __future__ import annotations

from typing import Any

import pytest

from autolint.autograd import factories, layers, library
from autolint.autograd.layers import PARAMETERS, LayerFacts
from autolint.autograd.op_facts import Alias
from autolint.autograd.values import MAYBE, NO, YES, GradMode, Kind, Tri


def layer(name: str) -> LayerFacts:
    facts = layers.layer(name)
    assert facts is not None, name
    return facts


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.module.Module", "torch.nn.Module"),
        ("torch.nn.modules.Conv2d", "torch.nn.Conv2d"),
        ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
        ("torch.nn.parameter.Buffer", "torch.nn.Buffer"),
        ("torch.autograd.grad_mode.no_grad", "torch.no_grad"),
        ("torch.autograd.no_grad", "torch.no_grad"),
        ("torch.autograd.function.Function", "torch.autograd.Function"),
        ("torch.autograd.variable.Variable", "torch.autograd.Variable"),
        ("torch.optim.adam.Adam", "torch.optim.Adam"),
        ("torch.optim.optimizer.Optimizer", "torch.optim.Optimizer"),
        ("torch.GradScaler", "torch.amp.GradScaler"),
        ("torch.autocast", "torch.amp.autocast"),
        ("torch.nn.utils.clip_grad.clip_grad_norm_", "torch.nn.utils.clip_grad_norm_"),
        ("torch.utils.data.dataloader.DataLoader", "torch.utils.data.DataLoader"),
        ("torch.functional.einsum", "torch.einsum"),
        ("torch.nn.Linear", "torch.nn.Linear"),
        ("torch.nn.functional.relu", "torch.nn.functional.relu"),
        ("numpy.linalg.norm", "numpy.linalg.norm"),
    ],
)
def test_one_name_for_each_thing(alias: str, name: str) -> None:
    assert library.canonical(alias) == name


def test_whether_a_layer_has_parameters_depends_on_how_it_is_built() -> None:
    assert layer("torch.nn.Linear").has_parameters({"bias": False}) is YES
    assert layer("torch.nn.BatchNorm2d").has_parameters({}) is YES
    assert layer("torch.nn.BatchNorm2d").has_parameters({"affine": False}) is NO
    assert layer("torch.nn.BatchNorm2d").has_parameters({"affine": None}) is MAYBE
    assert layer("torch.nn.BatchNorm2d").has_buffers({"track_running_stats": False}) is NO
    assert layer("torch.nn.LayerNorm").has_parameters({"elementwise_affine": False}) is NO
    assert layer("torch.nn.InstanceNorm2d").has_parameters({}) is NO
    assert layer("torch.nn.InstanceNorm2d").has_parameters({"affine": True}) is YES
    assert layer("torch.nn.ReLU").has_parameters({}) is NO
    assert layer("torch.nn.LazyLinear").has_parameters({}) is YES


def test_what_a_layer_saves() -> None:
    linear = layer("torch.nn.Linear")
    assert linear.inputs.when({PARAMETERS: YES}) == {1: YES}
    assert linear.inputs.when({1: YES}) == {PARAMETERS: YES}
    assert layer("torch.nn.ReLU").results.when({1: YES}) == {0: YES}
    assert layer("torch.nn.GELU").inputs.when({1: YES}) == {1: YES}
    assert layer("torch.nn.Dropout").inputs.when({1: YES}) == {}


def test_what_a_layer_returns() -> None:
    assert layer("torch.nn.LSTM").outputs > 1
    assert layer("torch.nn.MultiheadAttention").outputs == 2
    assert layer("torch.nn.Identity").alias is Alias.SAME
    assert layer("torch.nn.Flatten").alias is not Alias.FRESH
    assert layer("torch.nn.Dropout").training_matters
    assert layer("torch.nn.BatchNorm1d").training_matters
    assert not layer("torch.nn.Linear").training_matters
    assert layer("torch.nn.Sequential").is_container
    assert not layer("torch.nn.Conv2d").is_container


def test_losses_are_scalar_unless_unreduced() -> None:
    loss = layer("torch.nn.MSELoss")
    assert loss.is_loss
    assert loss.calls["reduced"].rank == "0"
    assert loss.calls["unreduced"].rank == "same"
    facts = library.loss("torch.nn.functional.cross_entropy")
    assert facts is not None
    assert (facts.reduction_at, facts.reduction) == (6, "mean")
    assert library.loss("torch.nn.functional.relu") is None


def test_optimizers_schedulers_scalers() -> None:
    assert library.is_optimizer("torch.optim.SGD")
    assert library.is_optimizer("torch.optim.adamw.AdamW")
    assert not library.is_optimizer("torch.optim.lr_scheduler.StepLR")
    assert library.needs_closure("torch.optim.LBFGS")
    assert not library.needs_closure("torch.optim.SGD")
    assert library.is_scheduler("torch.optim.lr_scheduler.ReduceLROnPlateau")
    assert library.is_scheduler("torch.optim.lr_scheduler._LRScheduler")
    assert library.is_scheduler("torch.optim.swa_utils.SWALR")
    assert library.is_scaler("torch.cuda.amp.GradScaler")
    assert library.is_scaler("torch.amp.grad_scaler.GradScaler")
    assert library.is_autocast("torch.autocast")
    assert not library.is_scaler("torch.autocast")


def test_grad_modes() -> None:
    off = library.grad_mode("torch.autograd.no_grad")
    assert off is not None
    assert off.default is GradMode.OFF
    chosen = library.grad_mode("torch.set_grad_enabled")
    assert chosen is not None
    assert (chosen.default, chosen.when_true) == (None, GradMode.ON)
    assert chosen.when_false is GradMode.OFF
    inference = library.grad_mode("torch.inference_mode")
    assert inference is not None
    assert inference.default is GradMode.INFERENCE
    assert inference.when_false is GradMode.ON, "it switches recording on even inside no_grad"
    assert library.grad_mode("torch.autocast") is None


def test_dtypes() -> None:
    assert library.dtype_kind("torch.long") is Kind.INT
    assert library.dtype_kind("torch.bfloat16") is Kind.FLOAT
    assert library.dtype_kind("torch.bool") is Kind.BOOL
    assert library.dtype_kind("float") is Kind.FLOAT
    assert library.dtype_kind("torch.nn.Linear") is None


def test_initializers_and_functions_without_a_tensor() -> None:
    assert library.is_initializer("torch.nn.init.xavier_uniform_")
    assert not library.is_initializer("torch.nn.init.calculate_gain")
    assert library.is_utility("torch.nn.utils.clip_grad_norm_")
    assert library.returns_no_tensor("torch.save")
    assert library.returns_no_tensor("torch.is_grad_enabled")
    assert not library.returns_no_tensor("torch.zeros")


def test_factories() -> None:
    zeros, full = factories.factory("torch.zeros"), factories.factory("torch.full")
    tensor, like = factories.factory("torch.tensor"), factories.factory("torch.zeros_like")
    arange, new = factories.factory("torch.arange"), factories.factory_method("new_full")
    assert zeros is not None
    assert full is not None
    assert tensor is not None
    assert like is not None
    assert arange is not None
    assert new is not None
    assert zeros.result_kind({0: Kind.INT}) is Kind.FLOAT
    assert zeros.result_rank([None, None]) == 2
    assert zeros.result_rank([3]) == 3
    assert full.result_kind({0: Kind.INT, 1: Kind.BOOL}) is Kind.BOOL
    assert tensor.result_kind({0: Kind.INT}) is Kind.INT
    assert tensor.result_kind({}) is Kind.UNKNOWN
    assert arange.result_kind({0: Kind.INT, 2: Kind.FLOAT}) is Kind.FLOAT
    assert arange.result_rank([]) == 1
    assert like.like
    assert like.result_kind({0: Kind.INT}) is Kind.INT
    assert new.result_kind({0: Kind.INT, 2: Kind.FLOAT}) is Kind.INT
    assert zeros.requires_grad_kwarg
    legacy = factories.factory("torch.cuda.LongTensor")
    assert legacy is not None
    assert legacy.result_kind({}) is Kind.INT
    assert not legacy.requires_grad_kwarg
    numpy = factories.factory("torch.from_numpy")
    assert numpy is not None
    assert numpy.alias is Alias.VIEW
    assert factories.factory("torch.relu") is None


def test_every_line_can_be_read() -> None:
    assert len(layers._layers()) > 140
    for name in layers._layers():
        layer("torch." + name)
    for name in factories._table():
        assert factories._facts(name) is not None


def test_no_alias_is_the_name_of_another() -> None:
    aliases = library._names()["alias"]
    assert not set(aliases.values()) & set(aliases)


RANK = {"Linear": "same", "ReLU": "same", "BatchNorm1d": "same", "LayerNorm": "same"}
RANK |= {"Conv1d": "same", "Conv2d": "same", "Conv3d": "same", "Dropout": "same", "GRU": "same"}
RANK |= {"PReLU": "same", "Bilinear": "same", "Embedding": "other", "Flatten": "other"}


def test_rank_is_that_of_the_first_input_whatever_the_parameters_have() -> None:
    assert {name: layer("torch.nn." + name).rank for name in RANK} == RANK
    for name in layers._layers():
        facts = layer("torch.nn." + name.removeprefix("nn."))
        if facts.is_loss and facts.calls and facts.outputs:
            assert facts.calls["reduced"].rank == "0", name
            if name == "nn.MultiLabelMarginLoss":
                continue  # unreduced it is 0-d of a vector and a vector of a matrix
            if "unreduced" in facts.calls:
                assert facts.calls["unreduced"].rank in ("same", "other"), name


# ---- against torch: what a real layer saves, its parameters frozen or not

SAVING: dict[str, tuple[tuple[Any, ...], tuple[tuple[int, ...], ...]]] = {
    "Linear": ((3, 2), ((4, 3),)),
    "Conv1d": ((2, 3, 2), ((2, 2, 4),)),
    "Conv2d": ((2, 3, 2), ((2, 2, 4, 4),)),
    "Conv3d": ((2, 3, 2), ((2, 2, 3, 3, 3),)),
    "BatchNorm1d": ((3,), ((4, 3),)),
    "BatchNorm2d": ((3,), ((2, 3, 2, 2),)),
    "LayerNorm": ((3,), ((4, 3),)),
    "GroupNorm": ((2, 4), ((2, 4, 3),)),
    "Embedding": ((5, 3), ()),
    "PReLU": ((), ((4, 3),)),
    "Bilinear": ((2, 3, 4), ((5, 2), (5, 3))),
    "GRU": ((3, 2), ((4, 2, 3),)),
    "LSTM": ((3, 2), ((4, 2, 3),)),
    "MultiheadAttention": ((4, 2), ((3, 2, 4), (3, 2, 4), (3, 2, 4))),
}
"""Constructor arguments and shapes of the inputs."""


class LayerRun:
    """One call of a new layer: the tensors at each position, the results."""

    def __init__(self, name: str, parameters: bool, inputs: bool) -> None:
        torch = pytest.importorskip("torch")
        args, shapes = SAVING[name]
        torch.manual_seed(0)
        module = getattr(torch.nn, name)(*args).requires_grad_(parameters)
        given = [torch.rand(shape) - 0.5 for shape in shapes]
        if inputs:
            given = [x.requires_grad_() * 1 for x in given]
        given = given or [torch.tensor([0, 2])]
        out = module(*given)
        self.tensors = [list(module.parameters()), *([x] for x in given)]
        hidden = out[1] if isinstance(out, tuple) else ()
        rest = hidden if isinstance(hidden, tuple) else (hidden,)
        self.results = [out[0], *rest] if isinstance(out, tuple) else [out]

    def goes_stale(self, written: list[Any]) -> bool:
        torch = pytest.importorskip("torch")
        with torch.no_grad():
            for tensor in written:
                tensor.zero_()
        try:
            sum(out.sum() for out in self.results).backward()
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            return True
        return False


@pytest.mark.parametrize("name", SAVING)
@pytest.mark.parametrize(("parameters", "inputs"), [(False, True), (True, False), (True, True)])
def test_a_layer_saves_what_the_table_says(name: str, parameters: bool, inputs: bool) -> None:
    facts, shapes = layer("torch.nn." + name), SAVING[name][1]
    if not parameters and not shapes:
        return  # indices alone: nothing requires grad
    requires = dict.fromkeys(range(1, 1 + len(shapes)), Tri.of(inputs))
    requires[PARAMETERS] = Tri.of(parameters)
    saved, results = facts.inputs.when(requires), facts.results.when(requires)
    for position in range(len(LayerRun(name, parameters, inputs).tensors)):
        run = LayerRun(name, parameters, inputs)
        expected = saved.get(position, NO)
        if expected is not MAYBE:
            assert run.goes_stale(run.tensors[position]) is (expected is YES), position
    for number in range(facts.outputs):
        run = LayerRun(name, parameters, inputs)
        expected = results.get(number, NO)
        if expected is not MAYBE:
            assert run.goes_stale([run.results[number]]) is (expected is YES), number
