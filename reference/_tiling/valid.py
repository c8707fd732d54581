"""Is the graph a valid one? What ONNX's own checker says of it, its weights left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from .graph import STANDARD, kind_of

if TYPE_CHECKING:
    from .read import Model

_MOST_WORDS = 300


def problem_of(model: Model, declared: frozenset[str]) -> str:
    """What makes the graph invalid, or nothing.

    Weights become inputs of their type, since the checker would read them; operators that a course declares to mean
    MatMul are looked at as MatMul.
    """
    checked = onnx.ModelProto()
    checked.CopyFrom(model.weights.model)
    graph = checked.graph
    known = {given.name for given in graph.input}
    for tensor in model.initializers.values():
        if tensor.name not in known:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    del graph.initializer[:]
    for node in graph.node:
        if (node.op_type in declared or kind_of(node) in declared) and (
            node.domain,
            node.op_type,
        ) not in model.functions:
            node.domain, node.op_type = "", "MatMul"
        elif node.op_type == "Constant" and node.domain in STANDARD:
            _without_payload(node)
    try:
        onnx.checker.check_model(checked)
    except onnx.checker.ValidationError as error:
        said = " ".join(str(error).partition("==> Context")[0].split())
        return f"the graph is not valid: {said[:_MOST_WORDS] or 'onnx.checker refuses it'}"
    return ""


def _without_payload(node: onnx.NodeProto) -> None:
    """A Constant whose payload was left out of the message holds one element instead."""
    for attribute in node.attribute:
        tensor = attribute.t
        if attribute.HasField("t") and tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, onnx.TensorProto.FLOAT, [1], [0.0]))
