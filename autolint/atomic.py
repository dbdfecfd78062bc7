"""Files are written in one step: whatever happens, the old content stands, or the new one."""

from __future__ import annotations

import atexit
import os
import stat
import threading

_WRITING = threading.Lock()
"""Held while a file is written, and for good once the process ends."""

_PATIENCE = 10.0
"""Seconds that the end of the process waits for a write; a disk may hang."""


def replace(path: str, content: bytes) -> None:
    """Put a file in place in one step: whole or not at all. Raises OSError.

    One that exists keeps its mode; through a link, the file behind it is replaced.
    """
    path = os.path.realpath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | (0o666 & ~_umask())
    if not stat.S_ISREG(mode):
        with open(path, "wb") as device:  # a terminal, a pipe: nothing to keep whole
            device.write(content)
        return
    with _WRITING:
        temporary = os.path.join(os.path.dirname(path), f".autolint-{os.urandom(6).hex()}")
        try:
            with open(temporary, "xb") as stream:
                stream.write(content)
            os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise


@atexit.register
def finish() -> None:
    """Let a write that another thread is at come to its end, and none begin after it.

    An interrupted run ends while its thread goes on: it must leave no temporary file behind.
    """
    _WRITING.acquire(timeout=_PATIENCE)


def _umask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
