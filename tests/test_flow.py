"""What is known where the paths of a program meet."""

from __future__ import annotations

import pytest

from autolint.interpreter.events import Revealed

from .running import run

ONE, TWO, THREE = "torch.ones(2)", "torch.ones(2, 2)", "torch.ones(2, 2, 2)"
OPEN = "tensor no-grad leaf float"


def said(text: str) -> list[str]:
    return run(text, Revealed).said()


def rank(number: int) -> str:
    return f"tensor no-grad leaf float rank={number}"


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        (f"if c():\n    x = {TWO}", OPEN),
        (f"if c():\n    x = {TWO}\nelse:\n    x = {TWO}", rank(2)),
        (f"if c():\n    x = {TWO}\n    raise E", rank(1)),
        (f"if c():\n    x = {TWO}\nelse:\n    raise E", rank(2)),
        (f"if c():\n    x = {TWO}\nelif d():\n    x = {TWO}\nelse:\n    raise E", rank(2)),
        (f"if c():\n    del x\nx = {THREE}", rank(3)),
        (f"x = {TWO} if c() else {ONE}", OPEN),
        ("if c():\n    x = None", "maybe-tensor no-grad leaf float rank=1"),
        (f"match c():\n    case 1:\n        x = {TWO}\n    case _:\n        x = {TWO}", rank(2)),
        (f"match c():\n    case 1:\n        x = {TWO}", OPEN),
        (f"match c():\n    case 1:\n        x = {TWO}\n        raise E", rank(1)),
    ],
)
def test_after_a_branch(program: str, answer: str) -> None:
    assert said(f"x = {ONE}\n{program}\nreveal(x)") == [answer]


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        (f"for i in y:\n    x = {TWO}", rank(2)),
        (f"for i in []:\n    x = {TWO}", rank(1)),
        (f"for i in y:\n    if c():\n        break\n    x = {TWO}", OPEN),
        (f"for i in y:\n    x = {TWO}\n    if c():\n        break", rank(2)),
        (
            f"for i in y:\n    if c():\n        x = {TWO}\n        continue\n    x = {TWO}",
            rank(2),
        ),
        (f"for i in y:\n    if c():\n        continue\n    x = {TWO}", OPEN),
        (f"for i in y:\n    x = {TWO}\nelse:\n    x = {THREE}", rank(3)),
        (f"for i in y:\n    if c():\n        break\nelse:\n    x = {THREE}", OPEN),
        (
            f"while True:\n    x = 3\n    if c():\n        x = {THREE}\n        break\n    x = 4",
            rank(3),
        ),
        (
            f"for i in y:\n    for j in y:\n        x = {TWO}\n        break\n    x = {THREE}",
            rank(3),
        ),
        (f"for i in y:\n    if c():\n        x = {TWO}\n        raise E", rank(1)),
    ],
)
def test_after_a_loop(program: str, answer: str) -> None:
    assert said(f"x = {ONE}\n{program}\nreveal(x)") == [answer]


def test_the_second_iteration_sees_what_the_first_did() -> None:
    assert said(f"x = {ONE}\nfor i in y:\n    reveal(x)\n    x = {TWO}") == [rank(1), rank(2)]


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        (f"try:\n    x = {TWO}\nexcept E:\n    raise", rank(2)),
        (f"try:\n    x = {TWO}\nexcept E:\n    x = {TWO}", rank(2)),
        (f"try:\n    x = {TWO}\nexcept E:\n    pass", OPEN),
        (f"try:\n    f()\nexcept E:\n    pass\nelse:\n    x = {TWO}", OPEN),
        (f"try:\n    f()\nfinally:\n    x = {TWO}", rank(2)),
        (f"try:\n    raise E\nexcept E:\n    x = {TWO}", rank(2)),
    ],
)
def test_after_a_try(program: str, answer: str) -> None:
    assert said(f"x = {ONE}\n{program}\nreveal(x)") == [answer]


def test_a_handler_may_be_entered_in_the_middle_of_the_body() -> None:
    program = f"x = {TWO}\ntry:\n    x = {ONE}\n    f()\n    x = {TWO}\nexcept E:\n    reveal(x)"
    assert said(program) == [OPEN]


def test_a_suppressed_exception_may_skip_the_rest_of_a_block() -> None:
    program = (
        f"import contextlib\nx = {ONE}\nwith contextlib.suppress(E):\n    x = {TWO}\nreveal(x)"
    )
    assert said(program) == [OPEN]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (f"return {TWO}", rank(2)),
        (f"if c:\n        return {TWO}\n    return {ONE}", OPEN),
        (f"if c:\n        return {TWO}\n    return {TWO}", rank(2)),
        (f"if c:\n        raise E\n    return {TWO}", rank(2)),
        (f"for i in c:\n        return {TWO}\n    return {TWO}", rank(2)),
        (f"while True:\n        if c:\n            return {TWO}", rank(2)),
        (f"with c:\n        return {TWO}", rank(2)),
        (f"try:\n        return {TWO}\n    except E:\n        return {ONE}", OPEN),
        (f"if c:\n        return {TWO}", "maybe-tensor no-grad leaf float rank=2"),
        ("pass", "other"),
    ],
)
def test_the_value_of_a_call_is_the_join_of_its_returns(body: str, answer: str) -> None:
    assert said(f"def f(c):\n    {body}\nreveal(f(g()))") == [answer]


@pytest.mark.parametrize(
    ("body", "grad"),
    [
        ("w.requires_grad_(False)", "no-grad"),
        ("if c:\n        w.requires_grad_(False)\n        return", "maybe-grad"),
        ("if c:\n        w.requires_grad_(False)\n        raise E", "grad"),
        ("w.requires_grad_(False)\n    return\n    w.requires_grad_()", "no-grad"),
        ("try:\n        f()\n    finally:\n        w.requires_grad_(False)", "no-grad"),
        pytest.param(
            "try:\n        return w.detach_()\n    finally:\n        w.requires_grad_()",
            "grad",
        ),
    ],
)
def test_the_state_after_a_call_is_the_join_of_its_returns(body: str, grad: str) -> None:
    program = (
        f"w = torch.ones(2, requires_grad=True)\ndef f(w, c):\n    {body}\nf(w, g())\nreveal(w)"
    )
    assert said(program) == [f"tensor {grad} leaf float rank=1"]


def test_a_break_goes_through_finally() -> None:
    loop = f"for i in y:\n    try:\n        break\n    finally:\n        x = {TWO}"
    assert said(f"x = {ONE}\n{loop}\nreveal(x)") == [rank(2)]


def test_two_names_of_one_tensor_are_two_names_of_it_after_a_branch() -> None:
    program = f"a = b = {ONE}\nif c():\n    a = b = {ONE}\na.requires_grad_()\nreveal(b)"
    assert said(program) == ["tensor grad leaf float rank=1"]


def test_a_name_may_be_called_birth() -> None:
    assert said(f"birth = 3\nif c():\n    x = {ONE}\nelse:\n    x = {ONE}\nreveal(x)") == [rank(1)]


def test_unseen_code_may_put_anything_into_a_list() -> None:
    [answer] = said(f"items = [{ONE}]\nfill(items)\nreveal(items[1])")
    assert "maybe-grad" in answer


def test_a_dict_that_one_branch_gave_away_is_open() -> None:
    program = f"d = {{'a': {ONE}}}\nif c():\n    fill(d)\nfor key in d:\n    reveal(key)"
    assert len(said(program)) == 2


def test_a_list_that_one_branch_gave_away_is_the_same_in_either_order() -> None:
    one, two = (
        said(f"items = [{ONE}]\nif c():\n    {first}\nelse:\n    {second}\nreveal(items[0])")
        for first, second in (("fill(items)", "pass"), ("pass", "fill(items)"))
    )
    assert one == two
