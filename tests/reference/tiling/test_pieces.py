"""A file is cut up for a runtime: what protobuf reads in one go is what comes of the pieces."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from reference._tiling.pieces import in_pieces, mapped
from reference._tiling.runtimes import by_onnxruntime
from tests.reference.tiling.networks import mlp, save
from tests.reference.tiling.tilings import Way, tiled

ROOT = Path(__file__).parents[3]
X = np.ones((2, 100), np.float32)
UNKNOWN = bytes([100 << 3 & 127 | 128 | 2, 6, 3, 1, 2, 3])  # a field that no model has
GROUP = bytes([100 << 3 & 127 | 128 | 3, 6, 100 << 3 & 127 | 128 | 4, 6])  # in a form that onnx never writes
# Peak of memory by the clear of its mark, in KiB: a file of 96 MiB beside what was there.
PEAK = """
import sys
from pathlib import Path
import onnx
from onnx import numpy_helper
from reference._onnx.weights import Weights
from reference._tiling.pieces import in_pieces
def peak(): return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
path = Path(sys.argv[2])
before = peak()
if sys.argv[1] == "pieces":
    found = in_pieces(path).initializers
elif sys.argv[1] == "views":
    weights = Weights(path)
    found = [each for each in map(weights.array, weights.model.graph.initializer) if each.all()]
else:
    model = onnx.load(path)
    found = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
assert len(found) == 24
print(peak() - before)
"""


def typed(model):
    """The same with values in fields of their own type."""
    for each in model.graph.initializer:
        each.CopyFrom(helper.make_tensor(each.name, each.data_type, each.dims, numpy_helper.to_array(each).flatten()))
    return model


def of_two_graphs(model):
    """What protobuf joins: the second half of the initializers comes behind all else."""
    first, second = onnx.ModelProto(), onnx.ModelProto()
    first.CopyFrom(model)
    half = len(model.graph.initializer) // 2
    del first.graph.initializer[half:]
    second.graph.initializer.extend(model.graph.initializer[half:])
    return first.SerializeToString() + second.SerializeToString()


FILES = {
    "raw": lambda model: model.SerializeToString(),
    "typed": lambda model: typed(model).SerializeToString(),
    "tiles": lambda model: tiled(model, Way()).SerializeToString(),
    "an unknown field": lambda model: model.SerializeToString() + UNKNOWN,
    "a group": lambda model: GROUP + model.SerializeToString(),
    "two graphs": of_two_graphs,
}


@pytest.fixture
def model():
    return mlp([100, 300, 9], batch=2, seed=4)


@pytest.fixture(params=FILES)
def file(request, tmp_path, model):
    path = tmp_path / "model.onnx"
    path.write_bytes(FILES[request.param](model))
    return path


def test_pieces_are_what_onnx_reads_in_one_go(file):
    found, whole = in_pieces(file), onnx.load(file)
    wanted = {each.name: numpy_helper.to_array(each) for each in whole.graph.initializer}
    assert list(found.initializers) == list(wanted)
    for name, value in wanted.items():
        assert found.initializers[name].dtype == value.dtype
        np.testing.assert_array_equal(found.initializers[name], value)
    del whole.graph.initializer[:]
    assert found.model == whole
    assert not found.model.graph.initializer


def test_a_mapped_file_gives_the_same_outputs(file):
    feeds = {onnx.load(file).graph.input[0].name: X}
    wanted = by_onnxruntime(str(file), feeds)
    if file.read_bytes().startswith(GROUP):
        with pytest.raises(ValueError, match="laid out in another way"):
            mapped(file)
        return
    found = by_onnxruntime(mapped(file), feeds, folder=file.parent)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


def test_what_is_mapped_is_not_in_the_message(tmp_path, model):
    path = save(model, tmp_path / "model.onnx")
    large = [each for each in model.graph.initializer if len(each.raw_data) >= 1 << 16]
    assert len(large) == 1
    assert len(mapped(path)) < path.stat().st_size - len(large[0].raw_data) + 200
    (tensor,) = [each for each in onnx.ModelProto.FromString(mapped(path)).graph.initializer if each.external_data]
    assert (tensor.name, tensor.dims) == (large[0].name, large[0].dims)


def test_what_a_file_says_of_external_data_beside_its_own_bytes_is_nothing(tmp_path, model):
    for each in model.graph.initializer:
        each.external_data.add(key="location", value="elsewhere")
    path = save(model, tmp_path / "model.onnx")
    (name, wanted), *_ = by_onnxruntime(str(path), {model.graph.input[0].name: X}).items()
    found = by_onnxruntime(mapped(path), {model.graph.input[0].name: X}, folder=tmp_path)
    np.testing.assert_array_equal(found[name], wanted)


def test_external_data_is_read(tmp_path, model):
    wanted = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    found = in_pieces(path)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found.initializers[name], value)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: X}
    (made,) = by_onnxruntime(mapped(path), feeds, folder=tmp_path).values()
    np.testing.assert_allclose(made, session.run(None, feeds)[0], rtol=1e-5)


@pytest.mark.parametrize("end", [1, 10, 1000, -1, -1000])
def test_a_file_that_is_cut_off_is_refused_as_onnx_does(tmp_path, model, end):
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString()[:end])
    for read in (onnx.load, in_pieces):
        with pytest.raises(DecodeError):
            read(path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_no_weight_lies_in_memory_twice_and_views_are_let_go_of(tmp_path):
    values = [numpy_helper.from_array(np.ones((1 << 20,), np.float32), f"w{place}") for place in range(24)]
    y = helper.make_tensor_value_info("w0", TensorProto.FLOAT, None)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [y], values)), path)

    def grown(way):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PEAK, way, str(path)]
        return int(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)

    assert grown("onnx") > 1.9 * (96 << 10)
    assert grown("pieces") < 1.3 * (96 << 10)
    assert grown("views") < 0.9 * (96 << 10)
