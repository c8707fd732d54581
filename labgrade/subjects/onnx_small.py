"""Small ONNX files with one thing each that analyses get wrong. Every one of them runs in onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import onnx

_FOUR_BITS = 21  # the opset from which on there are elements of four bits


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
    graph = _Graph([("x", ["N", 3, 16, 16])], [("y", ["N", 10])])
    graph.conv("x", "c", 3, 8, strides=[2, 2], pads=[1, 1, 1, 1])
    graph.add("Relu", ["c"], "r")
    graph.conv("r", "d", 8, 16, group=4, dilations=[2, 2])
    graph.add("GlobalAveragePool", ["d"], "g")
    graph.add("Flatten", ["g"], "f")
    graph.gemm("f", "y", 16, 10)
    return graph.model(13)


def shape_chain() -> onnx.ModelProto:
    """Opset 10: the shape of a Reshape comes of Shape, Gather, Unsqueeze and Concat, and the batch is open."""
    import numpy as np

    graph = _Graph([("x", ["N", 3, 12, 12])], [("y", ["N", 7])])
    graph.conv("x", "c", 3, 10, strides=[2, 2], pads=[1, 1, 1, 1])
    graph.add("Clip", ["c"], "r", min=0.0, max=6.0)
    graph.add("GlobalAveragePool", ["r"], "g")
    graph.add("Shape", ["r"], "s")
    graph.constant("zero", np.array(0, dtype=np.int64))
    graph.add("Gather", ["s", "zero"], "n", axis=0)
    graph.add("Unsqueeze", ["n"], "n1", axes=[0])
    graph.weight("rest", np.array([-1], dtype=np.int64))
    graph.add("Concat", ["n1", "rest"], "wanted", axis=0)
    graph.add("Reshape", ["g", "wanted"], "f")
    graph.gemm("f", "y", 10, 7)
    return graph.model(10)


def int8_float16() -> onnx.ModelProto:
    """A convolution of int8 with int32 bias, then one of float16; scales are tensors of no dimensions."""
    import numpy as np

    graph = _Graph([("x", [1, 3, 10, 10])], [("y", [1, 4, 4, 4])])
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
    import numpy as np
    from onnx import TensorProto, helper

    graph = _Graph([("x", [2, 5])], [("y", [2, 5])])
    packed = helper.make_tensor("w4", TensorProto.INT4, [5, 5], [each % 15 - 7 for each in range(25)])
    graph.initializers.append(packed)
    graph.weight("scale", np.array(0.1, dtype=np.float32))
    graph.add("DequantizeLinear", ["w4", "scale"], "w")
    graph.add("MatMul", ["x", "w"], "m")
    graph.add("Mul", ["m", "scale"], "h")
    graph.add("MatMul", ["h", "w"], "y")
    return graph.model(21)


def external_data() -> onnx.ModelProto:
    """The larger weights lie in a file beside the model."""
    import numpy as np

    graph = _Graph([("x", [1, 3, 8, 8])], [("y", [1, 7])])
    graph.conv("x", "c", 3, 4, kernel=[1, 3], pads=[0, 1, 0, 1])
    graph.add("MaxPool", ["c"], "p", kernel_shape=[2, 2], strides=[2, 2])
    graph.weight("wanted", np.array([0, -1], dtype=np.int64))
    graph.add("Reshape", ["p", "wanted"], "f")
    graph.gemm("f", "y", 64, 7)
    return graph.model(17)


def lenet() -> onnx.ModelProto:
    """A LeNet of four convolutions, as the lab shows it: 5x5, 5x5, 7x7, 1x1; the batch is open."""
    graph = _Graph([("image", ["N", 1, 28, 28])], [("probabilities", ["N", 10])])
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


def branch_and_loop() -> onnx.ModelProto:
    """An If whose condition is computed from a shape, and a Loop that runs five times, both on tensors from outside."""
    import numpy as np
    from onnx import TensorProto, helper

    graph = _Graph([("x", ["N", 6])], [("y", ["N", 6]), ("all", [5, "N", 6])])
    small = _Graph([], [("then_out", ["N", 6])])
    small.add("Relu", ["x"], "then_mid")
    small.add("Add", ["then_mid", "x"], "then_out")
    large = _Graph([], [("else_out", ["N", 6])])
    large.add("Sigmoid", ["x"], "else_out")
    graph.add("Shape", ["x"], "s")
    graph.weight("first", np.array(0, dtype=np.int64))
    graph.add("Gather", ["s", "first"], "n", axis=0)
    graph.weight("limit", np.array(4, dtype=np.int64))
    graph.add("Less", ["n", "limit"], "few")
    graph.add("If", ["few"], "b", then_branch=small.graph("small"), else_branch=large.graph("large"))
    body = _Graph(
        [("i", [], TensorProto.INT64), ("go", [], TensorProto.BOOL), ("before", ["N", 6])],
        [("go_on", [], TensorProto.BOOL), ("after", ["N", 6]), ("seen", ["N", 6])],
    )
    body.add("Identity", ["go"], "go_on")
    body.add("MatMul", ["before", "square"], "after")
    body.add("Tanh", ["after"], "seen")
    graph.weight("square", graph.drawn(6, 6))
    graph.weight("times", np.array(5, dtype=np.int64))
    graph.weight("true", np.array(True))  # noqa: FBT003 - a tensor's value
    graph.nodes.append(
        helper.make_node("Loop", ["times", "true", "b"], ["y", "all"], name="Loop", body=body.graph("body"))
    )
    return graph.model(16)


def ends_early() -> onnx.ModelProto:
    """A Loop that carries two values, stacks a third and ends after three of five turns; an If that takes its else."""
    import numpy as np
    from onnx import TensorProto, helper

    graph = _Graph([("x", [4, 6])], [("a", [4, 6]), ("b", [4, 3]), ("all", [3, 4, 3])])
    small, large = _Graph([], [("then_out", [4, 6])]), _Graph([], [("else_out", [4, 6])])
    small.add("Relu", ["x"], "then_out")
    large.add("Sigmoid", ["x"], "else_mid")
    large.add("Mul", ["else_mid", "x"], "else_out")
    graph.weight("four", np.array(4, dtype=np.int64))
    graph.add("Size", ["x"], "elements")
    graph.add("Less", ["elements", "four"], "few")
    graph.add("If", ["few"], "chosen", then_branch=small.graph("small"), else_branch=large.graph("large"))
    body = _Graph(
        [("i", [], TensorProto.INT64), ("go", [], TensorProto.BOOL), ("a_in", [4, 6]), ("b_in", [4, 3])],
        [("go_on", [], TensorProto.BOOL), ("a_out", [4, 6]), ("b_out", [4, 3]), ("seen", [4, 3])],
    )
    body.add("Less", ["i", "last"], "go_on")
    body.add("Tanh", ["a_in"], "a_out")
    body.add("MatMul", ["a_out", "narrow"], "b_out")
    body.add("Add", ["b_in", "b_out"], "seen")
    graph.weight("last", np.array(2, dtype=np.int64))
    graph.weight("narrow", graph.drawn(6, 3))
    graph.weight("start", graph.drawn(4, 3))
    graph.weight("times", np.array(5, dtype=np.int64))
    graph.weight("true", np.array(True))  # noqa: FBT003 - a tensor's value
    given, results = ["times", "true", "chosen", "start"], ["a", "b", "all"]
    graph.nodes.append(helper.make_node("Loop", given, results, name="Loop", body=body.graph("body")))
    return graph.model(16)


def pools() -> onnx.ModelProto:
    """A transposed convolution, and kinds of pooling that classifiers seldom have."""
    graph = _Graph([("x", [1, 4, 12, 16])], [("y", [1, 6, 1, 1])])
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
    graph = _Graph([("x", [3, 4, 8, 6])], [("y", [3, 5])])
    graph.conv("x", "kept", 4, 16, pads=[1, 1, 1, 1])
    graph.conv("kept", "wide", 16, 24, kernel=[1, 1])
    graph.add("Relu", ["wide"], "r")
    graph.conv("r", "back", 24, 16, pads=[1, 1, 1, 1], group=2)
    graph.add("Add", ["back", "kept"], "s")
    graph.add("GlobalAveragePool", ["s"], "g")
    graph.add("Flatten", ["g"], "f")
    graph.gemm("f", "y", 16, 5)
    return graph.model(13)


def functions() -> onnx.ModelProto:
    """A model-local function, called twice with another attribute each time."""
    from onnx import AttributeProto, helper

    slope = AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    leaky = helper.make_node("LeakyRelu", ["m"], ["o"], name="leaky")
    leaky.attribute.append(slope)
    dense = helper.make_function(
        "labgrade.test",
        "Dense",
        ["a", "w"],
        ["o"],
        [helper.make_node("MatMul", ["a", "w"], ["m"], name="product"), leaky],
        [helper.make_opsetid("", 17)],
        ["slope"],
    )
    graph = _Graph([("x", [3, 8])], [("y", [3, 2])])
    graph.weight("w1", graph.drawn(8, 4))
    graph.weight("w2", graph.drawn(4, 2))
    graph.add("Dense", ["x", "w1"], "h", domain="labgrade.test", slope=0.1)
    graph.add("Dense", ["h", "w2"], "y", domain="labgrade.test", slope=0.25)
    model = graph.model(17)
    model.functions.append(dense)
    model.opset_import.append(helper.make_opsetid("labgrade.test", 1))
    return model


def _chosen(width: int, branches: tuple[list[str], list[str]]) -> onnx.ModelProto:
    """An If of two branches of such operators, one after the other, between a product and a sum."""
    import numpy as np

    graph = _Graph([("x", [2, width])], [("y", [2, width])])
    graph.weight("w", graph.drawn(width, width))
    graph.add("MatMul", ["x", "w"], "m")
    inner = []
    for name, operators in zip(("then", "else"), branches, strict=True):
        branch = _Graph([], [(f"{name}_out", [2, width])])
        tensors = ["m", *(f"{name}_{at}" for at in range(1, len(operators))), f"{name}_out"]
        for operator, given, output in zip(operators, tensors, tensors[1:], strict=False):
            branch.add(operator, [given], output)
        inner.append(branch.graph(name))
    graph.weight("yes", np.array(len(branches[0]) > 1))
    graph.add("If", ["yes"], "c", then_branch=inner[0], else_branch=inner[1])
    graph.add("Add", ["c", "x"], "y")
    return graph.model(17)


def chosen_first() -> onnx.ModelProto:
    """An If with one node in its first branch and two in the other."""
    return _chosen(4, (["Relu"], ["Sigmoid", "Tanh"]))


def chosen_second() -> onnx.ModelProto:
    """An If with three nodes in its first branch and one in the other."""
    return _chosen(6, (["Relu", "Neg", "Exp"], ["Tanh"]))


def _called(features: int, times: int) -> onnx.ModelProto:
    """A model-local function of two nodes, called so often."""
    from onnx import helper

    body = [helper.make_node("MatMul", ["a", "w"], ["m"]), helper.make_node("Relu", ["m"], ["o"])]
    opset = [helper.make_opsetid("", 17)]
    graph = _Graph([("x", [2, features])], [("y", [2, features])])
    for at in range(times):
        graph.weight(f"w{at}", graph.drawn(features, features))
        graph.add("Layer", [f"t{at}" if at else "x", f"w{at}"], f"t{at + 1}", domain="labgrade.test")
    graph.add("Sigmoid", [f"t{times}"], "y")
    model = graph.model(17)
    model.functions.append(helper.make_function("labgrade.test", "Layer", ["a", "w"], ["o"], body, opset))
    model.opset_import.append(helper.make_opsetid("labgrade.test", 1))
    return model


def called_once() -> onnx.ModelProto:
    """A model-local function that is called once."""
    return _called(5, 1)


def called_often() -> onnx.ModelProto:
    """A model-local function that is called three times."""
    return _called(3, 3)


def _split(features: int, parts: int) -> onnx.ModelProto:
    """A Split into so many tensors, of which the first becomes float16 and float32 again, before they are joined."""
    from onnx import helper

    graph = _Graph([("x", [2, features * parts])], [("y", [2, features * parts])])
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


class _Graph:
    """A graph while it is being written, with weights drawn from a seed."""

    def __init__(self, inputs: list[tuple[Any, ...]], outputs: list[tuple[Any, ...]]) -> None:
        import numpy as np

        self._inputs, self._outputs = inputs, outputs
        self._random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def drawn(self, *shape: int) -> Any:
        import numpy as np

        return self._random.uniform(-0.5, 0.5, shape).astype(np.float32)

    def weight(self, name: str, value: Any) -> None:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(value, name))

    def constant(self, name: str, value: Any) -> None:
        from onnx import numpy_helper

        self.add("Constant", [], name, value=numpy_helper.from_array(value))

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{len(self.nodes)}", **attributes))

    def conv(self, given: str, output: str, channels: int, filters: int, **attributes: Any) -> None:
        kernel = attributes.pop("kernel", [3, 3])
        self.weight(f"{output}.w", self.drawn(filters, channels // attributes.get("group", 1), *kernel))
        self.weight(f"{output}.b", self.drawn(filters))
        self.add("Conv", [given, f"{output}.w", f"{output}.b"], output, kernel_shape=kernel, **attributes)

    def gemm(self, given: str, output: str, features: int, results: int) -> None:
        self.weight(f"{output}.w", self.drawn(results, features))
        self.weight(f"{output}.b", self.drawn(results))
        self.add("Gemm", [given, f"{output}.w", f"{output}.b"], output, alpha=0.5, beta=1.0, transB=1)

    def graph(self, name: str) -> onnx.GraphProto:
        from onnx import TensorProto, helper

        def infos(listed: list[tuple[Any, ...]]) -> list[onnx.ValueInfoProto]:
            return [
                helper.make_tensor_value_info(n, kind[0] if kind else TensorProto.FLOAT, s) for n, s, *kind in listed
            ]

        return helper.make_graph(self.nodes, name, infos(self._inputs), infos(self._outputs), self.initializers)

    def model(self, opset: int) -> onnx.ModelProto:
        from onnx import helper

        version = 8 if opset < _FOUR_BITS else 10
        return helper.make_model(
            self.graph("micro"), opset_imports=[helper.make_opsetid("", opset)], ir_version=version
        )


FILES: Mapping[str, Callable[[], onnx.ModelProto]] = {
    each.__name__: each
    for each in (
        dynamic_batch, shape_chain, int8_float16, int4, external_data, branch_and_loop, functions,
        lenet, ends_early, pools, batch_skip,
        chosen_first, chosen_second, called_once, called_often, split_in_two, split_in_three,
    )
}  # fmt: skip
