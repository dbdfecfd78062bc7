"""The tables of library knowledge, as lines and as text."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from autolint.autograd import committed
from autolint.runtime.findings import Row, Tables

_COLUMNS = {
    "ops.csv": (
        "names inplace variant parameters alias alias_of outputs differentiable gradient saves "
        "saves_result keeps kind_of kinds scalar rank"
    ),
    "layers.csv": (
        "name group arguments parameters parameters_if buffers buffers_if training call alias "
        "outputs differentiable rank saves saves_result keeps"
    ),
    "factories.csv": "name parameters kind_of kinds requires_grad rank size_at alias",
    "names.csv": "role name details",
}
COLUMNS = {name: columns.split() for name, columns in _COLUMNS.items()}
FOLDER = Path(committed.__file__).parent


def read() -> Tables:
    """The committed tables."""
    rows = {}
    for name in committed.NAMES:
        head, *lines = (line.split(",") for line in committed.lines(name))
        rows[name] = [dict(zip(head, line, strict=True)) for line in lines]
    return Tables(committed.made_with(committed.NAMES[0]), rows)


def text_of(columns: Iterable[str], rows: Iterable[Row], torch: str) -> str:
    """The table as it is written; cells hold no commas.

    Raises ValueError for a cell that does, which the readers could not take apart.
    """
    columns = list(columns)
    lines = [committed.MADE_WITH + torch, ",".join(columns)]
    for row in rows:
        cells = [row[column] for column in columns]
        if any("," in cell or "\n" in cell for cell in cells):
            raise ValueError(f"a comma or a line break in {cells}")
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def written(found: Tables) -> dict[str, str]:
    """The text of each table by file name."""
    rows = {**found.rows, "ops.csv": without_repeats(found.rows["ops.csv"])}
    return {name: text_of(COLUMNS[name], rows[name], found.torch) for name in committed.NAMES}


def without_repeats(rows: Iterable[Row]) -> list[Row]:
    """The joined lines of ops, and of their variants those that differ from it."""
    kept: list[Row] = []
    base: Row = {}
    for row in rows:
        if not row["variant"]:
            base = row
        if not row["variant"] or {**row, "variant": ""} != base:
            kept.append(row)
    return kept


def write(texts: Mapping[str, str], folder: Path = FOLDER) -> None:
    """Put the tables in the place of those in the folder. A reader meets an old or a new one.

    Raises OSError; as long as the texts are being written, all of the old ones stay.
    """
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        for name, text in texts.items():
            (Path(beside) / name).write_text(text, "utf-8", newline="\n")
        for name in texts:
            os.replace(Path(beside) / name, folder / name)


def by_name(table: str, rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The cells that say something of a name, by name and variant of its arguments."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        cells, variant = dict(row), ""
        if table == "ops.csv":
            variant = cells.pop("variant")
            plain, inplace = cells.pop("names").split(), cells.pop("inplace").split()
            forms = [*((name, "plain") for name in plain), *((n, "in place") for n in inplace)]
        elif table == "names.csv":
            role, name = cells.pop("role"), cells.pop("name")
            forms = [(f"{role} {name}", "plain")]
            if role == "dtype":
                cells["kinds"] = cells.pop("details")
        else:
            variant = cells.pop("call", "")
            forms = [(cells.pop("name"), "plain")]
        for name, form in forms:
            found.setdefault(name, {})[variant] = {**cells, "form": form}
    return found


def names_of(tables: Tables) -> set[tuple[str, str]]:
    """Every name that a table speaks of, with the table."""
    return {(table, name) for table, rows in tables.rows.items() for name in by_name(table, rows)}
