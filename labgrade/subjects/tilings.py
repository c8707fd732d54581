"""Right and wrong tilings of a linear network, on which a student's own verification is tried.

Each is made from one Gemm or MatMul a layer of the file: tiles of up to 64x64, sums, concats; a wrong one has one
mistake that students make. Their names say what they are; the files that a verifier sees are numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import onnx

    Array = np.ndarray[Any, Any]

SIZE = 64
RIGHT = ("right: sums of all tiles", "right: chains of additions", "right: tiles of 32")
WRONG = (
    "wrong: two tiles swapped",
    "wrong: a tile left out",
    "wrong: a tile summed twice",
    "wrong: a tile transposed",
    "wrong: a tile of zeros",
    "wrong: a tile scaled by 1.0001",
    "wrong: columns read one too late",
    "wrong: the bias left out",
    "wrong: the bias added twice",
    "wrong: a ReLU left out",
    "wrong: a constant output",
    "wrong: outputs in another order",
    "wrong: a product over 64",
    "wrong: tiles of 65",
)
NAMES = (*RIGHT, *WRONG)


def make(source: Path, name: str, target: Path) -> None:
    """Write the tiling `name` of `NAMES` of a network whose linear layers are Gemm nodes."""
    import onnx

    onnx.save(_Tiling(onnx.load(source), name.partition(": ")[2]).model(), target)


class _Tiling:
    """One tiling being written. The mistake is made in the first layer."""

    def __init__(self, source: onnx.ModelProto, mistake: str) -> None:
        from onnx import numpy_helper

        self._source, self._mistake = source, mistake
        self._arrays = {each.name: numpy_helper.to_array(each) for each in source.graph.initializer}
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._size = {"tiles of 32": 32, "tiles of 65": 65}.get(mistake, SIZE)
        self._first = True

    def model(self) -> onnx.ModelProto:
        """The transformed model."""
        import numpy as np
        from onnx import helper

        for node in self._source.graph.node:
            if node.op_type == "Gemm":
                self._layer(node)
                self._first = False
            elif node.op_type == "Relu" and self._mistake == "a ReLU left out":
                self._nodes.append(helper.make_node("Identity", node.input, node.output, name=node.name))
            else:
                self._nodes.append(node)
        used = {name for node in self._nodes for name in node.input}
        kept = [each for each in self._source.graph.initializer if each.name in used]
        source = self._source.graph
        graph = helper.make_graph(self._nodes, "tiled", source.input, source.output, [*kept, *self._weights])
        if self._mistake == "a constant output":
            self._end_in(graph, "Identity", np.zeros([dim.dim_value for dim in _shape(graph)], np.float32))
        if self._mistake == "outputs in another order":  # the sum of them stays as it is
            self._end_in(graph, "Gather", np.roll(np.arange(_shape(graph)[-1].dim_value), 1), "unused", axis=-1)
        return helper.make_model(graph, opset_imports=self._source.opset_import, ir_version=8)

    def _end_in(self, graph: onnx.GraphProto, op: str, values: Array, *before: str, **attributes: Any) -> None:
        """Have the output come of values, and not of the last node, whose output is called `unused`."""
        from onnx import numpy_helper

        (output,) = graph.output
        next(node for node in graph.node if output.name in node.output).output[0] = "unused"
        graph.initializer.append(numpy_helper.from_array(values, "constant"))
        graph.node.append(_node(op, [*before, "constant"], [output.name], "last", **attributes))

    def _layer(self, node: onnx.NodeProto) -> None:
        weight = self._arrays[node.input[1]].T
        bias = self._arrays[node.input[2]]
        name, size = node.name, self._size
        depths = range(0, weight.shape[0], size)
        xs = self._split(node.input[0], weight.shape[0], name)
        columns = []
        for n in range(0, weight.shape[1], size):
            tiles: Mapping[int, Array] = {k: weight[k : k + size, n : n + size] for k in depths}
            if self._first and n == 0:
                tiles = self._spoilt(tiles, weight)
            columns.append(self._column(xs, tiles, f"{name}_{n}", one=self._first and n == 0))
        whole = self._add("Concat", columns, f"{name}_all", axis=1) if len(columns) > 1 else columns[0]
        times = {"the bias left out": 0, "the bias added twice": 2}.get(self._mistake, 1) if self._first else 1
        for time in range(times):
            whole = self._add("Add", [whole, self._weight(bias)], f"{name}_bias_{time}")
        self._nodes.append(_node("Identity", [whole], [node.output[0]], f"{name}_out"))

    def _spoilt(self, tiles: Mapping[int, Array], weight: Array) -> Mapping[int, Array]:
        """The tiles of the first column, one of them wrong."""
        import numpy as np

        first, second = list(tiles)[:2]
        changes: Mapping[str, Callable[[], Mapping[int, Array]]] = {
            "two tiles swapped": lambda: {first: tiles[second], second: tiles[first]},
            "a tile transposed": lambda: {first: tiles[first].T},
            "a tile of zeros": lambda: {first: np.zeros_like(tiles[first])},
            "a tile scaled by 1.0001": lambda: {first: tiles[first] * np.float32(1.0001)},
            "columns read one too late": lambda: {k: weight[k : k + SIZE, 1 : 1 + SIZE] for k in tiles},
        }
        change = changes.get(self._mistake)
        return {**tiles, **change()} if change else tiles

    def _column(self, xs: list[str], tiles: Mapping[int, Array], name: str, *, one: bool) -> str:
        pairs = list(zip(xs, tiles.values(), strict=True))
        deep = one and self._mistake == "a product over 64"
        if deep:
            pairs = [self._deep(pairs[:2], name), *pairs[2:]]
        products = [
            self._add("MatMul" if place or not deep else "Gemm", [x, self._weight(tile)], f"{name}_{place}")
            for place, (x, tile) in enumerate(pairs)
        ]
        if one and self._mistake == "a tile left out":
            products = products[1:]
        if one and self._mistake == "a tile summed twice":
            products.append(products[0])
        if self._mistake != "chains of additions":
            return self._add("Sum", products, f"{name}_sum")
        total = products[0]
        for place, product in enumerate(products[1:]):
            total = self._add("Add", [total, product], f"{name}_sum_{place}")
        return total

    def _deep(self, pairs: list[tuple[str, Array]], name: str) -> tuple[str, Array]:
        """Two tiles as a single tile, deeper than the hardware."""
        import numpy as np

        joined = self._add("Concat", [x for x, _ in pairs], f"{name}_deep", axis=1)
        return joined, np.concatenate([tile for _, tile in pairs])

    def _split(self, data: str, depth: int, name: str) -> list[str]:
        import numpy as np

        cuts = [min(self._size, depth - at) for at in range(0, depth, self._size)]
        if len(cuts) == 1:
            return [data]
        outputs = [f"{name}_x{place}" for place in range(len(cuts))]
        sizes = self._weight(np.asarray(cuts, np.int64))
        self._nodes.append(_node("Split", [data, sizes], outputs, f"{name}_split", axis=1))
        return outputs

    def _add(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self._nodes.append(_node(op, inputs, [f"{name}_y"], name, **attributes))
        return f"{name}_y"

    def _weight(self, values: Array) -> str:
        import numpy as np
        from onnx import numpy_helper

        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name


def _shape(graph: onnx.GraphProto) -> Any:
    return graph.output[0].type.tensor_type.shape.dim


def _node(op: str, inputs: list[str], outputs: list[str], name: str, **attributes: Any) -> onnx.NodeProto:
    from onnx import helper

    return helper.make_node(op, inputs, outputs, name=name, **attributes)
