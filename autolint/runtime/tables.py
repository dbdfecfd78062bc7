"""Write the tables of library knowledge from the installed torch.

    python -m autolint.runtime.tables [FOLDER]

Writes ``layers.csv``, ``names.csv`` and ``factories.csv``, by default over the committed ones in
``autolint/autograd``. The table of ops takes minutes and has a command of its own,
``python -m autolint.runtime.probe``.
"""

from __future__ import annotations

import pathlib
import sys
import warnings
from collections.abc import Iterable

from autolint.runtime import factory_table, layer_table, name_table

FOLDER = pathlib.Path(__file__).parent.parent / "autograd"


def text_of(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The table as it is written; cells hold no commas.

    Raises ValueError for a cell that does, which the readers could not take apart.
    """
    lines = [",".join(columns)]
    for row in rows:
        cells = list(row)
        if any("," in cell or "\n" in cell for cell in cells):
            raise ValueError(f"a comma or a line break in {cells}")
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def tables(step: int = 1) -> dict[str, str]:
    """The text of each table by file name, derived from the installed torch.

    With a ``step``, only every so many classes of torch.nn are looked at: all take a minute.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "names.csv": text_of(name_table.COLUMNS, name_table.rows()),
            "factories.csv": text_of(
                factory_table.COLUMNS, (row.values() for row in factory_table.rows())
            ),
            "layers.csv": text_of(
                layer_table.COLUMNS, (row.values() for row in layer_table.rows(step))
            ),
        }


def main(folder: pathlib.Path = FOLDER) -> None:
    """Write all tables to ``folder``."""
    for name, text in tables().items():
        (folder / name).write_text(text, "utf-8")
        print(f"{name}: {text.count(chr(10)) - 1} lines")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:2]))
