"""Models of students' own: analysed in a process of its own, what is wrong with them told to the student."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from helpers.handed_in import read
from onnx import TensorProto, helper, numpy_helper

from labgrade.core.task import Limits, QuantityCall
from labgrade.files.external_data import files_beside
from labgrade.reports.summary import reason
from labgrade.run.grader import Grader
from labgrade.sandbox import outcomes
from labgrade.sandbox.child import file_functions
from labgrade.sandbox.requests import InspectRequest
from labgrade.spec import course, load
from labgrade.subjects import onnx_small
from labgrade.values import Artifact
from labgrade.verdict import Outcome

pytestmark = pytest.mark.slow

TASK = """
id: task
title: A task
points: 8
statement: Which model is yours?
subject: {handed_in: 'own*.onnx', input: [1, 3, 12, 12]}
answers:
  traffic: {type: bytes, from: [{call: hw.py:traffic, given: [model_path]}, {entry: task.traffic}]}
  graph: {type: onnx, from: [{file: made.onnx}]}
checks:
  - id: traffic
    points: 2
    answer: traffic
    checker: equal
    expected: {quantity: onnx_traffic_bytes}
    misconceptions: [{value: {quantity: onnx_traffic_without_weights}, says: weights move too}]
  - {id: macs, points: 2, answer: graph, measured: {quantity: onnx_macs}, checker: equal, expected: 200}
  - id: counts
    points: 2
    answer: graph
    measured: {quantity: onnx_operator_counts}
    checker: equal
    expected: {literal: {MatMul: 2, DequantizeLinear: 1, Mul: 1}}
  - id: same
    points: 2
    answer: graph
    measured: {quantity: onnx_macs}
    checker: equal
    expected: {quantity: onnx_macs}
"""


@pytest.fixture(scope="module")
def grader():
    with Grader(course.find()) as own:
        yield own


@pytest.fixture
def grade(tmp_path, grader):
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "task.yaml").write_text(TASK, encoding="utf-8")
    task = load.read(tmp_path / "specs" / "task.yaml", grader.course)
    folder = tmp_path / "someone"
    folder.mkdir()

    def graded(**files):
        for name, content in files.items():
            (folder / name.replace("_DOT_", ".")).write_bytes(content)
        grader.reader.forget()  # a hand-in in the store never changes, and is read once
        report = grader.grade([task], read(folder, "someone")).tasks[0]
        return {check.id: check.verdict for check in report.checks}

    graded.folder = folder
    return graded


def test_the_student_s_own_model_is_what_the_answer_is_compared_with(grade):
    onnx_small.make("shape_chain", grade.folder / "own_model.onnx")
    said = grade(answers_DOT_yaml=b"task: {traffic: 9644}")["traffic"]
    expected = int(said.facts["expected"].replace(",", ""))
    verdict = grade(answers_DOT_yaml=f"task: {{traffic: {expected}}}".encode())["traffic"]
    assert verdict.outcome is Outcome.CORRECT
    assert said.outcome is not Outcome.CORRECT


def test_what_was_measured_of_one_content_is_not_measured_again(grade, grader, monkeypatch):
    onnx_small.make("shape_chain", grade.folder / "own.onnx")
    onnx_small.make("int4", grade.folder / "made.onnx")
    first, asked = grade(), []
    monkeypatch.setattr(grader.runner, "inspect", asked.append)
    onnx_small.make("int4", grade.folder / "made.onnx")  # another file with the same bytes
    assert grade()["macs"] == first["macs"]
    assert first["macs"].outcome is Outcome.INCORRECT
    assert not asked


def test_several_files_are_measured_by_one_process_up_to_the_first_that_cannot_be(tmp_path, grader, monkeypatch):
    asked, inspect = [], grader.runner.inspect
    monkeypatch.setattr(grader.runner, "inspect", lambda request: [asked.append(request), inspect(request)][1])
    several = []
    for place, name in enumerate(["external_data", "dynamic_batch", "", "int8_float16"]):
        path = tmp_path / str(place) / "made.onnx"
        path.parent.mkdir()
        onnx_small.make(name, path) if name else path.write_bytes(b"no model")
        several.append((Artifact(path=path, name="made"), None, None))
    call, limits = QuantityCall(quantity="onnx_operator_total"), Limits(seconds=20)
    values = grader.measurer.values(call, several, limits)
    assert (len(values), len(asked)) == (2, 1)
    assert values == [grader.measurer.value(call, file, None, limits) for file, _, _ in several[:2]]
    assert len(asked) == 1


def test_a_function_is_called_with_the_student_s_own_model(grade):
    onnx_small.make("external_data", grade.folder / "own.onnx")
    code = b"import onnx\ndef traffic(path):\n    return len(onnx.load(path).graph.initializer)\n"
    verdict = grade(hw_DOT_py=code)["traffic"]
    assert verdict.facts["got"] == "5"  # external data came along


def test_a_misconception_is_recognised_on_the_student_s_own_model(grade):
    onnx_small.make("external_data", grade.folder / "own.onnx")
    verdict = grade(answers_DOT_yaml=b"task: {traffic: 3868}")["traffic"]
    assert verdict.hint == "weights move too"


def test_no_model_is_missing_and_two_wait_for_a_person(grade):
    missing = grade(answers_DOT_yaml=b"task: {traffic: 1}")["traffic"]
    assert reason(missing) == "no model was handed in; looked for own*.onnx"
    onnx_small.make("int4", grade.folder / "own1.onnx")
    onnx_small.make("int4", grade.folder / "own2.onnx")
    verdict = grade()["traffic"]
    assert (verdict.outcome, verdict.reason) == (Outcome.MANUAL, "2 files match own*.onnx: 'own1.onnx', 'own2.onnx'")


def custom():
    node = helper.make_node("Fused\x1b[2J", ["x"], ["y"], name="f", domain="com.acme")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 12, 12]) for name in "xy"]
    return helper.make_model(helper.make_graph([node], "g", infos[:1], infos[1:])).SerializeToString()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a model", "'own.onnx': this is not an ONNX model"),
        (b"\x3a\xff\xff\x07abc", "'own.onnx': the file is truncated or damaged"),
        (custom(), r"of the domain 'com.acme', which ONNX does not define"),
    ],
)
def test_what_is_wrong_with_a_student_s_file_is_the_student_s(grade, content, words):
    verdict = grade(own_DOT_onnx=content, answers_DOT_yaml=b"task: {traffic: 1}")["traffic"]
    assert verdict.outcome is Outcome.INCORRECT
    assert words in verdict.reason
    assert "\x1b" not in verdict.reason


def test_a_file_that_a_student_made_is_measured(grade):
    onnx_small.make("int4", grade.folder / "made.onnx")
    verdicts = grade()
    assert verdicts["macs"].reason == "got 100, which is too small"
    assert verdicts["counts"].outcome is Outcome.CORRECT
    assert verdicts["same"].outcome is Outcome.MISSING  # there is no own model to compare it with
    onnx_small.make("int4", grade.folder / "own.onnx")
    assert grade()["same"].outcome is Outcome.CORRECT


def test_a_made_file_that_is_no_model_says_so(grade):
    verdict = grade(made_DOT_onnx=b"<html>")["macs"]
    assert verdict.outcome is Outcome.INCORRECT
    assert "'made.onnx': this is not an ONNX model: it is a web page" in verdict.reason


def test_a_small_weight_outside_the_file_still_shapes_a_reshape(grader, tmp_path):
    shape = numpy_helper.from_array(np.array([0, -1], dtype=np.int64), "wanted")
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4]), onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "wanted"], ["y"])], "g", infos[:1], infos[1:], [shape])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path, save_as_external_data=True, location="m.data", size_threshold=0)
    assert not onnx.load(path, load_external_data=False).graph.initializer[0].raw_data
    quantities = course.find().quantities
    entry = quantities.get("onnx_activation_bytes")
    done = grader.runner.inspect(
        InspectRequest(file=entry.file, function=entry.name, artifact=path, beside=files_beside(path))
    )
    assert (done.status, done.value) == ("returned", 96)


def test_large_external_data_is_no_way_out_of_the_folder(tmp_path, grader):
    weight = numpy_helper.from_array(np.ones((1200, 1200), dtype=np.float32), "w")  # more than a jail copies
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 1200]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weight])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path, save_as_external_data=True, location="m.data", size_threshold=0)
    entry = course.find().quantities.get("onnx_macs")
    request = InspectRequest(
        file=entry.file, function=entry.name, artifact=path, beside={"m.data": tmp_path / "m.data"}
    )
    done = grader.runner.inspect(request)
    assert (done.status, done.value) == ("returned", 2 * 1200 * 1200), done.reason


def test_a_file_that_a_function_writes_takes_in_what_lies_beside_it(tmp_path):
    """As torch's exporter writes weights: only the file itself is brought out of the jail."""
    weight = numpy_helper.from_array(np.ones((4, 3), dtype=np.float32), "w")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("x", 4), ("y", 3))]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weight])
    path = tmp_path / "answer.onnx"
    onnx.save(helper.make_model(graph), path, save_as_external_data=True, location="m.data", size_threshold=0)
    file_functions._in_one_file(path)
    (tmp_path / "m.data").unlink()
    assert (numpy_helper.to_array(onnx.load(path).graph.initializer[0]) == 1).all()
    (tmp_path / "m.data").touch()
    path.write_bytes(b"<html>")
    file_functions._in_one_file(path)
    assert path.read_bytes() == b"<html>"


def test_a_network_that_a_function_changes_and_does_not_return_is_taken(tmp_path):
    torch = pytest.importorskip("torch")
    job = {"name": "answer.pt", "given": ["model"], "module": True, "most": 1 << 20}

    def made(function):
        network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True))
        values = {"model": network, "input": torch.ones(2, 4)}
        return file_functions._content(job, tmp_path, values, {}, function)

    def change(model):
        model[1] = torch.nn.ReLU()

    assert made(change).shape[0] > 0
    with pytest.raises(file_functions.call.UnfitValueError, match="NoneType, not a network"):
        made(lambda model: None)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("kind", ["lazy", "float64", "bfloat16", "float16"])
def test_a_network_is_saved_whatever_its_numbers_and_sizes(tmp_path, kind):
    torch = pytest.importorskip("torch")
    job = {"name": "answer.pt", "given": ["model"], "module": True, "most": 1 << 20}
    layer = torch.nn.LazyLinear(3) if kind == "lazy" else torch.nn.Linear(4, 3).to(getattr(torch, kind))
    values = {"model": torch.nn.Identity(), "input": torch.ones(2, 4)}
    made = file_functions._content(job, tmp_path, values, {}, lambda model: torch.nn.Sequential(layer))
    (tmp_path / "made.pt").write_bytes(made.data)
    loaded = torch.jit.load(str(tmp_path / "made.pt"))
    assert loaded(torch.zeros(5, 4)).shape == (5, 3)
    assert sum(each.numel() for each in loaded.parameters()) == 15


def test_a_network_that_does_not_run_is_no_error_of_the_function(tmp_path):
    torch = pytest.importorskip("torch")
    job = {"name": "answer.pt", "given": ["model"], "module": True, "most": 1 << 20}
    values = {"model": torch.nn.Linear(5, 5), "input": torch.ones(2, 4)}
    with pytest.raises(file_functions.call.UnfitValueError, match=r"a network that can't be run .*RuntimeError: mat1"):
        file_functions._content(job, tmp_path, values, {}, lambda model: model)
    (tmp_path / "own.py").write_text("def forward(x):\n    return x @ x\n")
    own = {}
    exec(compile((tmp_path / "own.py").read_text(), str(tmp_path / "own.py"), "exec"), own)  # noqa: S102 - a student's
    values["model"].forward = own["forward"]
    with pytest.raises(RuntimeError, match="mat1"):
        file_functions._content(job, tmp_path, values, {}, lambda model: model)


UNREGISTERED = {
    "list": "self.layers = [nn.Linear(4, 3), nn.ReLU()]",
    "tuple": "self.layers = (nn.Linear(4, 4), nn.Linear(4, 3))",
    "dict": "self.layers = {'first': nn.Linear(4, 4), 'more': [nn.Linear(4, 3)]}",
    "nested": "self.inner = nn.ModuleList([Inner()])",
}
REGISTERED = {
    "ModuleList": "self.layers = nn.ModuleList([nn.Linear(4, 3)])",
    "known": "self.fc = nn.Linear(4, 3); self.layers = [self.fc, nn.ReLU()]",
    "no weights": "self.fc = nn.Linear(4, 3); self.after = [nn.ReLU(), nn.Dropout()]",
}
NETWORK = """
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 3)]

    def forward(self, x):
        return self.layers[0](x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        HOW

    def forward(self, x):
        if hasattr(self, "fc"):
            return self.fc(x)
        layers = getattr(self, "layers", None) or self.inner
        for each in layers.values() if isinstance(layers, dict) else layers:
            for layer in each if isinstance(each, list) else [each]:
                x = layer(x)
        return x
"""


def network_of(how, text=NETWORK):
    made = {}
    exec(text.replace("HOW", how), made)  # noqa: S102 - a student's
    return made["Net"]()


def saved(tmp_path, network):
    torch = pytest.importorskip("torch")
    job = {"name": "answer.pt", "given": ["model"], "module": True, "most": 1 << 20}
    values = {"model": torch.nn.Identity(), "input": torch.ones(2, 4)}
    return file_functions._content(job, tmp_path, values, {}, lambda model: network)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("how", [*UNREGISTERED, *REGISTERED])
def test_layers_that_a_network_does_not_know_are_called_that(tmp_path, how):
    pytest.importorskip("torch")
    if how in REGISTERED:
        assert saved(tmp_path, network_of(REGISTERED[how])).shape[0] > 0
        return
    with pytest.raises(file_functions.call.UnfitValueError, match=r"plain Python (list|tuple|dict), 'layers'.*ModuleL"):
        saved(tmp_path, network_of(UNREGISTERED[how]))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        ("return HIDDEN(x)", "UnfitValueError", "weights that do not belong to it.*nn.ModuleList or nn.Sequential"),
        ("return float(x.sum())", "UnfitValueError", "puts out float, not a tensor"),
        ("return NotATensor()", "UnfitValueError", "puts out NotATensor, not a tensor"),
        ("return x if torch.jit.is_tracing() is False else 1 / 0", "UnconvertedError", "ZeroDivisionError"),
        ("return x @ x", "UnfitValueError", "can't be run on the task's input .RuntimeError: mat1"),
    ],
)
def test_what_fails_while_labgrade_traces_alone_is_not_the_student_s(tmp_path, body, error, says):
    pytest.importorskip("torch")
    text = f"""
import torch
from torch import nn

HIDDEN = nn.Linear(4, 3)


class NotATensor:
    pass


class Net(nn.Module):
    def forward(self, x):
        {body}
"""
    with pytest.raises(getattr(file_functions.call, error), match=says):
        saved(tmp_path, network_of("", text))


def test_a_layer_under_a_dotted_name_is_told_from_the_one_inside(tmp_path):
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    network._modules["0.0"] = torch.nn.Identity()
    said = "a layer called '0.0' in _modules: that is a new layer beside the one inside"
    with pytest.raises(file_functions.call.UnfitValueError, match=said):
        saved(tmp_path, network)


def test_an_error_whose_text_begins_with_an_empty_line_is_told():
    assert file_functions._said(RuntimeError("\n\nTrace failed\nmore")) == "RuntimeError: Trace failed"
    assert file_functions._said(RuntimeError()) == "RuntimeError: it says no more"


def test_what_can_t_be_converted_is_ours():
    call = SimpleNamespace(function="bigger")
    status, reason, _ = outcomes.in_words("unconverted", {"problem": "RuntimeError: no"}, call, memory=False)
    assert (status, reason) == ("fault", "bigger returned what can't be converted here: RuntimeError: no")
