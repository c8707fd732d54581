"""Each bad spec in galleries/specs_bad/ ends with the exact findings that its author must see, as `#!` lines."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from labgrade.core.errors import SpecError, UsageError
from labgrade.core.task import CallForm, EntryForm, FileForm, LiteralValue, QuantityCall, TableType, TextForm
from labgrade.spec import course, load, parse

ROOT = Path(__file__).parents[2]
BAD = sorted((Path(__file__).parents[1] / "galleries/specs_bad").glob("*.yaml"))

GOOD = """
id: task
title: A task
points: 3.5
statement: What is it?
subject: {model: torchvision/resnet18, input: {shape: [2, 3, 64, 64], fill: ones, seed: 3}, options: {num_classes: 5}}
limits: {seconds: 5, memory: 2 GiB, output: 100 KB}
answers:
  total:
    type: count
    from:
      - {call: src/hw.py:total, given: [model, input_size]}
      - entry: 2-1-4.total
      - {after: Total, file: out.txt}
      - {after: Total, report: "under [Lab 2, 1]"}
      - {find: "x=(?P<answer>.*)", report: anywhere}
  rows:
    type: {table: {row: layer, columns: {macs: count, output_shape: shape}}}
    from: [{file: rows.csv}, {files: 'conv/*.npy'}]
checks:
  - id: total
    points: 2.5
    answer: total
    checker: {equal: {digits: 2}}
    expected: {quantity: macs, with: {layers: [Conv2d]}, published: 7}
    also_right: [{value: 8, says: other}]
    misconceptions: [{value: {literal: 9}, says: wrong, credit: 0.1}]
    partly: [{when: {above: 7, at_most: 9.5}, credit: 0.25, says: near}]
    cases: [{model: torchvision/alexnet}, {input: [1, 3, 32, 32]}]
  - {id: rows, points: 1, answer: rows, by_hand: [{points: 1, for: clarity}], needs: [total], hidden: true}
  - {id: extra, points: 2, answer: total, checker: equal, expected: 3, bonus: true}
"""


@pytest.fixture(scope="module")
def own():
    return course.find(ROOT)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_spec_gets_exactly_its_findings(path, own):
    expected = [line[3:] for line in path.read_text().splitlines() if line.startswith("#! ")]
    assert expected
    with pytest.raises(SpecError) as caught:
        load.read(path, own)
    found = [f"{f.mark.line}:{f.mark.column}: {f.message}" for f in caught.value.findings]
    assert found == expected


def read(tmp_path, own, text=GOOD, name="task.yaml"):
    path = tmp_path / "lab" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load.read(path, own)


def test_a_good_spec_becomes_a_task(tmp_path, own):
    task = read(tmp_path, own)
    assert (task.lab, task.id, task.points) == ("lab", "task", Fraction(7, 2))
    assert task.subject.input.shape == (2, 3, 64, 64)
    assert (task.subject.input.fill, task.subject.input.seed) == ("ones", 3)
    assert task.subject.options == {"num_classes": 5}
    assert (task.limits.seconds, task.limits.memory, task.limits.output) == (5.0, 2 << 30, 100_000)
    assert task.answers["total"].forms == (
        CallForm(file="src/hw.py", function="total", given=("model", "input_size")),
        EntryForm(path="2-1-4.total"),
        TextForm(after="Total", file="out.txt"),
        TextForm(after="Total", report=("Lab 2", "1")),
        TextForm(find="x=(?P<answer>.*)", report=()),
    )
    assert task.answers["rows"].type == TableType(row="layer", columns={"macs": "count", "output_shape": "shape"})
    assert task.answers["rows"].forms == (FileForm(pattern="rows.csv"), FileForm(pattern="conv/*.npy"))


def test_a_check_keeps_all_that_was_said(tmp_path, own):
    total, rows, extra = read(tmp_path, own).checks
    assert total.points == Fraction(5, 2)
    assert (total.checker.name, total.checker.parameters) == ("equal", {"digits": 2})
    assert isinstance(total.expected, QuantityCall)
    assert (total.expected.parameters, total.expected.published) == ({"layers": ["Conv2d"]}, 7)
    assert total.also_right[0].credit == 1
    assert total.misconceptions[0].source == LiteralValue(value=9)
    assert total.misconceptions[0].credit == Fraction(1, 10)
    assert (total.partly[0].above, total.partly[0].at_most) == (7, Fraction(19, 2))
    assert rows.by_hand[0].what == "clarity"
    assert rows.needs == ("total",)
    assert rows.hidden
    assert extra.bonus


def test_a_case_overrides_the_subject_and_inherits_the_rest(tmp_path, own):
    first, second = read(tmp_path, own).checks[0].cases
    assert (first.model, first.input.shape, first.options) == (
        "torchvision/alexnet",
        (2, 3, 64, 64),
        {"num_classes": 5},
    )
    assert (second.model, second.input.shape) == ("torchvision/resnet18", (1, 3, 32, 32))


def test_limits_come_from_the_lab_unless_the_task_says_otherwise(tmp_path, own):
    read(tmp_path, own)
    (tmp_path / "lab" / "lab.yaml").write_text("title: Lab\nlimits: {seconds: 7, memory: 1 GB}\n")
    limits = read(tmp_path, own).limits
    assert (limits.seconds, limits.memory) == (5.0, 2 << 30)
    limits = read(tmp_path, own, GOOD.replace("limits: {seconds: 5, memory: 2 GiB, output: 100 KB}\n", "")).limits
    assert (limits.seconds, limits.memory) == (7.0, 1_000_000_000)


def test_a_broken_lab_is_an_error_at_its_place(tmp_path, own):
    read(tmp_path, own)
    (tmp_path / "lab" / "lab.yaml").write_text("title: Lab\ntime: 7\n")
    with pytest.raises(SpecError, match=r"lab.yaml:2:1: a lab takes no 'time'; did you mean 'title'\?"):
        read(tmp_path, own)


def test_labs_on_request_are_left_out_unless_named_or_alone(tmp_path, own):
    there = replace(own, specs=tmp_path)
    for lab, said in (("first", ""), ("second", "on_request: true\n"), ("third", "on_request: true\n")):
        (tmp_path / lab).mkdir()
        (tmp_path / lab / "lab.yaml").write_text(f"title: Lab\n{said}")
        (tmp_path / lab / f"{lab}-task.yaml").touch()
    assert [path.stem for path in load.chosen(there)] == ["first-task"]
    assert [path.stem for path in load.chosen(there, "second")] == ["second-task"]
    assert [path.stem for path in load.chosen(there, names=["third"])] == ["third-task"]
    assert [path.stem for path in load.chosen(there, names=["second/second"])] == ["second-task"]
    with pytest.raises(UsageError, match=r"no task 'second/third-task'; did you mean"):
        load.chosen(there, names=["second/third-task"])
    with pytest.raises(UsageError, match="no task 'fourth/second'"):
        load.chosen(there, names=["fourth/second"])
    for lab in ("first", "second"):
        (tmp_path / lab / f"2-1-{lab}.yaml").touch()
    assert [path.stem for path in load.chosen(there, names=["2-1"])] == ["2-1-first"]
    assert [path.stem for path in load.chosen(there, "second", names=["2-1"])] == ["2-1-second"]
    (tmp_path / "first" / "lab.yaml").write_text("title: Lab\non_request: true\n")
    assert len(load.chosen(there)) == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1:1: this file is empty"),
        (b"# only a comment\n", "1:1: this file is empty"),
        (b"title: \xff\n", "1:8: this is not UTF-8: 0xff stands here; save the file as UTF-8"),
        ("a: \u00fc\nb: \u00fc ".encode() + b"\xe9\n", "2:6: this is not UTF-8: 0xe9 stands here"),
        (b"[1, 2]\n", "1:1: a task must be a mapping, not a list"),
        (b"x" * (1 << 20) + b"xx", "1:1: this is larger than 1 MiB, which no spec needs to be"),
    ],
)
def test_a_file_that_is_no_spec_is_a_finding(tmp_path, own, content, message):
    path = tmp_path / "task.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load.read(path, own)
    assert message in str(caught.value)


def test_a_spec_that_is_not_there_is_a_finding(tmp_path, own):
    with pytest.raises(SpecError, match="this can't be read: No such file"):
        load.read(tmp_path / "task.yaml", own)


def test_a_broken_spec_does_not_stop_the_others(tmp_path, own):
    read(tmp_path, own)
    (tmp_path / "lab" / "broken.yaml").write_text("id: [")
    broken, good = load.read_all(load.files(tmp_path), own)
    assert broken.task is None
    assert broken.findings
    assert good.task.id == "task"


@pytest.mark.slow
def test_validating_all_specs_imports_neither_torch_nor_onnx_nor_numpy():
    code = (
        "import sys; from labgrade import cli; code = cli.main(['validate', 'specs']); "
        "bad = {'torch', 'onnx', 'onnxruntime', 'torchvision', 'numpy'} & set(sys.modules); "
        "print(bad); sys.exit(code or bool(bad))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_on_disk_is_the_one_that_validates(own):
    assert (ROOT / "specs" / "task.schema.json").read_text(encoding="utf-8") == load.schema_text(own)


@pytest.mark.slow
def test_the_schema_is_a_valid_one(own):
    jsonschema.Draft202012Validator.check_schema(json.loads(load.schema_text(own)))


def properties(schema, path=""):
    """Every key that a spec may have, with what the schema says of it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            for key, value in schema["properties"].items():
                yield f"{path}/{key}", value
        for key, value in schema.items():
            yield from properties(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from properties(value, f"{path}/{index}")


def test_every_key_of_the_schema_is_described():
    schema = json.loads(load.schema_text(course.find(ROOT)))
    found = dict(properties(schema))
    assert len(found) > 250
    told = [path for path, value in found.items() if not value.get("description") and "const" not in value]
    assert told == []


def test_a_convention_is_described_by_its_quantitys_docstring():
    schema = json.loads(load.schema_text(course.find(ROOT)))
    found = dict(properties(schema))
    (buffers,) = {
        value["description"]
        for path, value in found.items()
        if path.endswith("/buffers") and value["title"] == "'buffers' of quantity 'weight_bytes'"
    }
    said = "With `buffers` the bytes of those that are saved are added, as in a saved state_dict."
    assert buffers == f"{said} (bool, False unless given)"


def test_a_specs_schema_that_is_written_down_is_the_one_that_validates():
    assert (ROOT / "specs/task.schema.json").read_text(encoding="utf-8") == load.schema_text(course.find(ROOT))


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("answer: total\n    checker", "answer: [total]\n    checker", "id must be text, not a list"),
        ("answer: total\n    checker", "answer: {total: 1}\n    checker", "id must be text, not a mapping"),
        ("given: [model, input_size]", "given: [[model], {a: 1}]", "a literal takes no 'a'"),
        ("needs: [total]", "needs: [{total: 1}]", "id must be text, not a mapping"),
        ("checker: {equal: {digits: 2}}", "checker: [equal]", "checker"),
        ("{quantity: macs, ", "{quantity: [macs], ", "quantity"),
    ],
)
def test_a_value_of_another_kind_is_a_finding_and_stops_no_other_rule(tmp_path, own, was, becomes, message):
    assert was in GOOD
    with pytest.raises(SpecError) as caught:
        read(tmp_path, own, GOOD.replace(was, becomes).replace("points: 3.5", "points: 7"))
    assert message in str(caught.value)
    assert "the checks add up to 3.5 points, not 7" in str(caught.value)


def test_a_path_to_save_to_ends_as_files_of_the_task_do():
    """ExecuTorch's `save` refuses a path without its ending."""
    call = {"type": "file", "from": [{"call": "hw.py:export"}]}
    several = {"type": "files", "from": [{"files": {"made": "out/*.pte", "weight": "*.pth"}}]}
    form = CallForm(file="hw.py", function="export", given=("model", "save_to"))
    assert parse._saving(form, call, {"made": call}).saved_as == "answer"
    assert parse._saving(form, call, {"made": call, "all": several}).saved_as == "answer.pte"
    own = {"type": "file", "from": [*call["from"], {"file": "net.pt"}]}
    assert parse._saving(form, own, {"made": own, "all": several}).saved_as == "answer.pt"


def test_a_statement_names_the_arguments_as_templates_do():
    """What START.md says above a function, and what stands in the file to fill in, are the same."""
    found = course.find(Path(__file__))
    read = [each.task for each in load.read_all(load.files(found.specs), found)]
    forms = [(task, form) for task in read for answer in task.answers.values() for form in answer.forms]
    called = [(task, form) for task, form in forms if isinstance(form, CallForm)]
    assert called
    for task, form in called:
        named = re.findall(rf"\b{form.function}\(([^)]*)\)", task.statement)
        told = {re.sub(r"\s+", " ", each) for each in named}
        assert form.written or told <= {", ".join(form.given)}, (task.id, form.function)
