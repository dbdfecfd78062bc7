"""What the interpreter says of revealed values is what is marked (test_runtime asks torch)."""

from pathlib import Path

import pytest

from autolint.testing import RevealMark, read_fixture

from .linting import joined, revealed
from .places import MODEL, named


def reveal_marks() -> list[RevealMark]:
    return [mark for path in MODEL for mark in read_fixture(path).reveals]


@pytest.mark.parametrize("path", MODEL, ids=named)
def test_the_linter_reveals_what_is_marked(path: Path) -> None:
    fixture = read_fixture(path)
    said = revealed(path)
    problems: list[str] = []
    for mark in fixture.reveals:
        answer = joined(each.answer for each in said if mark.covers(each.line))
        if answer != mark.answer:
            problems.append(f"{path}:{mark.line}: marked {mark.answer}; said {answer}")
    problems += [
        f"{path}:{each.line}: a reveal without a mark: {each.answer}"
        for each in said
        if not any(mark.covers(each.line) for mark in fixture.reveals)
    ]
    assert not problems, "\n" + "\n".join(problems)


def test_there_are_many_marks_and_few_are_open() -> None:
    marks = reveal_marks()
    assert len(marks) >= 120
    open_marks = [mark for mark in marks if not mark.answer.is_definite]
    assert len(open_marks) * 5 <= len(marks)
