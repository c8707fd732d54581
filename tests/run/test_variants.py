"""A variant for each student: drawn from the key and the roster, in the kit, at every regrade, and told apart."""

import json

import pytest
from helpers import own_course

from labgrade import cli
from labgrade.files import yaml
from labgrade.judging.items import items
from labgrade.judging.variants import own_variant
from labgrade.ledger.depends import VerdictParts
from labgrade.review.groups import drawn_as
from labgrade.review.roster import of_course
from labgrade.spec import course, load

SPEC = """
id: cells
title: Cells
points: 3
statement: How many cells does a grid of your sizes have?
self_check: values
subject:
  config: {rows: {each: [13, 17, 19, 23]}, columns: {each: [29, 31]}, planes: 3}
answers:
  total: {type: count, call: 'hw.py:total(config)', entry: total, from: [{call: 'hw.py:total(config)'}, {entry: total}]}
checks:
  - id: total
    points: 2
    answer: total
    checker: equal
    expected: {quantity: grid_cells}
    misconceptions: known
    again:
      - {id: deep, points: 1, hidden: true, needs: [], cases: [{config: {planes: 5}}]}
"""
SPEC = SPEC.replace("call: 'hw.py:total(config)', entry: total, from:", "from:")
REFERENCE = '''
"""Grids."""


def grid_cells(config) -> int:
    """The cells of a grid."""
    return config["rows"] * config["columns"] * config["planes"]


def grid_cells_of_one_plane(config) -> int:
    """The cells of one plane.

    Slip of: grid_cells
    Hint: These are the cells of one plane.
    Credit: 0.5
    """
    return config["rows"] * config["columns"]
'''
KEY = b"0123456789abcdef"
ROSTER = "students:\n- {id: '0001', name: Ann Lee}\n- {id: '0002', group: blue}\n- {id: '0003', group: blue}\n"
FUNCTION = "def total(config):\n    return config['rows'] * config['columns'] * config['planes']\n"


@pytest.fixture(scope="module")
def about(tmp_path_factory):
    files = {
        "specs/lab/cells.yaml": SPEC,
        "reference/grids.py": REFERENCE,
        "roster.yaml": ROSTER,
        "course.key": KEY.decode(),
    }
    return own_course.write(tmp_path_factory.mktemp("course"), files)


def task_of(about):
    return load.read(about / "specs/lab/cells.yaml", course.find(about))


def cells(task):
    sizes = task.subject.options
    return sizes["rows"] * sizes["columns"] * sizes["planes"]


def test_each_student_has_one_and_keeps_it(about):
    task = task_of(about)
    assert [each.variant for each in task.variants][:3] == [
        "rows 13, columns 29",
        "rows 13, columns 31",
        "rows 17, columns 29",
    ]
    drawn = {name: own_variant(task, name, KEY).variant for name in map(str, range(200))}
    assert set(drawn.values()) == {each.variant for each in task.variants}
    assert drawn == {name: own_variant(task, name, KEY).variant for name in drawn}
    assert drawn != {name: own_variant(task, name, b"other").variant for name in drawn}
    deep = own_variant(task, "7", KEY)
    (case,) = [item.subject for item in items(deep) if item.check.cases]
    assert case.options == {**deep.subject.options, "planes": 5}


def test_the_roster_says_whose(about):
    roster = of_course(about)
    assert drawn_as(roster, "0001") == drawn_as(roster, "Ann Lee") == drawn_as(roster, "lee_ann_0001") == "0001"
    assert drawn_as(roster, "0002") == drawn_as(roster, "0003") == "blue"
    assert drawn_as(roster, "someone") == "someone"


@pytest.mark.slow
def test_a_class_is_judged_by_its_own(about, monkeypatch, capfd):
    task = task_of(about)
    own = own_variant(task, "0001", KEY)
    other = next(each for each in task.variants if each.variant != own.variant)
    blue = own_variant(task, "blue", KEY)
    answers = {
        "0001": f"total: {cells(own)}\n",
        "0002": f"total: {cells(blue)}\n",
        "stranger": f"total: {cells(own_variant(task, 'stranger', KEY)) // 3}\n",
    }
    files = {f"class/{name}/answers.yaml": text for name, text in answers.items()}
    own_course.write(about, {**files, "class/coder/hw.py": FUNCTION})
    swapped = {"again/0001/answers.yaml": f"total: {cells(other)}\n"}
    own_course.write(about, swapped)
    monkeypatch.chdir(about)
    verdicts = {}
    for source in ("class", "again"):
        assert cli.main(["grade", source, "--out", f"results-{source}", "--jobs", "1"]) == 0
        export = ["export", "--results", f"results-{source}", "--format", "json", "--out", f"json-{source}"]
        assert cli.main(export) == 0
        (file,) = (about / f"json-{source}").glob("*.json")
        for who in json.loads(file.read_text())["submissions"]:
            verdicts[source, who["name"]] = {c["id"]: c for task in who["tasks"] for c in task["checks"]}
    capfd.readouterr()
    assert verdicts["class", "0001"]["total"]["outcome"] == "CORRECT"
    assert verdicts["class", "0002"]["total"]["outcome"] == "CORRECT"
    assert [each["outcome"] for each in verdicts["class", "coder"].values()] == ["CORRECT", "CORRECT"]
    assert verdicts["class", "stranger"]["total"]["hint"] == "These are the cells of one plane."
    told = verdicts["again", "0001"]["total"]
    assert (told["outcome"], told["hint"]) == (
        "INCORRECT",
        f"This is right for another student's variant ({other.variant}), and yours is {own.variant}: "  # noqa: ISC004
        "work on the subject of your own kit.",
    )


@pytest.mark.slow
def test_another_key_is_refused_and_a_missing_one_is_said(tmp_path, monkeypatch, capfd):
    files = {"specs/lab/cells.yaml": SPEC, "reference/grids.py": REFERENCE, "class/ann/answers.yaml": "total: 1\n"}
    own_course.write(tmp_path, files)
    before = own_variant(task_of(tmp_path), "ann", KEY)
    own_course.write(tmp_path, {"class/ann/answers.yaml": f"total: {cells(before)}\n"})
    monkeypatch.chdir(tmp_path)
    assert cli.main(["validate"]) == 0
    assert "warning: there is no 'course.key': each" in capfd.readouterr().out
    (tmp_path / "course.key").write_bytes(b"k")
    assert cli.main(["grade", "class", "--out", "weak", "--jobs", "1"]) == 0
    assert "has 1 byte: each student's variant follows from what anybody knows" in " ".join(
        capfd.readouterr().out.replace("│", " ").split()
    )
    (tmp_path / "course.key").write_bytes(KEY)
    assert cli.main(["grade", "class", "--out", "kept", "--jobs", "1"]) == 0
    for content in (b"another", b"", None):
        if content is None:
            (tmp_path / "course.key").unlink()
        else:
            (tmp_path / "course.key").write_bytes(content)
        for command in (["grade", "class", "--out", "kept"], ["regrade", "kept"]):
            capfd.readouterr()
            assert cli.main(command) == 2
            said = capfd.readouterr().err
            assert f"course.key' {'was changed' if content else 'is empty or gone'} since variants were drawn" in said
            assert "put the old key back" in said
    (tmp_path / "course.key").write_bytes(KEY)
    number = next(n for n in range(99) if own_variant(task_of(tmp_path), str(n), KEY).variant != before.variant)
    own_course.write(tmp_path, {"roster.yaml": f"students: [{{id: '{number}', submission: ann}}]\n"})
    assert cli.main(["regrade", "kept", "--jobs", "1"]) == 0
    assert f"another variant is drawn ({before.variant} before, " in " ".join(
        capfd.readouterr().out.replace("│", " ").split()
    )


def test_a_verdict_depends_on_the_variant(about):
    found, task = course.find(about), task_of(about)
    known = VerdictParts(found)
    parts = {known.of(each, items(each)[0])["spec"] for each in task.variants}
    assert len(parts) == len(task.variants)


def test_staff_computes_of_the_variant_of_one_and_of_nobodys_nothing(about, monkeypatch, capsys):
    monkeypatch.chdir(about)
    assert cli.main(["compute", "grid_cells", "--task", "cells"]) == 2
    assert cli.main(["subject", "cells"]) == 2
    assert capsys.readouterr().err.count("each student has a variant of 'cells'") == 2
    assert cli.main(["compute", "grid_cells", "--task", "cells", "--for", "Ann Lee", "--json"]) == 0
    assert int(capsys.readouterr().out) == cells(own_variant(task_of(about), "0001", KEY))
    assert cli.main(["subject", "cells", "--for", "Ann Lee"]) == 2
    assert "'cells' has no ONNX or TorchScript file of labgrade's" in capsys.readouterr().err


@pytest.mark.slow
def test_a_kit_is_somebodys(about, monkeypatch, capfd):
    monkeypatch.chdir(about)
    assert cli.main(["kit", "lab", "--out", "kit"]) == 2
    assert "name the one whose is meant, --for NAME" in capfd.readouterr().err
    assert cli.main(["kit", "lab", "--out", "kit", "--for", "Ann Lee", "--without-subjects"]) == 0
    own = own_variant(task_of(about), "0001", KEY)
    data = yaml.load((about / "kit/specs/lab/cells.yaml").read_text(), "cells.yaml").data
    assert data["subject"]["config"] == own.subject.options
    assert data["checks"][0]["expected"] == {"literal": cells(own)}
    (about / "kit/hw.py").unlink()  # a template, which comes first
    own_course.write(about, {"kit/answers.yaml": f"total: {cells(own)}\n"})
    capfd.readouterr()
    monkeypatch.chdir(about / "kit")
    assert cli.main(["check"]) == 0
    monkeypatch.chdir(about)
    own_course.write(about, {"staff/answers.yaml": f"total: {cells(own)}\n"})
    assert cli.main(["check", "staff", "--as", "0001"]) == 0


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("{each: [29, 31]}", f"{{each: {list(range(17))}}}", "these are 68 variants; 64 are enough for any class"),
        ("planes: 5", "planes: {each: [5, 6]}", "variants are of the task's own subject, not of cases"),
        ("{each: [29, 31]}", "{each: [29]}", "variants are two values or more, each once"),
        ("points: 2", "points: {each: [1, 2]}", "'points' must be a number, not a mapping"),
    ],
)
def test_variants_that_can_not_be_are_told(tmp_path, was, becomes, says):
    text = SPEC.replace(was, becomes)
    own_course.write(tmp_path, {"specs/lab/cells.yaml": text, "reference/grids.py": REFERENCE})
    assert says in "\n".join(own_course.findings(tmp_path))


def test_an_option_of_ones_own_network_has_variants(tmp_path):
    models = "from torch import nn\n\n\ndef small(*, width: int = 8) -> nn.Module:\n    return nn.Linear(width, 2)\n"
    text = SPEC.replace("{rows: {each: [13, 17, 19, 23]}, columns: {each: [29, 31]}, planes: 3}", "{}")
    text = text.replace(
        "config: {}", "model: nets/small\n  input: {each: [[1, 8], [2, 8]]}\n  options: {width: {each: [8, x]}}"
    )
    text = (
        text.replace("(config)", "(model)")
        .replace("{config: {planes: 5}}", "{seed: 5}")
        .replace("grid_cells", "parameters")
    )
    text = text.replace("    misconceptions: known\n", "")
    own_course.write(tmp_path, {"specs/lab/cells.yaml": text, "models/nets.py": models})
    assert own_course.findings(tmp_path) == ["'width' of 'nets/small' must be a whole number, not the text 'x'"]


def test_a_case_is_called_by_a_model_of_its_own(tmp_path):
    text = SPEC.replace(
        "config: {rows: {each: [13, 17, 19, 23]}, columns: {each: [29, 31]}, planes: 3}", "input: [1, 3]"
    )
    text = text.replace(
        "input: [1, 3]", "model: {each: [torchvision/resnet18, torchvision/resnet34]}\n  input: [1, 3, 64, 64]"
    )
    text = text.replace("(config)", "(model)").replace("{config: {planes: 5}}", "{input: [1, 3, 32, 32]}")
    text = text.replace("grid_cells", "parameters").replace("    misconceptions: known\n", "")
    own_course.write(tmp_path, {"specs/lab/cells.yaml": text})
    says = "the model has variants, and a case is called by it: give the case a model of its own"
    assert own_course.findings(tmp_path) == [says]
