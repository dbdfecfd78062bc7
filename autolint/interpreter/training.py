"""Backward, steps and clears: what a training loop does to graphs and gradients."""

from __future__ import annotations

import libcst as cst

from autolint.autograd import graph, layers, raising
from autolint.autograd.graph import Node, Saved
from autolint.autograd.objects import Module, Parameters
from autolint.autograd.tensor import GradHolder, Storage, Tensor, TensorState
from autolint.autograd.values import (
    MAYBE,
    NO,
    NO_GRAD_YET,
    NONE,
    YES,
    Cell,
    Grade,
    GradMode,
    Scalar,
    Sequence,
    Tri,
    Unknown,
    Value,
    resolve,
)
from autolint.autograd.walking import Walk, free, walk
from autolint.interpreter import alias_use, freezing, kept_aliases, scalers
from autolint.interpreter.behind import behind
from autolint.interpreter.events import Attempt, Backward, StaleSaved
from autolint.interpreter.freed import met
from autolint.interpreter.iteration import holders_of
from autolint.interpreter.machine import Machine
from autolint.interpreter.objects import Arguments
from autolint.interpreter.unit import Site

# ---------------------------------------------------------------------- backward


def backward(m: Machine, value: Value, args: Arguments, site: Site, given: bool = False) -> Value:
    """`value.backward(gradient, retain_graph, create_graph, inputs)`; `given`: as an argument of
    somebody else's backward.
    """
    targets, whole = _targets(m, args.get(3, "inputs"))
    shaped = args.get(0, "gradient") is not None
    _run(m, [value], site, targets, whole, _retained(args, 1), given=given, shaped=shaped)
    return NONE


def _attempt(
    m: Machine,
    values: list[Value],
    targets: frozenset[Node | GradHolder] | None,
    whole: bool,
    site: Site,
    shaped: bool,
) -> None:
    """Say whether torch raises, before the call is taken as a proof of anything."""
    raises = MAYBE
    loss = resolve(values[0])
    if len(values) == 1 and whole and isinstance(loss, Tensor):
        raises = raising.backward_raises(loss, walk(loss, targets=targets), shaped)
    m.emit(Attempt, site, act="backward", raises=raises)


def _run(
    m: Machine,
    values: list[Value],
    site: Site,
    targets: frozenset[Node | GradHolder] | None,
    whole: bool,
    keep: Tri,
    fills: bool = True,
    given: bool = True,
    shaped: bool = False,
) -> None:
    """One pass from some values through the graph, which is freed unless `keep`.

    `whole`: what is asked for (`targets`) is known; `fills`: gradients are added to `.grad`.
    """
    before = [_history(value) for value in values]
    if fills and m.listens(Attempt):
        _attempt(m, values, targets, whole, site, shaped)
    losses = [each for each in (_as_loss(m, value, site) for value in values) if each is not None]
    if not losses:
        return
    for tensor in losses:
        used = alias_use.off_alias_used(m, tensor, "backward", site)
        if used is not None:
            m.tell(used)
    found = walk(*losses, targets=targets)
    if not whole:
        found.unsure()
    for node, sure in found.nodes:
        if sure is YES:
            for claim in node.claims:
                m.tell(claim)
            if fills:
                m.change(node, "passed_at", site)
    reached = _resolved_reach(m, found) if fills else {}
    m.emit(
        Backward,
        site,
        loss=losses[0],
        loss_text=_loss_text(site, given),
        history=before[0] if len(values) == 1 else MAYBE,
        stale=_stale(found),
        freed=met(m, found),
        lost=losses[0].state.lost if len(losses) == 1 else None,
        marked=_marked(found, losses[0]),
    )
    if fills and before == [NO]:
        freezing.propagated(m, losses[0], site)
    if fills and found.opaque is not NO:
        m.heap.put(m.facts, "opaque_backwards", (Cell.clock(),))
    if fills:
        m.heap.put(m.facts, "backwards", (*m.facts.get("backwards", ()), (m.loop_key(), site)))
    for node, sure in found.nodes:
        if node.retained is not None and fills:
            reached[node.retained] = sure
        elif node.retained is not None:
            _perhaps_filled(m, node.retained)
    for target in targets or ():
        if not fills and isinstance(target, Node) and target.retained is not None:
            _perhaps_filled(m, target.retained)
    moment = m.moment(site)
    scaled, scaler = scalers.scaling(m, tensor, found)
    kept_aliases.filled(m, reached.items(), site)
    for holder, sure in reached.items():
        scalers.reach(m, holder, scaled, scaler)
        graph.reach(m.heap, holder, sure, site)
        if m.autograd.mode is GradMode.INFERENCE:
            m.change(holder, "given", True)
        m.change(holder, "filled", moment)
    free(m.heap, found, keep, site)


def _of_a_layer(state: TensorState) -> bool:
    """Whether a value is what a layer has made while nothing was recorded."""
    return state.lost is not None and state.lost.operation[:1].isupper()


_SCALING = frozenset({"sum", "mean", "mul", "div", "view", "reshape", "squeeze", "neg"})
"""Operations that make nothing new of a loss: its scale and its shape."""


def _perhaps_filled(m: Machine, holder: GradHolder) -> None:
    """`autograd.grad` fills no gradients, but those that a computed tensor was told to retain."""
    m.change(holder, "absent", MAYBE)
    m.change(holder, "guessed", True)
    m.change(holder, "given", True)


def _marked(found: Walk, loss: Tensor) -> TensorState | None:
    """The leaf that is all a backward reaches, if it was computed and then marked as requiring
    grad, and nothing was computed from it.
    """
    if len(found.reached) != 1:
        return None
    [(holder, sure)] = found.reached.items()
    if sure is not YES or not isinstance(holder, TensorState) or holder.marked is None:
        return None
    if holder is not loss.state and not _of_a_layer(holder):
        return None  # a new leaf on purpose, whose own gradient is wanted
    # Scaling by a number saves no tensor of the program; a product of tensors does.
    plain = all(
        node.operation.lstrip(".") in _SCALING and all(kept.tensor is None for kept in node.saved)
        for node, _ in found.nodes
    )
    return holder if plain else None


def _loss_text(site: Site, given: bool) -> str:
    """What a backward starts from, as the program writes it: before the dot, or as an argument."""
    node = site.node
    if isinstance(node, cst.Call):
        if given and node.args:
            return site._replace(node=node.args[0].value).text
        if isinstance(node.func, cst.Attribute):
            return site._replace(node=node.func.value).text
    return site.text


def _history(value: Value) -> Tri:
    """Whether a value requires grad, as far as is known before it is used."""
    found = resolve(value)
    return found.state.requires_grad if isinstance(found, Tensor) else MAYBE


def _targets(m: Machine, given: Value | None) -> tuple[frozenset[Node | GradHolder] | None, bool]:
    """What gradients are asked for (None: everything), and whether that is known."""
    found = resolve(given) if given is not None else None
    if found is None or (isinstance(found, Scalar) and found.known and found.value is None):
        return None, True
    items = [found]
    if isinstance(found, Sequence):
        if found.items is None:
            return None, False
        items = [resolve(item) for item in found.items]
    targets: list[Node | GradHolder] = []
    for item in items:
        if not isinstance(item, Tensor | Module | Parameters):
            return None, False
        node = item.state.node if isinstance(item, Tensor) else None
        targets.extend(holders_of(m, item) if node is None else (node,))
    return frozenset(targets), True


def _stale(found: Walk) -> tuple[StaleSaved, ...]:
    return tuple(
        StaleSaved(saved, node.operation, node.origin, write.event, write.through)
        for node, saved, write in found.stale
    )


def _retained(args: Arguments, keep_at: int) -> Tri:
    keep = args.get(keep_at, "retain_graph")
    if keep is None or (isinstance(keep, Scalar) and keep.known and keep.value is None):
        keep = args.get(keep_at + 1, "create_graph")
    if keep is None:
        return MAYBE if args.star else NO
    known = resolve(keep)
    if isinstance(known, Scalar) and known.known:
        return Tri.of(bool(known.value))
    return MAYBE


def _as_loss(m: Machine, value: Value, site: Site) -> Tensor | None:
    """The tensor that backward is called on. Being called on proves it one that requires grad."""
    found = resolve(value)
    if isinstance(found, Tensor):
        state = found.state
        if state.requires_grad is MAYBE:
            m.change(state, "requires_grad", YES)
            if state.node is None and state.leaf is not YES:
                m.change(state, "node", Node("a call", (), (), site, m.autograd.stamp, opaque=True))
                m.change(state, "leaf", NO)
            elif isinstance(state.node, Node) and _is_loss(state.node.operation):
                saved = Saved(None, Storage(), YES)
                m.change(state.node, "saved", (*state.node.saved, saved))
                m.change(state, "leaf", NO)
        return found
    if isinstance(found, Unknown):
        inputs = behind(found)
        # A part of an object that is not known may be another tensor each time.
        known = found.origin is not None
        opaque = m.autograd.opaque(inputs, found.origin or site, Grade.USED, known)
        m.change(found, "refined", opaque)
        return opaque
    return None


def _is_loss(operation: str) -> bool:
    """Whether an operation is a loss of torch: it saves what it needs if it requires grad."""
    facts = layers.layer(f"torch.nn.{operation}")
    if facts is not None:
        return facts.is_loss
    return operation.endswith("_loss") or operation.rpartition(".")[2] in _LOSSES


_LOSSES = frozenset(
    {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"}
)


def _resolved_reach(m: Machine, found: Walk) -> dict[GradHolder, Tri]:
    """Whom a backward reaches, with the inferences for code that gets everything as arguments.

    Something must require grad: if nothing is reached for sure, then what an optimizer was built
    with and may be reached is. A graph with unseen parts also reaches the sets of optimizers whose
    contents are not known: for sure if there is only one optimizer in sight.
    """
    reached = {holder: sure for holder, sure in found.reached.items() if sure is not NO}
    optimizers = m.optimizers()
    if YES not in reached.values() and found.opaque is not NO:
        owned = {holder for optimizer in optimizers for holder in optimizer.holders}
        for holder, sure in list(reached.items()):
            if sure is MAYBE and holder in owned:
                reached[holder] = YES
    certain = YES in reached.values()
    if found.opaque is not NO or not (reached or found.nodes):
        only = len(optimizers) == 1
        for optimizer in optimizers:
            for holder in optimizer.sets():
                if holder in reached or holder.takes_gradient() is NO:
                    continue
                if holder is optimizer.opaque:
                    reached[holder] = YES if only else MAYBE
                else:
                    reached[holder] = YES if only and not certain else MAYBE
    return reached


def autograd_backward(m: Machine, args: Arguments, site: Site) -> Value:
    """`torch.autograd.backward(tensors, ...)`: one pass from all of them."""
    targets, whole = _targets(m, args.get(5, "inputs"))
    _run(m, _outputs(args, "tensors"), site, targets, whole, _retained(args, 2))
    return NONE


def _outputs(args: Arguments, name: str) -> list[Value]:
    """The values that a function of torch.autograd starts from."""
    given = args.get(0, name)
    found = resolve(given) if given is not None else None
    if isinstance(found, Sequence):
        return list(found.items or ())
    return [] if given is None else [given]


def autograd_grad(m: Machine, args: Arguments, site: Site) -> Value:
    """`torch.autograd.grad(outputs, inputs, ...)`: walks and frees the graph, fills no `.grad`."""
    create = resolve(args.get(4, "create_graph") or Scalar(False, known=True))
    wanted = args.get(1, "inputs")
    inputs = resolve(wanted) if wanted is not None else None
    outputs = [each for each in _outputs(args, "outputs") if isinstance(resolve(each), Tensor)]
    targets, whole = _targets(m, wanted)
    whole = whole and targets is not None
    _run(m, outputs, site, targets, whole, _retained(args, 3), fills=False)
    count = len(inputs.items) if isinstance(inputs, Sequence) and inputs.items is not None else None
    if isinstance(inputs, Tensor):
        count = 1
    plain = isinstance(create, Scalar) and create.known and not create.value
    unused = args.get(6, "allow_unused") or args.get(7, "materialize_grads")
    items: list[Value] = []
    sources = list(inputs.items or ()) if isinstance(inputs, Sequence) else [inputs]
    for number in range(count or 1):
        item = m.autograd.vague(site, Grade.BUILT)
        given = sources[number] if number < len(sources) else None
        source = resolve(given) if given is not None else None
        if isinstance(source, Tensor):
            item.state.kind, item.state.rank = source.state.kind, source.state.rank
        item.tensor = MAYBE if unused is not None or args.star else YES
        item.state.words, item.state.absent = NO_GRAD_YET, YES
        item.state.guessed = False
        item.state.parameter = NO
        item.state.inference = Tri.of(m.autograd.mode is GradMode.INFERENCE)
        if plain:
            item.state.requires_grad, item.state.leaf = NO, YES
        items.append(item)
    if count is None:
        return Sequence(None, items[0], mutable=False)
    return Sequence(tuple(items), mutable=False)
