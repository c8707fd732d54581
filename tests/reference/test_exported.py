"""Exported files: each quantity against what a runtime of its own says of the same file."""

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from models import tutorial
from reference import exported

SHAPE = [2, 1, 28, 28]


def network(seed=0, **options):
    torch.manual_seed(seed)
    return tutorial.digits(**options).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted(network(), folder / "subject.pt")
        scripted(network(seed=1), folder / "other.pt")
        written(network(), folder / "right.onnx")
        written(network(seed=1), folder / "other.onnx")
        written(network(), folder / "ten.onnx", batch=10)
        written(network(), folder / "open.onnx", dynamic_axes={"image": {0: "batch"}})
    return folder


def scripted(module, path):
    torch.jit.trace(module, torch.randn(SHAPE), check_trace=False).save(str(path))


def written(module, path, batch=2, **options):
    x = torch.randn(batch, *SHAPE[1:])
    names = {"input_names": ["image"], "output_names": ["scores"]}
    torch.onnx.export(module, x, str(path), opset_version=17, dynamo=False, **names, **options)


def of_onnx(path, **options):
    return exported.onnx_relative_error(path, original="subject.pt", input_shape=SHAPE, **options)


def of_script(path, **options):
    return exported.torchscript_relative_error(path, original="subject.pt", input_shape=SHAPE, **options)


def test_the_signature_is_what_onnxruntime_says(folder):
    for name in ("right", "ten", "open"):
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx")
        (given,), (made,) = session.get_inputs(), session.get_outputs()
        sizes = [-1 if isinstance(size, str) else size for size in given.shape]
        assert exported.onnx_input_names(folder / f"{name}.onnx") == given.name == "image"
        assert exported.onnx_output_names(folder / f"{name}.onnx") == made.name == "scores"
        assert exported.onnx_input_sizes(folder / f"{name}.onnx") == sizes
    assert exported.onnx_opset(folder / "right.onnx") == 17


def test_weights_that_a_file_takes_as_inputs_are_named_where_they_are_asked_for(folder, tmp_path):
    model = onnx.load(folder / "right.onnx")
    first = model.graph.initializer[0]
    model.graph.input.append(onnx.helper.make_tensor_value_info(first.name, first.data_type, first.dims))
    onnx.save(model, tmp_path / "kept.onnx")
    assert exported.onnx_input_names(tmp_path / "kept.onnx") == "image"
    assert exported.onnx_input_names(tmp_path / "kept.onnx", weights=True) == f"image, {first.name}"


def test_a_right_file_differs_by_rounding_and_another_network_by_all_of_it(folder):
    assert of_onnx(folder / "right.onnx") < 1e-5
    assert of_onnx(folder / "open.onnx") < 1e-5
    assert of_onnx(folder / "other.onnx") > 0.1
    assert of_onnx(folder / "other.onnx", own_weights=True) < 1e-5
    assert of_script(folder / "subject.pt") == 0
    assert of_script(folder / "other.pt") > 0.1
    assert of_script(folder / "other.pt", own_weights=True) < 1e-6


def test_a_file_that_remembers_an_output_is_wrong_on_a_fresh_input(folder):
    model = onnx.load(folder / "right.onnx")
    said = onnxruntime.InferenceSession(folder / "right.onnx").run(None, {"image": np.zeros(SHAPE, np.float32)})[0]
    tensor = numpy_helper.from_array(said, "said")
    canned = onnx.helper.make_node("Constant", [], ["scores"], value=tensor)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.append(canned)
    onnx.save(model, folder / "canned.onnx")
    assert of_onnx(folder / "canned.onnx") > 0.1


def test_what_is_wrong_with_a_file_is_said(folder, tmp_path):
    (tmp_path / "torn.onnx").write_bytes((folder / "right.onnx").read_bytes()[:100])
    (tmp_path / "subject.pt").write_bytes((folder / "subject.pt").read_bytes())
    with pytest.raises(ValueError, match="no ONNX file"):
        of_onnx(tmp_path / "torn.onnx")
    with pytest.raises(ValueError, match=r"on an input of \[2, 1, 28, 28\]; it takes \[10, 1, 28, 28\]"):
        of_onnx(folder / "ten.onnx")
    with pytest.raises(ValueError, match="no TorchScript file"):
        of_script(tmp_path / "torn.onnx")
    with pytest.raises(ValueError, match="no TorchScript file"):
        exported.torchscript_training_nodes(tmp_path / "torn.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted(network(classes=3), tmp_path / "three.pt")
        scripted(nn.Flatten(), tmp_path / "flat.pt")
    with pytest.raises(ValueError, match=r"makes \[2, 3\], the network \[2, 10\]"):
        of_script(tmp_path / "three.pt")
    with pytest.raises(ValueError, match=r"other tensors than the network: no 'conv1\.bias'"):
        of_script(tmp_path / "flat.pt", own_weights=True)
    with pytest.raises(ValueError, match="have other shapes"):
        of_script(tmp_path / "three.pt", own_weights=True)


@pytest.mark.parametrize("training", [False, True])
def test_what_is_traced_in_training_depends_on_the_rest_of_the_batch(tmp_path, training):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Dropout(0.0), nn.ReLU()).train(training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted(module, tmp_path / "made.pt")
        made = torch.jit.load(str(tmp_path / "made.pt"))
    x = torch.randn(SHAPE)
    differs = not torch.allclose(made(x)[:1], made(x[:1]), atol=1e-5)  # the second witness
    assert differs is training
    assert exported.torchscript_training_nodes(tmp_path / "made.pt") == 2 * training


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("training", "nodes"), [("", 0), ("1", 1), ("2", 1), ("all", 2)])
def test_what_is_scripted_computes_as_its_parts_are_set(tmp_path, training, nodes):
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Dropout(), nn.ReLU()).eval()
    for part in {"": [], "all": [module]}.get(training, [module.get_submodule(training)] if training.isdigit() else []):
        part.train()
    torch.jit.script(module).save(str(tmp_path / "made.pt"))
    assert exported.torchscript_training_nodes(tmp_path / "made.pt") == nodes


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("folded", [False, True])
def test_a_frozen_file_is_judged_by_its_own_constants(folder, folded):
    def frozen(module):
        traced = torch.jit.trace(module.eval(), torch.randn(SHAPE))
        torch.jit.freeze(traced, optimize_numerics=folded).save(str(folder / "frozen.pt"))
        return folder / "frozen.pt"

    for seed in (0, 1):
        assert of_script(frozen(network(seed=seed)), own_weights=True) < 1e-5
    assert of_script(folder / "frozen.pt") > 0.1
    wrong = nn.Sequential(network(seed=1), nn.ReLU())
    assert of_script(frozen(wrong), own_weights=True) > 0.1
    assert exported.torchscript_training_nodes(folder / "frozen.pt") == 0


SAMPLE = Path(__file__).parents[2] / "submissions/tutorial-exemplar"


def test_converted_files_are_measured_against_what_was_recorded(tmp_path):
    assert exported.onnx_recorded_error(SAMPLE / "small-float.onnx", record="float") < 1e-6
    assert exported.onnx_recorded_steps(SAMPLE / "small-int8.onnx", record="int8") <= 1
    with pytest.raises(ValueError, match=r"does not run on float32 of the shape \[1, 32, 32, 3\]"):
        exported.onnx_recorded_error(SAMPLE / "small-int8.onnx", record="float")
    for name, record in (("float", "float"), ("int8", "int8")):
        model = onnx.load(SAMPLE / f"small-{name}.onnx")
        last = max(model.graph.initializer, key=lambda each: len(numpy_helper.to_array(each).ravel()))
        values = numpy_helper.to_array(last)
        last.CopyFrom(numpy_helper.from_array(values[..., ::-1].copy(), last.name))
        onnx.save(model, tmp_path / "turned.onnx")
        if name == "float":
            assert exported.onnx_recorded_error(tmp_path / "turned.onnx", record=record) > 0.01
        else:
            assert exported.onnx_recorded_steps(tmp_path / "turned.onnx", record=record) > 6
