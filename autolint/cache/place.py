"""The folder of the cache, and how a file in it is read and written."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from typing import Any

from autolint.atomic import replace

FOLDER = ".autolint_cache"

TAG = sys.implementation.cache_tag or "python"
"""In the names of files: each version of Python has its own."""

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of autolint; it can be removed at any time.\n"
    "# About such folders: https://bford.info/cachedir/\n"
)


class Place:
    """The cache folder of the repository that a folder lies in, or else of the folder itself."""

    def __init__(self, base: str) -> None:
        self.folder = os.path.join(_root(base), FOLDER)

    def read(self, name: str) -> Any:
        """The content of a file; None if there is none, or it is not as it was written."""
        try:
            with open(os.path.join(self.folder, name), "rb") as stream:
                head, _, body = stream.read().partition(b"\n")
            if head != _checksum(body):
                return None
            return json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, content: Any) -> None:
        """Put a file in place of an older one. Raises OSError."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            replace(os.path.join(self.folder, ".gitignore"), b"*\n")
            replace(os.path.join(self.folder, "CACHEDIR.TAG"), _TAG.encode())
        body = json.dumps(content, separators=(",", ":")).encode()
        replace(os.path.join(self.folder, name), _checksum(body) + b"\n" + body)


def clean(base: str) -> str | None:
    """Remove the cache that a run in `base` would use; its path, if there was one. Raises OSError.

    A folder of that name without our tag is somebody else's and stays.
    """
    folder = Place(base).folder
    if os.path.islink(folder) or not os.path.isfile(os.path.join(folder, "CACHEDIR.TAG")):
        return None
    shutil.rmtree(folder)
    return folder


def _root(base: str) -> str:
    folder = base
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return base
        folder = parent
    return folder


def _checksum(body: bytes) -> bytes:
    return b"autolint %08x" % zlib.crc32(body)
