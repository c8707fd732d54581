"""If, Loop, Scan and SequenceMap: which of their graphs run, how often, and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from .problems import ModelError, label
from .tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .tensors import Value

    # Runs a graph of the node's on given inputs; what its outputs are.
    Body = Callable[[onnx.GraphProto, Sequence[Tensor]], list[Tensor]]

CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_SCAN_OF_BATCHES = 8  # the only opset whose Scan has a batch axis, and lengths in front of its inputs


class UnknownError(Exception):
    """Which nodes run depends on data that is not known. The message says why."""


def controlled(node: onnx.NodeProto, inputs: Sequence[Tensor | None], opset: int, body: Body) -> list[Tensor]:
    """What If, Loop, Scan or SequenceMap puts out, once its graphs have run.

    Raises:
        UnknownError: what runs depends on data.
        ModelError: the node is not valid.
    """
    attributes = {attribute.name: attribute for attribute in node.attribute}
    try:
        if node.op_type == "If":
            return _if(node, inputs, attributes, body)
        if node.op_type == "Loop":
            return _loop(node, inputs, attributes["body"].g, body)
        if node.op_type == "SequenceMap":
            return _map(node, inputs, attributes["body"].g, body)
        if opset == _SCAN_OF_BATCHES:
            message = f"{label(node)}: Scan of opset 8, over batches of different lengths, is not followed"
            raise UnknownError(message)
        return _scan(node, inputs, attributes, body)
    except (KeyError, IndexError) as error:
        message = f"{label(node)} is not valid: it lacks an input, an output or an attribute ({error})"
        raise ModelError(message) from None


def _if(
    node: onnx.NodeProto,
    inputs: Sequence[Tensor | None],
    attributes: dict[str, onnx.AttributeProto],
    body: Body,
) -> list[Tensor]:
    branches = attributes["then_branch"].g, attributes["else_branch"].g
    return body(branches[0] if _truth(node, inputs[0], default=False) else branches[1], [])


def _loop(node: onnx.NodeProto, inputs: Sequence[Tensor | None], graph: onnx.GraphProto, body: Body) -> list[Tensor]:
    limit = _trips(node, inputs[0])
    going = _truth(node, inputs[1], default=True)
    carried = _there(node, inputs[2:])
    cond = inputs[1] or _scalar(graph.input[1].name, np.array(True))  # noqa: FBT003 - a tensor's value
    rows: list[list[Tensor]] = []
    while going and (limit is None or len(rows) < limit):
        counter = _scalar(graph.input[0].name, np.array(len(rows), dtype=np.int64))
        cond, *made = body(graph, [counter, cond, *carried])
        carried = made[: len(carried)]
        rows.append(made[len(carried) :])
        going = inputs[1] is None or _truth(node, cond, default=True)  # without a condition the body's is ignored
    stacked = len(graph.output) - 1 - len(carried)
    return [*carried, *(_stack(node, [row[at] for row in rows], 0) for at in range(stacked))]


def _scan(
    node: onnx.NodeProto,
    inputs: Sequence[Tensor | None],
    attributes: dict[str, onnx.AttributeProto],
    body: Body,
) -> list[Tensor]:
    given, graph = _there(node, inputs), attributes["body"].g
    states, scanned = given[: -attributes["num_scan_inputs"].i], given[-attributes["num_scan_inputs"].i :]
    axes = _axes(attributes.get("scan_input_axes"), len(scanned))
    shapes = [tensor.shape for tensor in scanned]
    if any(shape is None for shape in shapes):
        reason = next(tensor.unknown for tensor in scanned if tensor.shape is None)
        raise UnknownError(reason)
    lengths = {shape[axis] for shape, axis in zip(shapes, axes, strict=True) if shape is not None}
    if len(lengths) != 1:
        message = f"{label(node)} is not valid: it scans over {sorted(lengths)} slices"
        raise ModelError(message)
    rows = []
    for _ in range(lengths.pop()):
        made = body(graph, [*states, *(_slice(each, axis) for each, axis in zip(scanned, axes, strict=True))])
        states, row = made[: len(states)], made[len(states) :]
        rows.append(row)
    stacked = len(graph.output) - len(states)
    out_axes = _axes(attributes.get("scan_output_axes"), stacked)
    return [*states, *(_stack(node, [row[at] for row in rows], out_axes[at]) for at in range(stacked))]


def _map(node: onnx.NodeProto, inputs: Sequence[Tensor | None], graph: onnx.GraphProto, body: Body) -> list[Tensor]:
    """One run a tensor of the first sequence; what is no sequence is the same in each run."""
    given = _there(node, inputs)
    counts = {len(each.items) for each in given if each.items is not None}
    unknown = next((each.unknown for each in given if not each.is_known), "")
    if unknown:
        raise UnknownError(unknown)
    if len(counts) != 1 or given[0].items is None:
        message = f"{label(node)} is not valid: it goes through sequences of {sorted(counts)} tensors"
        raise ModelError(message)
    rows = [
        body(graph, [each if each.items is None else each.items[at] for each in given]) for at in range(counts.pop())
    ]
    columns = [tuple(row[at] for row in rows) for at in range(len(graph.output))]
    kinds = [each.type.tensor_type.elem_type for each in graph.output]
    return [
        Tensor(name="", data_type=column[0].data_type if column else kind, items=column, parts=column)
        for column, kind in zip(columns, kinds, strict=True)
    ]


def _axes(attribute: onnx.AttributeProto | None, count: int) -> list[int]:
    return list(attribute.ints) if attribute is not None else [0] * count


def _slice(tensor: Tensor, axis: int) -> Tensor:
    shape = tensor.shape or ()
    axis %= len(shape)
    return Tensor(
        name=tensor.name,
        kind=tensor.kind,
        data_type=tensor.data_type,
        shape=shape[:axis] + shape[axis + 1 :],
        parts=(tensor,),
    )


def _stack(node: onnx.NodeProto, parts: list[Tensor], axis: int) -> Tensor:
    """The tensors of all iterations as one. Their memory is its memory."""
    unknown = next((part.unknown for part in parts if part.shape is None), "")
    shapes = {part.shape for part in parts}
    if unknown or len(shapes) != 1:
        reason = unknown or f"{label(node)} runs {len(parts)} times, with outputs of {len(shapes)} shapes"
        return Tensor(name="", data_type=parts[0].data_type if parts else 0, unknown=reason)
    shape = shapes.pop() or ()
    axis %= len(shape) + 1
    return Tensor(
        name="",
        data_type=parts[0].data_type,
        shape=(*shape[:axis], len(parts), *shape[axis:]),
        parts=tuple(parts),
    )


def _there(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    found = [tensor for tensor in inputs if tensor is not None]
    if len(found) != len(inputs):
        message = f"{label(node)} is not valid: an input of it is left out"
        raise ModelError(message)
    return found


def _scalar(name: str, value: Value) -> Tensor:
    data_type = onnx.TensorProto.BOOL if value.dtype == np.bool_ else onnx.TensorProto.INT64
    return Tensor(name=name, data_type=data_type, shape=(), source=lambda: value)


def _truth(node: onnx.NodeProto, tensor: Tensor | None, *, default: bool) -> bool:
    if tensor is None:
        return default
    value = tensor.known()
    if value is None or value.size != 1:
        reason = tensor.unknown or f"the condition of {label(node)}, '{tensor.name}', depends on data"
        raise UnknownError(reason)
    return bool(value.reshape(-1)[0])


def _trips(node: onnx.NodeProto, tensor: Tensor | None) -> int | None:
    if tensor is None:
        return None
    value = tensor.known()
    if value is None or value.size != 1:
        reason = tensor.unknown or f"how often {label(node)} runs depends on data, on '{tensor.name}'"
        raise UnknownError(reason)
    return int(value.reshape(-1)[0])
