"""Following: a function of the project is run in place of its call, and its returns are joined."""

from __future__ import annotations

import libcst as cst

from autolint.autograd.joins import Joiner
from autolint.autograd.values import NONE, Sequence, Unknown, Value
from autolint.interpreter import (
    alternatives,
    autocasts,
    expressions,
    flow,
    foreign,
    functions,
    unseen,
)
from autolint.interpreter.machine import MAX_DEPTH, MAX_RECURSION, Frame, Machine
from autolint.interpreter.objects import Arguments, FunctionValue, Manager


def follow(m: Machine, function: FunctionValue, args: Arguments, node: cst.CSTNode) -> Value:
    """Call a function of the project: run its body, or treat it as unseen where it is not run."""
    done = follow_checked(m, function, args, node)
    if done is None:
        return unseen.unknown_call(m, function, args, node)
    return done


def follow_checked(
    m: Machine, function: FunctionValue, args: Arguments, node: cst.CSTNode
) -> Value | None:
    """The same; None if the function is not followed."""
    if not _may_follow(m, function, args):
        return None
    bound = functions.bind(m, function, args)
    return None if bound is None else run_function(m, function, bound, node)


def follow_unknown(
    m: Machine, function: FunctionValue, receiver: Value | None, node: cst.CSTNode
) -> Value | None:
    """Run a function with unknown arguments."""
    if not foreign.load(m, function):
        return None
    return run_function(m, function, functions.unknown_arguments(m, function, receiver), node)


def _may_follow(m: Machine, function: FunctionValue, args: Arguments) -> bool:
    if m.depth >= MAX_DEPTH:
        return False
    running = 0
    frame: Frame | None = m.frame
    while frame is not None:
        if frame.function is not None and frame.function.node is function.node:
            running += function.node is not None
        frame = frame.caller
    if running >= MAX_RECURSION:
        return False
    if function.context.foreign and not functions.worth_following(m, function, args):
        return False
    return foreign.load(m, function)


def run_function(
    m: Machine,
    function: FunctionValue,
    bound: dict[str, Value],
    node: cst.CSTNode | None,
    context: bool = True,
) -> Value:
    """Run a function's body with its parameters bound; the joined value of its returns.

    `context`: this is one of the contexts in which the function is really called.
    """
    assert function.node is not None
    assert function.unit is not None
    heap, caller = m.heap, m.frame
    call_site = m.site(node) if node is not None else None
    frame = Frame(
        function.context,
        function.unit,
        function,
        bound,
        function.closure,
        call_site,
        caller if node is not None else None,
        heap.mark(),
    )
    mode, block = m.autograd.mode, m.autograd.block
    casting = m.autograd.casting
    guards = m.guards
    if function.autocast is not None:
        m.autograd.casting = function.autocast.inside(casting)
    if function.mode is not None:
        if m.autograd.mode is not function.mode:
            m.autograd.block = object()
        m.autograd.mode = function.mode
    m.frame = frame
    m.depth += 1
    m.followed.add(id(function.node))
    if context:
        m.sink.scope_entered(m.scope())
    for wrapper in function.wrappers:
        unseen.weaken(m, [wrapper])
    try:
        if isinstance(function.node, cst.Lambda):
            m.step()
            frame.statement = caller.statement if caller is not None else function.node
            flow.leave(frame, m, expressions.evaluate(m, function.node.body))
        else:
            if flow.run_body(m, function.node.body):
                flow.leave(frame, m, NONE)
            functions.run_unfollowed(m, frame)
    finally:
        m.frame = caller
        m.depth -= 1
        inner = m.autograd.mode
        m.autograd.mode, m.autograd.block = mode, block
        m.autograd.casting = casting
        m.guards = guards
    value = _joined_returns(m, frame)
    if function.generator or frame.yields:
        if function.manager:
            changed = frame.yield_modes[0] if frame.yield_modes else inner
            return Manager(
                changed,
                autocast=autocasts.yielded(casting, frame.casting_yielded),
                value=frame.yields[0] if frame.yields else None,
            )
        made = Sequence(None, alternatives.any_of(m, frame.yields) if frame.yields else None)
        made.source = function
        return made
    return value


def _joined_returns(m: Machine, frame: Frame) -> Value:
    """Put the state after a call: the join of the states in which it returned."""
    if not frame.returns:
        m.heap.undo(frame.mark)
        return Unknown()
    m.heap.undo(frame.mark)
    own = id(frame.names)
    arms = [
        {where: change for where, change in changes.items() if where[0] != own}
        for changes, _ in frame.returns
    ]
    joiner = Joiner()
    m.heap.join(arms, frame.born, joiner.arms)
    value = frame.returns[0][1]
    for changes, other in frame.returns[1:]:
        value = joiner.arms("", value, other, frame.returns[0][0], changes)
    m.settle(joiner)
    return value
