#!/usr/bin/env bash
# Pools with auto_pad: onnxruntime and onnx.reference each put out a number of windows of their own.
#
# One would expect: ONNX fixes the number of windows. With SAME_UPPER or SAME_LOWER there are ceil(input / stride) of
# them, whatever the kernel; with VALID there are ceil((input - (kernel - 1) * dilation) / stride). Both runtimes put
# out as many, and the same values as for the same padding written out in `pads`.
#
# What happens:
# - onnxruntime pads a dilated pool with SAME_UPPER or SAME_LOWER by too little, as if there were no dilation: a window
#   is lost and the others lie elsewhere, so values differ. It only warns that the size is not the inferred one.
# - onnx.reference is right for a MaxPool with SAME_UPPER. For a dilated AveragePool with SAME_UPPER or SAME_LOWER it
#   puts out the right number of windows, but not their values. At some lengths it loses a window of a MaxPool with
#   SAME_LOWER, dilated or not, and adds one of value 0 to a dilated AveragePool with VALID.
# So neither is a witness for all pools. With the padding written out, they agree.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import math
from importlib.metadata import version

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(3)  # the warning says the same as the sizes below
print(*(f"{name} {version(name)}" for name in ("onnx", "onnxruntime", "numpy")), sep=", ")


def pool(operator, length, **attributes):
    """A file with one pool over [1, 1, length], its inferred length, and what both runtimes put out for 1, 2, 3..."""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"], **attributes)],
        "one_pool",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, length])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, "windows"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    shape = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape
    x = np.arange(1, length + 1, dtype=np.float32).reshape(1, 1, length)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ran = session.run(None, {"x": x})[0].ravel().tolist()
    referred = ReferenceEvaluator(model).run(None, {"x": x})[0].ravel().tolist()
    return shape.dim[2].dim_value, ran, referred


def case(operator, length, auto_pad, kernel, stride, dilation):
    sizes = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}
    reach = (kernel - 1) * dilation + 1
    if auto_pad == "VALID":
        windows, pads = math.ceil((length - reach + 1) / stride), [0, 0]
    else:
        windows = math.ceil(length / stride)
        total = max((windows - 1) * stride + reach - length, 0)
        pads = [total // 2, total - total // 2] if auto_pad == "SAME_UPPER" else [total - total // 2, total // 2]
    inferred, ran, referred = pool(operator, length, auto_pad=auto_pad, **sizes)
    _, *written = pool(operator, length, pads=pads, **sizes)
    print(f"{operator} {auto_pad} over {length}, kernel {kernel}, stride {stride}, dilation {dilation}:")
    print(f"  formula {windows} windows, shape inference {inferred}")
    print(f"  onnxruntime    {ran}")
    print(f"  onnx.reference {referred}")
    print(f"  with pads={pads} written out, both: {written[0]}")
    assert inferred == windows == len(written[0]), "shape inference follows the formula"
    assert written[0] == written[1], "the runtimes agree where the padding is written out"
    return ran, referred, written[0]


ran, referred, right = case("MaxPool", 12, "SAME_UPPER", 3, 3, 2)
assert (ran, referred, right) == ([5, 8, 11], [4, 7, 10, 11], [4, 7, 10, 11])
ran, referred, right = case("AveragePool", 7, "SAME_LOWER", 3, 2, 2)
assert (ran, referred, right) == ([3, 4, 5], [3, 4, 5, 0], [2, 3, 5, 6])
ran, referred, right = case("MaxPool", 7, "SAME_LOWER", 3, 3, 1)
assert (ran, referred, right) == ([2, 5, 7], [4, 7], [2, 5, 7])
ran, referred, right = case("AveragePool", 12, "VALID", 3, 3, 2)
assert (ran, referred, right) == ([3, 6, 9], [3, 6, 9, 0], [3, 6, 9])
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   onnx 1.23.2, onnxruntime 1.32.0, numpy 2.4.6
#   MaxPool SAME_UPPER over 12, kernel 3, stride 3, dilation 2:
#     formula 4 windows, shape inference 4
#     onnxruntime    [5.0, 8.0, 11.0]
#     onnx.reference [4.0, 7.0, 10.0, 11.0]
#     with pads=[1, 1] written out, both: [4.0, 7.0, 10.0, 11.0]
#   AveragePool SAME_LOWER over 7, kernel 3, stride 2, dilation 2:
#     formula 4 windows, shape inference 4
#     onnxruntime    [3.0, 4.0, 5.0]
#     onnx.reference [3.0, 4.0, 5.0, 0.0]
#     with pads=[2, 2] written out, both: [2.0, 3.0, 5.0, 6.0]
#   MaxPool SAME_LOWER over 7, kernel 3, stride 3, dilation 1:
#     formula 3 windows, shape inference 3
#     onnxruntime    [2.0, 5.0, 7.0]
#     onnx.reference [4.0, 7.0]
#     with pads=[1, 1] written out, both: [2.0, 5.0, 7.0]
#   AveragePool VALID over 12, kernel 3, stride 3, dilation 2:
#     formula 3 windows, shape inference 3
#     onnxruntime    [3.0, 6.0, 9.0]
#     onnx.reference [3.0, 6.0, 9.0, 0.0]
#     with pads=[0, 0] written out, both: [3.0, 6.0, 9.0]
#   the behaviour is as described
