"""`autolint verify --ops`: the comparison on small made tables, a few real ops, the command."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from autolint.autograd import committed
from autolint.cli import main
from autolint.runtime import op_changes, ops_report, probing, tables
from autolint.runtime.findings import Part, Probed, Row, Tables
from autolint.runtime.impossible import Impossible
from autolint.runtime.op_changes import (
    ALIAS,
    DTYPE,
    HEAD_OF,
    NEW,
    SAVED,
    VANISHED,
    WORDS,
    Comparison,
    Difference,
    NotProbed,
    compare,
)
from autolint.runtime.processes import Ended, Task

REAL = tables.read()


def op(names: str, inplace: str = "", variant: str = "", **cells: str) -> Row:
    """A line of ops.csv."""
    usual = {
        **dict.fromkeys(tables.COLUMNS["ops.csv"], ""),
        "parameters": "input other",
        "alias": "fresh",
        "outputs": "1",
        "saves": "0<0",
        "kinds": "bifc",
    }
    return {**usual, **cells, "names": names, "inplace": inplace, "variant": variant}


def made(*ops: Row, torch: str = "1.0", **others: list[Row]) -> Tables:
    rows = {name: others.get(name.partition(".")[0], []) for name in committed.NAMES}
    return Tables(torch, {**rows, "ops.csv": list(ops)})


def differences(old: Tables, new: Tables) -> list[tuple[str, str, str, str, str]]:
    found = compare(old, Probed(new, {})).differences
    return [(d.head, " ".join(d.names), d.column, d.was, d.now) for d in found]


def test_what_is_the_same_is_no_difference() -> None:
    table = made(op("add .add", ".add_"), op("add .add", ".add_", "number", saves=""))
    assert compare(table, Probed(table, {})).differences == ()
    assert compare(REAL, Probed(REAL, {})).differences == ()


@pytest.mark.parametrize(
    ("column", "now", "head"),
    [
        ("alias", "view", ALIAS),
        ("alias_of", "1", ALIAS),
        ("outputs", "2", ALIAS),
        ("saves", "1<0", SAVED),
        ("saves_result", "0<0", SAVED),
        ("differentiable", "no", SAVED),
        ("kinds", "iifc", DTYPE),
        ("kind_of", "0", DTYPE),
    ],
)
def test_a_changed_fact_stands_under_its_head(column: str, now: str, head: str) -> None:
    old, new = made(op("add .add", ".add_")), made(op("add .add", ".add_", **{column: now}))
    was = old.rows["ops.csv"][0][column]
    assert differences(old, new) == [(head, ".add .add_ add", column, was, now)]


def test_new_and_vanished_names() -> None:
    old, new = made(op("add .add"), op("old")), made(op("add .add", ".add_"), op("fresh"))
    assert differences(old, new) == [
        (NEW, ".add_ fresh", "", "", ""),
        (VANISHED, "old", "", "", ""),
    ]


def test_parameters_are_new_or_vanish_word_by_word() -> None:
    old, new = made(op("add")), made(op("add", parameters="input alpha"))
    assert differences(old, new) == [
        (NEW, "add", "parameters", "", "alpha"),
        (VANISHED, "add", "parameters", "other", ""),
    ]
    turned = made(op("add", parameters="other input"))
    assert differences(old, turned) == [(NEW, "add", "parameters", "input other", "other input")]


def test_a_variant_is_compared_with_the_joined_line_where_it_has_none() -> None:
    old = made(op("add"))
    same, other = op("add", variant="number"), op("add", variant="number", saves="")
    assert differences(old, made(op("add"), same)) == []
    [found] = compare(old, Probed(made(op("add"), other), {})).differences
    assert found == Difference(SAVED, "ops.csv", ("add",), "number", "saves", "0<0", "")
    # What the joined line has already said is not said again for each variant.
    changed = made(op("add", saves=""), op("add", variant="number", saves=""))
    assert len(differences(old, changed)) == 1


def test_what_was_not_run_is_no_difference_and_has_a_reason() -> None:
    old = made(op("add"), op("add", variant="number"), op("crash"), op("there"), op("gone"))
    reasons = {("ops.csv", "crash"): "a crash", ("ops.csv", "skipped"): "needs a device"}
    found = compare(old, Probed(made(op("add")), reasons, frozenset({"there"})))
    assert [(each.head, each.names) for each in found.differences] == [(VANISHED, ("gone",))]
    assert set(found.not_probed) == {
        NotProbed("ops.csv", ("crash",), "a crash"),
        NotProbed("ops.csv", ("skipped",), "needs a device"),
        NotProbed("ops.csv", ("there",), "this torch has no samples of it"),
        NotProbed("ops.csv", ("add",), "no sample shows it with the arguments 'number'"),
    }


def test_a_layer_that_could_not_be_called_keeps_what_its_class_shows() -> None:
    usual = dict.fromkeys(tables.COLUMNS["layers.csv"], "")
    old = made(layers=[{**usual, "name": "nn.A", "parameters": "weight", "alias": "fresh"}])
    new = made(layers=[{**usual, "name": "nn.A", "parameters": "weight bias"}])
    assert differences(old, new) == [
        (NEW, "nn.A", "parameters", "", "bias"),
        (ALIAS, "nn.A", "alias", "fresh", ""),
    ]
    found = compare(old, Probed(new, {("layers.csv", "nn.A"): "no call"}))
    assert [each.column for each in found.differences] == ["parameters"]


def test_dtypes_of_the_names_and_factories() -> None:
    def names(kind: str) -> Tables:
        return made(names=[{"role": "dtype", "name": "half", "details": kind}])

    assert differences(names("float"), names("int")) == [
        (DTYPE, "dtype half", "kinds", "float", "int")
    ]


def test_every_column_has_a_head() -> None:
    for table, rows in REAL.rows.items():
        for variants in tables.by_name(table, rows).values():
            for cells in variants.values():
                assert set(cells) <= set(HEAD_OF) | WORDS, table
    assert not set(HEAD_OF) & WORDS
    assert set(HEAD_OF.values()) == set(op_changes.HEADS) - {NEW, VANISHED}


def test_the_report() -> None:
    old = made(op("add .add"), op("old"))
    new = made(op("add .add", alias="view"), op("fresh"), torch="2.0")
    found = compare(old, Probed(new, {("ops.csv", ".skipped"): "needs a device"}))
    assert ops_report.text(found).splitlines() == [
        "torch 2.0; the tables were made with torch 1.0",
        "",
        "new ops: 1",
        "  ops.csv fresh",
        "",
        "vanished ops: 1",
        "  ops.csv old",
        "",
        "changed alias kind: 1",
        "  ops.csv .add, add: alias 'fresh' -> 'view'",
        "",
        "not probed: 1",
        "  ops.csv .skipped: needs a device",
        "",
        "3 differences; 3 names probed, 1 not probed",
    ]
    document = json.loads(ops_report.as_json(found))
    assert (document["torch"], document["made_with"]) == ("2.0", "1.0")
    assert [each["head"] for each in document["differences"]] == [NEW, VANISHED, ALIAS]
    assert document["not_probed"][0]["reason"] == "needs a device"
    assert document["summary"][ALIAS] == 1


# ---- the tables as files


def test_the_committed_tables_are_written_as_they_are_read(tmp_path: Path) -> None:
    texts = tables.written(REAL)
    tables.write(texts, tmp_path)
    for name in committed.NAMES:
        real = (tables.FOLDER / name).read_text("utf-8")
        assert (tmp_path / name).read_text("utf-8") == real, name
        assert real.startswith(f"# torch {committed.made_with(name)}\n")
    assert sorted(os.listdir(tmp_path)) == sorted(committed.NAMES)
    assert len({committed.made_with(name) for name in committed.NAMES}) == 1


def test_a_table_that_cannot_be_written_leaves_the_old_ones(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text("old")
    with pytest.raises(ValueError, match="a comma"):
        tables.write(tables.written(made(op("a,b"))), tmp_path)
    assert (tmp_path / "ops.csv").read_text() == "old"


def test_variants_without_a_difference_have_no_line() -> None:
    base, same = op("add"), op("add", variant="dim")
    other = op("add", variant="number", saves="")
    assert tables.without_repeats([base, same, other]) == [base, other]


# ---- processes


def test_what_crashes_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def run_all(tasks: list[Task], *_: object) -> list[tuple[int, Ended]]:
        ends = []
        for number, task in enumerate(tasks):
            if task.function == "present":
                ends.append((number, Ended([])))
                continue
            name, covered, skip = task.arguments
            asked.append((name, skip))
            crashes = name == "factories" and not skip
            rows = [op("add", "add_")] if name == "ops 0/24" else []
            assert name != "methods" or covered == "add add_"
            end = (
                Ended(reason="a crash", note="full") if crashes else Ended(("2.9+cpu", Part(rows)))
            )
            ends.append((number, end))
        return ends

    monkeypatch.setattr(probing, "run_all", run_all)
    told: list[tuple[int, int]] = []
    found = probing.probe(lambda done, total: told.append((done, total)))
    assert found.tables.torch == "2.9"
    assert found.reasons == {("factories.csv", "full"): "a crash"}
    assert asked.count(("factories", "full")) == 1
    assert told[-1][0] == told[-1][1]
    monkeypatch.setattr(
        probing,
        "run_all",
        lambda tasks, *_: [(n, Ended(reason="an end")) for n in range(len(tasks))],
    )
    with pytest.raises(Impossible, match="cannot be asked for ops 0/24: an end"):
        probing.probe()


# ---- the command


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(args)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def test_exit_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(probing, "probe", lambda progress: Probed(REAL, {}))
    status, out, _ = call(capsys, "verify", "--ops")
    assert (status, out.splitlines()[-1].partition(";")[0]) == (0, "no difference")
    less = Tables(REAL.torch, {**REAL.rows, "factories.csv": REAL.rows["factories.csv"][1:]})
    monkeypatch.setattr(probing, "probe", lambda progress: Probed(less, {}))
    status, out, _ = call(capsys, "verify", "--ops", "--format", "json")
    assert (status, json.loads(out)["summary"][VANISHED]) == (1, 1)
    assert call(capsys, "verify", "--ops", "AG1") == (
        2,
        "",
        "error: --ops is about all of torch and takes no CODE\n",
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", None)
    expected = "error: torch is not installed; to install it: pip install torch\n"
    assert call(capsys, "verify", "--ops") == (2, "", expected)


def test_write_puts_the_tables_in_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrote: list[dict[str, str]] = []
    monkeypatch.setattr(probing, "probe", lambda progress: Probed(REAL, {}))
    monkeypatch.setattr(tables, "write", wrote.append)
    assert call(capsys, "verify", "--ops")[0] == 0
    assert wrote == []
    assert call(capsys, "verify", "--ops", "--write")[0] == 0
    assert wrote == [tables.written(REAL)]

    def fail(texts: dict[str, str]) -> None:
        raise PermissionError("no place to write")

    monkeypatch.setattr(tables, "write", fail)
    assert call(capsys, "verify", "--write") == (2, "", "error: no place to write\n")


# ---- against torch


def _compared(name: str, *parts: str) -> Comparison:
    """The committed tables beside these parts of a probe, as if the tables had no more lines."""
    torch = pytest.importorskip("torch")
    if torch.__version__.partition("+")[0] != committed.made_with("ops.csv"):
        pytest.skip("the committed tables are of another torch")
    from autolint.runtime import probe_parts

    rows = [row for part in parts for row in probe_parts.part(lambda _: None, part, (), ()).rows]
    assert rows
    new = Tables(REAL.torch, {**{n: [] for n in committed.NAMES}, name: rows})
    kept = {each for _, each in tables.names_of(new)}
    if name == "names.csv":
        # The names that autocast casts for are asked in parts, all others in one.
        some = parts[0] != "names"
        lines = [r for r in REAL.rows[name] if (r["role"] == "cast") == some]
        lines = [r for r in lines if not some or f"cast {r['name']}" in kept]
    else:
        key = "names" if name == "ops.csv" else "name"
        lines = [r for r in REAL.rows[name] if set(r[key].split()) & kept]
    old = Tables(REAL.torch, {**{n: [] for n in committed.NAMES}, name: lines})
    return compare(old, Probed(new, {}))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("names.csv", "names"),
        ("names.csv", "casts 5/160"),
        ("factories.csv", "factories"),
        ("layers.csv", "layers 3/20"),
        ("ops.csv", "ops 2/90"),
        ("ops.csv", "ops 60/90"),
    ],
)
def test_the_committed_tables_are_what_torch_gives(name: str, part: str) -> None:
    found = _compared(name, part)
    assert found.differences == ()
    assert found.probed > 5
