"""What is done in a process of its own, by an interpreter that has imported torch."""

from __future__ import annotations

import platform
from collections.abc import Callable

import torch

from autolint.runtime.cases import run_fixture
from autolint.runtime.findings import Part
from autolint.runtime.model import Batch, Refuted, Tally
from autolint.runtime.outcomes import Machine, Outcome
from autolint.testing import read_fixture

Tell = Callable[[object], None]


def look(tell: Tell) -> Machine:
    """Ask torch for its devices. CUDA is touched: never do this where others are forked from."""
    version = str(torch.__version__)
    processor = f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"
    devices = {"cpu": processor}
    if torch.cuda.is_available():
        return Machine(version, {**devices, "cuda": torch.cuda.get_device_name()})
    if torch.version.cuda is None and torch.version.hip is None:
        return Machine(version, devices, f"torch {version} is built without CUDA")
    return Machine(version, devices, f"torch {version} sees no CUDA device")


def run(tell: Tell, path: str, device: str) -> tuple[int, list[Outcome]]:
    """Run a fixture: how many cases it has, and what became of them.

    `tell` gets the name and the first line of each case before it runs.
    """
    torch.set_num_threads(1)  # The values are small, and other fixtures run beside this one.
    fixture = read_fixture(path)
    outcomes = run_fixture(fixture, device, started=lambda case: tell((case.name, case.first)))
    return len(fixture.cases), outcomes


def probe(tell: Tell, name: str, covered: str, skip: str) -> tuple[str, Part]:
    """The version of torch and a part of its tables; see `probe_parts.part`. Words are names."""
    from autolint.runtime import probe_parts

    return str(torch.__version__), probe_parts.part(tell, name, covered.split(), skip.split())


def present(tell: Tell, *names: str) -> list[str]:
    """Those of the names below torch that there are."""
    from autolint.runtime import probe_parts

    return probe_parts.present(names)


def conform(tell: Tell, first: str, end: str) -> Batch:
    """Compare model and torch on the programs of some seeds; `tell` gets each seed before it runs.

    Imported here, for only this needs LibCST.
    """
    from autolint.runtime.conformance import count, explain, judge
    from autolint.runtime.programs import generate

    torch.set_num_threads(1)
    tally = Tally()
    refuted: list[Refuted] = []
    for seed in range(int(first), int(end)):
        tell(seed)
        program = generate(seed)
        verdict = judge(program)
        count(tally, program, verdict)
        if verdict.contradictions():
            refuted.append(Refuted(seed, "model and torch disagree", explain(program)))
    return Batch(str(torch.__version__), tally, tuple(refuted))
