"""What the proof needs of a graph's text: which nodes matter, what they are called, what their attributes say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes as Python values; what refers to a function's own attribute is None."""
    if not node.attribute:
        return {}
    return {
        attribute.name: None if attribute.ref_attr_name else helper.get_attribute_value(attribute)
        for attribute in node.attribute
    }


def kind_of(node: onnx.NodeProto) -> str:
    """The operator, with its domain where it is not ONNX's own."""
    return node.op_type if node.domain in STANDARD else f"{node.domain}::{node.op_type}"


def live_and_dead(
    nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """The nodes that an output depends on, in their order, and the others."""
    inputs = [list(node.input) for node in nodes]
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


def has_graphs(node: onnx.NodeProto) -> bool:
    """Whether a node holds graphs of its own: If, Loop, Scan."""
    return bool(node.attribute) and any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
