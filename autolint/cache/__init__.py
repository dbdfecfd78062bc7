"""What earlier runs found, kept in `.autolint_cache` so that unchanged files need not be checked.

Only JSON is written, always as whole files that take an old one's place. What cannot be read, is
damaged, or was written by another autolint is treated as if it were not there.
"""

from __future__ import annotations

from autolint.cache.installed import Installed, installed, keep
from autolint.cache.place import FOLDER, Place, clean
from autolint.cache.results import Results
from autolint.cache.stamps import Reader

__all__ = ["FOLDER", "Installed", "Place", "Reader", "Results", "clean", "installed", "keep"]
