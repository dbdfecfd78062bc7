"""The report of `autolint verify`, for people and for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from autolint.runtime.outcomes import Failure, Outcome
from autolint.runtime.verify import Result, Verification


def text(found: Verification) -> str:
    """One line for each rule, and below it each mark that does not hold."""
    return "\n".join(_lines(found))


def as_json(found: Verification) -> str:
    """One object; the lists are in the order of the text."""
    document = {
        "version": 1,
        "torch": found.torch,
        "devices": [
            *({"device": name, "name": full} for name, full in found.devices.items()),
            *({"device": name, "skipped": reason} for name, reason in found.skipped.items()),
        ],
        "rules": [_object(result) for result in found.results],
        "summary": {
            "holds": sum(not result.failed for result in found.results),
            "fails": sum(bool(result.failed) for result in found.results),
            "cases": sum(result.cases for result in found.results),
        },
    }
    return json.dumps(document, indent=2)


def _lines(found: Verification) -> Iterator[str]:
    yield f"torch {found.torch}"
    width = max((len(result.claim.name) for result in found.results), default=0)
    for device, full in found.devices.items():
        yield f"\n{device} ({full})"
        for result in found.results:
            if result.device == device:
                verdict = "FAILS" if result.failed else "holds"
                name = f"{result.claim.code} {result.claim.name:<{width}}"
                yield f"  {name}  {_count(result.cases, 'case'):>9}  {verdict}"
                for outcome, failure in _failures(result):
                    yield f"    {_place(outcome, failure)}: {outcome.name}"
                    yield f"      claimed: {failure.claim}"
                    yield f"      seen:    {failure.observation}"
    for device, reason in found.skipped.items():
        yield f"\n{device}: skipped, nothing was verified there: {reason}"
    yield ""
    yield _summary(found)


def _summary(found: Verification) -> str:
    failed = sum(bool(result.failed) for result in found.results)
    kept = _count(len(found.results) - failed, "rule")
    verdict = f"{kept} of {len(found.results)} held" if failed else f"{kept} held"
    cases = _count(sum(result.cases for result in found.results), "case")
    skipped = "".join(f"; {device} was skipped" for device in found.skipped)
    return f"{verdict} on {' and '.join(found.devices)} ({cases}){skipped}"


def _object(result: Result) -> dict[str, object]:
    return {
        "code": result.claim.code,
        "name": result.claim.name,
        "device": result.device,
        "cases": result.cases,
        "result": "fails" if result.failed else "holds",
        "failures": [
            {
                "path": _shown(outcome.path),
                "line": failure.line or None,
                "case": outcome.name,
                "claimed": failure.claim,
                "seen": failure.observation,
            }
            for outcome, failure in _failures(result)
        ],
    }


def _failures(result: Result) -> Iterator[tuple[Outcome, Failure]]:
    for outcome in result.failed:
        for failure in outcome.failures:
            yield outcome, failure


def _place(outcome: Outcome, failure: Failure) -> str:
    return f"{_shown(outcome.path)}:{failure.line}" if failure.line else outcome.path


def _shown(path: str) -> str:
    """Relative to the working folder, if it lies there."""
    here = os.path.join(os.getcwd(), "")
    return os.path.relpath(path).replace(os.sep, "/") if path.startswith(here) else path


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
