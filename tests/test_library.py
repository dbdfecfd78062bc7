"""Library knowledge: lookups without torch, and the committed tables against torch."""

from __future__ import annotations

import pathlib

import pytest

from autolint.autograd import factories, layers, library
from autolint.autograd.layers import PARAMETERS, LayerFacts
from autolint.autograd.op_facts import Alias
from autolint.autograd.values import MAYBE, NO, YES, GradMode, Kind


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


def test_committed_tables_are_what_torch_gives() -> None:
    """All names and factories, and every fifth layer (all of them would take a minute)."""
    torch = pytest.importorskip("torch")
    if torch.__version__.split("+")[0] != "2.13.0":
        pytest.skip("the committed tables are of torch 2.13.0")
    from autolint.runtime import tables

    folder = pathlib.Path(library.__file__).parent
    derived = {name: text.splitlines() for name, text in tables.tables(step=5).items()}
    layers = set(derived.pop("layers.csv"))
    assert len(layers) > 30
    assert layers <= set((folder / "layers.csv").read_text("utf-8").splitlines())
    for name, lines in derived.items():
        assert (folder / name).read_text("utf-8").splitlines() == lines, name
