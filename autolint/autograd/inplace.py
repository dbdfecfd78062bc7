"""What changes a tensor that is there already: writes in place, `.data =`, and its flags.

`Autograd` is the symbolic engine: a `Recorder` that also keeps the rules of torch on leaves, views
and version counters when memory is written or a flag is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autolint.autograd import graph
from autolint.autograd.graph import Node, Saved
from autolint.autograd.objects import Module
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.recording import Operand, Recorder
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState, Write
from autolint.autograd.values import (
    MAYBE,
    NO,
    NO_GRAD_YET,
    YES,
    GradMode,
    Kind,
    Origin,
    Through,
    Tri,
    Word,
)


class Autograd(Recorder):
    """The symbolic autograd engine: records operations, and changes tensors as torch would."""

    # ---------------------------------------------------------------- in place

    def write(
        self,
        target: Tensor,
        facts: OpFacts | None,
        operands: Sequence[Operand],
        origin: Origin,
        *,
        unseen: bool = False,
        sure: Tri = YES,
        event: object = None,
    ) -> None:
        """An in-place operation on `target`; `operands` are the others (position 1 and up)."""
        node: Node | None = None
        if not self.mode.off and target.through is not Through.NUMPY:
            node = self._rebase(target, facts, operands, origin, unseen, sure)
        graph.write(self.heap, target, target.through, origin, sure, event)
        if node is not None and facts is not None:
            self._save_result(facts, [(0, target), *operands], node, target, 0)

    def detach_(self, tensor: Tensor) -> None:
        """The tensor leaves its graph; in inference mode torch does nothing."""
        if self.mode is GradMode.INFERENCE or tensor.state.inference is YES:
            return
        for other, same in (
            (tensor, tensor.tensor),
            *((other, MAYBE) for other in tensor.state.perhaps),
        ):
            state = other.state
            for name, fact in (("requires_grad", NO), ("leaf", YES)):
                now = fact if same is YES else Tri.join(getattr(state, name), fact)
                self.heap.put(vars(state), name, now)
            if same is YES:
                self.heap.put(vars(state), "node", None)
        for view in tensor.state.views:
            if view.state.node is None:
                self.set_requires_grad(view, NO)

    def take_data(self, tensor: Tensor, given: Tensor) -> None:
        """After `tensor.data = given`: what the tensor takes over from the new memory.

        Its gradient keeps the shape it had: a rank that changes is not known any more.
        """
        new = given.state
        perhaps_this = (view for view in tensor.state.views if tensor in view.state.perhaps)
        for other in (tensor, *tensor.state.perhaps, *perhaps_this):
            state = other.state
            sure = other is tensor
            kind = state.kind if new.kind is Kind.UNKNOWN else new.kind
            kind = kind if sure else Kind.join(state.kind, kind)
            inference = new.inference if sure else Tri.join(state.inference, new.inference)
            rank = new.rank if state.rank == new.rank else None
            for name, fact in (("kind", kind), ("rank", rank), ("inference", inference)):
                self.heap.put(vars(state), name, fact)
            self.heap.put(vars(state), "dtype", new.dtype if sure else None)

    def rebind(self, target: Tensor, origin: Origin, event: object) -> None:
        """`target.data = …`: what was saved of the object is replaced under the graph's feet."""
        state = target.state
        made = Write(origin, Through.DATA, event)
        holders = state.members or ((state,) if state.owner is None else (state.owner,))
        for holder in holders:
            low, high = holder.rebound
            self.heap.put(vars(holder), "rebound", (low + 1, high + 1))
            self.heap.put(vars(holder), "last_rebind", made)

    def _rebase(
        self,
        target: Tensor,
        facts: OpFacts | None,
        operands: Sequence[Operand],
        origin: Origin,
        unseen: bool,
        sure: Tri,
    ) -> Node | None:
        """Give the written tensor (and the tensors it is a view of) the operation's node."""
        grad = NO
        for _, tensor in operands:
            grad = grad | graph.recorded(tensor)
        if unseen:
            grad = grad | MAYBE
        if facts is not None and facts.can_require_grad() is NO:
            grad = NO
        grad = grad & sure & target.state.kind.differentiable
        if target.state.kind is Kind.UNKNOWN and grad is NO and unseen:
            grad = MAYBE
        everything = [(0, target), *operands]
        node: Node | None = None
        chain = tuple(_sharing_history(target))
        for tensor in chain:
            state = tensor.state
            before = state.requires_grad
            after = before | grad
            if after is NO:
                continue
            if node is None:
                node = (
                    Node(
                        "an in-place write", tuple(e for _, t in everything for e in graph.edge(t))
                    )
                    if facts is None
                    else self.node(facts.written(), everything, origin)
                )
                node.origin, node.stamp = origin, self.stamp
                if len(chain) > 1 or target.state.perhaps:
                    # Torch wraps the node of a write through a view, and frees what it wraps.
                    sure = YES if len(chain) > 1 else MAYBE
                    node.saved += (Saved(None, Storage(), sure),)
            facts_of = vars(state)
            self.heap.put(facts_of, "requires_grad", after)
            if before is YES and state.leaf is YES:
                continue
            if tensor is not target and state.node is not None:
                node_here = Node(
                    "a write through a view",
                    ((node, YES), *graph.edge(tensor)),
                    (),
                    origin,
                    self.stamp,
                )
                self.heap.put(facts_of, "node", node_here)
            else:
                self.heap.put(facts_of, "node", node)
            self.heap.put(facts_of, "leaf", NO if after is YES else MAYBE)
        if node is not None:
            self._follow(chain[-1], {id(tensor.state) for tensor in chain}, origin)
            for source in (other for tensor in chain for other in tensor.state.perhaps):
                self._take_history(source, target, False, origin)
        return node

    def _follow(self, base: Tensor, written: set[int], origin: Origin) -> None:
        """The views of written memory take their history from their base, as torch does lazily."""
        for view in base.state.views:
            if id(view.state) not in written:
                self._take_history(view, base, view.storage is base.storage, origin)
            self._follow(view, written, origin)

    def _take_history(self, tensor: Tensor, source: Tensor, sure: bool, origin: Origin) -> None:
        """A tensor's history becomes that of the tensor it is (perhaps) a view of."""
        state = tensor.state
        grad = state.requires_grad | source.state.requires_grad
        leaf = NO if grad is YES else MAYBE
        edges = tuple(graph.edge(source))
        if not sure:
            grad = Tri.join(state.requires_grad, grad)
            leaf = Tri.join(state.leaf, leaf)
            edges = tuple((to, strength & MAYBE) for to, strength in (*edges, *graph.edge(tensor)))
        node = Node("a view", edges, (), origin, self.stamp)
        for name, fact in (("requires_grad", grad), ("leaf", leaf), ("node", node)):
            self.heap.put(vars(state), name, fact)

    # ---------------------------------------------------------------- flags

    def set_requires_grad(self, tensor: Tensor, value: Tri, origin: Origin = None) -> None:
        """`requires_grad_()` or an assignment to `.requires_grad`."""
        state = tensor.state
        source = tensor.source
        copied = state.cut and source is not None and source.state.leaf is YES  # of no operation
        if value is YES and state.requires_grad is NO and state.lost is not None and not copied:
            self.heap.put(vars(state), "marked", origin)
        if tensor.source is not None and not state.cut and not tensor.storage.unseen:
            value = value | tensor.source.state.requires_grad  # a view also has its base's flag
        self.set_trainable(state.members, value)
        self.heap.put(
            vars(state),
            "requires_grad",
            value
            if state.leaf is YES
            else value | state.requires_grad
            if value is not NO
            else state.requires_grad & MAYBE,
        )
        if value is not NO and state.leaf is YES and Word.NONE in state.words:
            self.heap.put(vars(state), "words", NO_GRAD_YET)
        for other in state.perhaps:
            own = other.state.requires_grad
            self.heap.put(vars(other.state), "requires_grad", Tri.join(own, value))
        for view in state.views:
            # A view without history of its own has no flag either: torch asks its base.
            own = view.state.requires_grad
            if view.state.node is None:
                same = view.storage is tensor.storage and not view.storage.unseen
                self.set_requires_grad(view, value if same else Tri.join(own, value))

    def set_trainable(self, holders: Iterable[GradHolder], value: Tri) -> None:
        """Set the flag of all parameters of some sets."""
        for holder in holders:
            if isinstance(holder, TensorState):
                self.heap.put(vars(holder), "requires_grad", value)
            elif isinstance(holder, Module):
                self.heap.put(vars(holder), "trainable", value)
                for item in holder.attributes.values():
                    if isinstance(item, Tensor) and item.state.owner is holder:
                        self.heap.put(vars(item.state), "requires_grad", value)


def _sharing_history(tensor: Tensor) -> Iterator[Tensor]:
    """A tensor and those it is a view of, up to where it was detached."""
    for source in tensor.sources():
        yield source
        if source.state.cut:
            return
