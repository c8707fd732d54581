"""Where a tensor's values lie decides what a graph computes: the proof reads them from where a runtime does."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reference._tiling.prove import prove
from tests.reference.tiling.networks import mlp, model, save
from tests.reference.tiling.tilings import Way, tiled


@pytest.fixture
def original():
    return mlp([100, 70], seed=4)


def spoilt(weight):
    """The same tensor, other values."""
    other = numpy_helper.to_array(weight) + np.float32(1)
    return numpy_helper.from_array(other, weight.name)


def largest(submitted):
    return max(submitted.graph.initializer, key=lambda each: len(each.raw_data))


@pytest.mark.parametrize("beside", ["s.bin", "s.onnx"])
def test_entries_of_external_data_mean_nothing_where_the_data_is_not_external(tmp_path, original, beside):
    submitted = tiled(original, Way())
    weight = largest(submitted)
    right = weight.raw_data
    weight.CopyFrom(spoilt(weight))
    content = submitted.SerializeToString() + right  # a field that protobuf does not know would end there
    weight.external_data.add(key="location", value=beside)
    weight.external_data.add(key="offset", value=str(0 if beside == "s.bin" else len(content)))
    (tmp_path / "s.bin").write_bytes(right)
    path = save(submitted, tmp_path / "s.onnx")
    found = prove(path, save(original, tmp_path / "o.onnx"))
    assert [finding.kind for finding in found.findings] == ["tile"]


def test_values_in_the_file_and_as_external_data_are_refused(tmp_path, original):
    submitted = tiled(original, Way())
    weight = largest(submitted)
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="s.bin")
    (tmp_path / "s.bin").write_bytes(weight.raw_data)
    path = tmp_path / "s.onnx"
    path.write_bytes(submitted.SerializeToString())
    found = prove(path, save(original, tmp_path / "o.onnx"))
    assert [finding.kind for finding in found.findings] == ["file"]
    assert "holds its values twice" in found.findings[0].says


def test_a_constant_can_t_say_in_its_doc_string_where_its_payload_lies(tmp_path):
    """The right weight lies in a tensor that nothing uses; a Constant without values points at it."""
    original = mlp([64, 64], seed=4, bias=False)
    right = numpy_helper.to_array(original.graph.initializer[0]).T.copy()
    held = TensorProto(name="held", data_type=TensorProto.FLOAT, dims=[64, 64], data_location=TensorProto.EXTERNAL)
    nodes = [
        helper.make_node("Constant", [], ["w"], value=held),
        helper.make_node("MatMul", ["x", "w"], ["y"], name="p"),
    ]
    for _ in range(2):  # the place changes with the length of what says it
        nodes[0].attribute[0].t.doc_string = held.doc_string
        content = model(nodes, [numpy_helper.from_array(right, "unused")], [1, 64], [1, 64]).SerializeToString()
        place = content.index(right.tobytes())
        held.doc_string = f"9 {place} {place + right.nbytes}"
    (tmp_path / "s.onnx").write_bytes(content)
    found = prove(tmp_path / "s.onnx", save(original, tmp_path / "o.onnx"))
    assert not found.is_proved


def test_external_data_beside_the_file_is_proved(tmp_path, original):
    submitted = tiled(original, Way())
    path = tmp_path / "s.onnx"
    onnx.save(submitted, path, save_as_external_data=True, location="s.data", size_threshold=0)
    assert prove(path, save(original, tmp_path / "o.onnx")).is_proved
