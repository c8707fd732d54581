#!/usr/bin/env bash
# Graphs that an ONNX optimizer made smaller run and put out other numbers, or do not load.
#
# One would expect: an optimizer leaves what a valid graph puts out as it is, whatever it fuses.
#
# What happens, each with another tool's default passes:
#   onnxoptimizer takes a Pad with zeros into the MaxPool behind it, whose own padding is minus infinity: where all
#     values are negative, the border changes. Of two Reshapes in a row it drops the first, though a 0 in the second one
#     copies a size of what the first one puts out: another shape comes out.
#   onnxslim takes a Mul by a vector, which runs along the width, for one factor a channel where the convolution before
#     it has as many channels as columns. Of a Dropout it puts out the data in place of the mask, which is all ones.
#   onnxscript's optimizer makes one Clip of two, also where the ranges are apart: the lower bound wins in the second
#     Clip, the upper one in the fused one. Of two Flattens of one tensor it makes a graph that does not load.
# onnxruntime's own optimizations keep all six.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 onnxoptimizer==0.4.2 onnxslim==0.1.98 \
    onnxscript==0.7.2 onnx-ir==1.1.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import contextlib
import copy
import io
from importlib.metadata import version

import numpy as np
import onnx
import onnxoptimizer
import onnxruntime
import onnxscript.optimizer
import onnxslim
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
print(*(f"{name} {version(name)}" for name in ("onnx", "onnxruntime", "onnxoptimizer", "onnxslim", "onnxscript")), sep=", ")
PLAIN, FULL = (getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}") for level in ("DISABLE_ALL", "ENABLE_ALL"))
values = np.random.default_rng(0)


def model(x, nodes, outputs, **constants):
    """A checked graph of opset 18 whose input has the shape `x`; a list is a constant of integers."""
    held = [
        numpy_helper.from_array(np.array(value, np.int64 if isinstance(value, list) else np.float32), name)
        for name, value in constants.items()
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]
    put_out = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    made = helper.make_model(
        helper.make_graph(nodes, "graph", given, put_out, held),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    made = onnx.shape_inference.infer_shapes(made, strict_mode=True)
    onnx.checker.check_model(made, full_check=True)
    return made


def put_out(made, x, level=PLAIN):
    """The first output."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def quietly(optimize, made):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return optimize(copy.deepcopy(made))


def seen(what, tool, made, expected, show=lambda y: y.ravel().tolist()[:4]):
    """Compare the graph as it is, and as onnxruntime optimizes it, with what the tool made of it."""
    x = -1 - values.random([dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim], np.float32)
    plain = put_out(made, x)
    assert np.allclose(plain, put_out(made, x, FULL), atol=1e-5), "onnxruntime's optimizations change nothing"
    optimized = quietly(TOOLS[tool], made)
    try:
        other = put_out(optimized, x)
    except Exception as error:  # onnxruntime has several classes, all of Exception
        print(f"{what}, {tool}: {show(plain)} becomes a file that does not load ({type(error).__name__})")
        assert expected == "does not load", error
        return
    print(f"{what}, {tool}: {show(plain)} becomes {show(other)}")
    assert expected == "differs"
    assert plain.shape != other.shape or not np.allclose(plain, other, atol=1e-2)


TOOLS = {"onnxoptimizer": onnxoptimizer.optimize, "onnxslim": onnxslim.slim, "onnxscript": onnxscript.optimizer.optimize}
node = helper.make_node
zeros_around = [0, 0, 1, 1, 0, 0, 1, 1]


def size(y):
    return list(y.shape)


def digits(y):
    return [round(float(value), 2) for value in y.ravel()[:4]]


pool = [node("Pad", ["x", "pads"], ["p"]), node("MaxPool", ["p"], ["y"], kernel_shape=[3, 3])]
seen("a zero Pad, then MaxPool", "onnxoptimizer", model([1, 1, 4, 4], pool, ["y"], pads=zeros_around), "differs", digits)
twice = [node("Reshape", ["x", "first"], ["r"]), node("Reshape", ["r", "second"], ["y"])]
seen("two Reshapes", "onnxoptimizer", model([2, 3, 4], twice, ["y"], first=[6, 4], second=[0, -1]), "differs", size)
weight, vector = values.random((4, 3, 1, 1)), values.random(4)
scaled = [node("Conv", ["x", "w"], ["c"]), node("Mul", ["c", "v"], ["y"])]
seen("Conv, then Mul along the width", "onnxslim", model([1, 3, 4, 4], scaled, ["y"], w=weight, v=vector), "differs", digits)
mask = [node("Dropout", ["x"], ["d", "m"]), node("Cast", ["m"], ["y"], to=TensorProto.FLOAT)]
seen("the mask of a Dropout", "onnxslim", model([1, 4], mask, ["y"]), "differs", digits)
clips = [node("Clip", ["x", "a", "b"], ["t"]), node("Clip", ["t", "c", "d"], ["y"])]
seen("Clip to 0..1, then to 2..3", "onnxscript", model([1, 4], clips, ["y"], a=0.0, b=1.0, c=2.0, d=3.0), "differs", digits)
flat = [node("Flatten", ["x"], ["y"]), node("Flatten", ["x"], ["z"])]
seen("two Flattens of one tensor", "onnxscript", model([2, 3, 4], flat, ["y", "z"]), "does not load", size)
print("the behaviour is as described")
PYTHON

# Output seen (CPU, Python 3.11.7):
#
#   onnx 1.23.2, onnxruntime 1.32.0, onnxoptimizer 0.4.2, onnxslim 0.1.98, onnxscript 0.7.2
#   a zero Pad, then MaxPool, onnxoptimizer: [0.0, 0.0, 0.0, 0.0] becomes [-1.04, -1.04, -1.02, -1.02]
#   two Reshapes, onnxoptimizer: [6, 4] becomes [2, 12]
#   Conv, then Mul along the width, onnxslim: [-0.2, -1.06, -0.49, -0.31] becomes [-0.2, -0.2, -0.13, -0.13]
#   the mask of a Dropout, onnxslim: [1.0, 1.0, 1.0, 1.0] becomes [-1.57, -1.4, -2.0, -1.2]
#   Clip to 0..1, then to 2..3, onnxscript: [2.0, 2.0, 2.0, 2.0] becomes [1.0, 1.0, 1.0, 1.0]
#   two Flattens of one tensor, onnxscript: [2, 12] becomes a file that does not load (InvalidArgument)
#   the behaviour is as described
