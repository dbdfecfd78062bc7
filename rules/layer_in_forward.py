"""Layer with parameters is built in forward, and thrown away after the call.

Every call of the model makes a new layer with new random weights. They belong to no module: the
optimizer never sees them, `state_dict()` does not save them, `model.to(device)` does not move
them, and two calls with one input give two results. The rest of the model learns behind a random
projection that changes at every step, so the loss often falls all the same.

Bad:

    def forward(self, x):
        return nn.Linear(16, 4)(x)

Good:

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(x)

If the size is known only from the input, `nn.LazyLinear` takes it from the first one.

Not reported: layers without parameters (activations, pooling, losses, norms with
`affine=False`); layers that forward keeps on the module, as in `if self.proj is None`; layers whose
weights are set, loaded, frozen or handed to other code before the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.api import Because, Finding, FreshLayerCalled, GradMode, Rule, Severity, Tri

RULE = Rule(__name__, __doc__, code="AG302", severity=Severity.ERROR)


@RULE.on(FreshLayerCalled)
def check(called: FreshLayerCalled) -> Iterator[Finding]:
    """A layer whose random weights are used once."""
    if called.parameters is not Tri.YES:
        return  # Nothing to learn is lost; or an argument that is not known decides.
    if called.mode in (GradMode.OFF, GradMode.INFERENCE):
        return  # A random projection that nobody means to train.
    calls = called.scope.calls
    because = (Because(calls[-1], "forward builds it here"),) if _helper(called) else ()
    yield Finding(
        called.site,
        f"this `{called.layer}` is new at every call of forward and never trained; "
        "build it in `__init__` and keep it on self",
        because=because,
        fault=called.site,
    )


def _helper(called: FreshLayerCalled) -> bool:
    """Whether a method that forward calls built and used the layer."""
    return bool(called.scope.calls) and called.scope.name != "forward"
