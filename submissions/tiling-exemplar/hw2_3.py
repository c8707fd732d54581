"""HW 2-3: linear layers for a matrix unit that multiplies 64x64x64."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 64


def linear(m, k, n, path):
    """2-3-1: one Linear layer of size m x k x n."""
    rng = np.random.default_rng(0)
    weight = (rng.standard_normal((n, k)) / np.sqrt(k)).astype(np.float32)
    bias = rng.standard_normal(n).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["y"], name="linear", transB=1)],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [m, k])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [m, n])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    save(graph, path, 17)


def tiled_linear(m, k, n, path):
    """2-3-2: the same layer as 64x64x64 products, splits, sums and concats."""
    linear(m, k, n, path)
    tile_linears(path, path)


def tile_linears(source_path, target_path):
    """2-3-3: every Linear of a model replaced."""
    model = onnx.load(source_path)
    inferred = onnx.shape_inference.infer_shapes(model)
    rows = {}
    for value in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]:
        dims = value.type.tensor_type.shape.dim
        rows[value.name] = dims[0].dim_value if dims else 0
    arrays = {w.name: w for w in model.graph.initializer}
    tiler = Tiler(arrays)
    for node in model.graph.node:
        if node.op_type == "Gemm" and node.input[1] in arrays:
            tiler.replace(node, rows[node.input[0]])
        elif node.op_type == "MatMul" and node.input[1] in arrays:
            tiler.replace(node, rows[node.input[0]])
        else:
            tiler.nodes.append(node)
    graph = helper.make_graph(tiler.nodes, "tiled", list(model.graph.input), list(model.graph.output))
    used = {name for node in tiler.nodes for name in node.input}
    graph.initializer.extend(w for w in model.graph.initializer if w.name in used)
    graph.initializer.extend(tiler.weights)
    save(graph, target_path, model.opset_import[0].version)


class Tiler:
    def __init__(self, arrays):
        self.arrays = arrays
        self.nodes, self.weights = [], []

    def replace(self, node, rows):
        weight = numpy_helper.to_array(self.arrays[node.input[1]])
        if any(a.name == "transB" and a.i for a in node.attribute):
            weight = weight.T
        depth, columns = weight.shape
        name = node.name or node.output[0]
        blocks = []
        for m, x in self.split(node.input[0], rows, 0, f"{name}_m"):
            parts = list(self.split(x, depth, 1, f"{name}_{m}_k"))
            line = [self.column(name, m, n, parts, weight) for n in range(0, columns, SIZE)]
            blocks.append(self.join(line, 1, f"{name}_{m}_row"))
        out = self.join(blocks, 0, f"{name}_all")
        if node.op_type == "Gemm" and len(node.input) > 2:
            self.nodes.append(helper.make_node("Add", [out, node.input[2]], [node.output[0]], name=f"{name}_bias"))
        else:
            self.nodes.append(helper.make_node("Identity", [out], [node.output[0]], name=f"{name}_out"))

    def split(self, tensor, length, axis, name):
        """(position, tensor) of each block of up to 64."""
        cuts = [min(SIZE, length - at) for at in range(0, length, SIZE)]
        if len(cuts) == 1:
            return [(0, tensor)]
        self.weights.append(numpy_helper.from_array(np.asarray(cuts, np.int64), f"{name}_cuts"))
        outputs = [f"{name}_{i}" for i in range(len(cuts))]
        self.nodes.append(helper.make_node("Split", [tensor, f"{name}_cuts"], outputs, name=f"{name}_split", axis=axis))
        return list(enumerate(outputs))

    def column(self, name, m, n, parts, weight):
        products = []
        for k, x in parts:
            label = f"{name}_mm_{m}_{k}_{n // SIZE}"
            tile = np.ascontiguousarray(weight[k * SIZE : (k + 1) * SIZE, n : n + SIZE])
            self.weights.append(numpy_helper.from_array(tile, f"{label}_w"))
            self.nodes.append(helper.make_node("MatMul", [x, f"{label}_w"], [f"{label}_y"], name=label))
            products.append(f"{label}_y")
        if len(products) == 1:
            return products[0]
        out = f"{name}_sum_{m}_{n // SIZE}"
        self.nodes.append(helper.make_node("Sum", products, [out], name=out))
        return out

    def join(self, tensors, axis, name):
        if len(tensors) == 1:
            return tensors[0]
        self.nodes.append(helper.make_node("Concat", tensors, [name], name=name, axis=axis))
        return name


def save(graph, path, opset):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, path)


def verify(original_path, transformed_path):
    """2-3-4: is the transformed model the same function, with no product over 64?"""
    original, transformed = onnx.load(original_path), onnx.load(transformed_path)
    try:
        onnx.checker.check_model(transformed)
        return same(original, transformed) and small(transformed)
    except Exception:
        return False


def small(model):
    arrays = {w.name: w.dims for w in model.graph.initializer}
    used, waiting = set(), [o.name for o in model.graph.output]
    makers = {name: node for node in model.graph.node for name in node.output}
    while waiting:
        node = makers.get(waiting.pop())
        if node is not None and node.output[0] not in used:
            used.update(node.output)
            waiting.extend(node.input)
    for node in model.graph.node:
        if node.op_type in ("MatMul", "Gemm"):
            if node.output[0] not in used or any(max(arrays.get(name, [0]) or [0]) > SIZE for name in node.input[:2]):
                return False
        elif node.op_type in ("Einsum",):
            return False
    return True


def same(original, transformed):
    """In float64, on several inputs, element by element."""
    from onnx.reference import ReferenceEvaluator

    shape = [d.dim_value for d in original.graph.input[0].type.tensor_type.shape.dim]
    one, two = ReferenceEvaluator(widen(original)), ReferenceEvaluator(widen(transformed))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(shape)
        a = one.run(None, {original.graph.input[0].name: x})[0]
        b = two.run(None, {transformed.graph.input[0].name: x})[0]
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-10, atol=1e-10):
            return False
    return True


def widen(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in [*copy.graph.input, *copy.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in copy.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    return copy
