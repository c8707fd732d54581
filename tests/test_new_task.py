"""`labgrade new` writes a spec that validates, asks again where an answer can't be, and overwrites nothing."""

import io

import pytest
import small_course
import yaml

from labgrade import course as courses
from labgrade import spec
from labgrade.cli import main

FLAGS = ["--subject", "resnet18", "--quantity", "parameters"]


@pytest.fixture
def course(tmp_path, monkeypatch):
    small_course.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return tmp_path


def written(course, name="lab/new"):
    path = course / "specs" / f"{name}.yaml"
    return spec.read(path, courses.find(course)), yaml.safe_load(path.read_text())


def test_flags_are_enough_for_a_spec_that_validates(course, capsys):
    assert main(["new", "lab/new", *FLAGS]) == 0
    task, data = written(course)
    assert data["title"].endswith(" of torchvision/resnet18")
    assert data["answers"]["value"]["type"] == "count"
    assert [next(iter(form)) for form in data["answers"]["value"]["from"]] == ["call", "entry"]
    assert task.points == 10
    assert main(["validate", "specs/lab/new.yaml"]) == 0


def test_the_value_is_computed_and_published_on_request(course, capsys):
    assert (
        main(["new", "lab/new", *FLAGS, "--publish", "--points", "2.5", "--forms", "report,file", "--tolerance", "3"])
        == 0
    )
    _, data = written(course)
    assert data["checks"][0]["expected"] == {"quantity": "parameters", "published": 11689512}
    assert data["checks"][0]["checker"] == {"equal": {"digits": 3}}
    assert data["points"] == 2.5
    assert main(["validate", "--compute", "specs/lab/new.yaml"]) == 0


@pytest.mark.parametrize(
    ("subject", "quantity", "kind"),
    [
        ("torchvision/alexnet", "weight_bytes", "bytes"),
        ("torchvision/alexnet", "layer_shapes", {"table": {"row": "layer", "columns": None}}),
        ("micro/dilated", "module_outputs", {"table_of": "tensor"}),
        ("micro/shape_chain.onnx", "onnx_operator_counts", "histogram"),
        ("micro/shape_chain.onnx", "onnx_tensors", {"table": {"row": "tensor", "columns": None}}),
    ],
)
def test_the_answers_type_is_that_of_the_quantity(course, subject, quantity, kind):
    shape = "1,3,12,12" if subject.endswith(".onnx") else "1,3,224,224"
    assert main(["new", "lab/new", "--subject", subject, "--quantity", quantity, "--input", shape]) == 0
    task, data = written(course)
    got = data["answers"]["value"]["type"]
    if isinstance(kind, dict) and "table" in kind:
        assert got["table"]["row"] == kind["table"]["row"]
        assert set(got["table"]["columns"].values()) <= {"count", "bytes", "shape", "text", "number"}
    else:
        assert got == kind
    assert task.checks[0].expected.quantity == quantity


def test_a_person_is_asked_and_may_try_again(course, capsys, monkeypatch):
    lines = ["alexnett", "alexnet", "parameter", "parameters", "", "", "ten", "10", "", "", "y"]
    monkeypatch.setattr("builtins.input", lambda question: lines.pop(0))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["new", "other/new"]) == 0
    out = capsys.readouterr().out
    assert "there is no model 'alexnett'; did you mean 'torchvision/alexnet'?" in out
    assert "there is no quantity 'parameter'; did you mean 'parameters'?" in out
    assert "points are a number, not 'ten'" in out
    _, data = written(course, "other/new")
    assert data["checks"][0]["expected"]["published"] == 61100840
    assert (course / "specs/other/lab.yaml").read_text() == "title: other\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab/task", *FLAGS], "'specs/lab/task.yaml' is there already"),
        (["new", *FLAGS], "a task is called LAB/TASK-ID"),
        (["lab/a b", *FLAGS], "a task is called LAB/TASK-ID"),
        (["../x", *FLAGS], "a task is called LAB/TASK-ID"),
        (["lab/new", "--subject", "resnet18", "--quantity", "parametres"], "did you mean 'parameters'?"),
        (["lab/new", "--subject", "resnet18.onnx", "--quantity", "parameters"], "is computed of a model in memory"),
        (["lab/new", *FLAGS, "--forms", "cal"], "there is no form 'cal'; did you mean 'call'?"),
        (["lab/new", *FLAGS, "--points", "-1"], "points are a number, not '-1'"),
        (["lab/new", *FLAGS, "--tolerance", "x"], "a tolerance is a number of digits"),
        (["lab/new", *FLAGS, "--input", "x"], "an input shape is whole numbers"),
        (["lab/new", "--quantity", "parameters"], "nobody answers: say --subject"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_written(course, capsys, arguments, message):
    before = sorted(course.rglob("*"))
    assert main(["new", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert [path for path in sorted(course.rglob("*")) if "cache" not in path.parts] == before


def test_it_wants_to_be_in_a_course(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "lab/new", *FLAGS]) == 2
    assert "there is no folder 'specs' here" in capsys.readouterr().err
