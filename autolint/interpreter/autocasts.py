"""Autocast contexts: which a call makes, and which a block or a function is run under."""

from __future__ import annotations

import re

import libcst as cst

from autolint.autograd.casting import Autocast, Casting
from autolint.autograd.values import MAYBE, YES, Scalar, Tri, Unknown, Value, resolve
from autolint.interpreter.objects import Arguments, Manager

_NAMED = re.compile(r"cast|amp(?![a-z])|precision|ctx|context", re.IGNORECASE)
"""Names of contexts that may be autocast although nothing is known of them."""


def called(name: str, args: Arguments) -> Manager:
    """`torch.autocast(device_type, dtype, enabled)`, or the older form of one device."""
    older = name.removeprefix("torch.").partition(".")[0]
    if older in ("cuda", "cpu"):
        return Manager(autocast=Autocast(older, _enabled(args.get(0, "enabled"), args)))
    given = args.get(0, "device_type")
    known = resolve(given) if given is not None else None
    device = known.value if isinstance(known, Scalar) and known.known else ""
    enabled = _enabled(args.get(2, "enabled"), args)
    return Manager(autocast=Autocast(device if isinstance(device, str) else "", enabled))


def _enabled(given: Value | None, args: Arguments) -> Tri:
    if given is None:
        return MAYBE if args.star else YES
    known = resolve(given)
    if isinstance(known, Scalar) and known.known:
        return Tri.of(bool(known.value))
    return MAYBE


def entered(value: Value, node: cst.CSTNode) -> Autocast | None:
    """The autocast that a `with` enters, or may enter."""
    if isinstance(value, Manager):
        return value.autocast
    if isinstance(value, Unknown):
        for item in value.inputs:
            found = resolve(item)
            if isinstance(found, Manager) and found.autocast is not None:
                return Autocast(found.autocast.device, found.autocast.enabled | MAYBE)
    return Autocast("", MAYBE) if _named(node) else None


def _named(node: cst.CSTNode) -> bool:
    """Whether a name in an expression is one that autocast contexts get."""
    if isinstance(node, cst.Name):
        return _NAMED.search(node.value) is not None
    return any(_named(child) for child in node.children)


def yielded(before: Casting, inside: Casting) -> Autocast | None:
    """What the body of a `@contextmanager` switches on for those who enter it."""
    return next((Autocast(device, MAYBE) for device in sorted(inside - before)), None)
