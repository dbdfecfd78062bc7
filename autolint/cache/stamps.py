"""Stamps: by what one sees, without reading it if possible, that a file is the one it was."""

from __future__ import annotations

import errno
import os
import stat
from hashlib import blake2b
from typing import NamedTuple

from autolint.interpreter.touched import settled
from autolint.source import Unparsable, decode


class Stamp(NamedTuple):
    """A file as it was read. `changed` is 0 if the time says nothing, so that it is read again."""

    changed: int
    size: int
    digest: str


class Reader:
    """Reads files and keeps their stamps; None for one that could not be read."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp | None] = {}
        self.unsteady: set[str] = set()
        """Files that were not the same each time they were read."""

    def read(self, path: str) -> bytes:
        """All bytes of a file. Raises OSError."""
        try:
            stamp, raw = _read(path)
        except (OSError, ValueError):
            self._keep(path, None)
            raise
        self._keep(path, stamp)
        return raw

    def text(self, path: str) -> str | None:
        """The normalised text of a file; None if it cannot be read as text."""
        try:
            return decode(path, self.read(path)).text
        except (OSError, ValueError, Unparsable):
            return None

    def _keep(self, path: str, stamp: Stamp | None) -> None:
        path = os.path.abspath(path)
        known = self.stamps.setdefault(path, stamp)
        if known is not stamp and not same(known, stamp):
            self.unsteady.add(path)


def same(one: Stamp | None, other: Stamp | None) -> bool:
    """Whether two stamps are of the same content."""
    if one is None or other is None:
        return one is other
    return one[1:] == other[1:]


def digest(raw: bytes) -> str:
    """A short name for bytes."""
    return blake2b(raw, digest_size=12).hexdigest()


def renewed(path: str, old: Stamp | None) -> Stamp | None:
    """The stamp of a file now: `old` itself if it is certain that nothing changed."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if old is not None and (status.st_mtime_ns, status.st_size) == old[:2]:
        return old
    try:
        return _read(path)[0]
    except OSError:
        return None


def _read(path: str) -> tuple[Stamp, bytes]:
    if not stat.S_ISREG(os.stat(path).st_mode):
        # The contents of a pipe cannot be waited for.
        raise OSError(errno.EINVAL, "neither a file nor a folder")
    with open(path, "rb") as stream:
        status = os.fstat(stream.fileno())
        raw = stream.read()
    return Stamp(settled(status.st_mtime_ns), len(raw), digest(raw)), raw
