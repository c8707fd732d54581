"""A small language for writing tiled graphs by hand: nodes, constants, and a layer's tiles.

Written with nothing of the prover. `Net` is the network that is tiled; `Writer` writes one graph for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.reference.tiling.networks import classifier, mlp, model

T = 64


@dataclass(frozen=True)
class Layer:
    """One linear layer of a network: its weight [K, N], its bias, the tensors before and behind it."""

    name: str
    taken: str
    made: str
    weight: np.ndarray
    bias: np.ndarray | None
    rows: int

    @property
    def depth(self):
        return self.weight.shape[0]

    @property
    def columns(self):
        return self.weight.shape[1]


NETWORKS = {
    "layer": lambda: mlp([150, 90], batch=1, seed=1),
    "mlp": lambda: mlp([150, 90, 11], batch=3, seed=2),
    "matmul": lambda: mlp([130, 70, 20], batch=5, seed=3, spelled="matmul"),
    "rows": lambda: mlp([100, 66, 9], batch=70, seed=4),
    "classifier": lambda: classifier(batch=2, seed=5),
    "even": lambda: mlp([128, 128, 64], batch=64, seed=6, bias=False),
}


def layers_of(original):
    """Its linear layers by the last node that each replaces, and the nodes that go."""
    arrays = {w.name: numpy_helper.to_array(w) for w in original.graph.initializer}
    inferred = onnx.shape_inference.infer_shapes(original)
    shapes = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]
    }
    found, gone = {}, set()
    nodes = list(original.graph.node)
    for index, node in enumerate(nodes):
        if node.op_type == "Gemm":
            bias = arrays[node.input[2]] if len(node.input) > 2 else None
            layer = Layer(
                node.name, node.input[0], node.output[0], arrays[node.input[1]].T, bias, shapes[node.input[0]][0]
            )
            found[index] = layer
        elif node.op_type == "MatMul":
            add = nodes[index + 1]
            bias = arrays[add.input[1]] if add.op_type == "Add" else None
            made = add.output[0] if bias is not None else node.output[0]
            layer = Layer(node.name, node.input[0], made, arrays[node.input[1]], bias, shapes[node.input[0]][0])
            found[index + (bias is not None)] = layer
            gone.add(index)
    return found, gone


class Writer:
    """Writes the nodes of one graph. Everything that makes a tensor returns its name."""

    def __init__(self, original, opset=None):
        self.original = original
        self.nodes, self.weights, self.functions, self.imports = [], [], [], {}
        self.opset = opset or original.opset_import[0].version
        self.count = 0

    def fresh(self, word="t"):
        self.count += 1
        return f"{word}_{self.count}"

    def __call__(self, op, *taken, outputs=1, domain="", name="", **attributes):
        made = [self.fresh(op) for _ in range(outputs)]
        node = helper.make_node(op, list(taken), made, name=name or self.fresh("n"), domain=domain, **attributes)
        self.nodes.append(node)
        if domain:
            self.imports.setdefault(domain, self.opset if domain == "ai.onnx" else 1)
        return made[0] if outputs == 1 else made

    def const(self, values, dtype=None):
        name = self.fresh("w")
        self.weights.append(numpy_helper.from_array(np.array(values, dtype, order="C"), name))
        return name

    def f(self, values):
        array = np.asarray(values, np.float32)
        name = self.fresh("w")
        self.weights.append(numpy_helper.from_array(array.copy(order="C"), name))
        return name

    def i(self, *values):
        return self.const(np.asarray(values, np.int64))

    def scalar(self, value):
        name = self.fresh("w")
        self.weights.append(numpy_helper.from_array(np.asarray(value, np.int64), name))
        return name

    def cut(self, tensor, start, stop, axis=1):
        return self("Slice", tensor, self.i(start), self.i(stop), self.i(axis))

    def sum(self, tensors):
        return tensors[0] if len(tensors) == 1 else self("Sum", *tensors)

    def chain(self, tensors):
        total = tensors[0]
        for each in tensors[1:]:
            total = self("Add", total, each)
        return total

    def join(self, tensors, axis=1):
        return tensors[0] if len(tensors) == 1 else self("Concat", *tensors, axis=axis)

    def model(self, write):
        """The whole model; `write(writer, layer)` makes each layer and returns its tensor."""
        found, gone = layers_of(self.original)
        used = set()
        renamed = {}
        for index, node in enumerate(self.original.graph.node):
            if index in gone:
                continue
            if index in found:
                layer = found[index]
                made = write(
                    self,
                    Layer(
                        layer.name,
                        renamed.get(layer.taken, layer.taken),
                        layer.made,
                        layer.weight,
                        layer.bias,
                        layer.rows,
                    ),
                )
                self.nodes.append(helper.make_node("Identity", [made], [layer.made], name=self.fresh("out")))
                continue
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            self.nodes.append(copy)
            used.update(node.input)
        return self.finish(used)

    def finish(self, used):
        graph = self.original.graph
        kept = [w for w in graph.initializer if w.name in used]
        made = helper.make_graph(self.nodes, "tiled", list(graph.input), list(graph.output), kept + self.weights)
        imports = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(d, v) for d, v in self.imports.items())]
        return helper.make_model(made, opset_imports=imports, ir_version=9, functions=self.functions)


def blocks(length, size=T):
    return [(at, min(at + size, length)) for at in range(0, length, size)]


def usual(  # noqa: PLR0913 - each is a step that may be written otherwise
    w, layer, *, xs=None, tile=None, product=None, total=None, join=None, bias="last", block=None, size=T
):
    """A layer in the usual way, with some of its steps written otherwise.

    xs(w, x, k0, k1), tile(w, W, k0, k1, n0, n1), product(w, x, tile tensor, tile array), total(w, products),
    join(w, blocks, columns), block(w, tensor) after each block of columns.
    """
    xs = xs or (lambda w, x, k0, k1: w.cut(x, k0, k1))
    product = product or (lambda w, x, t, array: w("MatMul", x, t))
    total = total or (lambda w, products: w.sum(products))
    join = join or (lambda w, parts, columns: w.join(parts))
    lines = []
    for m0, m1 in blocks(layer.rows, size):
        x = layer.taken if layer.rows <= size else w.cut(layer.taken, m0, m1, 0)
        inputs = {k0: xs(w, x, k0, k1) for k0, k1 in blocks(layer.depth, size)}
        parts = []
        for n0, n1 in blocks(layer.columns, size):
            products = []
            for k0, k1 in blocks(layer.depth, size):
                array = layer.weight[k0:k1, n0:n1]
                made = tile(w, layer.weight, k0, k1, n0, n1) if tile else w.f(array)
                products.append(product(w, inputs[k0], made, array))
            if bias == "block" and layer.bias is not None:
                products[0] = w("Add", products[0], w.f(layer.bias[n0:n1]))
            part = total(w, products)
            parts.append(block(w, part) if block else part)
        lines.append(join(w, parts, layer.columns))
    whole = w.join(lines, 0)
    if layer.bias is not None and bias == "last":
        return w("Add", whole, w.f(layer.bias))
    if callable(bias) and layer.bias is not None:
        return bias(w, whole, layer)
    return whole


def ceil_to(length, size=T):
    return math.ceil(length / size) * size


__all__ = ["NETWORKS", "Layer", "T", "TensorProto", "Writer", "blocks", "ceil_to", "layers_of", "model", "usual"]
