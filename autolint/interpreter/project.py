"""The files of the project, and what a name written in one of them stands for.

Nothing is imported or executed, and no file outside the project's own folders is read.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from autolint.interpreter.index import UNKNOWN_BASE, ClassInfo, FileIndex, FunctionInfo
from autolint.interpreter.indexing import index_file
from autolint.interpreter.module_paths import ModulePaths
from autolint.interpreter.touched import Import, Token, Touched

Resolved: TypeAlias = ClassInfo | FunctionInfo | FileIndex | str | None
"""Something of the project, the qualified name of something outside it, or None: unknown."""

_MAX_DEPTH = 100
"""Of chains of aliases, re-exports and bases; no real project comes near."""

UNRESOLVED = "?"
"""First character of the entries of an mro that stand for bases nobody could find."""


class Project:
    """Indices of the files that have been asked for, and the resolution of names through them."""

    def __init__(
        self,
        read: Callable[[str], str | None],
        max_files: int = 4096,
        max_tree_chars: int = 800_000,
    ) -> None:
        """`read` gives a file's decoded text, or None if there is none; it must not raise.

        At most `max_files` indices are kept, and trees of at most `max_tree_chars` characters.
        """
        self._read = read
        self._max_files = max_files
        self._added: dict[str, FileIndex] = {}
        self._indices: OrderedDict[str, FileIndex | None] = OrderedDict()
        self._trees: OrderedDict[str, tuple[ast.Module, int]] = OrderedDict()
        self._max_tree_chars = max_tree_chars
        self._tree_chars = 0
        self.paths = ModulePaths()
        self.touched = Touched()
        self._resolved: dict[tuple[str, str], tuple[Resolved, frozenset[Token]]] = {}
        self._mros: dict[tuple[str, int, str], tuple[list[ClassInfo | str], frozenset[Token]]] = {}
        self._keys: dict[str, str] = {}

    # Files

    def add(self, index: FileIndex, tree: ast.Module | None = None) -> None:
        """Make a file known that is parsed already. It is read again only for its tree."""
        key = self._key(index.path)
        self._added[key] = index
        if self._indices.pop(key, None) is not None:
            self._resolved.clear()
            self._mros.clear()
        if tree is not None:
            self._keep_tree(key, tree, 50 * len(tree.body))

    def file(self, path: str) -> FileIndex | None:
        """The index of the file at `path`; None if it cannot be read or parsed."""
        key = self._key(path)
        self.touched.current.add(key)
        index = self._added.get(key)
        if index is not None:
            return index
        if key in self._indices:
            self._indices.move_to_end(key)
            return self._indices[key]
        tree = self._parse(path)
        index = None
        if tree is not None:
            try:
                index = index_file(path, tree)
            except RecursionError:
                index = None
        self._indices[key] = index
        if len(self._indices) > self._max_files:
            self._indices.popitem(last=False)
        return index

    def tree(self, path: str) -> ast.Module | None:
        """The syntax tree of a file, read again if it was dropped."""
        key = self._key(path)
        self.touched.current.add(key)
        if key in self._trees:
            self._trees.move_to_end(key)
            return self._trees[key][0]
        return self._parse(path)

    def source(self, path: str) -> str | None:
        """The text of a file, None if it cannot be read."""
        self.touch(path)
        return self._read(path)

    def touch(self, path: str) -> None:
        """What is computed now depends on a file whose text, or a part of it, is kept elsewhere."""
        self.touched.current.add(self._key(path))

    def _parse(self, path: str) -> ast.Module | None:
        text = self._read(path)
        if text is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in the user's strings
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        self._keep_tree(self._key(path), tree, len(text))
        return tree

    def _keep_tree(self, key: str, tree: ast.Module, size: int) -> None:
        if key in self._trees:
            self._tree_chars -= self._trees.pop(key)[1]
        self._trees[key] = (tree, size)
        self._tree_chars += size
        while self._tree_chars > self._max_tree_chars and len(self._trees) > 1:
            self._tree_chars -= self._trees.popitem(last=False)[1][1]

    def _key(self, path: str) -> str:
        key = self._keys.get(path)
        if key is None:
            key = self._keys[path] = os.path.abspath(path)
        return key

    # Imports

    def module(self, importer: FileIndex, dotted: str, level: int = 0) -> FileIndex | None:
        """The file that an import means in `importer`; None if there is none or there are two.

        `level` is the number of leading dots of a relative import.
        """
        found = self._locate(importer, "." * level + dotted)
        return self.file(found[0]) if len(found) == 1 else None

    def _locate(self, importer: FileIndex, dotted: str) -> tuple[str, ...]:
        self.touched.current.add(Import(os.path.dirname(self._key(importer.path)), dotted))
        return self.paths.locate(importer.path, dotted)

    # Names

    def resolve(self, file: FileIndex, dotted: str) -> Resolved:
        """What a dotted name written at module level of `file` stands for.

        Aliases, re-exports and star imports are followed. A str is the qualified name of something
        outside the project (`torch.nn.Module`, `builtins.object`).
        """
        key = (file.path, dotted)
        known = self._resolved.get(key)
        if known is None:
            known = self.touched.recorded(lambda: self._resolve(file, dotted))
            self._resolved[key] = known
        elif known[1]:
            self.touched.current |= known[1]
        return known[0]

    def _resolve(self, file: FileIndex, dotted: str) -> Resolved:
        found = self._chain(file, dotted.split("."), set())
        if found is None and dotted not in file.imports and dotted not in file.aliases:
            return "builtins." + dotted if hasattr(builtins, dotted) else None
        return found

    def _chain(self, file: FileIndex, parts: list[str], seen: set[tuple[str, str]]) -> Resolved:
        value = self._lookup(file, parts[0], seen)
        for part in parts[1:]:
            if value is None:
                return None
            value = self._member(file, value, part, seen)
        return value

    def _lookup(self, file: FileIndex, name: str, seen: set[tuple[str, str]]) -> Resolved:
        if (file.path, name) in seen or len(seen) > _MAX_DEPTH:
            return None
        seen.add((file.path, name))
        own = file.classes.get(name) or file.functions.get(name)
        if own is not None:
            return own
        if name in file.imports:
            return self._imported(file, name, seen)
        if name in file.aliases:
            return self._chain(file, file.aliases[name].split("."), seen)
        return self._starred(file, name, seen)

    def _imported(self, file: FileIndex, name: str, seen: set[tuple[str, str]]) -> Resolved:
        target = file.imports[name]
        module = file.from_modules.get(name)
        if module is None:
            return self._as_module(file, target)
        found = self._locate(file, module)
        if not found:
            return self._as_module(file, target)
        source = self.file(found[0]) if len(found) == 1 else None
        if source is None:
            return None
        return self._member(file, source, target.rpartition(".")[2], seen)

    def _as_module(self, file: FileIndex, dotted: str) -> FileIndex | str | None:
        found = self._locate(file, dotted)
        if not found:
            return None if dotted.startswith(".") else dotted
        return self.file(found[0]) if len(found) == 1 else None

    def _starred(self, file: FileIndex, name: str, seen: set[tuple[str, str]]) -> Resolved:
        if name.startswith("_"):
            return None
        for module in file.star_imports:
            source = self._as_module(file, module)
            if isinstance(source, FileIndex):
                found = self._lookup(source, name, seen)
                if found is not None:
                    return found
        outside = [m for m in file.star_imports if m.partition(".")[0] == "torch"]
        if len(outside) == 1 and not hasattr(builtins, name):
            return f"{outside[0]}.{name}"
        return None

    def _member(
        self, file: FileIndex, value: Resolved, name: str, seen: set[tuple[str, str]]
    ) -> Resolved:
        if isinstance(value, str):
            # Parts of a namespace package look like something outside until a file is reached.
            return self._as_module(file, f"{value}.{name}")
        if isinstance(value, FileIndex):
            found = self._lookup(value, name, seen)
            return found if found is not None else self._submodule(value, name)
        if isinstance(value, ClassInfo):
            inner = self._class_file(value).classes.get(f"{value.qualname}.{name}")
            if inner is not None:
                return inner
            method = self.method(value, name)
            return method[0] if method else None
        return None

    def _submodule(self, package: FileIndex, name: str) -> FileIndex | None:
        if os.path.basename(package.path) != "__init__.py":
            return None
        found = self._locate(package, "." + name)
        return self.file(found[0]) if len(found) == 1 else None

    # Classes

    def mro(self, cls: ClassInfo) -> list[ClassInfo | str]:
        """The class and its bases in Python's order; a str for a class outside the project.

        A base that nobody could find is `?` and its text. Cycles are cut, and an order that Python
        would refuse is made up.
        """
        return self._mro(cls, ())[0]

    def _mro(
        self, cls: ClassInfo, below: tuple[ClassInfo, ...]
    ) -> tuple[list[ClassInfo | str], bool]:
        """The order, and whether it is the same wherever it was entered from."""
        known = self._mros.get(cls.key)
        if known is not None:
            self.touched.current |= known[1]
            return known[0], True
        (order, whole), touched = self.touched.recorded(lambda: self._order(cls, (*below, cls)))
        if whole or not below:
            self._mros[cls.key] = order, touched
        return order, whole

    def _order(
        self, cls: ClassInfo, below: tuple[ClassInfo, ...]
    ) -> tuple[list[ClassInfo | str], bool]:
        """The order of a class; `below` are the classes whose orders are being made, its own
        last.
        """
        file = self._class_file(cls)
        bases: list[ClassInfo | str] = []
        orders: list[list[ClassInfo | str]] = []
        whole = len(below) <= _MAX_DEPTH
        for base in dict.fromkeys(self._base(file, cls, text) for text in cls.bases):
            if base in below:
                whole &= base == cls
                continue
            order: list[ClassInfo | str] = [UNRESOLVED]
            if isinstance(base, str):
                order = [base]
            elif len(below) <= _MAX_DEPTH:
                order, base_whole = self._mro(base, below)
                whole &= base_whole
            bases.append(order[0])
            orders.append([c for c in order if c not in below])
        return [cls, *_merged([*orders, bases])], whole

    def _base(self, file: FileIndex, cls: ClassInfo, text: str) -> ClassInfo | str:
        if text == UNKNOWN_BASE:
            return UNRESOLVED
        scope = cls.qualname
        while "." in scope:  # a class in a class or function sees its neighbours first
            scope = scope.rpartition(".")[0]
            near = file.classes.get(f"{scope}.{text}")
            if near is not None and near != cls:
                return near
        base = self.resolve(file, text)
        if base == cls and text in file.imports:
            # `from lib import Block` and then `class Block(Block)`.
            base = self._imported(file, text, {(file.path, text)})
        return base if isinstance(base, (ClassInfo, str)) else UNRESOLVED + text

    def _class_file(self, cls: ClassInfo) -> FileIndex:
        return self.file(cls.path) or FileIndex(cls.path)

    def is_module(self, cls: ClassInfo) -> bool | None:
        """Whether the class is a subclass of torch.nn.Module; None if a base is unknown."""
        answer: bool | None = False
        for base in self.mro(cls):
            if isinstance(base, str):
                known = is_module_name(base)
                if known:
                    return True
                if known is None:
                    answer = None
        return answer

    def method(self, cls: ClassInfo, name: str) -> tuple[FunctionInfo, ClassInfo] | None:
        """The method that an instance has by that name, and the project class that defines it."""
        for base in self.mro(cls):
            if isinstance(base, ClassInfo):
                found = base.methods.get(base.method_aliases.get(name, name))
                if found is not None:
                    return found, base
        return None


_MODULE_CLASSES = frozenset({"LightningModule", "PreTrainedModel", "ModelMixin", "ScriptModule"})
_NOT_MODULES_IN_NN = frozenset(
    {"Parameter", "UninitializedParameter", "Buffer", "UninitializedBuffer"}
)
_NOT_MODULES_IN_TORCH = frozenset({"autograd", "optim", "utils", "distributions", "Tensor"})


def is_module_name(qualified: str) -> bool | None:
    """Whether a class outside the project is a torch.nn.Module; None if nobody knows."""
    parts = qualified.split(".")
    if parts[0] == "torch" and len(parts) > 1:
        if parts[1] == "nn":
            return parts[-1] not in _NOT_MODULES_IN_NN and parts[-1].lstrip("_")[:1].isupper()
        if parts[1] in _NOT_MODULES_IN_TORCH:
            return False
        return True if parts[-1] in _MODULE_CLASSES else None
    if qualified == "torchmetrics.Metric" or parts[-1] in _MODULE_CLASSES:
        return True
    if parts[0] in sys.stdlib_module_names or parts[0] == "typing_extensions":
        return False
    return None


def _merged(orders: list[list[ClassInfo | str]]) -> list[ClassInfo | str]:
    """C3 linearisation; where there is none, the first order's head is taken all the same."""
    orders = [list(o) for o in orders if o]
    merged: list[ClassInfo | str] = []
    while orders:
        tails = [set(o[1:]) for o in orders]
        head = next((o[0] for o in orders if not any(o[0] in t for t in tails)), orders[0][0])
        merged.append(head)
        orders = [rest for o in orders if (rest := [c for c in o if c != head])]
    return merged
