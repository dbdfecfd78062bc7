"""Generator that yields inside a `no_grad` block.

A generator stops at `yield`, but the block it stands in is not left: the mode is the thread's, so
it holds for whoever asked for the item, until the next one is asked for. A training loop over such
a generator records nothing, and its backward raises or trains nothing. The decorator form is safe:
it sets the mode for each item anew.

Bad:

    def batches(loader, encoder):
        with torch.no_grad():
            for x in loader:
                yield encoder(x)

Good:

    @torch.no_grad()
    def batches(loader, encoder):
        for x in loader:
            yield encoder(x)

Not reported: functions under `@contextmanager` and pytest fixtures, which are there to change
something for others; a generator that is itself run under that mode, or used where recording is
off.

Fix: none; put the decorator on the function, or yield outside the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Because, Finding, Rule, Severity, YieldedInMode

RULE = Rule(__name__, __doc__, code="AG115", severity=Severity.WARNING)


@RULE.on(YieldedInMode)
def check(yielded: YieldedInMode) -> Iterator[Finding]:
    """The block must surely change the mode, and somebody may be surprised by that."""
    if yielded.evaluation:
        return  # All its users are seen to record nothing.
    mode = yielded.block.text
    yield Finding(
        yielded.site,
        f"`{mode}` stays entered while the consumer runs; decorate the generator instead",
        because=(Because(yielded.block, "the block is left only after the last item"),),
        fault=yielded.block,
    )
