"""What the proof needs of a graph's text: which nodes matter, what they are called, what their attributes say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

STANDARD = ("", "ai.onnx")
# Operators that multiply and add up: a dead one, or one beside the tiles, is work that the hardware can't do.
MULTIPLIES = frozenset(
    {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "MatMulInteger", "QLinearMatMul", "QLinearConv",
     "ConvInteger", "RNN", "LSTM", "GRU", "Attention", "DeformConv"}
)  # fmt: skip


def name_of(node: onnx.NodeProto) -> str:
    """What a node is called: its name, or the tensor that it makes."""
    return node.name or next((name for name in node.output if name), node.op_type)


def attributes_of(node: onnx.NodeProto, called: Mapping[str, onnx.AttributeProto] | None = None) -> dict[str, Any]:
    """The attributes as Python values. One that refers to an attribute of the function is that of the call."""
    if not node.attribute:
        return {}
    return {name: helper.get_attribute_value(attribute) for name, attribute in protos_of(node, called).items()}


def protos_of(
    node: onnx.NodeProto, called: Mapping[str, onnx.AttributeProto] | None = None
) -> dict[str, onnx.AttributeProto]:
    """The same as protobufs. One to which neither the call nor the function gives a value is left out."""
    known = called or {}
    said = ((each.name, known.get(each.ref_attr_name) if each.ref_attr_name else each) for each in node.attribute)
    return {name: attribute for name, attribute in said if attribute is not None}


def kind_of(node: onnx.NodeProto) -> str:
    """The operator, with its domain where it is not ONNX's own."""
    return node.op_type if node.domain in STANDARD else f"{node.domain}::{node.op_type}"


def live_and_dead(
    nodes: Sequence[onnx.NodeProto], outputs: Iterable[str], *, conditions: bool = True
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """The nodes that an output depends on, in their order, and the others. `conditions`: also those that an If asks."""
    inputs = [
        [*(node.input if conditions or node.op_type != "If" else ()), *captured(node)]
        if has_graphs(node)
        else list(node.input)
        for node in nodes
    ]
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needed = bytearray(len(nodes))
    waiting = [maker[name] for name in outputs if name in maker]
    while waiting:
        index = waiting.pop()
        if needed[index]:
            continue
        needed[index] = 1
        waiting += [maker[name] for name in inputs[index] if name in maker and not needed[maker[name]]]
    live = [node for node, used in zip(nodes, needed, strict=True) if used]
    dead = [node for node, used in zip(nodes, needed, strict=True) if not used]
    return live, dead


def captured(node: onnx.NodeProto) -> list[str]:
    """The names that graphs inside a node take from outside; some that they make themselves may be among them."""
    found: list[str] = []
    waiting = [graph for attribute in node.attribute for graph in (attribute.g, *attribute.graphs)]
    while waiting:
        graph = waiting.pop()
        found += [output.name for output in graph.output]
        for inner in graph.node:
            found += inner.input
            waiting += [each for attribute in inner.attribute for each in (attribute.g, *attribute.graphs)]
    return found


def has_graphs(node: onnx.NodeProto) -> bool:
    """Whether a node holds graphs of its own: If, Loop, Scan."""
    return bool(node.attribute) and any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
