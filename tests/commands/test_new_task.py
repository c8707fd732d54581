"""`labgrade new` writes a spec that validates, asks again where an answer can't be, and overwrites nothing."""

import io

import pytest
import yaml
from helpers import small_course

from labgrade.cli import main
from labgrade.spec import course as courses
from labgrade.spec import load

pytestmark = pytest.mark.slow

OUTPUTS = ["--subject", "micro/dilated", "--input", "1,3,16,16", "--quantity", "module_outputs"]
DECODER = ["--config", "layers=2", "--quantity", "decoder_parameters"]
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
    return load.read(path, courses.find(course)), yaml.safe_load(path.read_text())


def test_flags_are_enough_for_a_spec_that_validates(course, capsys):
    assert main(["new", "lab/new", *FLAGS]) == 0
    task, data = written(course)
    assert data["title"] == "Parameters of resnet18"
    assert data["statement"] == (
        "How many parameters the model has.\nAbout torchvision/resnet18, with an input of 1x3x224x224.\n"
        "Hand in 'parameters' in hw.py or 'new.value' in answers.yaml.\n"
    )
    lines = (course / "specs/lab/new.yaml").read_text().splitlines()
    assert lines[-6:] == [
        "  - id: value",
        "    points: 10",
        "    answer: value",
        "    checker: equal",
        "    expected: {quantity: parameters}",
        "    misconceptions: known",
    ]
    assert data["answers"]["value"]["type"] == "count"
    assert data["answers"]["value"] == {"type": "count", "call": "parameters(model, input_size)"}
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
    needed = ["--set", "layers=[Conv2d]"] if quantity == "module_outputs" else []
    assert main(["new", "lab/new", "--subject", subject, "--quantity", quantity, "--input", shape, *needed]) == 0
    task, data = written(course)
    got = data["answers"]["value"]["type"]
    if isinstance(kind, dict) and "table" in kind:
        assert got["table"]["row"] == kind["table"]["row"]
        assert set(got["table"]["columns"].values()) <= {"count", "bytes", "shape", "text", "number"}
    else:
        assert got == kind
    assert task.checks[0].expected.quantity == quantity
    assert task.checks[0].expected.published is None


def test_a_person_is_asked_and_may_try_again(course, capsys, monkeypatch):
    lines = ["alexnett", "alexnet", "parameter", "parameters", "", "", "ten", "10", "", "", "y"]
    monkeypatch.setattr("builtins.input", lambda question: lines.pop(0))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["new", "other/new"]) == 0
    out = capsys.readouterr().out
    assert "there is no model 'alexnett'; did you mean 'torchvision/alexnet'?" in out
    assert "there is no quantity 'parameter'; did you mean 'parameters'?" in out
    assert "points are a number above 0, not 'ten'" in out
    _, data = written(course, "other/new")
    assert data["checks"][0]["expected"]["published"] == 61100840
    assert (course / "specs/other/lab.yaml").read_text() == "title: other\n"


CACHE = """
def cache_bytes(subject, *, tokens: int, bytes_per_value: int = 2) -> int:
    'A cache.'
    return tokens * bytes_per_value

def decoder_bytes(config) -> int:
    'Of a decoder.'
    return config["layers"] * config["heads"]

def nothing(subject) -> int:
    'Nothing.'
    return 0
"""


@pytest.fixture
def caches(course):
    (course / "reference/caches.py").write_text(CACHE)
    return course


def test_conventions_are_set(caches, capsys):
    flags = ["--subject", "resnet18", "--quantity", "cache_bytes"]
    assert main(["new", "lab/new", *flags, "--publish", "--set", "tokens=7", "--set", "bytes_per_value=4"]) == 0
    _, data = written(caches)
    wanted = {"quantity": "cache_bytes", "with": {"tokens": 7, "bytes_per_value": 4}, "published": 28}
    assert data["checks"][0]["expected"] == wanted
    assert main(["new", "lab/more", *flags]) == 2
    assert "nobody answers: say --set tokens=..." in capsys.readouterr().err
    assert main(["new", "lab/more", *flags, "--set", "token=7"]) == 2
    assert "takes no 'token'; did you mean 'tokens'?" in capsys.readouterr().err
    assert main(["compute", "cache_bytes", "--model", "torchvision/resnet18"]) == 2
    assert "'cache_bytes' needs --set tokens=..." in capsys.readouterr().err


def test_a_convention_that_is_needed_is_asked_for(caches, capsys, monkeypatch):
    lines = ["resnet18", "ache", "cache_bytes", "many", "12", "", "", "", "", "", ""]
    monkeypatch.setattr("builtins.input", lambda question: lines.pop(0))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["new", "lab/new"]) == 0
    out = capsys.readouterr().out
    assert "there is no quantity 'ache'; 'ache' is in cache_bytes\n" in out
    assert "'tokens' must be a whole number" in out
    assert written(caches)[1]["checks"][0]["expected"] == {"quantity": "cache_bytes", "with": {"tokens": 12}}


def test_a_task_about_a_config(caches, capsys):
    config = ["--config", "layers=3", "heads=4", "name=small"]
    assert main(["new", "lab/new", *config, "--quantity", "decoder_bytes", "--publish"]) == 0
    task, data = written(caches)
    assert data["subject"] == {"config": {"layers": 3, "heads": 4, "name": "small"}}
    assert data["title"] == "Decoder bytes of small"
    assert "About a config with layers 3, heads 4, name small.\n" in data["statement"]
    assert data["hand_in"]["code"] == "hw.py"
    assert data["answers"]["value"]["call"] == "decoder_bytes(config)"
    assert task.checks[0].expected.published == 12
    assert main(["new", "lab/more", *config, "--quantity", "parameters"]) == 2
    assert "'parameters' is computed of a model in memory, and a config is none" in capsys.readouterr().err


def test_a_function_of_tensors_is_handed_the_input(course):
    assert main(["new", "lab/new", *OUTPUTS, "--set", "layers=[Conv2d]", "--tolerance", "0.01"]) == 0
    _, data = written(course)
    assert data["answers"]["value"]["call"] == "module_outputs(model, input)"
    assert data["checks"][0]["checker"] == {"close": {"rtol": 0.01}}


@pytest.mark.parametrize(("tolerance", "judged"), [("0.01", {"rtol": 0.01}), ("4", {"digits": 4})])
def test_a_table_is_judged_with_the_tolerance_that_was_asked_for(course, tolerance, judged):
    asked = ["--subject", "micro/dilated", "--input", "1,3,16,16", "--quantity", "macs_by_layer"]
    assert main(["new", "lab/new", *asked, "--tolerance", tolerance]) == 0
    assert written(course)[1]["checks"][0]["checker"] == {"same_rows": judged}


def test_a_value_of_nothing_is_pointed_out(caches, capsys):
    assert main(["new", "lab/new", "--subject", "resnet18", "--quantity", "nothing", "--publish"]) == 0
    assert "the value is 0: is what it counts in this subject?" in capsys.readouterr().err


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
        (["lab/new", *FLAGS, "--points", "-1"], "points are a number above 0, not '-1'"),
        (["lab/new", *FLAGS, "--points", "0"], "points are a number above 0, not '0'"),
        (["lab/new", *OUTPUTS], "nobody answers: say --set layers"),
        (["lab/new", *OUTPUTS, "--set", "layers=[Conv2d]", "--tolerance", "3"], "a table of tensors is not judged to"),
        (
            ["lab/new", *OUTPUTS[:2], "--quantity", "macs", "--input", "1,3", "--publish"],
            "does not run on an input of [1, 3]",
        ),
        (["lab/new", *DECODER], "'decoder_parameters' needs 'width', and the config does not say it"),
        (["lab/new", *DECODER, "--publish"], "'decoder_parameters' needs 'width', and the config does not say it"),
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
