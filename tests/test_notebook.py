"""Notebooks: read as one module, reported by cell, and changed only where a fix says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autolint import notebook
from autolint.source import Unparsable, parse
from tests.linting import Linter
from tests.terminal import Cli


def code(*lines: str) -> dict[str, Any]:
    return {
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1e400 \u00e9\n"]}],
        "source": list(lines),
        "cell_type": "code",
        "metadata": {"z": 1, "a": 1.50},
        "execution_count": None,
    }


def document(*cells: dict[str, Any], version: int = 4, **more: Any) -> dict[str, Any]:
    head = {"metadata": {}, "nbformat_minor": 5, "nbformat": version, **more}
    if version == 3:
        return {**head, "worksheets": [{"metadata": {}, "cells": list(cells)}]}
    return {"cells": list(cells), **head}


def read(text: str) -> notebook.Notebook:
    return notebook.read("/w/a.ipynb", text.encode())


FIXED = code("import torch\n", "fault('replace')\n", "y")


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_fix_changes_nothing_but_the_cell(
    cli: Cli, indent: int | str | None, ascii_only: bool, end: str
) -> None:
    first = code("s = 'é'\n", "%time x\n", "!ls \\\n", "  -l")
    cells = document(first, FIXED, {"cell_type": "raw", "source": "x"})
    text = json.dumps(cells, indent=indent, ensure_ascii=ascii_only) + end
    path = cli.folder / "a.ipynb"
    path.write_text(text, "utf-8")
    assert cli("--fix") == 0
    assert path.read_text("utf-8") == text.replace("fault('replace')", "mended()")


def test_text_in_one_string_stays_one_string(cli: Cli) -> None:
    text = json.dumps(document({**FIXED, "source": "import torch\nfault('replace')\n"}))
    path = cli.folder / "a.ipynb"
    path.write_text(text, "utf-8")
    assert cli("--fix") == 0
    assert path.read_text("utf-8") == text.replace("fault('replace')", "mended()")


def test_format_3(cli: Cli) -> None:
    cell = {"cell_type": "code", "language": "python", "input": ["import torch\n", "other()"]}
    text = json.dumps(document(cell, version=3))
    (cli.folder / "a.ipynb").write_text(text, "utf-8")
    assert cli("--format", "concise") == 1
    assert cli.out.startswith("a.ipynb:cell 1:2:1: warning AG902")


def test_the_difference_is_that_of_the_file(cli: Cli) -> None:
    path = cli.folder / "a.ipynb"
    path.write_text(json.dumps(document(FIXED), indent=1) + "\n", "utf-8")
    assert cli("--diff") == 1
    assert "-    \"fault('replace')\\n\"," in cli.out
    assert '+    "mended()\\n",' in cli.out


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("%matplotlib inline", "pass"),
        ("    !pip install x", "    pass"),
        ("files = !ls *.py", "files = get_ipython()"),
        ("out = %time f(x)", "out = get_ipython()"),
        ("torch.ones?", "pass"),
        ("?torch.ones", "pass"),
        ("torch.ones??", "pass"),
        ("x = 5 % 3", "x = 5 % 3"),
        ("x = y != 3", "x = y != 3"),
        ("s = '?'", "s = '?'"),
    ],
)
def test_what_is_not_python_is_masked(line: str, masked: str) -> None:
    assert read(json.dumps(document(code(line)))).text.split("\n")[0] == masked


def test_operators_at_the_start_of_a_line_are_no_magics() -> None:
    lines = ["x = (7\n", "  % 4)\n", "s = '''\n", "!no shell\n", "'''"]
    found = read(json.dumps(document(code(*lines))))
    assert found.text.startswith("".join(lines))
    parse(found.text)


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile a.py", "%%html"])
def test_cells_in_another_language_are_left_out(magic: str) -> None:
    found = read(json.dumps(document(code(f"{magic}\n", "for f in *; do rm $f; done"))))
    assert parse(found.text).body == []


def test_a_timed_cell_is_python() -> None:
    found = read(json.dumps(document(code("%%time\n", "x = 1"))))
    assert "x = 1" in found.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no notebook: Expecting property name"),
        ("[]", "is no notebook: it lacks `nbformat`"),
        (json.dumps(document(version=2)), "format 2; 3 and 4 are known"),
        (
            json.dumps(document(metadata={"kernelspec": {"language": "R"}})),
            "is a notebook in r, not in Python",
        ),
        (json.dumps(document(code()) | {"cells": [{**code(), "source": 7}]}), "is no text"),
    ],
)
def test_what_is_no_python_notebook_says_why(text: str, reason: str) -> None:
    with pytest.raises(Unparsable) as caught:
        read(text)
    assert reason in caught.value.message


def test_a_syntax_error_is_in_its_cell(cli: Cli) -> None:
    path = cli.folder / "a.ipynb"
    path.write_text(json.dumps(document(code("import torch"), code("x\n", "def f(:"))), "utf-8")
    assert cli("--format", "concise") == 1
    assert cli.out.startswith("a.ipynb:cell 2:2:")


COURSE = [
    ["import torch\n", "from torch import nn\n", "\n", "%matplotlib inline"],
    ["model = nn.Linear(4, 1)\n", "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n", "model"],
    [
        "!nvidia-smi\n",
        "for epoch in range(3):\n",
        "    for x, y in [(torch.ones(2, 4), torch.ones(2, 1))] * 5:\n",
        "        loss = nn.functional.mse_loss(model(x), y)\n",
        "        loss.backward()\n",
        "        opt.step()\n",
        "loss",
    ],
]


def test_a_course_notebook_gives_what_the_script_gives(tmp_path: Path) -> None:
    book, script = tmp_path / "a.ipynb", tmp_path / "a.py"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "# Training"}]
    book.write_text(json.dumps(document(*cells, *(code(*lines) for lines in COURSE))), "utf-8")
    lines = ["".join(cell).replace("%", "# ").replace("!", "# ") + "\n" for cell in COURSE]
    script.write_text("".join(lines), "utf-8")
    in_book, in_script = Linter().check(book), Linter().check(script)
    assert [each.code for each in in_book] == [each.code for each in in_script]
    assert "AG401" in {each.code for each in in_book}


def test_suppressions_and_their_removal_work_in_cells(cli: Cli) -> None:
    path = cli.folder / "a.ipynb"
    lines = code("import torch\n", "fault()  # noqa: AG901\n", "x  # autolint: ignore[AG902]")
    path.write_text(json.dumps(document(lines)), "utf-8")
    assert cli() == 1
    assert "AG001" in cli.out
    assert cli("--fix") == 0
    assert json.loads(path.read_text("utf-8"))["cells"][0]["source"][-1] == "x"
