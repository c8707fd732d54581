#!/usr/bin/env bash
# Pools with ceil_mode: onnx's shape inference keeps a window that no runtime puts out, unless the opset is 22 or newer.
#
# One would expect: the shapes that onnx infers for a file are those that running it puts out, and the opset number
# alone does not change the size of a MaxPool.
#
# What happens: with ceil_mode=1, a last window can start in the padding on the right. torch leaves it out, and so do
# onnxruntime and onnx.reference, at every opset. Shape inference keeps it for opsets below 22 and leaves it out from
# 22 on. A count of operations or bytes that takes its sizes from inference is then too high for everything behind the
# pool: here by 16 windows against 9 in each channel.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 torch==2.13.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(3)  # the warning says the same as the sizes below
print(*(f"{name} {version(name)}" for name in ("onnx", "onnxruntime", "torch")), sep=", ")

POOL = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
layers = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.MaxPool2d(2, 2, padding=1, ceil_mode=True)
).eval()


def sizes(opset, length):
    """The output's shape as onnx infers it and as onnxruntime, onnx.reference and torch put it out."""
    weight, bias = (value.detach().numpy() for value in (layers[0].weight, layers[0].bias))
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            helper.make_node("MaxPool", ["c"], ["y"], **POOL),
        ],
        "conv_and_pool",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, length, length])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, "h", "w"])],
        [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape
    x = np.random.default_rng(0).standard_normal((1, 3, length, length)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ran, referred = session.run(None, {"x": x})[0], ReferenceEvaluator(model).run(None, {"x": x})[0]
    torched = layers(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(ran, torched, atol=1e-5), "onnxruntime computes what torch does"
    assert np.allclose(referred, torched, atol=1e-5), "onnx.reference computes what torch does"
    return [size.dim_value for size in inferred.dim], list(torched.shape)


print("MaxPool of kernel 2, stride 2, padding 1, ceil_mode behind a convolution")
for opset in (11, 13, 20, 21, 22, 23):
    inferred, ran = sizes(opset, 5)
    print(f"5x5, opset {opset}: inferred {inferred}, onnxruntime, onnx.reference and torch {ran}")
    assert ran == [1, 4, 3, 3]
    assert inferred == ([1, 4, 4, 4] if opset < 22 else [1, 4, 3, 3])
for opset in (21, 22):  # no window starts in the padding here
    inferred, ran = sizes(opset, 6)
    print(f"6x6, opset {opset}: inferred {inferred}, onnxruntime, onnx.reference and torch {ran}")
    assert inferred == ran == [1, 4, 4, 4]
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   onnx 1.23.2, onnxruntime 1.32.0, torch 2.13.0+cpu
#   MaxPool of kernel 2, stride 2, padding 1, ceil_mode behind a convolution
#   5x5, opset 11: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   5x5, opset 13: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   5x5, opset 20: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   5x5, opset 21: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   5x5, opset 22: inferred [1, 4, 3, 3], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   5x5, opset 23: inferred [1, 4, 3, 3], onnxruntime, onnx.reference and torch [1, 4, 3, 3]
#   6x6, opset 21: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 4, 4]
#   6x6, opset 22: inferred [1, 4, 4, 4], onnxruntime, onnx.reference and torch [1, 4, 4, 4]
#   the behaviour is as described
