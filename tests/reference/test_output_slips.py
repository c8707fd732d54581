"""Slips of what layers put out, of TorchScript models, and of layers and weights that are out of the ordinary."""

from __future__ import annotations

import onnx
import pytest
from torch import nn

from labgrade.subjects import onnx_small
from labgrade.subjects.models import Subject
from reference import layers, macs, onnx_memory, onnx_slip_products, output_slips, slips, torchscript, torchscript_slips

from .subjects import Given

ALEXNET = Subject(model="torchvision/alexnet", shape=(1, 3, 224, 224))
NET = Given(
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(144, 5), nn.Dropout()),
    (2, 3, 8, 8),
)


def named(found, value):
    return [name for name, each in found["values"] if each == value and name]


@pytest.mark.parametrize(
    ("of", "value", "slip"),
    [  # what programs in C++ printed
        (output_slips.torchscript_weight_bytes_slips, 733_210_080, "containers_and_root"),
        (output_slips.torchscript_weight_bytes_slips, 9_915_552, "matrices"),
        (output_slips.torchscript_activation_bytes_slips, 9_383_840, "inputs"),
        (output_slips.torchscript_macs_slips, 1_809_600_512, "input_size"),
    ],
)
def test_a_program_gets_the_slips_of_a_function(of, value, slip):
    assert named(of(ALEXNET), value) == [slip]


def test_slips_of_what_layers_put_out_start_from_what_is_right():
    conv, linear = 2 * 4 * 36 * 4, 2 * 5 * 4
    assert layers.activation_bytes(NET) == 3 * conv + 2 * linear
    known = dict(output_slips.activation_bytes_slips(NET)["values"])
    assert known[""] == 3 * conv + 2 * linear
    assert known["in_place"] == 2 * conv + 2 * linear
    assert known["without_parameters"] == conv + linear
    assert known["model_input"] == known[""] + 2 * 3 * 64 * 4
    assert known["batch"] * 2 == known["elements"] * 4 == known[""]


def test_summaries_print_outputs_twice():
    conv, linear = 2 * 4 * 36 * 4, 2 * 5 * 4
    found = {each["value"]: each["says"] for each in output_slips.activation_bytes_tool_slips(NET)}
    assert "layers with parameters alone" in found[2 * (conv + linear)]
    assert round((3 * conv + 2 * linear) * 10**6 / 2**20) in found  # of one of two samples, twice


def test_what_an_int_does_not_hold_is_known_where_it_is_too_large():
    large = Subject(model="micro/wide_uneven", shape=(2, 3, 224, 224))
    assert torchscript.torchscript_macs(large) > 2**31
    assert torchscript_slips.torchscript_macs_in_int(large) == torchscript.torchscript_macs(large) - 2**32
    assert torchscript_slips.torchscript_macs_in_int(ALEXNET) is None


def test_layers_of_derived_classes_and_sizes_rounded_up():
    known = dict(slips.macs_slips(Subject(model="micro/same_padding", shape=(1, 3, 32, 40)))["values"])
    assert known["derived"] == 8 * 3 * 15 * 32 * 40
    own = Given(lambda: nn.Conv2d(1, 1, 2, stride=2), (1, 1, 5, 7))
    assert (macs.macs(own), dict(slips.macs_slips(own)["values"])["rounded_up"]) == (4 * 2 * 3, 4 * 3 * 4)


def test_weights_in_fields_of_their_type_are_not_raw(tmp_path):
    path = tmp_path / "typed.onnx"
    path.write_bytes(onnx_small.FILES["typed_data"]().SerializeToString())
    known = dict(onnx_slip_products.onnx_traffic_bytes_slips(path, input_shape=[2, 6])["values"])
    right = onnx_memory.onnx_traffic_bytes(path, input_shape=[2, 6])
    assert known["raw_alone"] == right - 36 * 4 - 2 * 8


def test_what_several_nodes_read(tmp_path):
    """Relu's 12 numbers are read by both other nodes, Neg's by the last; nothing reads the sum."""
    path = tmp_path / "read.onnx"
    nodes = [("Relu", ["x"], "a"), ("Neg", ["a"], "b"), ("Add", ["a", "b"], "y")]
    made = [onnx.helper.make_node(kind, given, [out], name=out) for kind, given, out in nodes]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, 4]) for name in "xy"]
    graph = onnx.helper.make_graph(made, "g", ends[:1], ends[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
    known = dict(onnx_slip_products.onnx_traffic_bytes_slips(path)["values"])
    tensor = 3 * 4 * 4
    right = (1 + 1 + 1 + 1 + 2 + 1) * tensor
    assert known[""] == right
    assert known["written_for_each_reader"] == right + tensor
    assert known["reads_once"] == right - tensor
    made[2].input[1] = "a"
    onnx.save(
        onnx.helper.make_model(
            onnx.helper.make_graph([made[0], made[2]], "g", ends[:1], ends[1:]),
            opset_imports=[onnx.helper.make_opsetid("", 17)],
        ),
        path,
    )
    known = dict(onnx_slip_products.onnx_traffic_bytes_slips(path)["values"])
    assert known["read_twice"] == known[""] - tensor


def test_kinds_of_operators_without_those_in_place():
    kinds = torchscript_slips.torchscript_operator_kinds_not_in_place(NET)
    right = torchscript.torchscript_operator_kinds(NET)
    assert [row for row in right if row not in kinds] == [{"kind": "aten::relu_", "count": 1}]
    plain = Given(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (1, 3))
    assert torchscript_slips.torchscript_operator_kinds_not_in_place(plain) is None
