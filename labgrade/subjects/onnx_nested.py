"""Small ONNX files in which nodes run within nodes: graphs of If, Loop and Scan, and functions of the file's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

_FOUR_BITS = 21  # the opset from which on there are elements of four bits


class SmallGraph:
    """A graph while it is being written, with weights drawn from a seed."""

    def __init__(self, inputs: list[tuple[Any, ...]], outputs: list[tuple[Any, ...]]) -> None:
        import numpy as np

        self._inputs, self._outputs = inputs, outputs
        self._random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def drawn(self, *shape: int) -> Any:
        """Weights of this shape."""
        import numpy as np

        return self._random.uniform(-0.5, 0.5, shape).astype(np.float32)

    def weight(self, name: str, value: Any) -> None:
        """Add an initializer."""
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(value, name))

    def constant(self, name: str, value: Any) -> None:
        """Add a Constant node."""
        from onnx import numpy_helper

        self.add("Constant", [], name, value=numpy_helper.from_array(value))

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        """Add a node of one output."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{len(self.nodes)}", **attributes))

    def conv(self, given: str, output: str, channels: int, filters: int, **attributes: Any) -> None:
        """Add a convolution with its weights."""
        kernel = attributes.pop("kernel", [3, 3])
        self.weight(f"{output}.w", self.drawn(filters, channels // attributes.get("group", 1), *kernel))
        self.weight(f"{output}.b", self.drawn(filters))
        self.add("Conv", [given, f"{output}.w", f"{output}.b"], output, kernel_shape=kernel, **attributes)

    def gemm(self, given: str, output: str, features: int, results: int) -> None:
        """Add a linear layer with its weights."""
        self.weight(f"{output}.w", self.drawn(results, features))
        self.weight(f"{output}.b", self.drawn(results))
        self.add("Gemm", [given, f"{output}.w", f"{output}.b"], output, alpha=0.5, beta=1.0, transB=1)

    def graph(self, name: str) -> onnx.GraphProto:
        """The graph as ONNX has it."""
        from onnx import TensorProto, helper

        def infos(listed: list[tuple[Any, ...]]) -> list[onnx.ValueInfoProto]:
            return [
                helper.make_tensor_value_info(n, kind[0] if kind else TensorProto.FLOAT, s) for n, s, *kind in listed
            ]

        return helper.make_graph(self.nodes, name, infos(self._inputs), infos(self._outputs), self.initializers)

    def model(self, opset: int) -> onnx.ModelProto:
        """The whole model, of an opset."""
        from onnx import helper

        version = 8 if opset < _FOUR_BITS else 10
        return helper.make_model(
            self.graph("micro"), opset_imports=[helper.make_opsetid("", opset)], ir_version=version
        )


def branch_and_loop() -> onnx.ModelProto:
    """An If whose condition is computed from a shape, and a Loop that runs five times, both on tensors from outside."""
    import numpy as np
    from onnx import TensorProto, helper

    graph = SmallGraph([("x", ["N", 6])], [("y", ["N", 6]), ("all", [5, "N", 6])])
    small = SmallGraph([], [("then_out", ["N", 6])])
    small.add("Relu", ["x"], "then_mid")
    small.add("Add", ["then_mid", "x"], "then_out")
    large = SmallGraph([], [("else_out", ["N", 6])])
    large.add("Sigmoid", ["x"], "else_out")
    graph.add("Shape", ["x"], "s")
    graph.weight("first", np.array(0, dtype=np.int64))
    graph.add("Gather", ["s", "first"], "n", axis=0)
    graph.weight("limit", np.array(4, dtype=np.int64))
    graph.add("Less", ["n", "limit"], "few")
    graph.add("If", ["few"], "b", then_branch=small.graph("small"), else_branch=large.graph("large"))
    body = SmallGraph(
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

    graph = SmallGraph([("x", [4, 6])], [("a", [4, 6]), ("b", [4, 3]), ("all", [3, 4, 3])])
    small, large = SmallGraph([], [("then_out", [4, 6])]), SmallGraph([], [("else_out", [4, 6])])
    small.add("Relu", ["x"], "then_out")
    large.add("Sigmoid", ["x"], "else_mid")
    large.add("Mul", ["else_mid", "x"], "else_out")
    graph.weight("four", np.array(4, dtype=np.int64))
    graph.add("Size", ["x"], "elements")
    graph.add("Less", ["elements", "four"], "few")
    graph.add("If", ["few"], "chosen", then_branch=small.graph("small"), else_branch=large.graph("large"))
    body = SmallGraph(
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


def if_in_loop() -> onnx.ModelProto:
    """A Loop of three turns in whose body an If chooses between one node and two."""
    import numpy as np
    from onnx import TensorProto, helper

    graph = SmallGraph([("x", [2, 4])], [("y", [2, 4])])
    small, large = SmallGraph([], [("then_out", [2, 4])]), SmallGraph([], [("else_out", [2, 4])])
    small.add("Relu", ["before"], "then_out")
    large.add("Neg", ["before"], "else_mid")
    large.add("Exp", ["else_mid"], "else_out")
    body = SmallGraph(
        [("i", [], TensorProto.INT64), ("go", [], TensorProto.BOOL), ("before", [2, 4])],
        [("go_on", [], TensorProto.BOOL), ("after", [2, 4])],
    )
    body.add("Identity", ["go"], "go_on")
    body.add("If", ["go"], "chosen", then_branch=small.graph("small"), else_branch=large.graph("large"))
    body.add("Add", ["chosen", "x"], "after")
    graph.weight("times", np.array(3, dtype=np.int64))
    graph.weight("true", np.array(True))  # noqa: FBT003 - a tensor's value
    graph.nodes.append(helper.make_node("Loop", ["times", "true", "x"], ["y"], name="Loop", body=body.graph("body")))
    return graph.model(16)


def scanned() -> onnx.ModelProto:
    """A Scan that adds up the rows of its input, and a node of which nobody reads what it puts out."""
    from onnx import helper

    graph = SmallGraph([("x", [5, 4])], [("all", [4]), ("y", [5, 4])])
    body = SmallGraph([("so_far", [4]), ("row", [4])], [("sum", [4]), ("seen", [4])])
    body.add("Add", ["so_far", "row"], "sum")
    body.add("Tanh", ["sum"], "seen")
    graph.weight("start", graph.drawn(4))
    graph.add("Relu", ["x"], "r")
    graph.add("Tanh", ["r"], "unread")
    body_graph = body.graph("body")
    graph.nodes.append(
        helper.make_node("Scan", ["start", "r"], ["all", "y"], name="Scan", body=body_graph, num_scan_inputs=1)
    )
    return graph.model(16)


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
    graph = SmallGraph([("x", [3, 8])], [("y", [3, 2])])
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

    graph = SmallGraph([("x", [2, width])], [("y", [2, width])])
    graph.weight("w", graph.drawn(width, width))
    graph.add("MatMul", ["x", "w"], "m")
    inner = []
    for name, operators in zip(("then", "else"), branches, strict=True):
        branch = SmallGraph([], [(f"{name}_out", [2, width])])
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


def _calling(features: int, times: int) -> onnx.ModelProto:
    """A model-local function of two nodes, called so often."""
    from onnx import helper

    body = [helper.make_node("MatMul", ["a", "w"], ["m"]), helper.make_node("Relu", ["m"], ["o"])]
    opset = [helper.make_opsetid("", 17)]
    graph = SmallGraph([("x", [2, features])], [("y", [2, features])])
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
    return _calling(5, 1)


def called_often() -> onnx.ModelProto:
    """A model-local function that is called three times."""
    return _calling(3, 3)


FILES: Mapping[str, Callable[[], onnx.ModelProto]] = {
    each.__name__: each
    for each in (
        branch_and_loop, ends_early, if_in_loop, scanned, functions,
        chosen_first, chosen_second, called_once, called_often,
    )
}  # fmt: skip
