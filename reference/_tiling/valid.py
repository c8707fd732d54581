"""Is the graph a valid one? What ONNX's own checker says of it, its weights left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import onnx

from .graph import STANDARD, kind_of
from .runtimes import nodes_of

if TYPE_CHECKING:
    from .read import Model

_MOST_WORDS = 300
_MOST_CALLS = 10_000  # ways to call functions; a student's file has one or two
_OF_MANY = frozenset({"Concat", "Einsum", "Max", "Mean", "Min", "SequenceConstruct", "Sum"})
_STAND_IN = re.compile(r" with schema\(::Sum:\d+\)")  # an operator that the student may not have written


def problem_of(model: Model, declared: frozenset[str]) -> str:
    """What makes the graph invalid, or nothing.

    Weights become inputs of their type, since the checker would read them; of operators that a course declares
    only what they are fed by is looked at.
    """
    checked = onnx.ModelProto()
    checked.CopyFrom(model.weights.model)
    for made in checked.graph.output:
        if made.type.HasField("tensor_type"):  # runtimes do without a shape, which the checker asks for
            made.type.tensor_type.shape.SetInParent()
    _without_weights(checked.graph)
    for each in checked.opset_import:
        each.domain = "" if each.domain in STANDARD else each.domain
    functions = {(function.domain, function.name) for function in checked.functions}
    for node in nodes_of(checked):
        node.domain = "" if node.domain in STANDARD else node.domain
        if (node.op_type in declared or kind_of(node) in declared) and (node.domain, node.op_type) not in functions:
            node.domain, node.op_type = "", "Sum"  # takes any number of tensors; what it says is not looked at here
            del node.attribute[:]
        elif node.op_type == "Constant" and node.domain in STANDARD:
            _without_payload(node)
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                _without_weights(inner)
    try:
        onnx.checker.check_model(checked)
    except onnx.checker.ValidationError as error:
        said = " ".join(str(error).partition("==> Context")[0].split())
        said = _STAND_IN.sub("", said)
        return f"the graph is not valid: {said[:_MOST_WORDS] or 'onnx.checker refuses it'}"
    return _missing_operand(model.weights.model)


def _missing_operand(model: onnx.ModelProto) -> str:
    """An operator of any number of tensors that lacks one of them, perhaps as a call of its function leaves it out.

    ONNX's checker lets it pass, and onnxruntime follows a null pointer there.
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    waiting = [(model.graph.node, frozenset({""}))]
    seen: set[tuple[str, str, frozenset[str]]] = set()
    while waiting and len(seen) < _MOST_CALLS:
        nodes, absent = waiting.pop()
        for node in nodes:
            if node.domain in STANDARD and node.op_type in _OF_MANY and not absent.isdisjoint(node.input):
                return f"the graph is not valid: an operand of {node.op_type} {node.name or node.output[0]} is missing"
            waiting += [(attribute.g.node, absent) for attribute in node.attribute if attribute.HasField("g")]
            called = functions.get((node.domain, node.op_type))
            if called:
                given = [*node.input, *[""] * (len(called.input) - len(node.input))]
                left_out = frozenset(f for f, name in zip(called.input, given, strict=False) if name in absent) | {""}
                if (call := (called.domain, called.name, left_out)) not in seen:
                    seen.add(call)
                    waiting.append((called.node, left_out))
    return ""


def _without_weights(graph: onnx.GraphProto) -> None:
    """Initializers as inputs of their type."""
    known = {given.name for given in graph.input}
    for tensor in graph.initializer:
        if tensor.name not in known:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for sparse in graph.sparse_initializer:
        if sparse.values.name not in known:
            info = onnx.helper.make_tensor_value_info(sparse.values.name, sparse.values.data_type, sparse.dims)
            graph.input.append(info)
    del graph.initializer[:]
    del graph.sparse_initializer[:]


def _without_payload(node: onnx.NodeProto) -> None:
    """A Constant whose payload was left out of the message holds one element instead."""
    for attribute in node.attribute:
        sparse = attribute.sparse_tensor
        for tensor in (attribute.t, sparse.values, sparse.indices):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                attribute.CopyFrom(onnx.helper.make_attribute("value", onnx.helper.make_tensor("", 1, [1], [0.0])))
                break
