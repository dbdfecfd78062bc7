"""What a rule pack needs to test its rules: `reveal`, marks, and their comparison with findings.

Nothing here imports torch or LibCST: the linter's tests and the runtime mode read the same marks.
"""

from autolint.testing.answers import Answer
from autolint.testing.expectations import Reported, mismatches
from autolint.testing.fixtures import Case, Fixture, indistinct, read_fixture
from autolint.testing.literals import same
from autolint.testing.marks import (
    CodeMark,
    Mark,
    MarkError,
    ObserveMark,
    RaisesMark,
    RevealMark,
    WarnsMark,
    read_marks,
)
from autolint.testing.revealing import recording, reveal

__all__ = [
    "Answer",
    "Case",
    "CodeMark",
    "Fixture",
    "Mark",
    "MarkError",
    "ObserveMark",
    "RaisesMark",
    "Reported",
    "RevealMark",
    "WarnsMark",
    "indistinct",
    "mismatches",
    "read_fixture",
    "read_marks",
    "recording",
    "reveal",
    "same",
]
