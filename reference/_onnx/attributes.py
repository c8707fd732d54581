"""The attributes of a node as plain data, and the sizes of the images that convolutions and pooling work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx

from .load import nodes_of

if TYPE_CHECKING:
    from .run import Run

# What tasks name: of a convolution of another kind (QLinearConv, DeformConv) nobody is asked for sizes.
WINDOWED = frozenset(
    (
        *("Conv", "ConvTranspose", "AveragePool", "MaxPool", "LpPool"),
        *("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"),
    )
)
_PER_AXIS = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 2)}
_AXES = ("depth", "height", "width")


def value_of(attribute: onnx.AttributeProto) -> Any:
    """What an attribute holds, as `onnx.helper` has it, which takes as long to import as a small file to analyse."""
    kinds = onnx.AttributeProto
    match attribute.type:
        case kinds.INT:
            return attribute.i
        case kinds.FLOAT:
            return attribute.f
        case kinds.STRING:
            return attribute.s
        case kinds.INTS:
            return list(attribute.ints)
        case kinds.FLOATS:
            return list(attribute.floats)
    return onnx.helper.get_attribute_value(attribute)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes that the file gives, by name; tensors, graphs and types are left out."""
    kinds = onnx.AttributeProto
    found: dict[str, Any] = {}
    for each in node.attribute:
        match each.type:
            case kinds.INT:
                found[each.name] = each.i
            case kinds.FLOAT:
                found[each.name] = as_printed(each.f)
            case kinds.STRING:
                found[each.name] = each.s.decode("utf-8", "replace")
            case kinds.INTS:
                found[each.name] = list(each.ints)
            case kinds.FLOATS:
                found[each.name] = ", ".join(as_printed(value) for value in each.floats)
            case kinds.STRINGS:
                found[each.name] = ", ".join(value.decode("utf-8", "replace") for value in each.strings)
    return found


def defaults(node: onnx.NodeProto) -> dict[str, list[Any]]:
    """What ONNX takes for the attributes that the file leaves out, where it says so; lists for up to three axes."""
    if not onnx.defs.has(node.op_type, node.domain):
        return {}
    known = onnx.defs.get_schema(node.op_type, node.domain).attributes
    given = {each.name for each in node.attribute}
    found: dict[str, list[Any]] = {
        name: [own[name]]
        for name, each in known.items()
        if name not in given and name in (own := attributes(onnx.NodeProto(attribute=[each.default_value])))
    }
    for name, (value, per_axis) in _PER_AXIS.items():
        if name in known and name not in given:
            found[name] = [[value] * per_axis * axes for axes in (1, 2, 3)]
    return found


def also_sizes(done: Run) -> dict[int, dict[str, list[Any]]]:
    """What may be said though nobody asks: sizes that come in, a kernel by its weights; by the node's identity."""
    found: dict[int, dict[str, list[Any]]] = {}
    for step in done.steps:
        shapes = [each.shape if each is not None else None for each in step.inputs]
        if step.node.op_type not in WINDOWED and shapes and shapes[0]:
            sizes = (*shapes[0][1:], 1, 1)
            found[id(step.node)] = {name: [size] for name, size in zip(("channel", *_AXES[1:]), sizes, strict=False)}
        elif step.node.op_type in ("Conv", "ConvTranspose") and (weights := shapes[1]):
            found[id(step.node)] = {"kernel_shape": [list(weights[2:])]}
    return found


def floats_of(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """The attributes that are floats, as (node or its first output, attribute)."""
    return {
        (node.name or node.output[0], each.name)
        for node in nodes_of(model, nested=True)
        for each in node.attribute
        if each.type == onnx.AttributeProto.FLOAT
    }


def as_printed(value: float) -> str:
    """A float32 with its 7 digits: the file's 0.1 is 0.1000000, not the 0.10000000149 of a double.

    As text it says how precise it is, so that both ways of printing it agree.
    """
    shortest = float(str(np.float32(value)))
    return f"{shortest:#.7g}" if np.isfinite(shortest) else str(shortest)


def sizes_of(done: Run, of: Literal["input", "output"]) -> dict[int, dict[str, int]]:
    """Channel, height and width for each node of a convolution or pooling that ran, by the node's identity.

    Where a node runs several times, those of its first run.

    Raises:
        ModelError: such a tensor's shape is unknown.
    """
    found: dict[int, dict[str, int]] = {}
    for step in done.steps:
        if step.node.op_type not in WINDOWED or id(step.node) in found:
            continue
        tensors = step.inputs if of == "input" else step.outputs
        if tensors and tensors[0] is not None:
            shape = tensors[0].shaped()[1:]
            found[id(step.node)] = dict(zip(("channel", *_AXES[len(_AXES) - len(shape) + 1 :]), shape, strict=False))
    return found
