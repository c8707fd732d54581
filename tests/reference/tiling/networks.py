"""Original networks for the tests: small ones, with random weights, as an exporter writes them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def mlp(sizes, batch=1, seed=0, *, bias=True, spelled="gemm", opset=17):
    """Linear layers with ReLU between: sizes are [inputs, hidden..., outputs]. `spelled`: gemm, or matmul and add."""
    rng = np.random.default_rng(seed)
    nodes, weights = [], []
    at = "x"
    for index, (depth, columns) in enumerate(pairwise(sizes)):
        last = index == len(sizes) - 2
        out = "y" if last else f"h{index}"
        name = f"/layers/layers.{2 * index}/Gemm"
        weight = rng.standard_normal((columns, depth), dtype=np.float32) / np.sqrt(depth).astype(np.float32)
        offset = rng.standard_normal(columns, dtype=np.float32)
        if spelled == "gemm":
            weights.append(numpy_helper.from_array(weight, f"w{index}"))
            inputs = [at, f"w{index}"]
            if bias:
                weights.append(numpy_helper.from_array(offset, f"b{index}"))
                inputs.append(f"b{index}")
            nodes.append(helper.make_node("Gemm", inputs, [out], name=name, transB=1))
        else:
            weights.append(numpy_helper.from_array(np.ascontiguousarray(weight.T), f"w{index}"))
            product = f"p{index}" if bias else out
            nodes.append(helper.make_node("MatMul", [at, f"w{index}"], [product], name=name.replace("Gemm", "MatMul")))
            if bias:
                weights.append(numpy_helper.from_array(offset, f"b{index}"))
                nodes.append(helper.make_node("Add", [product, f"b{index}"], [out], name=name.replace("Gemm", "Add")))
        at = out
        if not last:
            nodes.append(helper.make_node("Relu", [at], [f"r{index}"], name=f"/layers/layers.{2 * index + 1}/Relu"))
            at = f"r{index}"
    return model(nodes, weights, [batch, sizes[0]], [batch, sizes[-1]], opset)


def classifier(batch=1, seed=0, opset=17):
    """Convolutions, pooling, Flatten, then two linear layers: 150 features, 90, 11."""
    rng = np.random.default_rng(seed)

    def draw(name, *shape):
        values = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(max(1, np.prod(shape[1:]))))
        return numpy_helper.from_array(values, name)

    nodes = [
        helper.make_node("Conv", ["x", "c0", "d0"], ["a"], name="/features/features.0/Conv", kernel_shape=[3, 3],
                         pads=[1, 1, 1, 1], strides=[1, 1], dilations=[1, 1], group=1),
        helper.make_node("Relu", ["a"], ["b"], name="/features/features.1/Relu"),
        helper.make_node("MaxPool", ["b"], ["c"], name="/features/features.2/MaxPool", kernel_shape=[2, 2],
                         strides=[2, 2]),
        helper.make_node("Conv", ["c", "c1", "d1"], ["d"], name="/features/features.3/Conv", kernel_shape=[1, 1]),
        helper.make_node("Relu", ["d"], ["e"], name="/features/features.4/Relu"),
        helper.make_node("Flatten", ["e"], ["f"], name="/Flatten", axis=1),
        helper.make_node("Gemm", ["f", "w0", "b0"], ["g"], name="/classifier/classifier.0/Gemm", transB=1),
        helper.make_node("Relu", ["g"], ["h"], name="/classifier/classifier.1/Relu"),
        helper.make_node("Gemm", ["h", "w1", "b1"], ["y"], name="/classifier/classifier.2/Gemm", transB=1),
    ]  # fmt: skip
    weights = [
        draw("c0", 4, 3, 3, 3), draw("d0", 4), draw("c1", 6, 4, 1, 1), draw("d1", 6),
        draw("w0", 90, 150), draw("b0", 90), draw("w1", 11, 90), draw("b1", 11),
    ]  # fmt: skip
    return model(nodes, weights, [batch, 3, 10, 10], [batch, 11], opset)


def model(nodes, weights, taken, given, opset=17):
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, taken)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, given)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def save(proto, path):
    onnx.save(proto, path)
    return path
