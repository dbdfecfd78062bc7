"""Indices of files, imports, names and bases, on small trees."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from autolint.interpreter.index import (
    AUGMENTED,
    ITEM_STORED,
    ClassInfo,
    FileIndex,
    FunctionInfo,
)
from autolint.interpreter.indexing import index_file
from autolint.interpreter.project import Project

Write = Callable[[dict[str, str]], Project]


def read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(files: dict[str, str]) -> Project:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return Project(read)

    return write


def indexed(text: str) -> FileIndex:
    return index_file("m.py", ast.parse(textwrap.dedent(text)))


def file(project: Project, path: Path) -> FileIndex:
    found = project.file(str(path))
    assert found is not None
    return found


def resolved(project: Project, path: Path, name: str) -> str:
    """What a name stands for, in short."""
    found = project.resolve(file(project, path), name)
    if isinstance(found, (ClassInfo, FunctionInfo)):
        return (
            f"{Path(found.path).relative_to(path.parents[len(path.parents) - 1])}:{found.qualname}"
        )
    if isinstance(found, FileIndex):
        return f"file {Path(found.path).name}"
    return str(found)


def resolved_class(project: Project, path: Path, name: str) -> ClassInfo:
    found = project.resolve(file(project, path), name)
    assert isinstance(found, ClassInfo), found
    return found


def order(project: Project, cls: ClassInfo) -> list[str]:
    return [c if isinstance(c, str) else c.name for c in project.mro(cls)]


def owner_of(project: Project, cls: ClassInfo, method: str) -> str:
    found = project.method(cls, method)
    assert found is not None
    assert found[0].class_name == found[1].qualname
    return found[1].name


# The index of one file


def test_imports_keep_their_qualified_names() -> None:
    index = indexed(
        """
        import torch.nn as nn
        import os.path
        from ..layers.mlp import Mlp as M
        from . import blocks
        try:
            from fast import Norm
        except ImportError:
            from slow import Norm
        def f():
            import late
            from other import nn
        from star import *
        """
    )
    assert index.imports == {
        "nn": "torch.nn",
        "os": "os",
        "M": "..layers.mlp.Mlp",
        "blocks": ".blocks",
        "Norm": "fast.Norm",
        "late": "late",
    }
    assert index.from_modules["M"] == "..layers.mlp"
    assert index.from_modules["blocks"] == "."
    assert index.star_imports == ["star"]
    assert index.imports_torch
    assert not indexed("import torchvision").imports_torch
    assert indexed("def f():\n    from torch import nn").imports_torch


def test_names_of_a_function_include_nested_ones_and_not_its_neighbours() -> None:
    index = indexed(
        """
        import torch
        top = first(1)
        class C:
            table = built()
            @decorated
            def method(self, x, *, key=default):
                def inner(y):
                    return y.deep(size=3)
                x += 1
                x[0] = 2
                return inner
        if __name__ == "__main__":
            run()
        """
    )
    method = index.classes["C"].methods["method"]
    assert method.names == {
        "decorated", "y", "deep", "size", "x", "inner", AUGMENTED, ITEM_STORED,
    }  # fmt: skip
    assert {"first", "built", "run", "default", "decorated", "table"} <= index.module_level_names
    assert "deep" not in index.module_level_names
    assert [f.qualname for f in index.all_functions] == ["C.method.<locals>.inner", "C.method"]
    assert method.params.positional == ("self", "x")
    assert method.params.keyword_only == ("key",)
    assert (method.first_line, method.line, method.last_line, method.column) == (6, 7, 12, 4)
    assert method.class_name == "C"
    assert index.functions == {}


def test_flags_of_functions() -> None:
    index = indexed(
        """
        async def a(x, y=1, *rest, **options): ...
        def g():
            yield 1
        class C:
            @staticmethod
            def s(x): ...
            @classmethod
            def c(cls): ...
            @property
            def p(self): ...
            @p.setter
            def p(self, value): ...
        """
    )
    a, g, cls = index.functions["a"], index.functions["g"], index.classes["C"]
    assert a.is_async
    assert not a.is_generator
    assert (a.params.vararg, a.params.kwarg, a.params.defaults) == ("rest", "options", 1)
    assert g.is_generator
    assert cls.methods["s"].is_static
    assert cls.methods["c"].is_class
    assert cls.methods["p"].params.positional == ("self",)
    assert cls.properties == {"p"}


@pytest.mark.parametrize(
    ("body", "records"),
    [
        ("loss.backward()", True),
        ("torch.autograd.grad(y, x)", True),
        ("grad(y, x)", True),
        ("self.optimizer.step()", True),
        ("opts[0].step()", True),
        ("scaler.step(optimizer)", True),
        ("x.requires_grad_()", True),
        ("x.requires_grad_(False)", False),
        ("x.requires_grad = True", True),
        ("x.requires_grad = False", False),
        ("torch.zeros(3, requires_grad=True)", True),
        ("torch.zeros(3, requires_grad=False)", False),
        ("env.step(action)", False),
        ("scheduler.step()", False),
        ("model(x)", False),
    ],
)
def test_what_counts_as_recording(body: str, records: bool) -> None:
    index = indexed(f"from torch.autograd import grad\ndef f():\n    {body}")
    assert index.functions["f"].records is records


def test_calls_under_a_grad_off_mode() -> None:
    index = indexed(
        """
        with torch.no_grad():
            outer(inner(1))
            with torch.enable_grad():
                recorded()
            def local():
                later()
        with torch.set_grad_enabled(False), open("f"):
            obj.method()
        with torch.set_grad_enabled(train):
            sometimes()
        with torch.no_grad() if frozen else nullcontext():
            maybe()
        @torch.inference_mode()
        def f():
            decorated()
        @torch.inference_mode(mode=False)
        def g():
            not_off()
        def h():
            before()
            torch.set_grad_enabled(False)
            after()
        """
    )
    # `open` is not among the calls, it is evaluated before the block begins.
    assert index.calls_off == {
        "outer",
        "inner",
        "method",
        "maybe",
        "decorated",
        "after",
    }


def test_classes_as_written() -> None:
    index = indexed(
        """
        class A(nn.Module, Generic[T], make(), metaclass=Meta):
            scale = 1.0
            width: int
            depth: int = 3
            if flag:
                extra = 2
            def forward(self): ...
            __call__ = forward
            class Inner(Base): ...
        def f():
            class Local(A): ...
        """
    )
    a = index.classes["A"]
    assert a.bases == ("nn.Module", "Generic", "?")
    assert a.class_attributes == {"scale", "depth", "extra", "__call__"}
    assert a.annotated == {"width"}
    assert a.method_aliases == {"__call__": "forward"}
    assert set(index.classes) == {"A", "A.Inner", "f.<locals>.Local"}


def test_an_alias_with_two_values_is_none() -> None:
    index = indexed("Base = nn.Module\nif x:\n    Norm = nn.A\nelse:\n    Norm = nn.B\n")
    assert index.aliases == {"Base": "nn.Module"}


@pytest.mark.parametrize(
    "text", ["", "match x:\n    case {'a': y, **z}:\n        f(y)", "f = lambda *a, **k: (yield)",
             "global x\nx = [*a, *b]\nprint({**c})", "async def f():\n    async with a as b: ..."],
)  # fmt: skip
def test_any_syntax_is_walked(text: str) -> None:
    assert indexed(text).path == "m.py"


# Imports


def test_package_with_reexports_and_relative_imports(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "pkg/__init__.py": "from .layers import Block\nfrom . import layers",
            "pkg/layers/__init__.py": "from .block import Block as Block\nfrom ._all import *",
            "pkg/layers/block.py": "import torch.nn as nn\nclass Block(nn.Module): ...",
            "pkg/layers/_all.py": "from .extra import *",
            "pkg/layers/extra.py": "def helper(): ...\nclass _Hidden: ...",
            "pkg/models/__init__.py": "",
            "pkg/models/net.py": """
                import pkg
                import pkg.layers as L
                import pkg.layers.block
                from ..layers import Block, helper, _Hidden
                from .. import layers
                from ..layers.block import nn
                """,
        }
    )
    net = tmp_path / "pkg/models/net.py"
    block = str((tmp_path / "pkg/layers/block.py").relative_to("/")) + ":Block"
    for name in ("Block", "L.Block", "pkg.Block", "pkg.layers.block.Block", "layers.Block"):
        assert resolved(project, net, name) == block, name
    assert resolved(project, net, "helper").endswith("extra.py:helper")
    assert resolved(project, net, "L.helper").endswith("extra.py:helper")
    assert resolved(project, net, "_Hidden") == "None"
    assert resolved(project, net, "nn.Linear") == "torch.nn.Linear"
    assert resolved(project, net, "layers") == "file __init__.py"
    assert project.is_module(resolved_class(project, net, "Block")) is True


def test_src_layout_and_scripts_beside_a_package(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/net.py": "class Net: ...",
            "train.py": "from pkg.net import Net",
            "tests/test_net.py": "from pkg.net import Net",
            "scripts/helpers.py": "def h(): ...",
            "scripts/run.py": "from helpers import h\nimport pkg.net",
        }
    )
    assert resolved(project, tmp_path / "train.py", "Net").endswith("src/pkg/net.py:Net")
    assert resolved(project, tmp_path / "tests/test_net.py", "Net").endswith("net.py:Net")
    assert resolved(project, tmp_path / "scripts/run.py", "h").endswith("helpers.py:h")
    assert resolved(project, tmp_path / "scripts/run.py", "pkg.net.Net").endswith("net.py:Net")


def test_two_candidates_are_none(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "utils.py": "def f(): ...",
            "pkg/__init__.py": "",
            "pkg/utils.py": "def f(): ...",
            "pkg/train.py": "import utils\nfrom utils import f\nfrom .utils import f as g",
        }
    )
    train = tmp_path / "pkg/train.py"
    assert project.module(file(project, train), "utils") is None
    assert resolved(project, train, "f") == "None"
    assert resolved(project, train, "utils.f") == "None"
    assert resolved(project, train, "g").endswith("pkg/utils.py:f")
    assert project.module(file(project, train), "utils", 1) is not None


def test_a_package_hides_a_module_of_its_name(write: Write, tmp_path: Path) -> None:
    project = write(
        {"a.py": "x = 1", "a/__init__.py": "def f(): ...", "main.py": "from a import f"}
    )
    assert resolved(project, tmp_path / "main.py", "f").endswith("__init__.py:f")


def test_nothing_outside_is_read(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "site-packages/torch/__init__.py": "class Tensor: ...",
            "site-packages/other/__init__.py": "class Other: ...",
            "site-packages/mine/__init__.py": "",
            "site-packages/mine/part.py": "class Part: ...",
            "site-packages/mine/net.py": "import torch, other\nfrom mine.part import Part",
            "pkg/__init__.py": "",
            "pkg/logging.py": "def log(): ...",
            "pkg/wandb.py": "import wandb\nimport logging",
        }
    )
    net = tmp_path / "site-packages/mine/net.py"
    assert resolved(project, net, "torch.Tensor") == "torch.Tensor"
    assert resolved(project, net, "other.Other") == "other.Other"
    assert resolved(project, net, "Part").endswith("part.py:Part")
    assert resolved(project, tmp_path / "pkg/wandb.py", "wandb.init") == "wandb.init"
    assert resolved(project, tmp_path / "pkg/wandb.py", "logging.info") == "logging.info"


def test_namespace_packages(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "ns/deep/net.py": "class Net: ...",
            "main.py": "import ns.deep.net\nfrom ns.deep import net\nfrom ns.deep.net import Net",
        }
    )
    main = tmp_path / "main.py"
    for name in ("ns.deep.net.Net", "net.Net", "Net"):
        assert resolved(project, main, name).endswith("net.py:Net"), name


def test_relative_paths_stay_relative(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write({"a.py": "from b import f", "b.py": "def f(): ..."})
    monkeypatch.chdir(tmp_path)
    index = project.file("a.py")
    assert index is not None
    found = project.resolve(index, "f")
    assert isinstance(found, FunctionInfo)
    assert found.path == "b.py"


def test_cycles_of_imports_end(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "a.py": "from b import X, Y\nfrom b import *\nZ = X",
            "b.py": "from a import X, Z\nfrom a import *\nclass Y: ...",
            "self.py": "from self import thing\nA = B\nB = A",
        }
    )
    a = tmp_path / "a.py"
    assert resolved(project, a, "X") == "None"
    assert resolved(project, a, "Z") == "None"
    assert resolved(project, a, "missing") == "None"
    assert resolved(project, a, "Y").endswith("b.py:Y")
    assert resolved(project, tmp_path / "self.py", "A") == "None"


def test_builtins_and_star_imports_from_torch(write: Write, tmp_path: Path) -> None:
    project = write({"a.py": "from torch.nn import *\nclass A(Module): ...\nclass B(object): ..."})
    a = tmp_path / "a.py"
    assert resolved(project, a, "object") == "builtins.object"
    assert project.is_module(resolved_class(project, a, "A")) is True
    assert project.is_module(resolved_class(project, a, "B")) is False


def test_bad_files_are_none(write: Write, tmp_path: Path) -> None:
    project = write(
        {"bad.py": "def (", "main.py": "from bad import f\nimport nowhere\nfrom .gone import g"}
    )
    main = tmp_path / "main.py"
    assert project.file(str(tmp_path / "bad.py")) is None
    assert project.file(str(tmp_path / "nowhere.py")) is None
    assert project.tree(str(tmp_path / "bad.py")) is None
    assert resolved(project, main, "f") == "None"
    assert resolved(project, main, "g") == "None"
    assert resolved(project, main, "nowhere.x") == "nowhere.x"


def test_added_files_are_not_read() -> None:
    asked: list[str] = []
    project = Project(lambda path: asked.append(path))
    index = indexed("class A: ...")
    project.add(index)
    assert project.file("m.py") is index
    assert project.file("./m.py") is index
    assert asked == []


def test_caches_are_bounded_and_classes_stay_equal(write: Write, tmp_path: Path) -> None:
    write({f"m{i}.py": f"class C{i}: ..." for i in range(5)})
    project = Project(read, max_files=2, max_tree_chars=20)
    first = resolved_class(project, tmp_path / "m0.py", "C0")
    for i in range(5):
        file(project, tmp_path / f"m{i}.py")
    again = file(project, tmp_path / "m0.py").classes["C0"]
    assert again is not first
    assert again == first
    assert len({again, first}) == 1


# Classes


def test_bases_through_aliases_files_and_mixins(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "base.py": "import torch.nn as nn\nBase = nn.Module\nclass Top(Base):\n"
            "    def forward(self): ...\n    def extra(self): ...",
            "mixin.py": "class Mixin:\n    def extra(self): ...",
            "net.py": """
                import base
                from mixin import Mixin
                class Left(base.Top): ...
                class Right(base.Top):
                    def forward(self): ...
                class Net(Mixin, Left, Right): ...
                class Outer:
                    class Part(base.Base): ...
                    class Whole(Part): ...
                """,
        }
    )
    path = tmp_path / "net.py"
    net = resolved_class(project, path, "Net")
    assert order(project, net) == [
        "Net", "Mixin", "Left", "Right", "Top", "torch.nn.Module",
    ]  # fmt: skip
    assert project.is_module(net) is True
    assert project.is_module(resolved_class(project, path, "Mixin")) is False
    assert project.is_module(resolved_class(project, path, "Outer.Whole")) is True
    assert owner_of(project, net, "forward") == "Right"
    assert owner_of(project, net, "extra") == "Mixin"
    assert project.method(net, "missing") is None
    assert resolved(project, path, "Net.forward").endswith("net.py:Right.forward")


def test_cycles_of_bases_end(write: Write, tmp_path: Path) -> None:
    project = write(
        {
            "a.py": "from b import B\nclass A(B): ...\nclass Self(Self): ...",
            "b.py": "from a import A\nclass B(A): ...",
            "c.py": "class X(Y): ...\nclass Y(X): ...\nclass Odd(A0, A1): ...\n"
            "class A0: ...\nclass A1(A0): ...",
            "d.py": "from lib import Block\nclass Block(Block): ...",
            "lib.py": "import torch\nclass Block(torch.nn.Module): ...",
        }
    )
    assert order(project, resolved_class(project, tmp_path / "a.py", "A")) == ["A", "B"]
    assert order(project, resolved_class(project, tmp_path / "b.py", "B")) == ["B", "A"]
    assert order(project, resolved_class(project, tmp_path / "a.py", "Self")) == ["Self"]
    assert order(project, resolved_class(project, tmp_path / "c.py", "X")) == ["X", "Y"]
    odd = order(project, resolved_class(project, tmp_path / "c.py", "Odd"))
    assert sorted(odd) == ["A0", "A1", "Odd"]
    block = resolved_class(project, tmp_path / "d.py", "Block")
    assert order(project, block) == ["Block", "Block", "torch.nn.Module"]


@pytest.mark.parametrize(
    ("base", "answer"),
    [
        ("torch.nn.Module", True),
        ("torch.nn.modules.batchnorm._BatchNorm", True),
        ("torch.nn.Parameter", False),
        ("torch.autograd.Function", False),
        ("torch.utils.data.Dataset", False),
        ("torch.jit.ScriptModule", True),
        ("pytorch_lightning.LightningModule", True),
        ("torchmetrics.Metric", True),
        ("somewhere.Thing", None),
        ("abc.ABC", False),
        ("object", False),
        ("undefined", None),
        ("make()", None),
    ],
)
def test_which_bases_make_a_module(
    write: Write, tmp_path: Path, base: str, answer: bool | None
) -> None:
    imported = f"import {base.partition('.')[0]}\n" if "." in base else ""
    project = write({"a.py": f"{imported}class A({base}): ..."})
    assert project.is_module(resolved_class(project, tmp_path / "a.py", "A")) is answer


def test_deep_chains_and_diamonds_end_soon(write: Write, tmp_path: Path) -> None:
    chain = ["class C0: ..."] + [f"class C{i}(C{i - 1}): ..." for i in range(1, 2000)]
    diamonds = ["class D0: ..."]
    for i in range(1, 40):
        diamonds += [f"class L{i}(D{i - 1}): ...", f"class R{i}(D{i - 1}): ..."]
        diamonds += [f"class D{i}(L{i}, R{i}): ..."]
    aliases = ["A0 = C0"] + [f"A{i} = A{i - 1}" for i in range(1, 3000)]
    project = write({"a.py": "\n".join(chain + diamonds + aliases)})
    path = tmp_path / "a.py"
    assert order(project, resolved_class(project, path, "C1999"))[:2] == ["C1999", "C1998"]
    assert len(order(project, resolved_class(project, path, "D39"))) == 1 + 3 * 39
    assert resolved(project, path, "A2999") == "None"
    assert resolved(project, path, "A50").endswith("a.py:C0")
