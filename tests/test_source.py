"""Whatever the bytes of a file are, there is a clean answer."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import pytest

from autolint.config import Config
from autolint.deep_stack import on_deep_stack
from autolint.files import File
from autolint.registry import Registry
from autolint.runner import Runner
from autolint.source import DEPTH_LIMIT, SIZE_LIMIT, mentions_torch, read_text
from tests import fakes

WORD = b"import torch\n"

CLEAN = {
    "empty": b"",
    "only a comment": b"# torch",
    "bom": b"\xef\xbb\xbf" + WORD,
    "crlf": b"import torch\r\nif x:\r\n    y\r\n",
    "cr only": b"import torch\rif x:\r    y\r",
    "form feed": b"import torch\n\x0c\ndef f():\n\x0c    pass\n",
    "no final newline": b"import torch",
    "latin-1": b"# coding: latin-1\nimport torch\n'\xe9'\n",
    "line separator": "import torch\n'\u2028\x85'\n".encode(),
    "emoji": "import torch\n'\U0001f525'\n".encode(),
    "tabs": b"import torch\nif x:\n\ty\n\tz\n",
    "continuation": b"import torch\nx = 1 + \\\n  2\n",
    "invalid escape": b"import torch\n'\\d'\n",
    "many operands": WORD + b"x = " + b" and ".join([b"a"] * 900) + b"\n",
    "elif chain": WORD + b"if a: b\n" + b"elif a: b\n" * 900,
    "long list": WORD + b"x = [" + b"1, " * 20_000 + b"]\n",
    "nested blocks": WORD + b"".join(b" " * i + b"if a:\n" for i in range(90)) + b" " * 90 + b"b\n",
}

REFUSED = {
    "syntax": (b"def f(:\n", "cannot be parsed by Python"),
    "python 2": (b"print 'x'\n", "cannot be parsed by Python"),
    "null byte": (b"x = 1\0\n", "null bytes"),
    "null byte in a string": (b"x = '\0'\n", "null bytes"),
    "no utf-8": (b"x = '\xff'\n", "cannot be decoded"),
    "utf-16": ("import torch\n".encode("utf-16"), "cannot be decoded"),
    "unknown cookie": (b"# coding: klingon\nx\n", "cannot be decoded"),
    "cookie for no text": (b"# coding: rot13\nx\n", "cannot be decoded"),
    "cookie against bom": (b"\xef\xbb\xbf# coding: latin-1\nx\n", "cannot be decoded"),
    "cookie that lies": (b"# coding: utf-8\n'\xff'\n", "cannot be decoded"),
    "bad indentation": (b"if x:\n\ty\n        z\n", "cannot be parsed by Python"),
    "merge marks": (b"<<<<<<< a\nx\n=======\n", "cannot be parsed by Python"),
    "deep brackets": (b"x = " + b"(" * 300 + b")" * 300 + b"\n", "cannot be parsed by Python"),
    "deep chain": (b"x = a" + b".b" * 250 + b"\n", f"more than {DEPTH_LIMIT} deep"),
    "deep calls": (b"x = a\\\n" + b".b()\\\n" * 250 + b"\n", f"more than {DEPTH_LIMIT} deep"),
    "deep sum": (b"f(" + b"1 + " * 250 + b"1)\n", f"more than {DEPTH_LIMIT} deep"),
    "deep beyond ast": (b"x = a" + b".b" * 50_000 + b"\n", "nested|too complex|overflow"),
    "operands": (b"x = " + b" or ".join([b"a"] * 1_500) + b"\n", "operands"),
    "size": (b"#" * (SIZE_LIMIT + 1), "over the limit of 2 MB"),
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fakes.install(monkeypatch)
    return tmp_path / "x.py"


@pytest.mark.parametrize("raw", CLEAN.values(), ids=CLEAN.keys())
def test_odd_files_are_analysed(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    outcome = Runner(Registry.load()).run([File(str(path), Config("/"))])
    assert (outcome.findings, outcome.problems) == ([], [])
    assert outcome.functions == (1 if b"torch" in raw else 0)


@pytest.mark.parametrize(("raw", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_analysed_is_one_finding(path: Path, raw: bytes, message: str) -> None:
    other = path.with_name("y.py")
    other.write_bytes(WORD + b"fault()\n")
    path.write_bytes(raw if b"torch" in raw else raw + b"\nimport torch\n")
    files = [File(str(each), Config("/")) for each in (path, other)]
    outcome = Runner(Registry.load()).run(files)
    assert [each.code for each in outcome.findings] == ["AG000", "AG901"]
    assert outcome.findings[0].message.startswith("file ")
    assert outcome.problems == []

    assert re.search(message, outcome.findings[0].message), outcome.findings[0].message


def test_line_and_column_of_a_syntax_error(path: Path) -> None:
    path.write_bytes("import torch\r\ndef f():\r\n  é = (1 +\r\n".encode())
    [found] = Runner(Registry.load()).run([File(str(path), Config("/"))]).findings
    assert (found.line, found.column) == (3, 7)
    assert found.excerpt == "  é = (1 +"


def test_the_recursion_limit_is_restored(path: Path) -> None:
    before = sys.getrecursionlimit()
    path.write_bytes(WORD + b"fault()\n")
    Runner(Registry.load()).run([File(str(path), Config("/"))])
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"import torch", True),
        (b"from mylib import nn\nloss.backward()", True),
        (b"with no_grad():", True),
        (b"x.requires_grad_()", True),
        (b"import numpy", False),
        (b"gradual = 1", False),
        (b"", False),
    ],
)
def test_the_words_that_make_a_file_worth_reading(raw: bytes, answer: bool) -> None:
    assert mentions_torch(raw) is answer


def test_other_files_are_read_as_text_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r")
    assert read_text(str(path)) == "a\nb\n"
    path.write_bytes(b"'\xff'")
    assert read_text(str(path)) is None
    path.write_bytes(b"#" * (SIZE_LIMIT + 1))
    assert read_text(str(path)) is None
    assert read_text(str(tmp_path)) is None
    assert read_text("a\0b") is None


def test_where_no_deep_stack_is_granted_a_smaller_one_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        asked.append(threading.stack_size())
        if asked[-1] > 64 << 20:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    before = threading.stack_size()
    assert on_deep_stack(lambda: 1) == 1
    assert asked == [512 << 20, 128 << 20, 32 << 20]
    assert threading.stack_size() == before


def test_what_is_raised_on_the_deep_stack_arrives() -> None:
    with pytest.raises(ZeroDivisionError):
        on_deep_stack(lambda: 1 // 0)
