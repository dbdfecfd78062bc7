"""What an operation gives: results, how they alias the operands, nodes and what these save.

`Recorder` holds the grad mode and the heap, and makes results from op facts. What changes a tensor
that is there already is in `inplace`.
"""

from __future__ import annotations

from collections.abc import Sequence

from autolint.autograd import casting, graph
from autolint.autograd.graph import Node, Saved, Stamp
from autolint.autograd.heap import Heap
from autolint.autograd.identity import history_base
from autolint.autograd.op_facts import Alias, OpFacts
from autolint.autograd.tensor import GradHolder, OffAlias, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    UNKNOWN_GRAD,
    YES,
    Grade,
    GradMode,
    Kind,
    Lost,
    Origin,
    Through,
    Tri,
)

_ALONE = (Alias.SAME.value, Alias.VIEW.value, Alias.FRESH.value)
_KEEP_VIEWS = frozenset({"Linear", "nn.functional.linear", "einsum"})
"""Ops that save a transposed view of an operand, not the operand itself."""
_TOGETHER = frozenset({"unbind", "chunk", "split", "split_with_sizes"})
"""Ops that make several views in one go, which torch does not let a recorded operation write."""
_MAX_SAVERS = 12
"""How many savers of one storage are remembered, the latest first."""

Operand = tuple[int, Tensor]
"""A tensor operand with the position of the parameter it is given for."""


class Recorder:
    """Makes the results of operations, with what autograd records of them.

    `mode` is the grad mode of the running thread; `block` identifies the grad-off block it comes
    from; `casting` is the autocast that may be active; `stamp` says in which iterations of which
    loops the program is.
    """

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        self.mode = GradMode.ON
        self.block: object = None
        self.casting = casting.OFF
        self.stamp: Stamp = ()

    # ---------------------------------------------------------------- making tensors

    def leaf(
        self,
        kind: Kind,
        rank: int | None,
        requires_grad: Tri,
        origin: Origin,
        grade: Grade = Grade.BUILT,
        parameter: Tri = NO,
    ) -> Tensor:
        """A tensor that no operation made."""
        inference = Tri.of(self.mode is GradMode.INFERENCE)
        state = TensorState(requires_grad, YES, kind, rank, None, inference, parameter)
        return Tensor(state, Storage(), origin, grade)

    def vague(self, origin: Origin, grade: Grade, kind: Kind = Kind.UNKNOWN) -> Tensor:
        """A tensor of which nothing else is known: it may have history that was not seen."""
        state = TensorState(MAYBE, MAYBE, kind, None, None, MAYBE, MAYBE, UNKNOWN_GRAD)
        return Tensor(state, Storage(unseen=True), origin, grade)

    def opaque(
        self,
        inputs: Sequence[Tensor | GradHolder],
        origin: Origin,
        grade: Grade,
        saves: bool,
    ) -> Tensor:
        """A tensor that unseen code made from some inputs and that is known to require grad.

        `saves`: it is one graph, which saved something; else there may be another one each time.
        """
        edges: list[tuple[Node | GradHolder, Tri]] = []
        for item in inputs:
            if isinstance(item, Tensor):
                edges.extend((target, sure & MAYBE) for target, sure in graph.edge(item))
            else:
                edges.append((item, MAYBE))
        node = Node("a call", tuple(edges), (), origin, self.stamp, opaque=True)
        node.saved = (Saved(None, Storage(), YES),) if saves else ()
        state = TensorState(YES, NO, Kind.FLOAT, None, node)
        return Tensor(state, Storage(unseen=True), origin, grade)

    # ---------------------------------------------------------------- operations

    def apply(
        self,
        facts: OpFacts,
        operands: Sequence[Operand],
        kind: Kind,
        rank: int | None,
        origin: Origin,
        *,
        unseen: bool = False,
        alias: Alias | None = None,
        output: int = 0,
        node: Node | None = None,
    ) -> Tensor:
        """One result of an operation. `unseen`: some operand may be a tensor that is not known."""
        alias = facts.alias if alias is None else alias
        of = next((tensor for position, tensor in operands if position == facts.alias_of), None)
        if of is None or alias in (Alias.FRESH, Alias.NONE):
            return self._fresh(facts, operands, kind, rank, origin, unseen, output, node)
        if alias.value not in _ALONE:
            return self._either(facts, alias, of, operands, kind, rank, origin, unseen)
        if Alias.SAME in alias:
            return self.same(of, origin)
        return self.view(of, facts.name, kind, rank, origin)

    def same(self, tensor: Tensor, origin: Origin) -> Tensor:
        """The same tensor object, handed back by a call or bound to another name."""
        if not self.mode.off or tensor.state.requires_grad is NO:
            return tensor
        return self.off_alias(tensor, tensor.state, tensor.source, origin, view=False)

    def off_alias(
        self, tensor: Tensor, state: TensorState, source: Tensor | None, origin: Origin, view: bool
    ) -> Tensor:
        """A reference that was made while nothing is recorded."""
        if tensor.off is not None and not view:
            return tensor
        off = OffAlias(origin, view, tensor, self.block)
        return Tensor(
            state,
            tensor.storage,
            tensor.origin,
            tensor.grade,
            tensor.through,
            source,
            off,
            tensor.tensor,
        )

    def view(self, tensor: Tensor, op: str, kind: Kind, rank: int | None, origin: Origin) -> Tensor:
        """A view: own state, shared memory. Under no_grad it keeps the flag but not the graph."""
        old = tensor.state
        grad = history_base(tensor).state.requires_grad if self.mode.off else old.requires_grad
        grad = grad & MAYBE if old.inference is YES else grad
        state = TensorState(grad, YES, kind, rank, inference=old.inference)
        state.dtype = old.dtype if kind is old.kind else None
        state.sized = state.sized or (rank is None and old.sized and op not in _SHRINKING)
        state.placed = old.placed
        state.fixed = self.mode.off or op.lstrip(".") in _TOGETHER
        view = Tensor(
            state, tensor.storage, origin, tensor.grade, tensor.through, tensor, None, tensor.tensor
        )
        if self.mode.off:
            state.accumulates = False
            state.lost = old.lost
            if grad is not NO:
                state.lost = Lost("off", origin, op)
                view = self.off_alias(tensor, state, tensor, origin, view=True)
        elif grad is not NO:
            state.leaf = NO if grad is YES else MAYBE
            state.node = Node(op, tuple(graph.edge(tensor)), (), origin, self.stamp)
        else:
            state.lost = old.lost
        if old.inference is not YES:
            self.heap.put(vars(old), "views", (*old.views, view))
        return view

    def detached(self, tensor: Tensor, through: Through, origin: Origin) -> Tensor:
        """`.detach()` or `.data`: the same memory without history."""
        old = tensor.state
        state = TensorState(NO, YES, old.kind, old.rank, inference=old.inference)
        state.cut = True
        state.lost = old.lost if old.requires_grad is NO else Lost("detach", origin)
        reached = through if tensor.through is Through.SELF else tensor.through
        if Through.DATA in (through, tensor.through):
            reached = Through.DATA
        return Tensor(
            state, tensor.storage, origin, tensor.grade, reached, tensor, None, tensor.tensor
        )

    def _either(
        self,
        facts: OpFacts,
        alias: Alias,
        of: Tensor,
        operands: Sequence[Operand],
        kind: Kind,
        rank: int | None,
        origin: Origin,
        unseen: bool,
    ) -> Tensor:
        """A result that is the operand itself, a view of it or a copy, as the arguments decide."""
        fresh = self._fresh(facts, operands, kind, rank, origin, unseen, 0, None)
        state = fresh.state
        if self.mode.off:
            state.requires_grad = Tri.join(of.state.requires_grad, NO)
        if Alias.SAME in alias:
            state.leaf = Tri.join(state.leaf, of.state.leaf)
            if state.leaf is not NO and state.requires_grad is not NO:
                state.accumulates = False
                state.absent, state.guessed, state.given = MAYBE, True, True
            if of.state.retains_grad is not NO or of.state.absent is not YES:
                state.absent, state.guessed, state.given = MAYBE, True, True
        state.inference = Tri.join(state.inference, of.state.inference)
        storage = Storage(parts=(of.storage,))
        source = of if of.through is not Through.SELF else None
        result = Tensor(state, storage, origin, of.grade, of.through, source, None, fresh.tensor)
        self.heap.put(vars(of.state), "views", (*of.state.views, result))
        state.perhaps = (of,)
        return result

    def _fresh(
        self,
        facts: OpFacts,
        operands: Sequence[Operand],
        kind: Kind,
        rank: int | None,
        origin: Origin,
        unseen: bool,
        output: int,
        node: Node | None,
    ) -> Tensor:
        grad = self.records(facts, operands, kind, unseen, output)
        state = TensorState(grad, ~grad if grad is not MAYBE else MAYBE, kind, rank)
        state.inference = Tri.of(self.mode is GradMode.INFERENCE)
        state.sized = state.sized or (rank is None and _keeps_size(facts, operands))
        state.placed = any(given.state.placed for _, given in operands)
        dtypes = {given.state.dtype for _, given in operands if given.state.kind is kind}
        state.dtype = dtypes.pop() if len(dtypes) == 1 else None
        if self.casting and (self._copies(facts) or state.dtype != "float32"):
            state.dtype = None
        tensor = Tensor(state, Storage(), origin, _weakest(operands))
        if grad is not NO:
            if node is None:
                node = self.node(facts, operands, origin)
            state.node = node
            self._save_result(facts, operands, node, tensor, output)
        else:
            if node is not None:  # that of the other results
                self._save_result(facts, operands, node, tensor, output)
            state.lost = self._lost(facts, operands, origin, unseen)
        return tensor

    def _lost(
        self, facts: OpFacts, operands: Sequence[Operand], origin: Origin, unseen: bool
    ) -> Lost | None:
        """Where the history of a result without any ended: here, or before."""
        if unseen or any(graph.recorded(tensor) is not NO for _, tensor in operands):
            return Lost("off" if self.mode.off else "operation", origin, facts.name)
        return next((t.state.lost for _, t in operands if t.state.lost is not None), None)

    def records(
        self,
        facts: OpFacts,
        operands: Sequence[Operand],
        kind: Kind,
        unseen: bool,
        output: int = 0,
    ) -> Tri:
        """Whether a fresh result requires grad: in this mode, of this kind, from these operands."""
        if self.mode.off:
            return NO
        able = facts.can_require_grad(output) & kind.differentiable
        if kind is Kind.UNKNOWN:
            able = facts.can_require_grad(output)
        grad = NO
        for _, tensor in operands:
            grad = grad | graph.recorded(tensor)
        if unseen:
            grad = grad | MAYBE
        if self.mode is GradMode.EITHER:
            grad = grad & MAYBE
        return able & grad

    def node(self, facts: OpFacts, operands: Sequence[Operand], origin: Origin) -> Node:
        """The node of an operation, with what it saved of its operands."""
        edges = tuple(item for _, tensor in operands for item in graph.edge(tensor))
        need = self._needs(operands)
        given_itself = MAYBE if self._copies(facts) else YES
        saved = tuple(
            Saved(
                tensor,
                tensor.storage,
                sure & tensor.tensor & given_itself,
                facts.name in _KEEP_VIEWS,
            )
            for position, sure in facts.inputs.when(need).items()
            for given, tensor in operands
            if given == position
        )
        node = Node(facts.name, edges, saved, origin, self.stamp)
        for item in saved:
            self.keep(node, item)
        # What is no tensor may be kept as one: numbers surely, others if they are given.
        there = {position for position, _ in operands}
        kept = [*facts.numbers.when(need).values()]
        kept += [sure & MAYBE for at, sure in facts.inputs.when(need).items() if at not in there]
        kept.append(facts.keeps)
        node.saved += tuple(Saved(None, Storage(), sure) for sure in kept if sure is not NO)
        return node

    def _copies(self, facts: OpFacts) -> bool:
        """Whether autocast may hand the op copies of its operands."""
        return bool(self.casting) and casting.reaches(self.casting, facts.cast_on)

    def keep(self, node: Node, saved: Saved) -> None:
        """Let a storage know which node keeps a value of it."""
        facts = vars(saved.storage)
        self.heap.put(facts, "savers", (*saved.storage.savers[-_MAX_SAVERS:], (node, saved)))

    def saved_in(self, storage: Storage) -> list[tuple[Node, Saved]]:
        """The nodes that keep a value of this memory, latest last."""
        found: list[tuple[Node, Saved]] = list(storage.savers)
        for part in storage.parts:
            found.extend(self.saved_in(part))
        return found

    def _save_result(
        self,
        facts: OpFacts,
        operands: Sequence[Operand],
        node: Node,
        tensor: Tensor,
        output: int,
    ) -> None:
        sure = facts.results.when(self._needs(operands)).get(output)
        if sure is not None:
            saved = Saved(tensor, tensor.storage, sure, by_memory=True)
            node.saved = (*node.saved, saved)
            self.keep(node, saved)

    def _needs(self, operands: Sequence[Operand]) -> dict[int, Tri]:
        need: dict[int, Tri] = {}
        for position, tensor in operands:
            need[position] = need.get(position, NO) | graph.recorded(tensor)
        return need


_SHRINKING = frozenset({"squeeze", "select", "__getitem__", "unbind", "diagonal"})


def _keeps_size(facts: OpFacts, operands: Sequence[Operand]) -> bool:
    """Whether a result has dimensions because an operand has."""
    keeps = facts.rank == "same" or (facts.scalar is NO and len(operands) == 1)
    return keeps and any(tensor.state.sized for _, tensor in operands)


def _weakest(operands: Sequence[Operand]) -> Grade:
    return max((tensor.grade for _, tensor in operands), default=Grade.BUILT)
