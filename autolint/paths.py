"""How paths are written in reports and baselines."""

from __future__ import annotations

import os


def relative(path: str, base: str) -> str:
    """The path from `base` with ``/``; absolute if it lies elsewhere."""
    if path.startswith(base.rstrip(os.sep) + os.sep):
        path = os.path.relpath(path, base)
    return path.replace(os.sep, "/")


def in_cell(cell: int | None) -> str:
    """What goes before a place or message of a notebook, whose lines count inside a cell."""
    return "" if cell is None else f"cell {cell}: "


def repository_root(folder: str) -> str:
    """The nearest folder above (or the folder itself) that git manages; else the folder."""
    above = folder
    while not os.path.exists(os.path.join(above, ".git")):
        above, below = os.path.dirname(above), above
        if above == below:
            return folder
    return above
