"""What a class does with the attributes of self."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from autolint.interpreter.class_facts import ClassFacts, How, Role
from autolint.interpreter.index import ClassInfo
from autolint.interpreter.project import Project


def facts_of(text: str, name: str = "M") -> ClassFacts:
    return facts_in(Project({"m.py": textwrap.dedent(text)}.get), "m.py", name)


def facts_beside(folder: Path, other: str, text: str, name: str = "M") -> ClassFacts:
    """Facts of a class in a folder with `other.py`."""
    (folder / "other.py").write_text(textwrap.dedent(other), encoding="utf-8")
    path = folder / "m.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return facts_in(Project(lambda p: Path(p).read_text(encoding="utf-8")), str(path), name)


def facts_in(project: Project, path: str, name: str) -> ClassFacts:
    index = project.file(path)
    assert index is not None
    found = project.resolve(index, name)
    assert isinstance(found, ClassInfo)
    return ClassFacts.of(project, found)


def module(init: str = "", forward: str = "return x", rest: str = "") -> ClassFacts:
    parts = [
        "import torch, logging\nimport torch.nn as nn\nclass M(nn.Module):",
        "    def __init__(self, d):\n        super().__init__()",
        textwrap.indent(textwrap.dedent(init), " " * 8),
        "    def forward(self, x):",
        textwrap.indent(textwrap.dedent(forward), " " * 8),
        textwrap.indent(textwrap.dedent(rest), " " * 4),
    ]
    return facts_of("\n".join(parts))


def roles(facts: ClassFacts, attribute: str = "w") -> set[Role]:
    return {r.role for r in facts.reads(attribute)}


@pytest.mark.parametrize(
    ("code", "role"),
    [
        ("return x * self.w", Role.VALUE),
        ("return self.w * 2 + x", Role.VALUE),
        ("return torch.matmul(x, self.w)", Role.VALUE),
        ("return self.w.mul(x)", Role.VALUE),
        ("return self.w.unsqueeze(0) @ x", Role.VALUE),
        ("return x + self.w.float()", Role.VALUE),
        ("return x + self.w.to(torch.float64)", Role.VALUE),
        ("return self.conv(self.w)", Role.VALUE),
        ("return x > self.w", Role.VALUE),
        ("return x + (self.w if d else 0)", Role.VALUE),
        ("c = self.w\nreturn x * c", Role.VALUE),
        ("a, b = self.v, self.w\nreturn x * b", Role.VALUE),
        ("for t in (self.v, self.w):\n    x = x * t\nreturn x", Role.VALUE),
        ("for n in ('v', 'w'):\n    x = x * getattr(self, n)\nreturn x", Role.VALUE),
        ("return [x * t for t in [self.w]]", Role.VALUE),
        ("self.w += x\nreturn x", Role.VALUE),
        ("def inner(y):\n    return y * self.w\nreturn inner(x)", Role.VALUE),
        ("return self.w[x] * x", Role.VALUE),
        ("return self.w", Role.VALUE),
        ("return x * self.w.to(x.device)", Role.MOVED),
        ("return x * self.w.to(x)", Role.MOVED),
        ("return x * self.w.to(device=x.device, dtype=x.dtype)", Role.MOVED),
        ("return x * self.w.cuda()", Role.MOVED),
        ("return x * self.w.type_as(x)", Role.MOVED),
        ("return x * self.w.unsqueeze(0).exp().to(x.device)", Role.MOVED),
        ("return x * torch.as_tensor(self.w).to(x.device)", Role.MOVED),
        ("return x * torch.as_tensor(self.w, device=x.device)", Role.MOVED),
        ("return x * torch.exp(self.w).to(x.device)", Role.MOVED),
        ("return x * self.w[0].to(x.device)", Role.MOVED),
        ("self.w = self.w.to(x.device)\nreturn x", Role.MOVED),
        ("c = self.w\nc = c.to(x.device)\nreturn x * c", Role.MOVED),
        ("return x[:, self.w]", Role.INDEX),
        ("return x[self.w + 1]", Role.INDEX),
        ("return x * self.w[0].item()", Role.INDEX),
        ("return x * float(self.w[0])", Role.INDEX),
        ("if self.w is not None:\n    x = x + 1\nreturn x", Role.TEST),
        ("if self.w:\n    x = x + 1\nreturn x", Role.TEST),
        ("if self.w > 0 and d:\n    x = x + 1\nreturn x", Role.TEST),
        ("assert isinstance(self.w, list)\nreturn x", Role.TEST),
        ("return x.view(self.w.shape[0], -1)", Role.SHAPE),
        ("return x.to(self.w.device)", Role.SHAPE),
        ("return x.to(self.w)", Role.SHAPE),
        ("return x.view(self.w.size(0))", Role.SHAPE),
        ("return x * self.w.item()", Role.OTHER),
        ("return x * float(self.w)", Role.OTHER),
        ("print(f'{self.w}')\nreturn x", Role.OTHER),
        ("logging.info('%s', self.w)\nreturn x", Role.OTHER),
        ("self.log('w', self.w)\nreturn x", Role.OTHER),
        ("self.v = self.w\nreturn x", Role.OTHER),
        ("self.w.fill_(0)\nreturn x", Role.OTHER),
        ("self.w[0] = 1\nreturn x", Role.OTHER),
    ],
)
def test_role_of_a_read(code: str, role: Role) -> None:
    facts = module("self.w = torch.zeros(3)", code)
    assert roles(facts) == {role}
    assert bool(facts.forward_value_reads("w")) is (role is Role.VALUE)


def test_reads_know_their_place() -> None:
    facts = module("self.w = torch.zeros(3)", "y = 1\nreturn x * self.w")
    (read,) = facts.reads("w")
    assert (read.path, read.method, read.line) == ("m.py", "forward", 9)
    (store,) = facts.stores("w")
    assert (store.method, store.line, store.how) == ("__init__", 6, How.ASSIGNED)
    assert facts.reads("absent") == []
    assert facts.stores("absent") == []


@pytest.mark.parametrize(
    ("init", "how", "is_none", "placed"),
    [
        ("self.w = torch.zeros(3)", How.ASSIGNED, False, False),
        ("self.w: torch.Tensor = torch.zeros(3)", How.ASSIGNED, False, False),
        ("self.w = None", How.ASSIGNED, True, False),
        ("self.v, self.w = 1, None", How.ASSIGNED, True, False),
        ("self.v, self.w = d", How.ASSIGNED, False, False),
        ("self.w = torch.zeros(3, device=d)", How.ASSIGNED, False, True),
        ("self.w = torch.zeros(3, device=None)", How.ASSIGNED, False, False),
        ("self.w = torch.zeros(3).to(d)", How.ASSIGNED, False, True),
        ("self.w = torch.zeros(3).to(d).float() * 2", How.ASSIGNED, False, True),
        ("self.w = torch.zeros(3).to(torch.float64)", How.ASSIGNED, False, False),
        ("self.w += 1", How.AUGMENTED, False, False),
        ("setattr(self, 'w', torch.zeros(3))", How.SETATTR, False, False),
        ("object.__setattr__(self, 'w', torch.zeros(3))", How.SETATTR, False, False),
        ("for n in ('v', 'w'):\n    setattr(self, n, torch.zeros(3))", How.SETATTR, False, False),
        (
            "for n, t in {'v': 1, 'w': 2}.items():\n    setattr(self, n, t)",
            How.SETATTR,
            False,
            False,
        ),
        (
            "for n, t in (('v', 1), ('w', 2)):\n    setattr(self, n, t)",
            How.SETATTR,
            False,
            False,
        ),
        ("for n, t in zip(['w'], d):\n    setattr(self, n, t)", How.SETATTR, False, False),
        ("self.register_buffer('w', torch.zeros(3))", How.BUFFER, False, False),
        ("self.register_buffer(name='w', tensor=d)", How.BUFFER, False, False),
        ("self._buffers['w'] = d", How.BUFFER, False, False),
        ("self.w = nn.Buffer(torch.zeros(3))", How.BUFFER, False, False),
        ("self.w = nn.Parameter(torch.zeros(3))", How.PARAMETER, False, False),
        ("self.w = nn.Parameter(torch.zeros(3)) if d else None", How.PARAMETER, False, False),
        ("self.register_parameter('w', None)", How.PARAMETER, False, False),
        ("del self.w", How.DELETED, False, False),
    ],
)
def test_how_an_attribute_is_stored(init: str, how: How, is_none: bool, placed: bool) -> None:
    facts = module(init)
    (store,) = facts.stores("w")
    assert (store.how, store.is_none, store.placed) == (how, is_none, placed)
    assert facts.registered("w") is (how in (How.BUFFER, How.PARAMETER))
    assert not facts.rebound("w")


@pytest.mark.parametrize(
    ("init", "rest", "registered", "unknown"),
    [
        ("self._add('w', 1)", "def _add(self, n, t):\n    self.register_buffer(n, t)", True, False),
        (
            "self._add('v', 1)",
            "def _add(self, n, t):\n    self.register_buffer(n, t)",
            False,
            False,
        ),
        (
            "for n in ('v', 'w'):\n    self._add(1, n)",
            "def _add(self, t, n):\n    self.register_buffer(n, t)",
            True,
            False,
        ),
        ("self._add(d, 1)", "def _add(self, n, t):\n    self.register_buffer(n, t)", False, True),
        ("reg = lambda n, t: self.register_buffer(n, t)\nreg('w', 1)", "", True, False),
        ("def reg(n, t):\n    self.register_buffer(n, t)\nreg('w', 1)", "", True, False),
        ("reg = self.register_buffer\nreg('w', 1)", "", True, False),
        ("reg = partial(self.register_buffer, persistent=False)\nreg('w', 1)", "", True, False),
        ("for i in range(3):\n    self.register_buffer(f'w{i}', 1)", "", False, False),
        ("for i in range(3):\n    self.register_buffer(f'{i}w'[1:], 1)", "", False, True),
        ("for n in d:\n    self.register_buffer(n, 1)", "", False, True),
        ("self.add_state('w', default=1)", "", True, False),
        ("", "def late(self):\n    self.register_buffer('w', 1)", True, False),
    ],
)
def test_registered_names(init: str, rest: str, registered: bool, unknown: bool) -> None:
    facts = module(init, rest=rest)
    assert facts.registered("w") is registered
    assert facts.registers_unknown_names is unknown


def test_names_registered_as_formatted_strings() -> None:
    facts = module("for i in range(3):\n    self.register_buffer(f'level.{i}_w', 1)")
    assert facts.registered("level.0_w")
    assert not facts.registered("levelx0_w")
    assert not facts.registered("w")


def test_rebound_outside_init_and_what_it_reaches() -> None:
    rest = """
        def _build(self):
            self.built = torch.zeros(3)
            self._deeper()
        def _deeper(self):
            self.deep = torch.zeros(3)
        def set_range(self, v):
            self.changed = v
        def _cache(self):
            self.cached = torch.zeros(3)
        def callback(self, m):
            self.called_back = torch.zeros(3)
        """
    facts = module(
        "self._build()\nself._cache()\nself.apply(self.callback)",
        "self._cache()\nself.seen = x\nreturn x",
        rest,
    )
    assert facts.init_methods == {"__init__", "_build", "_deeper", "_cache", "callback"}
    assert facts.forward_methods == {"forward", "_cache"}
    for name in ("built", "deep", "called_back"):
        assert not facts.rebound(name), name
    for name in ("changed", "cached", "seen"):
        assert facts.rebound(name), name


@pytest.mark.parametrize(
    ("forward", "updated"),
    [
        ("self.w = 0.9 * self.w + 0.1 * x.mean(0)", True),
        ("self.w += x.sum(0)", True),
        ("self.w = self.w.mul(0.9).add(x.mean(0))", True),
        ("self.w = self.cell(x, self.w)", False),
        ("self.w = x.mean(0)", False),
        ("self.w = 0.9 * self.w + x\nself.w = x", False),
        ("self.w.mul_(0.9)", False),
    ],
)
def test_running_statistics_are_updates(forward: str, updated: bool) -> None:
    facts = module("self.w = torch.zeros(d)", f"{forward}\nreturn x - self.w")
    assert facts.updated("w") is updated


def test_comparison_with_a_number_makes_a_mask() -> None:
    assert roles(module(forward="return x.masked_fill(self.w == 0, -1.0)")) == {Role.VALUE}
    assert roles(module(forward="if self.w == 0:\n    return x")) == {Role.TEST}
    assert roles(module(forward="if self.w == 'sum':\n    return x")) == {Role.TEST}


def test_computed_names_weaken() -> None:
    facts = module(
        rest="def load(self, d):\n    for k, v in d.items():\n        setattr(self, k, v)"
    )
    assert facts.rebound("anything")
    assert not facts.handles_apply
    moved = module(
        rest="def place(self, d):\n    for k in self.names:\n"
        "        setattr(self, k, getattr(self, k).to(d))"
    )
    assert moved.handles_apply
    assert moved.moved("anything")


@pytest.mark.parametrize(
    ("init", "forward", "rest", "moved"),
    [
        ("self.w = 1", "return x * self.w", "", False),
        ("self.w = 1", "return x * self.w.to(x.device)", "", True),
        ("self.w = 1", "y = x * self.w.to(x.device)\nreturn y + self.w", "", False),
        ("self.w = 1", "return x * self.w", "def put(self, d):\n    self.w = self.w.to(d)", True),
        ("self.w = 1", "return x * self.w", "def _apply(self, f): ...", True),
        ("self.w = 1", "return x * self.w", "def cuda(self): ...", True),
        ("self.w = torch.zeros(3, device=d)", "return x * self.w", "", True),
        ("self.w = 1", "return x * self._w()", "def _w(self):\n    return self.w", False),
        (
            "self.w = 1",
            "return x * self._w().to(x.device)",
            "def _w(self):\n    return self.w",
            True,
        ),
        (
            "self.w = 1",
            "return x * self.p.to(x.device)",
            "@property\ndef p(self):\n    return self.w",
            True,
        ),
        (
            "self.w = 1",
            "return self.mix(x, self.w)",
            "def mix(self, x, w):\n    return x * w.to(x.device)",
            True,
        ),
        (
            "self.w = 1",
            "return self.mix(x, self.w)",
            "def mix(self, x, w):\n    return x * w",
            False,
        ),
    ],
)
def test_moved_by_hand(init: str, forward: str, rest: str, moved: bool) -> None:
    facts = module(init, forward, rest)
    assert facts.moved("w") is moved
    assert bool(facts.forward_value_reads("w")) is (Role.VALUE in roles(facts))


def test_functions_of_other_files_move_their_arguments(tmp_path: Path) -> None:
    text = """
        from other import extract, plain
        import other
        class M:
            def forward(self, t):
                return {} * t
        """
    helpers = (
        "def extract(a, t):\n    return a.gather(-1, t).to(t.device)\n"
        "def plain(a, t):\n    return a.gather(-1, t)\n"
    )
    for call, role in (
        ("extract(self.w, t)", Role.MOVED),
        ("other.extract(self.w, t)", Role.MOVED),
        ("plain(self.w, t)", Role.VALUE),
        ("unknown(self.w, t)", Role.VALUE),
    ):
        facts = facts_beside(tmp_path, helpers, text.format(call))
        assert roles(facts) == {role}, call


FILL = "def fill(it):\n    for p in it.parameters():\n        p.data.normal_()\n"
OTHER = "class B(nn.Module):\n    def __init__(self):\n        self.{} = 0\n        "


@pytest.mark.parametrize(
    ("rest", "below", "filled"),
    [
        ("", "", False),
        ("def size(self):\n    return self.w.shape", "", False),
        ("def set(self, v):\n    self.w.data.copy_(v)", "", True),
        ("def set(self):\n    self.apply(fill)", "", True),
        ("def set(self):\n    for p in self.parameters():\n        p.data.zero_()", "", True),
        ("def set(self, v):\n    self.load_state_dict(v)", "", True),
        ("", FILL, True),
        ("", "class B(nn.Module): ...\nnet = B()\n" + FILL.replace("it", "net"), True),
        ("", "class B(nn.Module): ...\ndef run():\n    B().v.data.normal_()", False),
        ("", "class B(nn.Module): ...\ndef run():\n    B().w.data.normal_()", False),
        ("", "def run():\n    net = M(2)\n    net.w.data.normal_()", True),
        ("", "def run(net):\n    net.load_state_dict(load())", True),
        ("", OTHER.format("w") + "nn.init.ones_(self.w)", False),
        ("", OTHER.format("m") + "self.m = M(2)\n        nn.init.ones_(self.m.w)", True),
        (
            "",
            OTHER.format("m") + FILL.splitlines()[1].strip().replace("it", "self") + " p.data = 0",
            False,
        ),
        ("", "class N(M):\n    def reset(self):\n        self.w.data.normal_()", True),
    ],
)
def test_first_values_from_elsewhere(rest: str, below: str, filled: bool) -> None:
    text = "class M(nn.Module):\n    def forward(self, x):\n        return x + self.w\n"
    text += textwrap.indent(rest, "    ")
    assert facts_of(f"import torch.nn as nn\n{text}\n{below}").may_be_filled("w") is filled


@pytest.mark.parametrize(
    ("path", "init", "filled"),
    [
        ("p/m.py", "pass", True),
        ("p/m.py", "nn.init.ones_(self.v)", False),
        ("scripts/m.py", "pass", False),
    ],
)
def test_packages_load_models_that_initialise_nothing(path: str, init: str, filled: bool) -> None:
    text = f"""
        from torch import nn
        class M(nn.Module):
            def __init__(self):
                {init}
            def forward(self, x):
                return x + self.w
        """
    files = {os.path.abspath(path): textwrap.dedent(text), os.path.abspath("p/__init__.py"): ""}
    project = Project(lambda path: files.get(os.path.abspath(path)))
    assert facts_in(project, path, "M").may_be_filled("w") is filled


@pytest.mark.parametrize(
    ("forward", "filled"),
    [
        ("return x + self.w", False),
        ("nn.init.ones_(self.w)\nreturn x + self.w", True),
        ("self.w.data.copy_(x)\nreturn x + self.w", True),
    ],
)
def test_forward_may_give_the_first_values(forward: str, filled: bool) -> None:
    assert module(forward=forward).may_be_filled("w") is filled


@pytest.mark.parametrize(
    ("base", "filled"),
    [("nn.Module", False), ("nn.Linear", True), ("Missing", True), ("Own", False)],
)
def test_bases_may_give_the_first_values(base: str, filled: bool) -> None:
    text = f"""
        import torch.nn as nn
        class Own(nn.Module): ...
        class M({base}):
            def forward(self, x):
                return x + self.w
        """
    assert facts_of(text).may_be_filled("w") is filled


def test_forward_through_bases_and_super(tmp_path: Path) -> None:
    base = """
        from torch import nn
        Base = nn.Module
        class Transform(Base):
            limit = None
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", None)
                self.setup()
            def setup(self):
                self.hidden = 1
            def forward(self, x):
                return self.transform(x)
            def transform(self, x):
                raise NotImplementedError
            def unused(self, x):
                return x * self.coef
        """
    text = """
        import other
        class M(other.Transform):
            low: float
            def __init__(self, lo):
                super().__init__()
                self.coef = lo
            def setup(self):
                self.ready = lo
            def transform(self, x):
                return x / self.coef
            @property
            def span(self): ...
        class N(M):
            def forward(self, x):
                return super().forward(x)
        class O(M):
            def setup(self):
                M.setup(self)
            def forward(self, x):
                return x
        """
    facts = facts_beside(tmp_path, base, text)
    assert facts.forward_methods == {"forward", "transform"}
    assert facts.init_methods == {"__init__", "setup"}
    assert [r.method for r in facts.forward_value_reads("coef")] == ["transform"]
    assert len(facts.reads("coef")) == 2
    assert facts.registered("seen")
    assert facts.stores("hidden") == []  # its setup is overridden
    assert facts.class_level("limit") == {"attribute"}
    assert facts.class_level("low") == {"annotation"}
    assert facts.class_level("span") == {"property"}
    assert facts.class_level("setup") == {"method"}
    assert facts.class_level("coef") == frozenset()
    through_super = facts_beside(tmp_path, base, text, "N")
    assert [r.method for r in through_super.forward_value_reads("coef")] == ["transform"]
    overridden = facts_beside(tmp_path, base, text, "O")
    assert overridden.forward_value_reads("coef") == []
    assert not overridden.rebound("ready")


def test_earlier_none_is_class_level() -> None:
    assert module("self.w = None\nself.w = torch.zeros(3)").class_level("w") == {"none"}


def test_facts_are_kept_and_survive_odd_classes() -> None:
    text = """
        class M:
            if True:
                def a(): return self.w
                @staticmethod
                def s(x): return x.w
                def loop(self): return self.loop()
            __call__ = loop
        class X(Y): ...
        class Y(X):
            def forward(self): return self.w
        """
    project = Project({"m.py": textwrap.dedent(text)}.get)
    index = project.file("m.py")
    assert index is not None
    cls = index.classes["M"]
    facts = ClassFacts.of(project, cls)
    assert ClassFacts.of(project, cls) is facts
    assert facts.reads("w") == []
    assert facts.forward_methods == {"loop"}
    assert not facts.moved("loop")
    assert ClassFacts.of(project, index.classes["X"]).forward_methods == {"forward"}
