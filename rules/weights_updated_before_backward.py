"""Parameters are changed between the forward pass and a backward over it.

A layer saves its weight to carry the gradient through to what came in. `optimizer.step()` writes
the weights in place, and so do `load_state_dict`, the functions of `torch.nn.init` and a moving
average under `no_grad`. A backward that comes later over the graph of the old weights raises: "one
of the variables needed for gradient computation has been modified by an inplace operation". It
shows where two losses share a forward pass: an adversary whose step stands between the two
backwards, an actor and a critic on one trunk, a graph kept from one iteration to the next.

Before version 1.5 torch did not notice and gave a wrong gradient; code from then often has this
order.

Bad:

    score = critic(fake)
    critic_loss(score).backward(retain_graph=True)
    critic_optimizer.step()
    actor_loss(score).backward()

Good:

    score = critic(fake)
    critic_loss(score).backward(retain_graph=True)
    actor_loss(score).backward()
    critic_optimizer.step()

or compute the score anew after the step.

Not reported: another model's optimizer; losses that are computed after the step, or from detached
results; layers that save no weight, as the first one does where its input needs no gradient; what
autocast casts, such as linear layers and convolutions, which save copies of their weights;
writes through `.data` (AG102) and `detach()` (AG104).
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import (
    Backward,
    Because,
    Finding,
    InPlaceWrite,
    OptimizerStep,
    Rule,
    Severity,
    Through,
    Tri,
)

RULE = Rule(__name__, __doc__, code="AG410", severity=Severity.ERROR)


@RULE.on(Backward)
def check(backward: Backward) -> Iterator[Finding]:
    """A backward needs parameters as they were before the last change."""
    for stale in backward.stale:
        write = stale.write
        if isinstance(write, OptimizerStep):
            text = f"`{write.optimizer_text}.step()`"
        elif isinstance(write, InPlaceWrite) and _of_parameter(write):
            text = f"the write to `{write.target_text}`"
        else:
            continue  # A result or a buffer: AG506; through an alias: AG102, AG104.
        if any(
            guard.test is other.test and guard.holds is not other.holds
            for guard in write.guards
            for other in backward.guards
        ):
            continue  # The two never happen in one pass.
        because = [Because(write.site, "changed here")]
        if stale.origin is not None:
            because.insert(0, Because(stale.origin, f"needed since `{stale.operation}` ran here"))
        yield Finding(
            backward.site,
            f"{text} has changed weights that this backward needs: it raises; change them after "
            "the last backward, or run the forward pass again",
            because=tuple(because),
            fault=backward.site,
        )
        return  # One is enough to make it raise.


def _of_parameter(write: InPlaceWrite) -> bool:
    """Whether leaves that require grad are written themselves."""
    base = write.base.state
    return (
        write.through is Through.SELF and base.leaf is Tri.YES and base.requires_grad is not Tri.NO
    )
