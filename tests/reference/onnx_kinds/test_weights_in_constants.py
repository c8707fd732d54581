"""Weights that Constant nodes hold are counted where they are asked for."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from reference.onnx_macs import onnx_macs
from reference.onnx_memory import onnx_parameters, onnx_tensors, onnx_traffic_bytes
from tests.reference.onnx_text import differences, saved


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name))


def with_nodes(tmp_path, text, nodes, **more):
    path = saved(tmp_path, text, **more)
    model = onnx.load(path)
    rest = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*nodes, *rest])
    onnx.save(model, path)
    return path


CONV = "(float[1,3,8,8] x) => (float y) { y = Conv<pads=[1,1,1,1]>(x, w, b) }"
MATMUL = "(float[5,4] x) => (float y) { y = MatMul(x, w) }"
f = np.float32


@pytest.mark.parametrize(
    ("text", "held", "parameters"),
    [
        (CONV, {"w": np.zeros((8, 3, 3, 3), f), "b": np.zeros(8, f)}, 224),
        (MATMUL, {"w": np.zeros((4, 6), f)}, 24),
        (MATMUL, {"w": np.zeros((4, 3000), f)}, 12_000),  # larger than what stays in memory
        (MATMUL.replace("float", "double"), {"w": np.zeros((4, 6))}, 24),
        (MATMUL.replace("float", "float16"), {"w": np.zeros((4, 6), np.float16)}, 24),
        ("(uint8[5,4] x) => (int32 y) { y = MatMulInteger(x, w) }", {"w": np.zeros((4, 6), np.int8)}, 24),
        ("(float[5,4] x) => (float y) { y = Gemm(x, w, b) }", {"w": np.zeros((4, 6), f), "b": np.zeros((), f)}, 25),
        ("(float[2,1,4] x) => (float y) { y = LSTM<hidden_size=3>(x, w, r) }",
         {"w": np.zeros((1, 12, 4), f), "r": np.zeros((1, 12, 3), f)}, 84),
        ("(float[5,4] x) => (float y) { y = Mul(x, w) }", {"w": np.zeros((0, 4), f)[:0].reshape(0, 4)[:0] + 0, "v": np.ones(4, f)}, 4),
        ("(float[5,4] x) => (float y) { y = Add(x, w) }", {"w": np.ones((1, 4), f)}, 4),
        (MATMUL, {"w": np.zeros((4, 6), f), "unread": np.zeros((2, 2), f)}, 28),
    ],
)  # fmt: skip
def test_they_count_by_an_option(tmp_path, text, held, parameters):
    if held["w"].size == 0:
        text = text.replace("(x, w)", "(x, v)")
    path = with_nodes(tmp_path, text, [constant(name, value) for name, value in held.items()])
    assert onnx_parameters(path) == 0
    assert onnx_parameters(path, constants=True) == parameters
    read = sum(row["bytes"] for row in onnx_tensors(path) if row["kind"] == "constant")
    assert onnx_traffic_bytes(path, constants=True) - onnx_traffic_bytes(path) == read > 0
    assert onnx_macs(path) >= 0
    assert not differences(path)


def test_initializers_count_beside_them_and_integers_by_their_own_option(tmp_path):
    nodes = [constant("w", np.zeros((4, 6), f)), constant("s", np.array([6, 5]))]
    text = "(float[5,4] x) => (float y) { h = Gemm(x, w, b) y = Reshape(h, s) }"
    path = with_nodes(tmp_path, text, nodes, weights={"b": np.zeros(6, f)})
    assert onnx_parameters(path) == 6
    assert onnx_parameters(path, constants=True) == 32
    assert onnx_parameters(path, constants=True, integers=False) == 30


def test_other_ways_to_hold_a_value(tmp_path):
    nodes = [
        helper.make_node("Constant", [], ["v"], value_floats=[1.0, 2.0, 3.0]),
        helper.make_node("Constant", [], ["s"], value_float=2.0),
        helper.make_node("Constant", [], ["k"], value_ints=[1, 2]),
    ]
    path = with_nodes(tmp_path, "(float[5,3] x) => (float y) { h = Mul(x, v) y = Add(h, s) }", nodes)
    assert onnx_parameters(path, constants=True) == 6
    assert onnx_parameters(path, constants=True, integers=False) == 4
    assert not differences(path)


def test_those_of_branches_and_functions_count_once(tmp_path):
    text = """(float[5,4] x, bool q) => (float y) {
    y = If(q) <then_branch = t () => (float a) { w = Constant<value = float[2] {1,2}>() a = Identity(w) },
               else_branch = e () => (float b) { v = Constant<value = float[3] {1,2,3}>() b = Identity(v) }> }"""
    assert onnx_parameters(saved(tmp_path, text), constants=True) == 5
    own = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[5,2] x) => (float y) { h = own.F(x) y = own.F(h) } '
        '<opset_import: ["": 17], domain: "own"> F (a) => (b) { w = Constant<value = float[2,2] {1,2,3,4}>() b = MatMul(a, w) }'
    )
    onnx.save(own, tmp_path / "own.onnx")
    assert onnx_parameters(tmp_path / "own.onnx", constants=True) == 4
    assert onnx_macs(tmp_path / "own.onnx") == 40


def test_a_sparse_one_counts_the_values_that_are_there(tmp_path):
    values = numpy_helper.from_array(np.ones(3, f), "values")
    indices = numpy_helper.from_array(np.array([1, 5, 9]), "indices")
    sparse = helper.make_sparse_tensor(values, indices, [4, 6])
    node = helper.make_node("Constant", [], ["w"], sparse_value=sparse)
    assert onnx_parameters(with_nodes(tmp_path, MATMUL, [node]), constants=True) == 3
