"""Small ONNX files with one thing each that analyses get wrong. Every one of them runs in onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.subjects import onnx_nested
from labgrade.subjects.onnx_nested import SmallGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import onnx


def make(name: str, path: Path) -> None:
    """Write the file `name` of `FILES`; external data goes beside it."""
    import onnx

    model = FILES[name]()
    outside = name == "external_data"
    onnx.save(
        model, path, save_as_external_data=outside, location=path.name + ".data", size_threshold=80
    )  # counts Python's own bytes, too


def dynamic_batch() -> onnx.ModelProto:
    """The batch is open: no shape of the file says how large it is."""
    graph = SmallGraph([("x", ["N", 3, 16, 16])], [("y", ["N", 10])])
    graph.conv("x", "c", 3, 8, strides=[2, 2], pads=[1, 1, 1, 1])
    graph.add("Relu", ["c"], "r")
    graph.conv("r", "d", 8, 16, group=4, dilations=[2, 2])
    graph.add("GlobalAveragePool", ["d"], "g")
    graph.add("Flatten", ["g"], "f")
    graph.gemm("f", "y", 16, 10)
    return graph.model(13)


def _shape_chain(shape: list[int], filters: int, results: int) -> onnx.ModelProto:
    import numpy as np

    graph = SmallGraph([("x", ["N", *shape])], [("y", ["N", results])])
    graph.conv("x", "c", shape[0], filters, strides=[2, 2], pads=[1, 1, 1, 1])
    graph.add("Clip", ["c"], "r", min=0.0, max=6.0)
    graph.add("GlobalAveragePool", ["r"], "g")
    graph.add("Shape", ["r"], "s")
    graph.constant("zero", np.array(0, dtype=np.int64))
    graph.add("Gather", ["s", "zero"], "n", axis=0)
    graph.add("Unsqueeze", ["n"], "n1", axes=[0])
    graph.weight("rest", np.array([-1], dtype=np.int64))
    graph.add("Concat", ["n1", "rest"], "wanted", axis=0)
    graph.add("Reshape", ["g", "wanted"], "f")
    graph.gemm("f", "y", filters, results)
    return graph.model(10)


def shape_chain() -> onnx.ModelProto:
    """Opset 10: the shape of a Reshape comes of Shape, Gather, Unsqueeze and Concat, and the batch is open."""
    return _shape_chain([3, 12, 12], 10, 7)


def shape_chain_wide() -> onnx.ModelProto:
    """The same in other sizes, on an image that is not square."""
    return _shape_chain([2, 8, 10], 6, 5)


def int8_float16() -> onnx.ModelProto:
    """A convolution of int8 with int32 bias, then one of float16; scales are tensors of no dimensions."""
    import numpy as np

    graph = SmallGraph([("x", [1, 3, 10, 10])], [("y", [1, 4, 4, 4])])
    graph.weight("scale", np.array(0.05, dtype=np.float32))
    graph.weight("zero", np.array(3, dtype=np.int8))
    graph.weight("scales", graph.drawn(6).astype(np.float32) ** 2 + np.float32(0.01))
    graph.weight("zeros", np.zeros(6, dtype=np.int8))
    graph.weight("w8", (graph.drawn(6, 3, 3, 3) * 100).astype(np.int8))
    graph.weight("b32", (graph.drawn(6) * 100).astype(np.int32))
    graph.add("QuantizeLinear", ["x", "scale", "zero"], "q")
    quantized = ["q", "scale", "zero", "w8", "scales", "zeros", "scale", "zero", "b32"]
    graph.add("QLinearConv", quantized, "c", kernel_shape=[3, 3])
    graph.add("DequantizeLinear", ["c", "scale", "zero"], "d")
    graph.add("Cast", ["d"], "h", to=10)
    graph.weight("w16", graph.drawn(4, 6, 3, 3).astype(np.float16))
    graph.add("Conv", ["h", "w16"], "hc", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    graph.add("Cast", ["hc"], "y", to=1)
    return graph.model(21)


def int4() -> onnx.ModelProto:
    """Weights of four bits, two in a byte, an odd number of them; two nodes read the same weight."""
    return _four_bits(5)


def int4_wide() -> onnx.ModelProto:
    """The same with more of them."""
    return _four_bits(7)


def _four_bits(features: int) -> onnx.ModelProto:
    import numpy as np
    from onnx import TensorProto, helper

    graph = SmallGraph([("x", [2, features])], [("y", [2, features])])
    values = [each % 15 - 7 for each in range(features**2)]
    graph.initializers.append(helper.make_tensor("w4", TensorProto.INT4, [features, features], values))
    graph.weight("scale", np.array(0.1, dtype=np.float32))
    graph.add("DequantizeLinear", ["w4", "scale"], "w")
    graph.add("MatMul", ["x", "w"], "m")
    graph.add("Mul", ["m", "scale"], "h")
    graph.add("MatMul", ["h", "w"], "y")
    return graph.model(21)


def typed_data() -> onnx.ModelProto:
    """Weights in fields of their type (float_data, int64_data), and not as raw bytes."""
    return _typed(6, 3)


def typed_data_wide() -> onnx.ModelProto:
    """The same with more of them, some of which are raw."""
    return _typed(10, 4)


def _typed(features: int, results: int) -> onnx.ModelProto:
    from onnx import TensorProto, helper

    graph = SmallGraph([("x", [2, features])], [("y", [2, results])])
    wide = graph.drawn(features, features).flatten()
    graph.initializers.append(helper.make_tensor("w", TensorProto.FLOAT, [features, features], wide))
    graph.initializers.append(helper.make_tensor("wanted", TensorProto.INT64, [2], [2, features]))
    graph.add("MatMul", ["x", "w"], "m")
    graph.add("Relu", ["m"], "r")
    graph.add("Reshape", ["r", "wanted"], "f")
    graph.gemm("f", "y", features, results)
    return graph.model(17)


def external_data() -> onnx.ModelProto:
    """The larger weights lie in a file beside the model."""
    import numpy as np

    graph = SmallGraph([("x", [1, 3, 8, 8])], [("y", [1, 7])])
    graph.conv("x", "c", 3, 4, kernel=[1, 3], pads=[0, 1, 0, 1])
    graph.add("MaxPool", ["c"], "p", kernel_shape=[2, 2], strides=[2, 2])
    graph.weight("wanted", np.array([0, -1], dtype=np.int64))
    graph.add("Reshape", ["p", "wanted"], "f")
    graph.gemm("f", "y", 64, 7)
    return graph.model(17)


def lenet() -> onnx.ModelProto:
    """A LeNet of four convolutions, as the lab shows it: 5x5, 5x5, 7x7, 1x1; the batch is open."""
    graph = SmallGraph([("image", ["N", 1, 28, 28])], [("probabilities", ["N", 10])])
    graph.conv("image", "conv1", 1, 8, kernel=[5, 5], pads=[2, 2, 2, 2])
    graph.add("MaxPool", ["conv1"], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    graph.conv("pool1", "conv2", 8, 16, kernel=[5, 5], pads=[2, 2, 2, 2])
    graph.add("MaxPool", ["conv2"], "pool2", kernel_shape=[2, 2], strides=[2, 2])
    graph.conv("pool2", "conv3", 16, 32, kernel=[7, 7])
    graph.add("Relu", ["conv3"], "relu3")
    graph.conv("relu3", "conv4", 32, 24, kernel=[1, 1])
    graph.add("Flatten", ["conv4"], "flat")
    graph.gemm("flat", "logits", 24, 10)
    graph.add("Softmax", ["logits"], "probabilities")
    return graph.model(13)


def pools() -> onnx.ModelProto:
    """A transposed convolution, and kinds of pooling that classifiers seldom have."""
    graph = SmallGraph([("x", [1, 4, 12, 16])], [("y", [1, 6, 1, 1])])
    graph.weight("w", graph.drawn(4, 6, 3, 3))
    graph.add("ConvTranspose", ["x", "w"], "t", kernel_shape=[3, 3], strides=[2, 1])
    graph.add("AveragePool", ["t"], "a", kernel_shape=[3, 2], strides=[2, 2], count_include_pad=1, pads=[1, 0, 1, 0])
    graph.add("LpPool", ["a"], "l", kernel_shape=[2, 2], strides=[2, 1])
    graph.add("GlobalMaxPool", ["l"], "g")
    graph.add("GlobalLpPool", ["l"], "h")
    graph.add("Add", ["g", "h"], "y")
    return graph.model(17)


def batch_skip() -> onnx.ModelProto:
    """A batch of three that the file gives, higher than wide, and a tensor that only the third node behind it reads."""
    return _skip([3, 4, 8, 6], 16, 24)


def narrow_skip() -> onnx.ModelProto:
    """The same in other sizes."""
    return _skip([2, 3, 5, 7], 8, 14)


def two_branches() -> onnx.ModelProto:
    """A tensor that waits while another branch runs."""
    return _skip([2, 4, 6, 5], 12, 20, behind="x")


def _skip(shape: list[int], filters: int, wide: int, behind: str = "kept") -> onnx.ModelProto:
    graph = SmallGraph([("x", shape)], [("y", [shape[0], 5])])
    graph.conv("x", "kept", shape[1], filters, pads=[1, 1, 1, 1])
    graph.conv(behind, "wide", filters if behind == "kept" else shape[1], wide, kernel=[1, 1])
    graph.add("Relu", ["wide"], "r")
    graph.conv("r", "back", wide, filters, pads=[1, 1, 1, 1], group=2)
    graph.add("Add", ["back", "kept"], "s")
    graph.add("GlobalAveragePool", ["s"], "g")
    graph.add("Flatten", ["g"], "f")
    graph.gemm("f", "y", filters, 5)
    return graph.model(13)


def _split(features: int, parts: int) -> onnx.ModelProto:
    """A Split into so many tensors, of which the first becomes float16 and float32 again, before they are joined."""
    from onnx import helper

    graph = SmallGraph([("x", [2, features * parts])], [("y", [2, features * parts])])
    tensors = [f"s{at}" for at in range(parts)]
    graph.add("Relu", ["x"], "r")
    graph.nodes.append(helper.make_node("Split", ["r"], tensors, name="Split_1", axis=1))
    graph.add("Cast", ["s0"], "h", to=10)
    graph.add("Cast", ["h"], "f", to=1)
    graph.add("Concat", ["f", *tensors[1:]], "y", axis=1)
    return graph.model(13)


def split_in_two() -> onnx.ModelProto:
    """A node of two outputs, and a tensor of float16."""
    return _split(4, 2)


def split_in_three() -> onnx.ModelProto:
    """A node of three outputs, and a tensor of float16."""
    return _split(3, 3)


def open_image() -> onnx.ModelProto:
    """Batch, height and width are open, the last without a name; one convolution pads by `auto_pad`."""
    graph = SmallGraph([("x", ["N", 3, "height", None])], [("y", ["N", 5])])
    graph.conv("x", "c", 3, 8, strides=[2, 2], pads=[0, 1, 2, 1])
    graph.add("MaxPool", ["c"], "p", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    graph.add("LeakyRelu", ["p"], "l", alpha=0.125)
    graph.conv("l", "d", 8, 6, auto_pad="SAME_UPPER", strides=[2, 1])
    graph.add("GlobalAveragePool", ["d"], "g")
    graph.add("Flatten", ["g"], "f")
    graph.gemm("f", "y", 6, 5)
    return graph.model(13)


def mixed_types() -> onnx.ModelProto:
    """Tensors of double, bool, uint8 and int32, nodes without names, weights among the inputs, one of them not raw.

    One weight is turned by a node and read by two, one by none; a Clip leaves an input out.
    """
    import numpy as np
    from onnx import TensorProto, helper

    weights = [("wide", [6, 5], TensorProto.DOUBLE), ("narrow", [2, 5])]
    graph = SmallGraph([("x", [3, 6]), *weights], [("y", [3, 2])])
    graph.weight("wide", graph.drawn(6, 5).astype(np.float64))
    graph.initializers.append(helper.make_tensor("narrow", TensorProto.FLOAT, [2, 5], graph.drawn(10)))
    graph.weight("limit", np.array(0.1, dtype=np.float64))
    graph.weight("one", np.array(1, dtype=np.float32))
    graph.weight("unread", graph.drawn(7, 3))
    graph.add("Cast", ["x"], "doubles", to=TensorProto.DOUBLE)
    graph.add("MatMul", ["doubles", "wide"], "m")
    graph.add("Greater", ["m", "limit"], "above")
    graph.add("Cast", ["above"], "bytes", to=TensorProto.UINT8)
    graph.add("Cast", ["bytes"], "integers", to=TensorProto.INT32)
    graph.add("Cast", ["integers"], "floats", to=TensorProto.FLOAT)
    graph.add("Clip", ["floats", "", "one"], "clipped")
    graph.add("Transpose", ["narrow"], "turned", perm=[1, 0])
    graph.add("MatMul", ["clipped", "turned"], "p")
    graph.gemm("p", "q", 2, 2)
    graph.add("Mul", ["q", "one"], "y")
    for node in graph.nodes:
        node.name = ""
    return graph.model(13)


def squared() -> onnx.ModelProto:
    """A node that reads one tensor twice, before the node behind which most is kept."""
    graph = SmallGraph([("x", [2, 6])], [("y", [2, 9])])
    graph.weight("w", graph.drawn(6, 9))
    graph.add("Relu", ["x"], "r")
    graph.add("Mul", ["r", "r"], "s")
    graph.add("MatMul", ["s", "w"], "y")
    return graph.model(13)


FILES: Mapping[str, Callable[[], onnx.ModelProto]] = {
    **onnx_nested.FILES,
    **{
        each.__name__: each
        for each in (
            dynamic_batch, shape_chain, shape_chain_wide, int8_float16, int4, int4_wide, external_data, lenet, pools,
            typed_data, typed_data_wide,
            batch_skip, narrow_skip, two_branches, split_in_two, split_in_three, open_image, mixed_types, squared,
        )
    },
}  # fmt: skip
