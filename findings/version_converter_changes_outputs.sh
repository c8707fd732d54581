#!/usr/bin/env bash
# onnx's version converter gives files that are valid, run without a warning and put out other numbers.
#
# One would expect: a model that is converted to another opset computes what it computed before, or the conversion
# fails.
#
# What happens: where an operator's default or meaning has changed, the converter adds the attribute for some operators
# and forgets it for others. A linear Resize of opset 10 has no coordinate_transformation_mode; from opset 11 on the
# default is half_pixel, and the converter does not write the asymmetric of before (Upsample of opset 9 likewise).
# Hardmax flattens from its axis on before opset 13 and works along its axis from then on. Softmax and LogSoftmax are
# converted rightly from 11 to 13, with a Flatten around, but from 13 down to 12 they stay as they are.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, version_converter

print(*(f"{name} {version(name)}" for name in ("onnx", "onnxruntime")), sep=", ")
given = numpy.random.default_rng(0).standard_normal((1, 2, 4, 5)).astype("float32")
SCALES = numpy_helper.from_array(numpy.array([1, 1, 2, 2], "float32"), "scales")


def outputs(model):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": given})[0]


def farthest(operator, opset, to, *, scales=False, **attributes):
    inputs = ["x", "scales"] if scales else ["x"]
    shape = [1, 2, 8, 10] if scales else [1, 2, 4, 5]
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, ["y"], **attributes)],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [SCALES] if scales else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    before, after = outputs(model), outputs(version_converter.convert_version(model, to))
    found = float(abs(before - after).max())
    print(f"{operator} {attributes}, opset {opset} to {to}: outputs differ by up to {found:.2f}")
    return found


assert farthest("Resize", 10, 11, scales=True, mode="linear") > 0.1
assert farthest("Resize", 10, 11, scales=True, mode="nearest") == 0
assert farthest("Upsample", 9, 11, scales=True, mode="linear") > 0.1
assert farthest("Upsample", 9, 10, scales=True, mode="linear") == 0
assert farthest("Hardmax", 11, 13, axis=1) == 1
assert farthest("Softmax", 11, 13, axis=1) < 1e-6
assert farthest("Softmax", 13, 12, axis=1) > 0.1
assert farthest("LogSoftmax", 13, 12, axis=1) > 0.1
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   onnx 1.23.2, onnxruntime 1.32.0
#   Resize {'mode': 'linear'}, opset 10 to 11: outputs differ by up to 1.28
#   Resize {'mode': 'nearest'}, opset 10 to 11: outputs differ by up to 0.00
#   Upsample {'mode': 'linear'}, opset 9 to 11: outputs differ by up to 1.28
#   Upsample {'mode': 'linear'}, opset 9 to 10: outputs differ by up to 0.00
#   Hardmax {'axis': 1}, opset 11 to 13: outputs differ by up to 1.00
#   Softmax {'axis': 1}, opset 11 to 13: outputs differ by up to 0.00
#   Softmax {'axis': 1}, opset 13 to 12: outputs differ by up to 0.88
#   LogSoftmax {'axis': 1}, opset 13 to 12: outputs differ by up to 4.03
#   the behaviour is as described
