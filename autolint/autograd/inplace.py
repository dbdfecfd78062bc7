"""What changes a tensor that is there already: writes in place, `.data =`, and its flags.

`Autograd` is the symbolic engine: a `Recorder` that also keeps the rules of torch on leaves, views
and version counters when memory is written or a flag is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autolint.autograd import graph
from autolint.autograd.graph import Node, Saved
from autolint.autograd.identity import alternatives, doubles, history_base, is_base, sharing_history
from autolint.autograd.objects import Module
from autolint.autograd.op_facts import OpFacts
from autolint.autograd.recording import Operand, Recorder
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState, Write
from autolint.autograd.values import (
    MAYBE,
    NO,
    YES,
    GradMode,
    Kind,
    Origin,
    Through,
    Tri,
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
        part: Tri = NO,
    ) -> None:
        """An in-place operation on `target`; `operands` are the others (position 1 and up).

        `part`: only a part of it is written, as through a view.
        """
        node: Node | None = None
        if not self.mode.off and target.through is not Through.NUMPY:
            node = self._rebase(target, facts, operands, origin, unseen, sure, part)
        graph.write(self.heap, target, target.through, origin, sure, event)
        if node is not None and facts is not None:
            self._save_result(facts, [(0, target), *operands], node, target, 0)

    def detach_(self, tensor: Tensor) -> None:
        """The tensor leaves its graph; in inference mode torch does nothing."""
        if self.mode is GradMode.INFERENCE or tensor.state.inference is YES:
            return
        for other, same in (
            (tensor, tensor.tensor),
            *((other, MAYBE) for other in doubles(tensor.state)),
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
            elif view.source is not None:
                # It has its history until the memory is written: then torch asks the base again.
                node = Node("a view", ((view.state.node, MAYBE),), (), view.origin, self.stamp)
                facts = vars(view.state)
                self.heap.put(facts, "node", node)
                self.heap.put(facts, "requires_grad", MAYBE)
                self.heap.put(facts, "leaf", MAYBE)

    def take_data(self, tensor: Tensor, given: Tensor) -> None:
        """After `tensor.data = given`: what the tensor takes over from the new memory.

        Its gradient keeps the shape it had: a rank that changes is not known any more.
        """
        new = given.state
        for other in (tensor, *doubles(tensor.state)):
            state = other.state
            sure = other is tensor
            kind = new.kind if sure else Kind.join(state.kind, new.kind)
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
        part: Tri,
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
        chain = tuple(sharing_history(target))
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
                # Torch wraps the node of a write through a view, and frees what it wraps.
                wrapped = YES if len(chain) > 1 else part | (MAYBE if state.perhaps else NO)
                if wrapped is not NO:
                    node.saved += (Saved(None, Storage(), wrapped),)
            facts_of = vars(state)
            self._retain_on(tensor, node, sure=len(chain) == 1 and sure is YES)
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
            written = {id(tensor.state) for tensor in chain}
            seen: set[int] = set()
            self._follow(chain[-1], written, seen, origin)
            for other in (other for tensor in chain for other in alternatives(tensor.state)):
                state = other.state
                if state.requires_grad is YES and state.leaf is YES:
                    continue  # A write to it would have been refused.
                if id(state) not in written:
                    written.add(id(state))
                    self._take_history(other, target, False, origin)
                self._follow(other, written, seen, origin, sure=False)
        return node

    def _retain_on(self, tensor: Tensor, node: Node, sure: bool) -> None:
        """A gradient that is to be retained is that of the written value from now on."""
        state = tensor.state
        if state.retains_grad is NO:
            return
        if state.node is not None and state.node.retained is state:
            self.heap.put(vars(state.node), "retained", None)
        self.heap.put(vars(node), "retained", state)
        if not sure:
            for name, fact in (("absent", MAYBE), ("guessed", True), ("given", True)):
                self.heap.put(vars(state), name, fact)

    def _follow(
        self, base: Tensor, written: set[int], seen: set[int], origin: Origin, sure: bool = True
    ) -> None:
        """The views of written memory take their history from their base, as torch does lazily.

        `written` are the tensors that have theirs; `sure`: the memory is surely what was written.
        """
        for view in base.state.views:
            if id(view.state) in seen:
                continue
            seen.add(id(view.state))
            same = sure and view.storage is base.storage and not view.state.perhaps
            if id(view.state) not in written:
                self._take_history(view, base, same, origin)
                if view.state.fixed:
                    self.heap.put(vars(view.state), "outdated", True)
            self._follow(view, written, seen, origin, same)

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
        value = value | _held(tensor)
        self.set_trainable(state.members, value)
        self._put_flag(state, value)
        if value is YES and tensor.source is not None and not state.perhaps:
            self.heap.put(vars(state), "accumulates", True)
        self._flag_owner(state, value)
        self._spread_flag(state, value, asked=is_base(tensor))

    def _put_flag(self, state: TensorState, value: Tri) -> None:
        if state.leaf is not YES:
            own = state.requires_grad
            unsure = MAYBE if state.leaf is MAYBE else own | MAYBE
            value = YES if value is YES else own & MAYBE if value is NO else unsure
        self.heap.put(vars(state), "requires_grad", value)

    def _flag_owner(self, state: TensorState, value: Tri) -> None:
        """A flag of one of the parameters of a layer says something of all of them."""
        owner = state.owner
        if isinstance(owner, Module):
            self.heap.put(vars(owner), "trainable", Tri.join(owner.trainable, value))

    def _spread_flag(self, state: TensorState, value: Tri, asked: bool = True) -> None:
        """Let what may be the same tensor have its new flag, and views that ask their base.

        `asked`: it is that base.
        """
        others = doubles(state)
        for other in others:
            own = other.state.requires_grad
            self.heap.put(vars(other.state), "requires_grad", Tri.join(own, value))
            self._flag_owner(other.state, value)
            if value is not NO and other.state.perhaps:
                self._lead_on(other)
        seen = {id(state), *(id(other.state) for other in others)}
        if asked:
            self._flag_views(state, value, seen)
        for other in others:
            if is_base(other):
                self._flag_views(other.state, MAYBE, seen)

    def _flag_views(self, state: TensorState, value: Tri, seen: set[int]) -> None:
        for view in state.views:
            if id(view.state) in seen:
                continue
            seen.add(id(view.state))
            same = view.storage is state.memory and not view.storage.unseen
            flag = value if same else Tri.join(view.state.requires_grad, value)
            if view.state.node is None:
                # Without history of its own it has no flag either: torch asks the base of all.
                self.heap.put(vars(view.state), "requires_grad", flag)
            self._flag_views(view.state, value if same else MAYBE, seen)

    def _lead_on(self, tensor: Tensor) -> None:
        """Gradients of one of several tensors may come to each of them."""
        state = tensor.state
        node = graph.merge("a branch", state.perhaps, tensor.origin)
        if state.node is not None:
            node.inputs = (*node.inputs, (state.node, MAYBE))
        self.heap.put(vars(state), "node", node)

    def set_trainable(self, holders: Iterable[GradHolder], value: Tri, sure: bool = True) -> None:
        """Set the flag of all parameters of some sets; not `sure`: or of others."""
        for holder in holders:
            states: list[TensorState] = []
            if isinstance(holder, TensorState):
                states.append(holder)
            elif isinstance(holder, Module):
                now = value if sure else Tri.join(holder.trainable, value)
                self.heap.put(vars(holder), "trainable", now)
                self.set_trainable(holder.perhaps, value, sure=False)
                states += [
                    item.state
                    for item in holder.attributes.values()
                    if isinstance(item, Tensor) and item.state.owner is holder
                ]
            for state in states:
                now = value if sure else Tri.join(state.requires_grad, value)
                self.heap.put(vars(state), "requires_grad", now)
                self._spread_flag(state, now)


def _held(tensor: Tensor) -> Tri:
    """Whether a view keeps its flag because what it is a view of has it."""
    state = tensor.state
    if tensor.source is not None and not state.cut and not tensor.storage.unseen:
        return history_base(tensor).state.requires_grad
    held = NO
    for other in state.perhaps:
        held = held | (MAYBE & other.state.requires_grad)
    return held
