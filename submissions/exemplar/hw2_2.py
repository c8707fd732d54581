"""HW 2-2: analysis of an ONNX model. The model is run once, with every tensor looked at."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator

POOLING = ("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
CONVOLUTION = ("Conv", "ConvTranspose")


# ---- 2-2-1: operators and attributes


def graphs_inside(node):
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def all_nodes(graph):
    for node in graph.node:
        yield node
        for inner in graphs_inside(node):
            yield from all_nodes(inner)


def operator_counts(path):
    model = onnx.load(path, load_external_data=False)
    return dict(Counter(node.op_type for node in all_nodes(model.graph)))


def operator_total(path):
    return sum(operator_counts(path).values())


def operator_types(path):
    return len(operator_counts(path))


def node_attributes(path):
    model = onnx.load(path)
    tensors = run_whole(model, inputs_of(model.graph))
    rows = []
    for node in model.graph.node:
        row = {"node": node.name or node.output[0]}
        for attribute in node.attribute:
            value = helper.get_attribute_value(attribute)
            if isinstance(value, bytes):
                value = value.decode()
            if isinstance(value, (int, float, str)):
                row[attribute.name] = value
            elif isinstance(value, list) and all(isinstance(each, int) for each in value):
                row[attribute.name] = value
        if node.op_type in POOLING + CONVOLUTION:
            row["channel"], row["height"], row["width"] = tensors[node.input[0]].shape[1:]
        rows.append(row)
    return rows


# ---- 2-2-2 and 2-2-3: bytes


def traffic_bytes(path):
    return sum(read + written for read, written in moves(path))


def activation_bytes(path):
    return sum(written for _, written in moves(path))


def moves(path):
    """The bytes that each node which runs reads and writes; Constant nodes neither run nor count."""
    model = onnx.load(path)
    if model.functions:
        model = inliner.inline_local_functions(model)
    feeds = inputs_of(model.graph)
    if any(True for node in model.graph.node for _ in graphs_inside(node)):
        done = []
        run_graph(model.graph, feeds, [], model, done)
        return done
    sizes = {tensor.name: numpy_helper.to_array(tensor).nbytes for tensor in model.graph.initializer}
    sizes.update({name: array.nbytes for name, array in run_whole(model, feeds).items()})
    constants = {node.output[0] for node in model.graph.node if node.op_type == "Constant"}
    return [
        (
            sum(sizes[name] for name in node.input if name and name not in constants),
            sum(sizes[name] for name in node.output if name),
        )
        for node in model.graph.node
        if node.op_type != "Constant"
    ]


def inputs_of(graph):
    """An input for each of the graph's; a dimension without a size is 1."""
    weights = {tensor.name for tensor in graph.initializer}
    feeds = {}
    for each in graph.input:
        if each.name not in weights:
            kind = each.type.tensor_type
            shape = [dim.dim_value or 1 for dim in kind.shape.dim]
            feeds[each.name] = np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return feeds


def run_whole(model, feeds):
    """Run the model in onnxruntime, with what every node puts out as an output of the model: every tensor by name."""
    graph = model.graph
    names = [name for node in graph.node for name in node.output if name]
    del graph.output[:]
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return {**feeds, **dict(zip(names, session.run(names, feeds)))}


def run_graph(graph, given, scopes, model, done):
    """Run a graph node by node, so that one sees what happens inside of If and Loop."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values.update(given)
    scopes = [values, *scopes]

    def find(name):
        return next(scope[name] for scope in scopes if name in scope)

    for node in graph.node:
        inside = {attribute.name: attribute.g for attribute in node.attribute}
        read = [find(name) for name in node.input if name]
        if node.op_type == "If":
            results = run_graph(inside["then_branch" if read[0] else "else_branch"], {}, scopes, model, done)
        elif node.op_type == "Loop":
            results = run_loop(inside["body"], read, scopes, model, done)
        else:
            results = run_node(node, dict(zip(filter(None, node.input), read)), model)
            done.append((sum(array.nbytes for array in read), sum(array.nbytes for array in results)))
        values.update(zip(node.output, results))
    return [find(each.name) for each in graph.output]


def run_loop(body, read, scopes, model, done):
    times, going, *carried = read
    stacks = [[] for _ in range(len(body.output) - 1 - len(carried))]
    for trip in range(int(times)):
        if not going:
            break
        given = dict(zip([each.name for each in body.input], [np.array(trip, np.int64), going, *carried]))
        going, *results = run_graph(body, given, scopes, model, done)
        carried = results[: len(carried)]
        for stack, result in zip(stacks, results[len(carried) :]):
            stack.append(result)
    return [*carried, *(np.stack(stack) for stack in stacks)]


def run_node(node, feeds, model):
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in feeds.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    one = helper.make_model(graph, opset_imports=model.opset_import)
    return ReferenceEvaluator(one).run(None, feeds)
