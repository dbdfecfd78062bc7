"""The committed tables of what torch does: text files beside this module.

The first line names the torch whose answers they are (``# torch 2.13.0``), the second the columns;
below it cells stand between commas. ``autolint verify --ops`` compares them with the installed
torch, ``--write`` writes them anew.
"""

from __future__ import annotations

from importlib.resources import files

NAMES = ("ops.csv", "layers.csv", "factories.csv", "names.csv")

MADE_WITH = "# torch "
"""How the first line begins."""


def lines(name: str) -> list[str]:
    """The lines of the table of that file name, its columns first."""
    return _text(name).splitlines()[1:]


def made_with(name: str) -> str:
    """The version of torch that the table was made with."""
    return _text(name).split("\n", 1)[0].removeprefix(MADE_WITH)


def _text(name: str) -> str:
    return files("autolint.autograd").joinpath(name).read_text("utf-8")
