"""Tilings for the tests: every linear layer of a network as small products, in any of the ways that students use.

`Way` says how; `random_way` draws one. What is made is right by construction and written with nothing of the prover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = ("initial", "split", "split transposed", "slice", "constant", "transpose", "gather", "left")
INPUTS = ("split", "slice", "gather", "blocks", "unsqueeze")
PRODUCTS = ("matmul", "gemm", "function", "custom")
SUMS = ("sum", "chain", "tree", "stack")
BIASES = ("last", "first", "per block", "summed")


@dataclass(frozen=True, kw_only=True)
class Way:
    weights: str = "initial"
    inputs: str = "split"
    product: str = "matmul"
    total: str = "sum"
    bias: str = "last"
    limit: int = 64
    rows: int = 64
    pad_columns: bool = False
    pad_rows: bool = False
    pad_depth: bool = False
    columns_first: bool = True
    seed: int = 0


def random_way(rng):
    pick = lambda options: options[rng.integers(len(options))]  # noqa: E731
    return Way(
        weights=pick(WEIGHTS),
        inputs=pick(INPUTS),
        product=pick(PRODUCTS),
        total=pick(SUMS),
        bias=pick(BIASES),
        limit=pick((17, 32, 40, 63, 64, 64, 64)),
        rows=pick((20, 64, 64)),
        pad_columns=bool(rng.integers(4) == 0),
        pad_rows=bool(rng.integers(4) == 0),
        pad_depth=bool(rng.integers(4) == 0),
        columns_first=bool(rng.integers(2)),
        seed=int(rng.integers(1 << 30)),
    )


def tiled(original, way):
    """The model with every Gemm, or MatMul and Add, replaced."""
    builder = Builder(original, way)
    return builder.model()


class Builder:
    def __init__(self, original, way):
        self.way = way
        self.original = original
        self.nodes, self.weights = [], []
        self.arrays = {w.name: numpy_helper.to_array(w) for w in original.graph.initializer}
        self.shapes = {}
        inferred = onnx.shape_inference.infer_shapes(original)
        for value in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]:
            self.shapes[value.name] = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        self.count = 0
        self.tiles = []  # (layer, m, k, n, node) of each product, for mutants that need to find one

    def model(self):
        graph = self.original.graph
        nodes = list(graph.node)
        index = 0
        used = set()
        while index < len(nodes):
            node = nodes[index]
            if node.op_type == "Gemm":
                bias = self.arrays[node.input[2]] if len(node.input) > 2 else None
                self.layer(node.input[0], self.arrays[node.input[1]].T, bias, node.output[0])
            elif node.op_type == "MatMul":
                after = nodes[index + 1] if index + 1 < len(nodes) else None
                with_bias = after is not None and after.op_type == "Add" and node.output[0] in after.input
                bias = self.arrays[after.input[1]] if with_bias else None
                out = after.output[0] if with_bias else node.output[0]
                self.layer(node.input[0], self.arrays[node.input[1]], bias, out)
                index += with_bias
            else:
                self.nodes.append(node)
                used.update(node.input)
            index += 1
        kept = [w for w in graph.initializer if w.name in used]
        made = helper.make_graph(self.nodes, "tiled", list(graph.input), list(graph.output), kept + self.weights)
        opset = self.original.opset_import[0].version
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("lab", 1)]
        functions = [two_d_mm(opset)] if self.way.product == "function" else []
        return helper.make_model(made, opset_imports=imports, ir_version=9, functions=functions)

    # ---- small helpers -------------------------------------------------------------------------------------------

    def fresh(self, word):
        self.count += 1
        return f"{word}_{self.count}"

    def node(self, op, inputs, count=1, name="", **attributes):
        outputs = [self.fresh(op) for _ in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name or self.fresh("node"), **attributes))
        return outputs if count > 1 else outputs[0]

    def constant(self, array, *, as_node=False):
        array = np.asarray(array, order="C")
        name = self.fresh("w")
        if as_node:
            value = numpy_helper.from_array(array, name + "_value")
            self.nodes.append(helper.make_node("Constant", [], [name], name=name + "_node", value=value))
        else:
            self.weights.append(numpy_helper.from_array(array, name))
        return name

    def integers(self, *values):
        return self.constant(np.asarray(values, np.int64))

    def parts(self, name, length, size, axis):
        """[(tensor, start, stop)] along an axis, by Split."""
        cuts = [min(size, length - at) for at in range(0, length, size)]
        if len(cuts) == 1:
            return [(name, 0, length)]
        outputs = self.node("Split", [name, self.integers(*cuts)], len(cuts), axis=axis)
        starts = np.cumsum([0, *cuts])
        return [(out, int(a), int(b)) for out, a, b in zip(outputs, starts, starts[1:], strict=False)]

    def slices(self, name, length, size, axis):
        found = []
        for start in range(0, length, size):
            stop = min(start + size, length)
            ends = self.integers(stop if stop < length else 1 << 40)
            found.append((self.node("Slice", [name, self.integers(start), ends, self.integers(axis)]), start, stop))
        return found

    # ---- one layer -----------------------------------------------------------------------------------------------

    def layer(self, data, weight, bias, out):
        way = self.way
        rows, (depth, columns) = self.shapes[data][0], weight.shape
        size = way.limit
        name = self.fresh("layer")
        if way.pad_depth and depth % size:
            extra = size - depth % size
            data = self.node("Pad", [data, self.integers(0, 0, 0, extra)])
            weight = np.pad(weight, ((0, extra), (0, 0)), constant_values=np.float32(0.5))
            depth += extra
        padded_rows = rows
        if way.pad_rows and rows % way.rows:
            padded_rows = -(-rows // way.rows) * way.rows
            data = self.node("Pad", [data, self.integers(0, 0, padded_rows - rows, 0)])
        real = columns
        if way.pad_columns and columns % size:
            extra = size - columns % size
            weight = np.pad(weight, ((0, 0), (0, extra)), constant_values=np.float32(3))
            bias = None if bias is None else np.pad(bias, (0, extra), constant_values=np.float32(7))
            columns += extra
        blocks = []
        for tensor, m0, m1 in self.parts(data, padded_rows, way.rows, 0):
            xs = self.inputs(tensor, m1 - m0, depth)
            tiles = self.tiles_of(weight)
            line = [self.column(name, xs, tiles, weight, bias, (m0, m1), n) for n in range(0, columns, size)]
            blocks.append(self.joined(line, 1))
        result = self.joined(blocks, 0)
        if padded_rows > rows:
            result = self.node("Slice", [result, self.integers(0), self.integers(rows), self.integers(0)])
        if columns > real:
            result = self.node("Slice", [result, self.integers(0), self.integers(real), self.integers(1)])
        if bias is not None and way.bias == "last":
            self.nodes.append(helper.make_node("Add", [result, self.constant(bias[:real])], [out], name=name + "_bias"))
        else:
            self.nodes.append(helper.make_node("Identity", [result], [out], name=name + "_out"))

    def joined(self, tensors, axis):
        return tensors[0] if len(tensors) == 1 else self.node("Concat", tensors, axis=axis)

    def inputs(self, data, rows, depth):
        """The blocks of X along k: [(tensor, start, stop)]."""
        size, how = self.way.limit, self.way.inputs
        if how == "slice":
            return self.slices(data, depth, size, 1)
        if how == "gather":
            found = []
            for start in range(0, depth, size):
                stop = min(start + size, depth)
                picked = self.node("Gather", [data, self.integers(*range(start, stop))], axis=1)
                found.append((picked, start, stop))
            return found
        if how == "blocks" and depth % size == 0 and depth > size:
            cube = self.node("Reshape", [data, self.integers(rows, depth // size, size)])
            scalar = lambda i: self.constant(np.asarray(i, np.int64))  # noqa: E731
            return [
                (self.node("Gather", [cube, scalar(i)], axis=1), i * size, i * size + size)
                for i in range(depth // size)
            ]
        found = self.parts(data, depth, size, 1)
        if how == "unsqueeze":
            return [
                (self.node("Squeeze", [self.node("Unsqueeze", [t, self.integers(0)]), self.integers(0)]), a, b)
                for t, a, b in found
            ]
        return found

    def tiles_of(self, weight):
        """A function (k0, k1, n0, n1) -> the tensor of that tile."""
        how, size = self.way.weights, self.way.limit
        depth, columns = weight.shape
        if how == "split":
            bands = self.parts(self.constant(weight), depth, size, 0)
            grid = {k: {n: t for t, n, _ in self.parts(band, columns, size, 1)} for band, k, _ in bands}
            return lambda k0, k1, n0, n1: grid[k0][n0]
        if how in ("split transposed", "transpose"):
            whole = self.node("Transpose", [self.constant(weight.T)], perm=[1, 0])
            bands = self.parts(whole, columns, size, 1)
            grid = {n: {k: t for t, k, _ in self.parts(band, depth, size, 0)} for band, n, _ in bands}
            return lambda k0, k1, n0, n1: grid[n0][k0]
        if how == "slice":
            whole = self.constant(weight)
            return lambda k0, k1, n0, n1: self.node(
                "Slice", [whole, self.integers(k0, n0), self.integers(k1, n1), self.integers(0, 1)]
            )
        if how == "gather":
            whole = self.constant(weight)
            return lambda k0, k1, n0, n1: self.node(
                "Gather",
                [self.node("Gather", [whole, self.integers(*range(k0, k1))], axis=0), self.integers(*range(n0, n1))],
                axis=1,
            )
        return lambda k0, k1, n0, n1: self.constant(weight[k0:k1, n0:n1], as_node=how == "constant")

    def column(self, layer, xs, tiles, weight, bias, rows, n0):
        """The sum of one block of outputs."""
        way = self.way
        n1 = min(n0 + way.limit, weight.shape[1])
        part = None if bias is None else bias[n0:n1]
        products = []
        for index, (x, k0, k1) in enumerate(xs):
            first = part if way.bias == "first" and not index else None
            made = self.product(x, tiles, (k0, k1, n0, n1), first)
            self.tiles.append((layer, rows[0], k0, n0, self.nodes[-1].name))
            products.append(made)
        if part is not None and way.bias == "summed":
            products.append(self.constant(np.tile(part, (rows[1] - rows[0], 1))))
        total = self.sum(products)
        if part is not None and way.bias == "per block":
            total = self.node("Add", [self.constant(part[None, :]), total])
        return total

    def product(self, x, tiles, span, bias):
        way = self.way
        if way.weights == "left":  # (W^T X^T)^T
            tile = self.node("Transpose", [tiles(*span)], perm=[1, 0])
            made = self.node("MatMul", [tile, self.node("Transpose", [x])])
            made = self.node("Transpose", [made])
            return made if bias is None else self.node("Add", [made, self.constant(bias)])
        tile = tiles(*span)
        if way.product == "gemm" and bias is not None:
            return self.node("Gemm", [x, tile, self.constant(bias)], alpha=1.0, beta=1.0)
        if way.product == "gemm":
            turned = self.node("Transpose", [tile])
            made = self.node("Gemm", [x, turned], transB=1)
        elif way.product in ("function", "custom"):
            made = self.node("2DMM_64x64x64", [x, tile], domain="lab")
        else:
            made = self.node("MatMul", [x, tile])
        return made if bias is None else self.node("Add", [made, self.constant(bias)])

    def sum(self, terms):
        how = self.way.total
        if len(terms) == 1:
            return terms[0]
        if how == "sum":
            return self.node("Sum", terms)
        if how == "chain":
            total = terms[0]
            for term in terms[1:]:
                total = self.node("Add", [total, term])
            return total
        if how == "tree":
            half = math.ceil(len(terms) / 2)
            return self.node("Add", [self.sum(terms[:half]), self.sum(terms[half:])])
        if not all(term.startswith(("MatMul", "Gemm", "2DMM", "Transpose")) for term in terms):
            return self.node("Sum", terms)
        lifted = [self.node("Unsqueeze", [term, self.integers(0)]) for term in terms]
        stacked = self.node("Concat", lifted, axis=0)
        return self.node("ReduceSum", [stacked, self.integers(0)], keepdims=0)


def two_d_mm(opset):
    """A model-local function that says what 2DMM_64x64x64 does."""
    body = [helper.make_node("MatMul", ["A", "B"], ["C"])]
    return helper.make_function("lab", "2DMM_64x64x64", ["A", "B"], ["C"], body, [helper.make_opsetid("", opset)])


def as_plain(proto):
    """The same model with its declared operators as MatMul, so that any runtime runs it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    if not copy.functions:
        for node in copy.graph.node:
            if node.domain == "lab":
                node.domain, node.op_type = "", "MatMul"
    return copy


FLOAT = TensorProto.FLOAT
