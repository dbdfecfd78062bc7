"""Which files are measured: all below some paths, or a random sample that anyone can draw again."""

import os
import random
from collections.abc import Iterable, Iterator


def python_files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files named in ``paths`` and every ``.py`` file below the folders in it, sorted."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, subfolders, names in os.walk(path):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(folder, name)


def count_lines(path: str) -> int:
    """Count line feeds, and a last line without one."""
    with open(path, "rb") as file:
        source = file.read()
    return source.count(b"\n") + (not source.endswith(b"\n") and bool(source))


def sample(files: Iterable[str], lines: int, seed: int) -> list[str]:
    """Draw files without replacement until they have at least ``lines`` lines, or none is left."""
    # The order of the folders must not matter, so that a seed means the same files everywhere.
    pool = sorted(files)
    random.Random(seed).shuffle(pool)
    drawn: list[str] = []
    total = 0
    for path in pool:
        if total >= lines:
            break
        drawn.append(path)
        total += count_lines(path)
    return sorted(drawn)
