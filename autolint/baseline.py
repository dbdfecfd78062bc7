"""Baselines: findings that are known and wait, so that only new ones are shown.

A baseline is a JSON file of fingerprints (see `fingerprints`), so an entry stays valid while lines
move. Paths in it count from the folder that the file is in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autolint.diagnostic import Diagnostic
from autolint.fingerprints import KEY, fingerprints
from autolint.paths import relative

VERSION = 1


class BaselineError(Exception):
    """The file cannot be used as a baseline: one line that says why."""


@dataclass(frozen=True, slots=True)
class Known:
    """An entry, as people see it: where the finding was and what it was."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings against a baseline: what is `new`, and which entries are `gone`."""

    new: list[Diagnostic]
    gone: dict[str, Known]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries by fingerprint; `root` is the folder that their paths count from."""

    root: str
    entries: Mapping[str, Known]

    @classmethod
    def of(cls, path: str, findings: Iterable[Diagnostic]) -> Baseline:
        """The baseline that a file at `path` has to hold so that these findings are known."""
        root = _root(path)
        findings = list(findings)
        marks = fingerprints(findings, root)
        return cls(
            root,
            {
                mark: Known(relative(each.path, root), each.code, each.message)
                for mark, each in zip(marks, findings, strict=True)
            },
        )

    @classmethod
    def load(cls, path: str) -> Baseline:
        """Read a file. Raises BaselineError."""
        try:
            with open(path, encoding="utf-8") as stream:
                document = json.load(stream)
        except FileNotFoundError as error:
            raise BaselineError(f"no baseline {path}; --write-baseline makes one") from error
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BaselineError(f"baseline {path} cannot be read: {reason}") from error
        if not isinstance(document, dict) or document.get("version") != VERSION:
            raise BaselineError(f"baseline {path} is not one of version {VERSION}")
        try:
            entries = {
                str(each["fingerprint"]): Known(each["path"], each["code"], each["message"])
                for each in document["findings"]
            }
        except (KeyError, TypeError) as error:
            raise BaselineError(f"baseline {path} has an entry that lacks a field") from error
        return cls(_root(path), entries)

    def compare(self, findings: Iterable[Diagnostic], checked: Iterable[str]) -> Compared:
        """Tell new findings from known ones.

        An entry can only be gone if its file was `checked` (paths) or is no more.
        """
        findings = list(findings)
        marks = list(fingerprints(findings, self.root))
        looked_at = {relative(path, self.root) for path in checked}
        gone = {
            mark: known
            for mark, known in self.entries.items()
            if mark not in set(marks)
            and (known.path in looked_at or not os.path.exists(os.path.join(self.root, known.path)))
        }
        pairs = zip(marks, findings, strict=True)
        return Compared([each for mark, each in pairs if mark not in self.entries], gone)

    def without(self, gone: Mapping[str, Known]) -> Baseline:
        """The same baseline but for some entries."""
        kept = {mark: known for mark, known in self.entries.items() if mark not in gone}
        return Baseline(self.root, kept)

    def content(self) -> bytes:
        """The bytes of the file: one finding a line, in order, so that versions merge well."""
        lines = [
            json.dumps(
                {
                    "path": known.path,
                    "code": known.code,
                    "message": known.message,
                    "fingerprint": mark,
                }
            )
            for mark, known in sorted(
                self.entries.items(), key=lambda item: (item[1].path, item[1].code, item[0])
            )
        ]
        body = ",\n".join(lines)
        head = f'{{"version": {VERSION}, "fingerprints": "{KEY}", "findings": ['
        return f"{head}\n{body}\n]}}\n".encode()


def _root(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))
