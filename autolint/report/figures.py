"""What the end of a report counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autolint.diagnostic import Outcome
from autolint.severity import Severity


def by_code(outcome: Outcome) -> dict[str, int]:
    """How many findings each code has, most frequent first."""
    counts = Counter(each.code for each in outcome.findings)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def fixable(outcome: Outcome, safe: bool = True) -> int:
    """How many findings have a fix that is (not) safe."""
    return sum(each.fix is not None and each.fix.safe is safe for each in outcome.findings)


def last_line(outcome: Outcome) -> str:
    """The one line that sums the run up."""
    parts = [f"fixed {outcome.fixed}"] if outcome.fixed else []
    if outcome.suppressed:
        parts.append(f"suppressed {outcome.suppressed}")
    counts = Counter(each.severity for each in outcome.findings)
    found = [
        plural(counts[each], str(each)) for each in sorted(Severity, reverse=True) if counts[each]
    ]
    line = f"found {', '.join(found) or 'nothing'} in {plural(outcome.files, 'file')}"
    fixes = list(_fixes(outcome))
    parts.append(f"{line} ({', '.join(fixes)})" if fixes else line)
    if outcome.known:
        parts.append(f"{outcome.known} in the baseline")
    if outcome.not_followed:
        functions = plural(outcome.functions, "function")
        parts.append(f"{outcome.not_followed} of {functions} not followed")
    if outcome.problems:
        parts.append(plural(len(outcome.problems), "problem"))
    return "; ".join(parts)


def plural(count: int, word: str, many: str | None = None) -> str:
    """``1 file``, ``2 files``; ``info`` stays as it is."""
    if count == 1 or word == "info":
        return f"{count} {word}"
    return f"{count} {many or word + 's'}"


def _fixes(outcome: Outcome) -> Iterator[str]:
    safe, unsafe = fixable(outcome), fixable(outcome, safe=False)
    if safe:
        yield f"{safe} fixable"
    if unsafe:
        yield f"{unsafe} with --unsafe-fixes"
