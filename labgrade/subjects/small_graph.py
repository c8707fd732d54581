"""A graph of ONNX while it is being written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
