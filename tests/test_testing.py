"""The mark grammar, the reading of fixtures, and the comparison of marks with findings."""

import math
from pathlib import Path

import pytest

from autolint.testing import (
    Answer,
    CodeMark,
    MarkError,
    ObserveMark,
    RaisesMark,
    Reported,
    RevealMark,
    WarnsMark,
    indistinct,
    mismatches,
    read_fixture,
    read_marks,
    recording,
    reveal,
    same,
)
from autolint.testing.marks import Condition


def code_marks(source: str) -> list[CodeMark]:
    return [mark for mark in read_marks(source, "p.py") if isinstance(mark, CodeMark)]


# Reading marks.


def test_several_marks_and_codes_share_a_comment() -> None:
    marks = code_marks('f()  # expect: AG102[info] "a; b, c", AG104; or: AG401\n')
    assert [(m.word, m.code, m.info, m.message) for m in marks] == [
        ("expect", "AG102", True, "a; b, c"),
        ("expect", "AG104", False, ""),
        ("or", "AG401", False, ""),
    ]


def test_a_mark_may_follow_another_comment() -> None:
    marks = code_marks("f()  # noqa: AG102  # expect: AG001\n")
    assert [(m.word, m.code) for m in marks] == [("expect", "AG001")]


def test_a_mark_in_a_string_is_none() -> None:
    assert read_marks('text = "# expect: AG102"\n', "p.py") == []


def test_prose_is_no_mark() -> None:
    assert read_marks("f()  # note: expect nothing; or: everything\n# TODO: more\n", "p.py") == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("f()  # expect: ag102", "'ag102' is not CODE"),
        ("f()  # expect:", "not CODE"),
        ("f()  # expect: AG102[error]", "not CODE"),
        ("f()  # expect: AG102,", "not CODE"),
        ("f()  # expect: AG102 because", "not CODE"),
        ("f()  # expect: AG102; see below", "'see below' after a mark"),
        ("f()  # expcet: AG102", "did you mean 'expect'"),
        ("f()  # observes: 1", "did you mean 'observe'"),
        ("f()  # observe: 1 +", "in 'observe: 1 +'"),
        ("f()  # observe: x", "'x' is no literal"),
        ("f()  # raises: 3", "needs a class"),
        ("f()  # reveal: tensor grad", "lacks a field"),
        ("f()  # reveal: tensor leaf grad float", "'leaf' is none of grad"),
        ("f()  # reveal: tensor grad leaf float inference rank=1", "is not [rank=N]"),
        ("f()  # reveal: other grad", "lacks a field"),
        ("\n# expect: AG102", "beside no statement"),
    ],
)
def test_malformed_marks_are_named_with_their_line(source: str, message: str) -> None:
    with pytest.raises(MarkError) as raised:
        read_marks(source + "\n", "dir/p.py")
    line = source.count("\n") + 1
    assert str(raised.value).startswith(f"dir/p.py:{line}: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("source", "extent"),
    [
        ("f(1,\n  2,  # expect: AG102\n  3)\n", (1, 3)),
        ("with a(\n    b\n):  # expect: AG102\n    c()\n    d()\n", (1, 3)),
        ("with a:\n    c()  # expect: AG102\n    d()\n", (2, 2)),
        ("@a\ndef f(\n    x,  # expect: AG102\n):\n    return x\n", (1, 4)),
        ("class A(\n    B  # expect: AG102\n):\n    @c\n    def f(self): ...\n", (1, 3)),
        ("try:\n    a()\nexcept (\n    B,\n):  # expect: AG102\n    c()\n", (3, 5)),
        ("match a:  # expect: AG102\n    case 1:\n        b()\n", (1, 1)),
        ("match a:\n    case 1:  # expect: AG102\n        b()\n", (2, 2)),
        ("for x in y: f(x)  # expect: AG102\n", (1, 1)),
    ],
)
def test_a_mark_belongs_to_the_smallest_statement(source: str, extent: tuple[int, int]) -> None:
    (mark,) = code_marks(source)
    assert (mark.first, mark.last) == extent


def test_literals_and_errors() -> None:
    marks = read_marks(
        "return_ = 1  # observe: [nan, -inf, (1+2j), 'a', {1: None}]\n"
        'f()  # raises: torch.OutOfMemoryError "a \\"b\\""\n'
        "f()  # warns: UserWarning\n",
        "p.py",
    )
    observe, raises, warns = marks
    assert isinstance(observe, ObserveMark)
    assert same(observe.value, [math.nan, -math.inf, 1 + 2j, "a", {1: None}])
    assert isinstance(raises, RaisesMark)
    assert (raises.name, raises.message) == ("torch.OutOfMemoryError", 'a "b"')
    assert isinstance(warns, WarnsMark)
    assert (warns.name, warns.message) == ("UserWarning", "")


def test_conditions_on_the_torch_version() -> None:
    (mark,) = read_marks("f()  # observe: [1] [torch>=2.14]\n", "p.py")
    assert isinstance(mark, ObserveMark)
    assert mark.value == [1]
    assert not mark.applies("2.13.0+cpu")
    assert mark.applies("2.14")
    assert mark.applies("3.0.1")
    first, second = read_marks("f()  # expect: AG1, AG2 [torch<2.14]\n", "p.py")
    assert first.applies("2.13.9")
    assert not second.applies("2.14.0a0+git123")
    assert Condition("==", (2, 13)).holds("2.13.1")
    assert not Condition(">", (2, 13)).holds("2.13.1")
    assert Condition("<=", (2, 13, 1)).holds("2.13")


# Answers.


def test_answers_are_read_and_written_alike() -> None:
    for text in (
        "other",
        "tensor no-grad leaf int",
        "tensor grad non-leaf complex rank=0",
        "maybe-tensor maybe-grad maybe-leaf any",
        "tensor no-grad leaf float rank=12 inference grad-is-none",
    ):
        assert str(Answer.parse(text)) == text


def test_joined_answers_are_open_where_they_differ() -> None:
    first = Answer.parse("tensor grad leaf float rank=1 grad-is-none")
    second = Answer.parse("tensor grad non-leaf float rank=2 grad-is-none")
    assert first.join(first) is first
    assert str(first.join(second)) == "tensor grad maybe-leaf float grad-is-none"
    assert str(first.join(Answer("other"))) == "maybe-tensor maybe-grad maybe-leaf any"
    assert first.is_definite
    assert not first.join(second).is_definite


def test_a_reveal_mark_holds_its_answer() -> None:
    (mark,) = read_marks("reveal(x)  # reveal: tensor grad leaf float rank=1\n", "p.py")
    assert isinstance(mark, RevealMark)
    assert mark.answer == Answer("tensor", "grad", "leaf", "float", 1)


# reveal().


def test_reveal_returns_its_argument_and_tells_a_recorder() -> None:
    seen: list[tuple[str, int, object]] = []
    value = object()
    assert reveal(value) is value
    with recording(lambda *event: seen.append(event)):
        assert reveal(value) is value
    reveal(value)
    line = test_reveal_returns_its_argument_and_tells_a_recorder.__code__.co_firstlineno + 5
    assert seen == [(__file__, line, value)]


# Literals.


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (math.nan, math.nan, True),
        ([1.0, math.inf], [1.0, math.inf], True),
        (1, 1.0, False),
        (True, 1, False),
        ([1], (1,), False),
        ([1], [1, 1], False),
        ({"a": math.nan}, {"a": math.nan}, True),
        ({"a": 1}, {"b": 1}, False),
        (None, None, True),
        (0.1, 0.2, False),
    ],
)
def test_same_is_strict_but_for_nan(left: object, right: object, equal: bool) -> None:
    assert same(left, right) is equal


# Fixtures.


def pair(bad: str, good: str) -> str | None:
    source = f"def bad_a(device):\n    return 1{bad}\ndef good_a(device):\n    return 1{good}\n"
    ((case, twin),) = read_fixture("p.py", source).twins()
    return indistinct(case, twin, "2.13.0")


def test_cases_and_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "some_rule.py"
    path.write_text(
        "def helper(x):\n    return x\n"
        "def bad_a(device):\n    f()  # expect: AG1\n    return 1  # observe: 1\n"
        "def good_a(device, other=None):\n    return 2  # observe: 2\n"
    )
    fixture = read_fixture(path)
    bad, good = fixture.cases
    assert (bad.name, bad.is_bad, bad.first, bad.last, len(bad.marks)) == ("bad_a", True, 3, 5, 2)
    assert (good.name, good.is_bad, len(good.marks)) == ("good_a", False, 1)
    assert fixture.twins() == [(bad, good)]


def test_twins_must_differ() -> None:
    assert pair("  # observe: [1.0]", "  # observe: [2.0]") is None
    assert pair('  # raises: ValueError "a"', "") is None
    assert pair("  # warns: UserWarning", "  # observe: 1") is None
    assert "has no observe" in str(pair("", "  # observe: 1"))
    assert "same value" in str(pair("  # observe: [nan]", "  # observe: [nan]"))
    assert "does not observe" in str(pair("  # observe: 1", ""))
    assert "same ValueError" in str(pair("  # raises: ValueError", '  # raises: ValueError "b"'))
    ((case, twin),) = read_fixture(
        "p.py", "def bad_b(device):\n    return 1  # observe: 1\n"
    ).twins()
    assert "no twin good_b" in str(indistinct(case, twin, "2.13.0"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def bad_a():\n    pass\n", "p.py:1: bad_a must be callable with a device"),
        ("def good_a(device, x):\n    pass\n", "p.py:1: good_a must be callable with a device"),
        ("def f(device):\n    return 1  # observe: 1\n", "p.py:2: a proof mark outside"),
        ("def bad_a(device):\n    x = 1  # observe: 1\n", "p.py:2: observe belongs on a return"),
        (
            "def bad_a(device):\n    def f():\n        return 1  # observe: 1\n    return f()\n",
            "p.py:3: observe belongs on a return of bad_a itself",
        ),
    ],
)
def test_proofs_that_no_run_could_check_are_refused(source: str, message: str) -> None:
    with pytest.raises(MarkError, match=message):
        read_fixture("p.py", source)


# Marks against findings.

SOURCE = """\
a()  # expect: AG1 "first"
b()  # expect: AG2[info]
c()  # expect-missing: AG3
d()  # expect-wrong: AG4
e()  # may: AG5
f()  # or: AG1
"""
MET = [
    Reported("p.py", 1, "AG1", False, "the first"),
    Reported("p.py", 2, "AG2", True, ""),
    Reported("p.py", 4, "AG4", False, ""),
]


@pytest.mark.parametrize(
    ("findings", "problems"),
    [
        (MET, []),
        ([*MET, Reported("p.py", 5, "AG5", False, "")], []),
        ([Reported("p.py", 6, "AG1", False, "first"), *MET[1:]], []),
        (MET[1:], ['p.py:1: not reported: expect: AG1 "first"']),
        (
            [Reported("p.py", 1, "AG1", False, "other"), *MET[1:]],
            ['p.py:1: not reported: expect: AG1 "first"', "p.py:1: not expected: AG1 other"],
        ),
        (
            [Reported("p.py", 1, "AG1", True, "first"), *MET[1:]],
            ['p.py:1: not reported: expect: AG1 "first"', "p.py:1: not expected: AG1[info] first"],
        ),
        ([*MET, MET[0]], ["p.py:1: not expected: AG1 the first"]),
        (
            [*MET, Reported("p.py", 3, "AG3", False, "")],
            ["p.py:3: no longer missed, make it expect"],
        ),
        (MET[:2], ["p.py:4: no longer a false alarm"]),
        ([*MET, Reported("p.py", 6, "AG1", False, "x")], []),
        ([*MET, Reported("p.py", 6, "AG2", False, "x")], ["p.py:6: not expected: AG2 x"]),
        ([*MET, Reported("p.py", 2, "AG9", False, "x")], ["p.py:2: not expected: AG9 x"]),
    ],
)
def test_marks_are_compared_both_ways(findings: list[Reported], problems: list[str]) -> None:
    found = mismatches(read_marks(SOURCE, "p.py"), findings)
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True))


def test_a_looser_mark_leaves_the_finding_to_the_stricter() -> None:
    marks = read_marks('a()  # expect: AG1, AG1 "two"\n', "p.py")
    both = [Reported("p.py", 1, "AG1", False, "two"), Reported("p.py", 1, "AG1", False, "one")]
    assert mismatches(marks, both) == []
    assert len(mismatches(marks, both[:1])) == 1


def test_marks_and_findings_of_several_files_are_kept_apart() -> None:
    marks = [*read_marks("a()  # expect: AG1\n", "p.py"), *read_marks("a()  # or: AG1\n", "q.py")]
    assert mismatches(marks, [Reported("q.py", 1, "AG1", False, "")]) == []
    assert mismatches(marks[:1], [Reported("q.py", 1, "AG1", False, "x")]) == [
        "p.py:1: not reported: expect: AG1",
        "q.py:1: not expected: AG1 x",
    ]
