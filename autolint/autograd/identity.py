"""Which tensors share a history, and which may be one object: what a name is bound to after a
branch may be either of two tensors, and some operations hand back their operand or a copy, as
arguments decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from autolint.autograd.tensor import Tensor, TensorState


def alternatives(state: TensorState) -> list[Tensor]:
    """The tensors that one may be (or be a view of), and those that these may be."""
    found: dict[int, Tensor] = {}
    todo = list(state.perhaps)
    while todo:
        tensor = todo.pop()
        if id(tensor.state) not in found and tensor.state is not state:
            found[id(tensor.state)] = tensor
            todo.extend(tensor.state.perhaps)
    return list(found.values())


def doubles(state: TensorState) -> list[Tensor]:
    """All tensors that may be the same object: what it may be comes before what may be it."""
    found = {id(tensor.state): tensor for tensor in alternatives(state)}
    todo = [*state.views, *(view for tensor in found.values() for view in tensor.state.views)]
    while todo:
        view = todo.pop()
        if view.state.perhaps and id(view.state) not in found and view.state is not state:
            found[id(view.state)] = view
            todo.extend(view.state.views)
    return list(found.values())


def sharing_history(tensor: Tensor) -> Iterator[Tensor]:
    """A tensor and those it is a view of, up to where it was detached."""
    for source in tensor.sources():
        yield source
        if source.state.cut:
            return


def history_base(tensor: Tensor) -> Tensor:
    """The tensor that a view of views is a view of in the end: torch asks no other for its flag."""
    *_, base = sharing_history(tensor)
    return base


def is_base(tensor: Tensor) -> bool:
    """Whether a tensor has a history of its own: it is no view."""
    return tensor.source is None or tensor.state.cut
