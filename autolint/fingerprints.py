"""Fingerprints: a name for a finding that stays when lines are inserted or removed above it.

A fingerprint says which rule, in which file, and on which text; among equal ones, which of them
in the order of the file. It holds no line number, and no message: a message may be reworded.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from autolint.diagnostic import Diagnostic
from autolint.paths import relative

KEY = "autolint/v1"
"""What the way of computing them is called where several tools' fingerprints meet."""


def fingerprints(findings: Iterable[Diagnostic], root: str) -> Iterator[str]:
    """One for each finding, in order; paths count from `root`."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for each in findings:
        text = " ".join(each.excerpt.split())
        subject = (each.code, relative(each.path, root), text)
        parts = "\0".join((*subject, str(seen[subject])))
        seen[subject] += 1
        yield hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
