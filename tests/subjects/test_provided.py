"""What a program is handed is the subject itself: the same model, the same weights, the same input."""

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from labgrade.core.errors import FaultError
from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.subjects import models, provide

pytestmark = pytest.mark.slow

SUBJECT = SubjectSpec(model="micro/dilated", input=InputSpec(shape=(2, 3, 22, 26), seed=3), seed=5)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path))


@pytest.fixture
def truth():
    model, tensor = models.Subject(
        model="micro/dilated", shape=(2, 3, 22, 26), input_seed=3, weight_seed=5
    ).with_weights()
    with torch.no_grad():
        return model, tensor, model(tensor).numpy()


@pytest.fixture
def in_this_process(monkeypatch):
    """What writes the files has torch loaded; `test_onnx` and the fault below start the process that it is run in."""

    def make(plain, path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            provide._write(dict(plain), path)

    monkeypatch.setattr(provide, "_make", make)


def test_onnx(truth):
    path = provide.provide("subject.onnx", SUBJECT)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (output,) = session.run(None, {"input": truth[1].numpy()})
    np.testing.assert_allclose(output, truth[2], rtol=1e-4, atol=1e-5)
    assert provide.provide("subject.onnx", SUBJECT) == path


@pytest.mark.usefixtures("in_this_process")
def test_torchscript_state_dict_and_input(truth):
    model, tensor, output = truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a format that courses still use
        script = torch.jit.load(provide.provide("subject.pt", SUBJECT))
    np.testing.assert_allclose(script(tensor).detach().numpy(), output, rtol=1e-5)
    state = torch.load(provide.provide("subject.pth", SUBJECT), weights_only=True)
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())
    np.testing.assert_array_equal(np.load(provide.provide("input.npy", SUBJECT)), tensor.numpy())


@pytest.mark.usefixtures("in_this_process")
def test_a_named_model_takes_the_task_s_input_or_the_usual_one():
    small = SubjectSpec(model="micro/dilated", input=InputSpec(shape=(2, 3, 64, 64)))
    for subject, shape in ((small, [2, 3, 64, 64]), (None, [1, 3, 224, 224])):
        graph = onnx.load(provide.provide("torchvision/squeezenet1_1.onnx", subject)).graph
        assert [dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim] == shape


def test_a_file_beside_the_spec_is_itself(tmp_path):
    own = tmp_path / "labels.csv"
    own.write_text("x")
    assert provide.provide(own, SUBJECT) == own
    with pytest.raises(FaultError, match="is to be provided, and is not there"):
        provide.provide(Path("none.csv"), SUBJECT)


def test_what_can_not_be_made_is_a_fault_that_says_why():
    broken = SubjectSpec(model="micro/dilated", input=InputSpec(shape=(1, 3, 1, 1)))
    with pytest.raises(FaultError, match=r"'micro/dilated' could not be made as .onnx: RuntimeError: \w"):
        provide.provide("subject.onnx", broken)


def test_a_disk_that_takes_nothing_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABGRADE_CACHE", str(tmp_path / "file"))
    with pytest.raises(FaultError, match="no file can be kept in"):
        provide.provide("input.npy", SUBJECT)
