"""The unit of cost: parse each file with LibCST, keep no tree, do nothing else.

Run as a process of its own: ``python -m tests.bench.baseline PATH...``. Prints how many files it
met and how many LibCST refused, as JSON.
"""

import gc
import json
import sys

import libcst

from .files import python_files


def main(paths: list[str]) -> None:
    """Parse every file; a file that LibCST cannot parse is counted and costs what it costs."""
    # A linter would switch the collector off as well: trees have no cycles, and it costs 3-7 %.
    gc.disable()
    files = refused = 0
    for path in python_files(paths):
        with open(path, "rb") as file:
            source = file.read()
        files += 1
        try:
            libcst.parse_module(source)
        except (libcst.ParserSyntaxError, SyntaxError, UnicodeError, RecursionError):
            refused += 1
    print(json.dumps({"files": files, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1:])
