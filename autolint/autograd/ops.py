"""What an op does to values: the committed table ``ops.csv``, asked one op at a time.

The table is written by ``autolint verify --ops --write`` from runs of torch; nothing in it is
copied from documentation. One line is one op under certain arguments (a *variant*). An operand
is named by its **parameter position**: 0 is the first parameter of the function, or the receiver of
the method (``torch.gather(x, 1, index)``: x is 0, index is 2); ``parameters`` gives the positions
of keywords. A position that takes a list of tensors (``torch.cat``) stands for each of them.
Columns:

names
    Public names without ``torch.``, separated by spaces; ``.relu`` is the method.
inplace
    Names of its in-place forms, in the same way.
variant
    Empty: all arguments joined. Otherwise a name of `VARIANTS`: what holds for such arguments only,
    given where it differs from the joined line.
parameters
    Parameter names in order, from the signature or the operator's schema.
alias
    Which of same, view and fresh the result was seen to be: compared by identity, then by memory,
    with and without grad, on contiguous and transposed inputs.
alias_of
    Position of the operand whose memory the result shared.
outputs
    0 no tensor, 1 a tensor, n > 1 a tuple of n, ``many`` a sequence whose length the arguments
    decide, ``any`` a tensor or a tuple.
differentiable
    Per output: did it require grad when all float operands did.
gradient
    Of the gradients that came back: nonzero in some sample, zero in all, none = the result has no
    history, raises = backward raised "not implemented".
saves, saves_result
    ``1<0``: operand 1 (result 1) is saved if operand 0 requires grad; ``1<0?``: only under some
    arguments. Found by writing to it between forward and backward, with operand 0 alone requiring
    grad, and seeing backward raise.
keeps
    Where nothing was seen to be saved: whether a second backward complains all the same, of what
    the op keeps to itself (the mask of dropout); maybe = under some arguments.
kind_of
    Position of the operand whose kind decides the result's; empty: what all of them promote to.
kinds
    Kind of the first result if what decides is of kind bool, int, float, complex, one letter each
    (``bifc``); ``?`` = arguments decide, ``.`` = not run.
scalar
    Whether the result is 0-d when called with as few arguments as possible on a matrix.
rank
    ``same``: the result had the rank of the operand of the highest rank in all samples; ``0``.

An in-place form with a plain form has no line of its own. Of all in-place ops the result is the
first operand itself, which is never saved as an operand (torch keeps a copy where backward needs
the old value); all else is as for the plain form.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from autolint.autograd import committed, library
from autolint.autograd.op_facts import (
    Alias,
    OpFacts,
    Saved,
    parse_alias,
    parse_outputs,
    parse_saved,
)
from autolint.autograd.values import MAYBE, NO, YES, Tri

_TRIS = {"yes": YES, "maybe": MAYBE, "no": NO}


def function(qualified: str) -> OpFacts | None:
    """Facts of a function by its qualified name (``torch.nn.functional.relu``), None if unknown.

    The in-place functions of torch (``torch.relu_``) are known too.
    """
    if not qualified.startswith("torch."):
        return None
    name = qualified[6:]
    if name.startswith("Tensor."):
        return method(name[7:])
    return _facts(name)


def method(name: str) -> OpFacts | None:
    """Facts of a tensor method by its bare name (``relu``, ``add_``, ``__getitem__``)."""
    return _facts("." + name)


def operator(symbol: str, *, reflected: bool = False) -> OpFacts | None:
    """Facts of an operator as written: ``+``, ``@``, ``==``, ``-x``, ``~``, ``+=``.

    ``reflected``: the left operand is a Python number and the tensor, on the right, is position 0
    (``2 ** x``). An assignment such as ``@=`` that torch has no in-place form for gives the facts
    of the plain operator. Identity, membership, ``and``, ``or`` and ``not`` are no ops: None.
    """
    name = _OPERATORS.get(symbol)
    if name is None and symbol.endswith("="):
        name = _OPERATORS.get(symbol[:-1])
        written = None if name is None else method(name + "_")
        if written is not None:
            return written
    facts = None if name is None else method(name)
    return facts.variant("reflected", "number") if reflected and facts else facts


_OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "true_divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "@": "matmul",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "bitwise_left_shift",
    ">>": "bitwise_right_shift",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "-x": "neg",
    "+x": "positive",
    "~": "bitwise_not",
}


_TENSOR_ONLY = """
    backward detach_ retain_grad unsqueeze unsqueeze_ squeeze_ contiguous is_contiguous expand_as
    view_as reshape_as type_as permute index_select index_add index_add_ index_copy index_copy_
    index_fill index_fill_ index_put index_put_ masked_fill masked_fill_ masked_select
    masked_scatter masked_scatter_ scatter_ scatter_add scatter_add_ add_ sub_ mul_ div_ pow_ neg_
    exp_ log_ sqrt_ rsqrt_ abs_ sign_ sigmoid_ tanh_ relu_ clamp clamp_ clamp_min clamp_min_
    clamp_max clamp_max_ addcmul addcmul_ addcdiv addcdiv_ addmm addmm_ addbmm baddbmm baddbmm_
    addmv addr bmm matmul lerp_ logsumexp logdet slogdet logcumsumexp zero_ fill_ fill_diagonal_
    copy_ normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ erfinv
    rsqrt expm1 log1p lgamma digamma new_zeros new_ones new_full new_empty new_tensor
    repeat_interleave narrow movedim moveaxis swapdims tril_ triu_ t_ transpose_ nelement
    is_floating_point element_size storage_offset data_ptr untyped_storage
    register_post_accumulate_grad_hook cummax cummin amax amin aminmax topk kthvalue nanmedian
"""
TENSOR_ONLY_METHODS = frozenset(_TENSOR_ONLY.split())
"""Names of methods that no other common object has: calling one proves the receiver a tensor.

Kept by hand, because a name says little: numpy arrays, pandas frames, modules, distributions,
graph nodes, matplotlib axes and the standard library share requires_grad_, register_hook, item,
scatter, gather, view, expand, mean, log, abs, to, float, relu, size, unfold, split, sum and many
more with tensors. ``backward`` proves it only when called without arguments: training engines take
the loss as one.
"""


@cache
def _facts(name: str) -> OpFacts | None:
    lines = _table().get(name)
    if lines is None:
        return None
    variants: dict[str, OpFacts] = {}
    joined: OpFacts | None = None
    for line in lines:
        cell = dict(zip(_columns(), line.split(","), strict=True))
        facts = _parsed(name, cell)
        if cell["variant"]:
            variants[cell["variant"]] = facts
        else:
            joined = facts
    assert joined is not None, f"{name} has no joined line"
    for variant, number, tensor in (("number", 1, 0), ("reflected", 0, 1)):
        if variant in variants:
            # The tensor stands at 0 in both, see `interpreter.operators`.
            kept = joined.inputs.when({tensor: YES}).get(number)
            numbers = Saved(() if kept is None else ((number, 0, kept),))
            variants[variant] = replace(variants[variant], numbers=numbers)
    return replace(joined, variants=variants)


def _parsed(name: str, cell: dict[str, str]) -> OpFacts:
    """The facts of one line under one of its names."""
    inplace = name.endswith("_") and not name.endswith("__")
    inputs = parse_saved(cell["saves"])
    return OpFacts(
        name=name,
        parameters=tuple(cell["parameters"].split()),
        alias=Alias.SAME if inplace else parse_alias(cell["alias"]),
        alias_of=int(cell["alias_of"] or 0),
        outputs=parse_outputs(cell["outputs"]),
        differentiable=tuple(_TRIS[word] for word in cell["differentiable"].split()),
        gradient=cell["gradient"],
        inputs=inputs.without(0) if inplace else inputs,
        results=parse_saved(cell["saves_result"]),
        keeps=_TRIS.get(cell["keeps"], NO),
        kind_of=int(cell["kind_of"]) if cell["kind_of"] else None,
        kinds=cell["kinds"],
        scalar=_scalar(cell, inplace),
        rank=cell["rank"],
        inplace=inplace,
        variants={},
        cast_on=library.cast_devices(name),
    )


def _scalar(cell: dict[str, str], inplace: bool) -> Tri:
    if cell["rank"] == "0":
        return YES
    return NO if inplace else _TRIS.get(cell["scalar"], MAYBE)


@cache
def _lines() -> list[str]:
    return committed.lines("ops.csv")


@cache
def _columns() -> list[str]:
    return _lines()[0].split(",")


@cache
def _table() -> dict[str, list[str]]:
    """Lines of the table by name; a line is taken apart only when it is asked for."""
    table: dict[str, list[str]] = {}
    for line in _lines()[1:]:
        names, inplace, _ = line.split(",", 2)
        for name in (names + " " + inplace).split():
            table.setdefault(name, []).append(line)
    return table
