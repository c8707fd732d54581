"""ONNX files analysed on shapes alone, against onnxruntime's run of the same file, and against published figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers.soak import soak
from onnx import TensorProto, helper, numpy_helper

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.spec import course
from labgrade.truth.oracle import Oracle
from reference.macs import macs, macs_by_layer
from reference.onnx_macs import onnx_macs, onnx_macs_by_layer
from reference.onnx_memory import (
    onnx_activation_bytes,
    onnx_node_inputs,
    onnx_parameters,
    onnx_tensors,
    onnx_traffic_bytes,
)
from reference.onnx_nodes import (
    onnx_attributes,
    onnx_node_tensors,
    onnx_operator_counts,
    onnx_operator_total,
    onnx_operator_types,
)
from reference.onnx_slips import onnx_node_inputs_of_two
from tests.reference.onnx_witness import execute
from tests.reference.subjects import torchvision

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TRAFFIC = ("per_node", "per_tensor", "activations_only")
MICRO = {
    "dynamic_batch": (3, 3, 16, 16),
    "shape_chain": (2, 3, 12, 12),
    "int8_float16": (1, 3, 10, 10),
    "int4": (2, 5),
    "external_data": (1, 3, 8, 8),
    "branch_and_loop": (2, 6),
    "functions": (3, 8),
    "lenet": (1, 1, 28, 28),
    "ends_early": (4, 6),
    "pools": (1, 4, 12, 16),
}
EXPORTED = {
    "squeezenet1_1": {"dynamic_batch": True},
    "mobilenet_v2": {"opset": 10},
    "shufflenet_v2_x0_5": {"opset": 17},
    "mnasnet0_5": {"opset": 9, "external_data": True},
    "swin_t": {"opset": 17, "dynamic_batch": True},  # attention, with shapes that nodes compute
}


@pytest.fixture(scope="module")
def file_of():
    """The file of the zoo's model, remembered like any other."""
    with Oracle(course.find(ROOT).quantities) as oracle:

        def file(name, shape, **options):
            return oracle.file(SubjectSpec(model=name, input=InputSpec(shape=shape), options=options))

        yield file


def equal_to_the_byte(path, shape):
    run, given = execute(path, shape), list(shape)
    found = {policy: onnx_traffic_bytes(path, input_shape=given, policy=policy) for policy in TRAFFIC}
    assert found == {policy: run.traffic(policy) for policy in TRAFFIC}
    assert onnx_activation_bytes(path, input_shape=given) == run.sum_of_outputs()
    assert onnx_activation_bytes(path, input_shape=given, policy="peak_live") == run.peak_live()
    assert onnx_activation_bytes(path, input_shape=given, policy="largest_node") == run.largest_node()
    return run


@pytest.mark.parametrize("name", MICRO)
def test_a_small_file_moves_what_onnxruntime_moves(file_of, name):
    equal_to_the_byte(file_of(f"micro/{name}.onnx", MICRO[name]), MICRO[name])


def test_the_other_branch_of_an_if_runs_where_the_batch_is_larger(file_of):
    path = file_of("micro/branch_and_loop.onnx", (9, 6))
    few, many = equal_to_the_byte(path, (2, 6)), equal_to_the_byte(path, (9, 6))
    assert {move.kind for move in few.moves} - {move.kind for move in many.moves} == {"Relu", "Add"}


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_model_moves_what_onnxruntime_moves_and_multiplies_as_in_pytorch(file_of, name):
    shape = (1, 3, 64, 64)
    path = file_of(f"torchvision/{name}.onnx", shape, **EXPORTED[name])
    batch = 2 if EXPORTED[name].get("dynamic_batch") else 1
    given = (batch, *shape[1:])
    run = equal_to_the_byte(path, given)
    assert onnx_macs(path, input_shape=list(given)) == macs(torchvision(name, size=64, batch=batch))
    assert sum(row["macs"] for row in onnx_macs_by_layer(path, input_shape=list(given))) == macs(
        torchvision(name, size=64, batch=batch)
    )
    shapes = {row["tensor"]: tuple(row["shape"]) for row in onnx_tensors(path, input_shape=list(given))}
    found = {name: array.shape for name, array in run.arrays.items() if name in shapes}
    assert {name: shapes[name] for name in found} == found
    assert len(found) > 60


@soak
def test_the_dynamo_exporter_s_file_too(file_of):
    pytest.importorskip("onnxscript")
    path = file_of("torchvision/mobilenet_v2.onnx", (1, 3, 64, 64), exporter="dynamo", dynamic_batch=True)
    equal_to_the_byte(path, (1, 3, 64, 64))
    assert onnx_operator_counts(path, operators=["Conv", "Clip", "Add", "Gemm"]) == {
        "Conv": 52,
        "Clip": 35,
        "Add": 10,
        "Gemm": 1,
    }


def test_mobilenet_v2_has_its_published_figures(file_of):
    path, shape = file_of("torchvision/mobilenet_v2.onnx", (1, 3, 224, 224), opset=10), [1, 3, 224, 224]
    traffic = {policy: onnx_traffic_bytes(path, input_shape=shape, policy=policy) for policy in TRAFFIC}
    assert traffic == {"per_node": 119_445_696, "per_tensor": 66_568_768, "activations_only": 105_494_432}
    assert onnx_activation_bytes(path, input_shape=shape) == 52_015_392
    assert onnx_activation_bytes(path, input_shape=shape, policy="peak_live") == 9_633_792
    assert onnx_macs(path, input_shape=shape) == 300_774_272
    assert onnx_macs(path, input_shape=shape, operators=["Gemm"]) == 1_280_000
    assert onnx_parameters(path) == 3_487_816
    assert onnx_operator_total(path) == 100
    assert onnx_operator_types(path) == 6


def test_the_model_zoo_s_mobilenet_v2_has_the_figures_that_specs_hold(file_of, tmp_path):
    """Rebuilt: in mobilenetv2-10, Reshape takes its shape from what comes before the pooling."""
    model = onnx.load(file_of("torchvision/mobilenet_v2.onnx", (1, 3, 224, 224), opset=10))
    nodes = list(model.graph.node)
    at = next(at for at, node in enumerate(nodes) if node.op_type == "Flatten")
    flatten, pooled = nodes[at], next(node for node in nodes if node.op_type == "GlobalAveragePool")
    chain = [
        helper.make_node("Shape", [pooled.input[0]], ["s"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n"], ["n1"], axes=[0]),
        helper.make_node("Concat", ["n1", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", [flatten.input[0], "wanted"], [flatten.output[0]]),
    ]
    del model.graph.node[:]
    model.graph.node.extend([*nodes[:at], *chain, *nodes[at + 1 :]])
    model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), "rest"))
    onnx.save(model, tmp_path / "zoo.onnx")
    run = equal_to_the_byte(tmp_path / "zoo.onnx", (1, 3, 224, 224))
    assert (run.traffic("per_node"), run.sum_of_outputs()) == (119_696_712, 52_015_456)
    assert (onnx_operator_total(tmp_path / "zoo.onnx"), onnx_operator_types(tmp_path / "zoo.onnx")) == (105, 11)


# ---- one thing at a time ---------------------------------------------------------------------------------------


def saved(tmp_path, nodes, inputs, outputs, weights=(), opset=17, **parts):
    infos = [helper.make_tensor_value_info(n, kind[0] if kind else TensorProto.FLOAT, s) for n, s, *kind in inputs]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **parts)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def test_sizes_follow_the_element_type_and_a_tensor_without_dimensions_has_one_element(file_of):
    rows = {row["tensor"]: row for row in onnx_tensors(file_of("micro/int4.onnx", (2, 5)))}
    assert (rows["w4"]["bytes"], rows["w4"]["dtype"]) == (13, "int4")  # 25 elements, two in a byte
    assert (rows["scale"]["bytes"], rows["scale"]["shape"]) == (4, [])
    path = file_of("micro/shape_chain.onnx", (1, 3, 12, 12))
    chain = {row["tensor"]: row for row in onnx_tensors(path, input_shape=[1, 3, 12, 12])}
    assert (chain["n"]["bytes"], chain["s"]["bytes"], chain["n"]["dtype"]) == (8, 32, "int64")
    half = {row["tensor"]: row for row in onnx_tensors(file_of("micro/int8_float16.onnx", (1, 3, 10, 10)))}
    assert [half[name]["bytes"] for name in ("q", "h", "d")] == [300, 768, 1536]


def test_a_weight_that_two_nodes_read_is_there_once_and_moves_twice(file_of):
    path = file_of("micro/int4.onnx", (2, 5))
    assert onnx_parameters(path) == 26
    assert onnx_traffic_bytes(path) - onnx_traffic_bytes(path, policy="activations_only") == 13 + 4 + 4


def test_a_constant_node_computes_nothing_and_moves_only_by_convention(file_of):
    path, shape = file_of("micro/shape_chain.onnx", (1, 3, 12, 12)), [1, 3, 12, 12]
    assert onnx_operator_counts(path)["Constant"] == 1
    assert "Constant" not in onnx_operator_counts(path, constants=False)
    with_it = onnx_traffic_bytes(path, input_shape=shape, constants=True)
    assert with_it - onnx_traffic_bytes(path, input_shape=shape) == 8


def test_operators_inside_branches_and_loops_count_once_functions_by_their_calls(file_of):
    path = file_of("micro/branch_and_loop.onnx", (2, 6))
    assert onnx_operator_total(path) == 11
    assert onnx_operator_counts(path, nested=False) == {"Shape": 1, "Gather": 1, "Less": 1, "If": 1, "Loop": 1}
    assert onnx_operator_counts(file_of("micro/functions.onnx", (3, 8))) == {"Dense": 2}


def test_a_loop_s_products_count_as_often_as_it_runs(file_of):
    assert onnx_macs(file_of("micro/branch_and_loop.onnx", (2, 6)), input_shape=[2, 6]) == 5 * 2 * 6 * 6
    assert onnx_macs(file_of("micro/functions.onnx", (3, 8))) == 3 * 8 * 4 + 3 * 4 * 2
    (row,) = onnx_macs_by_layer(file_of("micro/branch_and_loop.onnx", (2, 6)), input_shape=[2, 6])
    assert (row["type"], row["macs"]) == ("MatMul", 5 * 2 * 6 * 6)


def test_each_node_multiplies_as_its_layer_does(file_of):
    rows = onnx_macs_by_layer(file_of("torchvision/mobilenet_v2.onnx", (1, 3, 64, 64)), input_shape=[1, 3, 64, 64])
    assert [row["macs"] for row in rows] == [row["macs"] for row in macs_by_layer(torchvision("mobilenet_v2", size=64))]
    assert (rows[0]["layer"], rows[0]["type"], rows[-1]["type"]) == (
        "/features/features.0/features.0.0/Conv",
        "Conv",
        "Gemm",
    )
    gemm = onnx_macs_by_layer(file_of("torchvision/mobilenet_v2.onnx", (1, 3, 64, 64)), operators=["Gemm"])
    assert gemm == rows[-1:]


def test_attributes_are_those_of_the_file_with_the_sizes_that_come_in(file_of):
    rows = onnx_attributes(file_of("micro/dynamic_batch.onnx", (1, 3, 16, 16)), input_shape=[1, 3, 16, 16])
    assert [row["node"] for row in rows] == ["Conv_0", "Relu_1", "Conv_2", "GlobalAveragePool_3", "Flatten_4", "Gemm_5"]
    assert {name: each for name, each in rows[2].items() if name != "also_right"} == {
        "node": "Conv_2",
        "operator": "Conv",
        "also_named": ["d", "Conv_1", "Conv"],
        "kernel_shape": [3, 3],
        "group": 4,
        "dilations": [2, 2],
        "channel": 8,
        "height": 8,
        "width": 8,
    }
    assert (rows[5]["alpha"], rows[5]["beta"], rows[5]["transB"]) == ("0.5000000", "1.000000", 1)
    out = onnx_attributes(file_of("micro/dynamic_batch.onnx", (1, 3, 16, 16)), input_shape=[1, 3, 16, 16], of="output")
    assert (out[2]["channel"], out[2]["height"]) == (16, 4)
    also = {row["node"]: row["also_right"] for row in rows[1:]}  # what nobody asks for may be said where it is true
    assert also["Relu_1"] == {"channel": [8], "height": [8], "width": [8]}
    assert {name: also["Gemm_5"][name] for name in ("channel", "height", "transA")} == {
        "channel": [16],
        "height": [1],
        "transA": [0],
    }


def test_what_a_convolution_reads_is_named_with_shape_and_elements(file_of):
    path = file_of("micro/lenet.onnx", (1, 1, 28, 28))
    rows = onnx_node_inputs(path, operators=["Conv"], input_shape=[1, 1, 28, 28])
    assert [row["tensor"] for row in rows][:4] == ["image", "conv1.w", "conv1.b", "pool1"]
    two = {row["tensor"] for row in onnx_node_inputs_of_two(path, operators=["Conv"], input_shape=[1, 1, 28, 28])}
    assert {row["tensor"] for row in rows} - two == {f"conv{at}.b" for at in range(1, 5)}
    assert rows[9] == {"tensor": "relu3", "shape": [1, 32, 1, 1], "elements": 32, "bytes": 128}
    (row,) = onnx_node_tensors(path, operators=["Gemm"])
    assert (row["inputs"], row["outputs"]) == ("flat, logits.w, logits.b", "logits")


@pytest.mark.parametrize(
    ("kind", "inputs", "weights", "attributes", "expected"),
    [
        ("ConvTranspose", [1, 4, 5, 5], {"w": (4, 3, 3, 3)}, {"group": 2}, 4 * 25 * 27),
        ("MatMul", [2, 3, 4], {"w": (4, 5)}, {}, 2 * 3 * 4 * 5),
        ("Gemm", [4, 3], {"w": (4, 5)}, {"transA": 1}, 3 * 4 * 5),
        ("Einsum", [2, 3], {"w": (3, 4)}, {"equation": "ij,jk->ik"}, 24),
        ("LSTM", [5, 2, 8], {"w": (1, 64, 8), "r": (1, 64, 16)}, {"hidden_size": 16}, 5 * 2 * 64 * (8 + 16)),
        ("GRU", [5, 2, 8], {"w": (2, 48, 8), "r": (2, 48, 16)}, {"hidden_size": 16, "direction": "bidirectional"},
         5 * 2 * 2 * 48 * 24),
        ("Relu", [2, 3], {}, {}, 0),
    ],
)  # fmt: skip
def test_products_by_hand(tmp_path, kind, inputs, weights, attributes, expected):
    node = helper.make_node(kind, ["x", *weights], ["y"], **attributes)
    tensors = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in weights.items()]
    path = saved(tmp_path, [node], [("x", inputs)], [("y", None)], tensors)
    assert onnx_macs(path) == expected


def test_a_product_without_a_rule_is_named_not_counted_as_nothing(tmp_path):
    node = helper.make_node("Einsum", ["x", "x", "x"], ["y"], name="three", equation="ij,jk,kl->il")
    path = saved(tmp_path, [node], [("x", [3, 3])], [("y", [3, 3])])
    with pytest.raises(ValueError, match=r"node 'three' \(Einsum\): how 'ij,jk,kl->il' is multiplied out"):
        onnx_macs(path)


def test_what_depends_on_data_is_named(tmp_path):
    nodes = [helper.make_node("NonZero", ["x"], ["where"], name="nz"), helper.make_node("Cast", ["where"], ["y"], to=1)]
    path = saved(tmp_path, nodes, [("x", [3, 3])], [("y", None)])
    with pytest.raises(ValueError, match=r"the shape of 'where' is unknown: the size of what node 'nz' \(NonZero\)"):
        onnx_traffic_bytes(path)
    assert onnx_operator_total(path) == 2


def test_a_branch_that_depends_on_data_is_named(tmp_path):
    def branch(name):
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        return helper.make_graph([helper.make_node("Relu", ["x"], [name])], name, [], [result])

    node = helper.make_node("If", ["go"], ["y"], name="fork", then_branch=branch("a"), else_branch=branch("b"))
    path = saved(tmp_path, [node], [("x", [2]), ("go", [], TensorProto.BOOL)], [("y", [2])])
    with pytest.raises(ValueError, match=r"the condition of node 'fork' \(If\), 'go', depends on data"):
        onnx_activation_bytes(path)


def test_an_open_dimension_is_neither_0_nor_1_in_silence(file_of):
    path = file_of("micro/dynamic_batch.onnx", (1, 3, 16, 16))
    with pytest.raises(ValueError, match="the graph's input 'x' leaves dimensions open"):
        onnx_activation_bytes(path)
    once = onnx_activation_bytes(path, input_shape=[1, 3, 16, 16])
    assert onnx_activation_bytes(path, input_shape=[7, 3, 16, 16]) == 7 * once


def test_a_scan_runs_once_a_slice(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "row"], ["total"]), helper.make_node("Identity", ["total"], ["out"])],
        "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("sum", "row")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("total", "out")],
    )
    node = helper.make_node("Scan", ["start", "x"], ["end", "all"], num_scan_inputs=1, body=body)
    path = saved(tmp_path, [node], [("start", [3]), ("x", [4, 3])], [("end", [3]), ("all", [4, 3])])
    assert onnx_activation_bytes(path) == 4 * 2 * 12
    assert onnx_traffic_bytes(path) == 4 * (12 + 12 + 12 + 12 + 12)


def test_declared_shapes_are_not_believed(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
    path = saved(tmp_path, nodes, [("x", [2, 3])], [("y", [99, 99])])
    model = onnx.load(path)
    model.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.DOUBLE, [1]))
    onnx.save(model, path)
    assert onnx_activation_bytes(path) == 2 * 24


def test_a_loop_without_a_condition_ignores_what_its_body_says_of_one(tmp_path):
    body = helper.make_graph(
        [
            helper.make_node("ReduceMax", ["before"], ["most"], keepdims=0),
            helper.make_node("Cast", ["most"], ["on"], to=TensorProto.BOOL),  # depends on data
            helper.make_node("Tanh", ["before"], ["after"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, [6]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, [6]),
        ],
    )
    times = numpy_helper.from_array(np.array(3), "times")
    free = helper.make_node("Loop", ["times", "", "x"], ["y"], name="free", body=body)
    assert onnx_activation_bytes(saved(tmp_path, [free], [("x", [6])], [("y", [6])], [times])) == 3 * (4 + 1 + 24)
    go = numpy_helper.from_array(np.array(True), "go_in")  # noqa: FBT003 - a tensor's value
    bound = helper.make_node("Loop", ["times", "go_in", "x"], ["y"], name="bound", body=body)
    with pytest.raises(ValueError, match=r"the condition of node 'bound' \(Loop\), 'on', depends on data"):
        onnx_activation_bytes(saved(tmp_path, [bound], [("x", [6])], [("y", [6])], [times, go]))


def test_a_function_s_attributes_are_those_of_its_call_or_their_defaults(tmp_path):
    axis = onnx.AttributeProto(name="axis", ref_attr_name="at", type=onnx.AttributeProto.INT)
    flatten = helper.make_node("Flatten", ["a"], ["b"])
    flatten.attribute.append(axis)
    function = helper.make_function(
        "own", "Flat", ["a"], ["b"], [flatten], [helper.make_opsetid("", 17)],
        attribute_protos=[helper.make_attribute("at", 2)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Flat", ["x"], ["y"], domain="own", at=0),
        helper.make_node("Flat", ["x"], ["z"], domain="own"),
    ]
    path = saved(tmp_path, nodes, [("x", [2, 3, 4])], [("y", None), ("z", None)], functions=[function])
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, path)
    shapes = [row["shape"] for row in onnx_tensors(path) if row["kind"] == "activation"]
    assert shapes == [[1, 24], [6, 4]]
