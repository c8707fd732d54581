"""Lab 2-3: what onnx says of a graph, once the batch is set and shapes are inferred."""

from collections import Counter

import onnx
from onnx import helper, numpy_helper, shape_inference


def analysed(path):
    model = onnx.load(path)
    for each in model.graph.input:
        for dim in each.type.tensor_type.shape.dim:
            dim.dim_value = dim.dim_value or 1
    del model.graph.value_info[:]
    for each in model.graph.output:
        each.type.tensor_type.ClearField("shape")
    return shape_inference.infer_shapes(model, data_prop=True).graph


def tensors(graph):
    """Shape and bytes of each tensor."""
    found = {}
    for each in (*graph.input, *graph.value_info, *graph.output):
        kind = each.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        found[each.name] = shape, size(shape) * helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
    for weight in graph.initializer:
        found[weight.name] = list(weight.dims), numpy_helper.to_array(weight).nbytes
    return found


def size(shape):
    elements = 1
    for each in shape:
        elements *= each
    return elements


def conv_inputs(path):
    graph = analysed(path)
    known = tensors(graph)
    names = [name for node in graph.node if node.op_type == "Conv" for name in node.input]
    return {name: {"shape": known[name][0], "elements": size(known[name][0])} for name in names}


def operator_histogram(path):
    return dict(Counter(node.op_type for node in onnx.load(path).graph.node))


def matrix_operators(path):
    return {
        node.name: {"inputs": ", ".join(node.input), "outputs": ", ".join(node.output)}
        for node in onnx.load(path).graph.node
        if node.op_type in ("Gemm", "MatMul")
    }


def tensor_sizes(path):
    return {name: {"shape": shape, "bytes": size} for name, (shape, size) in tensors(analysed(path)).items()}


def bandwidth(path):
    graph = analysed(path)
    known = tensors(graph)
    return sum(known[name][1] for node in graph.node for name in (*node.input, *node.output))
