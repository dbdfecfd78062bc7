"""The table of ops: lookups without torch, and a sample of its facts checked against torch."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from autolint.autograd import ops
from autolint.autograd.op_facts import EITHER, MANY, VARIANTS, Alias, OpFacts
from autolint.autograd.values import MAYBE, NO, YES, Kind


def known(facts: OpFacts | None) -> OpFacts:
    assert facts is not None
    return facts


def test_saving_depends_on_which_operand_requires_grad() -> None:
    product = known(ops.operator("*"))
    assert product.saves_input == {0: YES, 1: YES}
    assert product.saves_input_first == {1: YES}
    assert product.saves_input_rest == {0: YES}
    assert product.variant("number").saves_input == {}
    assert product.inputs.when({0: MAYBE, 1: NO}) == {1: MAYBE}


def test_results_that_are_saved() -> None:
    assert known(ops.method("relu")).saves_result == {0: YES}
    assert known(ops.function("torch.nn.functional.gelu")).saves_result == {}
    assert known(ops.method("max")).variant("dim").saves_result == {1: YES}


def test_what_an_op_keeps_to_itself() -> None:
    dropout = known(ops.function("torch.nn.functional.dropout"))
    assert dropout.keeps is MAYBE
    assert dropout.variant("train").keeps is YES
    assert dropout.variant("eval").keeps is NO
    assert known(ops.method("sum")).keeps is NO
    assert known(ops.method("sigmoid")).keeps is NO  # its result is seen to be saved


def test_an_in_place_form_keeps_nothing_of_what_it_wrote() -> None:
    written = known(ops.method("mul_"))
    assert written.inplace
    assert written.alias is Alias.SAME
    assert written.saves_input == {1: YES}
    assert known(ops.operator("*=")) == written
    assert known(ops.method("sigmoid_")).saves_result == {0: YES}


def test_joined_variants_are_unsure() -> None:
    joined = known(ops.method("max"))
    assert joined.outputs == EITHER
    assert joined.saves_input[0] is YES, "with a second operand that requires grad"
    assert joined.saves_input_first[0] is MAYBE
    assert joined.variant("dim").outputs == 2
    assert joined.variant("no_dim").scalar is not NO


def test_operators_are_not_confused_with_assignments() -> None:
    assert known(ops.operator(">=")).name == ".ge"
    assert known(ops.operator("==")).can_require_grad() is NO
    assert known(ops.operator("@=")).inplace is False
    assert known(ops.operator(">>=")).inplace is True
    assert ops.operator("and") is None
    assert ops.operator("is") is None
    assert known(ops.operator("**", reflected=True)).saves_result == {0: YES}


def test_kinds() -> None:
    assert known(ops.method("sigmoid")).result_kind([Kind.INT]) is Kind.FLOAT
    assert known(ops.method("argmax")).result_kind([Kind.FLOAT]) is Kind.INT
    assert known(ops.method("sum")).result_kind([Kind.BOOL]) is Kind.INT
    assert known(ops.operator("+")).result_kind([Kind.INT, Kind.FLOAT]) is Kind.FLOAT
    assert known(ops.operator("<")).result_kind([Kind.UNKNOWN]) is Kind.BOOL
    assert known(ops.operator("+")).result_kind([Kind.UNKNOWN]) is Kind.UNKNOWN
    assert known(ops.method("__getitem__")).result_kind([Kind.BOOL, Kind.INT]) is Kind.BOOL
    assert known(ops.method("long")).result_kind([Kind.FLOAT]) is Kind.INT


def test_kinds_with_a_number() -> None:
    for symbol in ("/", "//", "%", "**", "+"):
        plain, reflected = ops.operator(symbol), ops.operator(symbol, reflected=True)
        for facts in (known(plain).variant("number"), known(reflected)):
            exact = Kind.FLOAT if symbol == "/" else Kind.INT
            assert facts.result_kind([Kind.INT, Kind.INT]) is exact, symbol
            assert facts.result_kind([Kind.INT, Kind.FLOAT]) is Kind.FLOAT, symbol
            assert facts.result_kind([Kind.FLOAT, Kind.INT]) is Kind.FLOAT, symbol
    asked = known(ops.method("div"))
    assert asked.result_kind([Kind.INT, Kind.INT]) is Kind.UNKNOWN
    assert asked.variant("number").result_kind([Kind.INT, Kind.INT]) is Kind.FLOAT
    assert asked.variant("rounding").result_kind([Kind.INT, Kind.INT]) is Kind.INT


def test_index_kinds() -> None:
    index = known(ops.method("__getitem__"))
    assert index.alias == Alias.VIEW | Alias.FRESH
    assert index.variant("basic").alias is Alias.VIEW
    assert index.variant("advanced").alias is Alias.FRESH
    assert index.variant("advanced").saves_input == {1: YES}


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("detach", Alias.VIEW),
        ("to", Alias.SAME | Alias.FRESH),
        ("cuda", Alias.SAME | Alias.FRESH),
        ("float", Alias.SAME | Alias.FRESH),
        ("contiguous", Alias.SAME | Alias.FRESH),
        ("reshape", Alias.VIEW | Alias.FRESH),
        ("view", Alias.VIEW),
        ("clone", Alias.FRESH),
        ("T", Alias.VIEW),
        ("add", Alias.FRESH),
        ("squeeze", Alias.VIEW),
    ],
)
def test_aliases(name: str, alias: Alias) -> None:
    assert known(ops.method(name)).alias == alias


def test_what_gives_no_tensor() -> None:
    for name in ("item", "tolist", "numpy", "size", "dim", "numel", "is_contiguous"):
        assert known(ops.method(name)).outputs == 0, name
    assert known(ops.method("split")).outputs == MANY
    assert known(ops.method("topk")).outputs == 2


def test_names_that_are_no_ops_are_not_known() -> None:
    assert ops.function("numpy.exp") is None
    assert ops.function("torch.nn.Linear") is None
    assert ops.method("fit") is None


def test_methods_that_prove_a_tensor_leave_out_what_others_have() -> None:
    shared = {"scatter", "gather", "view", "expand", "unfold", "abs", "log", "mean", "to", "item"}
    modules_have = {"requires_grad_", "cuda", "half", "bfloat16", "float", "double", "share_memory"}
    assert not ops.TENSOR_ONLY_METHODS & (shared | modules_have)
    assert {"backward", "unsqueeze", "detach_", "masked_fill"} <= ops.TENSOR_ONLY_METHODS


def test_every_line_can_be_read() -> None:
    names = sorted(ops._table())
    assert len(names) > 1000
    for name in names:
        facts = known(ops.method(name[1:]) if name[0] == "." else ops.function("torch." + name))
        assert set(facts.variants) <= set(VARIANTS), name
        assert len(facts.kinds) == 4, name


def test_the_table_is_read_when_first_asked() -> None:
    code = "from autolint.autograd import ops; print(ops._lines.cache_info().currsize)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == 0


# ---- against torch


def _torch() -> Any:
    return pytest.importorskip("torch")


def _rand(*shape: int) -> Any:
    return _torch().rand(shape) * 0.8 + 0.1


def _call(name: str) -> Callable[..., Any]:
    value: Any = _torch()
    if name.startswith("."):
        return lambda receiver, *args, **more: getattr(receiver, name[1:])(*args, **more)
    for part in name.split("."):
        value = getattr(value, part)
    function: Callable[..., Any] = value
    return function


Case = tuple[str, str, Callable[[], tuple[Any, ...]]]

SAVING: list[Case] = [
    ("mul", "tensor", lambda: (_rand(2, 3), _rand(2, 3))),
    ("mul", "number", lambda: (_rand(2, 3), 2.5)),
    ("div", "tensor", lambda: (_rand(2, 3), _rand(2, 3))),
    ("add", "tensor", lambda: (_rand(2, 3), _rand(2, 3))),
    ("sub", "tensor", lambda: (_rand(2, 3), _rand(2, 3))),
    ("matmul", "tensor", lambda: (_rand(2, 3), _rand(3, 2))),
    ("matmul", "tensor", lambda: (_rand(4, 2, 3), _rand(3, 2))),
    ("matmul", "tensor", lambda: (_rand(4, 2, 3), _rand(4, 3, 2))),
    ("matmul", "folded", lambda: (_rand(2, 3), _rand(4, 3, 2))),
    ("mm", "", lambda: (_rand(2, 3), _rand(3, 2))),
    ("bmm", "", lambda: (_rand(1, 2, 3), _rand(1, 3, 2))),
    ("nn.functional.linear", "", lambda: (_rand(2, 3), _rand(4, 3), _rand(4))),
    ("nn.functional.conv2d", "", lambda: (_rand(1, 2, 4, 4), _rand(3, 2, 2, 2), _rand(3))),
    ("nn.functional.bilinear", "", lambda: (_rand(2, 3), _rand(2, 3), _rand(4, 3, 3), _rand(4))),
    ("linalg.cross", "", lambda: (_rand(2, 3), _rand(2, 3))),
    ("lerp", "", lambda: (_rand(2, 3), _rand(2, 3), _rand(2, 3))),
    ("addmm", "", lambda: (_rand(2, 2), _rand(2, 3), _rand(3, 2))),
    ("addcmul", "", lambda: (_rand(2, 3), _rand(2, 3), _rand(2, 3))),
    ("addcdiv", "", lambda: (_rand(2, 3), _rand(2, 3), _rand(2, 3))),
    ("where", "", lambda: (_rand(2, 3) > 0.4, _rand(2, 3), _rand(2, 3))),
    (".where", "", lambda: (_rand(2, 3), _rand(2, 3) > 0.4, _rand(2, 3))),
    ("pow", "tensor", lambda: (_rand(2, 3), _rand(2, 3))),
    ("pow", "number", lambda: (_rand(2, 3), 2)),
    ("maximum", "", lambda: (_rand(2, 3), _rand(2, 3))),
    ("max", "dim", lambda: (_rand(2, 3), 1)),
    ("max", "no_dim", lambda: (_rand(2, 3),)),
    ("sort", "", lambda: (_rand(2, 3),)),
    ("gather", "", lambda: (_rand(2, 3), 1, _torch().zeros(2, 1, dtype=_torch().long))),
    ("masked_fill", "", lambda: (_rand(2, 3), _rand(2, 3) > 0.4, 0.0)),
    ("atan2", "", lambda: (_rand(2, 3), _rand(2, 3))),
    ("cat", "", lambda: ([_rand(2, 3), _rand(2, 3)],)),
    ("relu", "", lambda: (_rand(2, 3),)),
    (".sigmoid", "", lambda: (_rand(2, 3),)),
    ("exp", "", lambda: (_rand(2, 3),)),
    ("log", "", lambda: (_rand(2, 3),)),
    ("sin", "", lambda: (_rand(2, 3),)),
    ("sqrt", "", lambda: (_rand(2, 3),)),
    ("softmax", "", lambda: (_rand(2, 3), 1)),
    ("nn.functional.gelu", "", lambda: (_rand(2, 3),)),
    ("nn.functional.silu", "", lambda: (_rand(2, 3),)),
    ("nn.functional.leaky_relu", "", lambda: (_rand(2, 3),)),
    ("nn.functional.mse_loss", "", lambda: (_rand(2, 3), _rand(2, 3))),
    ("nn.functional.cross_entropy", "", lambda: (_rand(2, 3), _torch().tensor([0, 2]))),
    ("nn.functional.layer_norm", "", lambda: (_rand(2, 3), (3,), _rand(3), _rand(3))),
    ("nn.functional.embedding", "", lambda: (_torch().tensor([0, 2]), _rand(4, 3))),
    ("sum", "", lambda: (_rand(2, 3),)),
    ("mean", "", lambda: (_rand(2, 3),)),
    ("norm", "", lambda: (_rand(2, 3),)),
    ("prod", "", lambda: (_rand(2, 3),)),
    ("cumsum", "", lambda: (_rand(2, 3), 1)),
    (".__getitem__", "advanced", lambda: (_rand(2, 3), _torch().tensor([0, 1]))),
    (".mul_", "", lambda: (_rand(2, 3), _rand(2, 3))),
    (".add_", "", lambda: (_rand(2, 3), _rand(2, 3))),
    (".div_", "", lambda: (_rand(2, 3), _rand(2, 3))),
    (".pow_", "number", lambda: (_rand(2, 3), 2)),
    (".sigmoid_", "", lambda: (_rand(2, 3),)),
    (".exp_", "", lambda: (_rand(2, 3),)),
    (".clamp_", "", lambda: (_rand(2, 3), 0.2, 0.5)),
    (".relu_", "", lambda: (_rand(2, 3),)),
    ("nn.functional.silu", "", lambda: (_rand(2, 3),)),
]


def _facts(name: str, variant: str) -> OpFacts:
    found = ops.method(name[1:]) if name.startswith(".") else ops.function("torch." + name)
    facts = known(found)
    return facts.variant(variant) if variant else facts


def _tensors(value: Any) -> list[Any]:
    torch = _torch()
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _run(name: str, args: tuple[Any, ...], grad_at: set[int]) -> tuple[list[Any], list[Any]]:
    """The operands as the op saw them (none of them a leaf that requires grad) and the results."""

    def prepared(value: Any, position: int) -> Any:
        if isinstance(value, list):
            return [prepared(item, position) for item in value]
        if not _tensors(value):
            return value
        copy = value.clone()
        if position in grad_at and copy.is_floating_point():
            return copy.requires_grad_() * 1
        return copy

    operands = [prepared(arg, position) for position, arg in enumerate(args)]
    return operands, _tensors(_call(name)(*operands))


def _goes_stale(written: list[Any], results: list[Any]) -> bool:
    torch = _torch()
    before = [tensor._version for tensor in written]
    with torch.no_grad():
        for tensor in written:
            tensor.zero_()
    assert all(tensor._version > v for tensor, v in zip(written, before, strict=True))
    recorded = [out.sum() for out in results if out.requires_grad]
    try:
        torch.autograd.backward(recorded)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return True
    return False


@pytest.mark.parametrize(("name", "variant", "make"), SAVING)
def test_saving_is_what_torch_does(
    name: str, variant: str, make: Callable[[], tuple[Any, ...]]
) -> None:
    torch = _torch()
    torch.manual_seed(0)
    args, facts = make(), _facts(name, variant)
    places = [n for n, arg in enumerate(args) if _tensors(arg)]
    floats = [n for n in places if all(t.is_floating_point() for t in _tensors(args[n]))]
    for count in range(1, len(floats) + 1):
        for chosen in map(set, itertools.combinations(floats, count)):
            requires = dict.fromkeys(chosen, YES)
            inputs, results = facts.inputs.when(requires), facts.results.when(requires)
            _, out = _run(name, args, chosen)
            for place in places:
                operands, out = _run(name, args, chosen)
                written = _tensors(operands[place])
                if any(t is o for t in written for o in out):
                    continue
                expected = inputs.get(place, NO)
                if expected is not MAYBE:
                    assert _goes_stale(written, out) is (expected is YES), (place, chosen)
            for number in range(len(out)):
                _, out = _run(name, args, chosen)
                expected = results.get(number, NO)
                if expected is not MAYBE:
                    assert _goes_stale([out[number]], out) is (expected is YES), (number, chosen)


def test_every_name_is_torchs() -> None:
    torch = _torch()
    accelerators = {".cuda", ".xpu"}
    for name in set(ops._table()) - accelerators:
        value: Any = torch.Tensor if name.startswith(".") else torch
        for part in name.lstrip(".").split("."):
            value = getattr(value, part)


def test_in_place_names_are_in_place() -> None:
    """Every name of the column ends with an underscore, and its plain form is on the same line."""
    for line in ops._lines()[1:]:
        names, inplace, _ = line.split(",", 2)
        for name in inplace.split():
            assert re.fullmatch(r"\.?[\w.]+[^_]_", name), name
            assert name[:-1] in names.split(), name


def test_kinds_are_what_torch_does() -> None:
    torch = _torch()
    samples = {
        Kind.BOOL: torch.tensor([[True, False], [True, True]]),
        Kind.INT: torch.tensor([[1, 2], [3, 4]]),
        Kind.FLOAT: torch.rand(2, 2),
        Kind.COMPLEX: torch.rand(2, 2) * 1j,
    }
    checked = 0
    for name in ("neg", "abs", "sigmoid", "sum", "mean", "argmax", "float", "isnan", "real", "T"):
        facts = known(ops.method(name))
        for kind, tensor in samples.items():
            try:
                out = getattr(tensor, name)
                out = out() if callable(out) else out
            except RuntimeError:
                continue
            expected = facts.result_kind([kind])
            if expected is not Kind.UNKNOWN:
                found = (
                    Kind.BOOL
                    if out.dtype == torch.bool
                    else Kind.COMPLEX
                    if out.dtype.is_complex
                    else Kind.FLOAT
                    if out.dtype.is_floating_point
                    else Kind.INT
                )
                assert found is expected, (name, kind)
                checked += 1
    assert checked >= 25


def test_ops_that_exist_in_place_only() -> None:
    for name in ("zero_", "fill_", "copy_", "normal_", "requires_grad_", "detach_"):
        facts = known(ops.method(name))
        assert facts.inplace, name
        assert facts.alias is Alias.SAME, name
    assert known(ops.method("zero_")).gradient == "zero"
