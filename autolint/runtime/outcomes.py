"""What a process with torch has to say, in classes that can be read without torch."""

from __future__ import annotations

from dataclasses import dataclass

MODULE = "<module>"
"""The name under which the body of a fixture, outside its cases, is reported."""


@dataclass(frozen=True)
class Failure:
    """A mark that does not hold: what it claims and what torch showed."""

    line: int
    claim: str
    observation: str


@dataclass(frozen=True)
class Outcome:
    """A case (or the module body) and what of it does not hold on this torch."""

    path: str
    name: str
    failures: tuple[Failure, ...]

    def __str__(self) -> str:
        lines = [
            f"\n    {self.path}:{failure.line}: claimed {failure.claim}; seen {failure.observation}"
            for failure in self.failures
        ]
        return f"{'FAIL' if lines else 'ok  '} {self.path}::{self.name}{''.join(lines)}"


@dataclass(frozen=True)
class Machine:
    """The torch that is installed and the devices it sees; `no_cuda` says why CUDA is none."""

    torch: str
    devices: dict[str, str]
    no_cuda: str = ""
