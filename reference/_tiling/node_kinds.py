"""One node of each kind that a graph has, run by onnxruntime on what the reference implementation gave it.

Two nodes are of one kind where operator, attributes, and the types and shapes of their operands are the same. A tiled
network of 14,000 nodes has some dozen kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .graph import STANDARD, name_of
from .rounding import CLOSE, size_of_terms
from .runtimes import WINDOWED, RefusedError, by_onnxruntime, is_declared

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .values import Array

_MOST_KINDS = 200
_SMALL = 4096  # elements of a constant that goes with the node: axes, sizes, indices
_CLOSE = 1e-3


def disagreement(
    model: onnx.ModelProto, values: Mapping[str, Any], declared: frozenset[str], initializers: Collection[str] = ()
) -> str:
    """What onnxruntime refuses or computes otherwise than the reference implementation did; nothing where all agree.

    `initializers`: names of those that the model came without.
    """
    names = [node.name for node in model.graph.node if node.name]
    if len(set(names)) != len(names):
        return f"two nodes have the name '{next(name for name in names if names.count(name) > 1)}'"
    kinds = _kinds(model, values, declared)
    constants = {*initializers, *(tensor.name for tensor in model.graph.initializer)}
    graph = onnx.GraphProto(name="kinds")
    feeds: dict[str, Array] = {}
    wanted: dict[str, tuple[onnx.NodeProto, Array]] = {}
    for place, node in enumerate(kinds):
        _add(graph, node, f"{place}:", values, constants, (feeds, wanted))
    imports = [each for each in model.opset_import if each.domain in STANDARD]
    whole = helper.make_model(graph, opset_imports=imports, ir_version=min(model.ir_version, 10))
    try:
        got = by_onnxruntime(whole.SerializeToString(), feeds)
    except RefusedError as error:
        return str(error)
    for name, (node, value) in wanted.items():
        if got[name].dtype != value.dtype or got[name].shape != value.shape:
            return (
                f"onnxruntime makes another type or shape of node '{name_of(node)}' than the reference implementation"
            )
        if np.array_equal(got[name], value):
            continue
        off = np.max(np.abs(got[name].astype(np.float64) - value), initial=0.0)
        if off <= _CLOSE * (1e-6 + np.max(np.abs(value), initial=0.0)):
            continue
        if not off <= CLOSE * size_of_terms(model, node, values):
            return f"onnxruntime computes node '{name_of(node)}' otherwise than the reference implementation"
    return ""


def _kinds(model: onnx.ModelProto, values: Mapping[str, Any], declared: frozenset[str]) -> list[onnx.NodeProto]:
    kinds: dict[tuple[Any, ...], onnx.NodeProto] = {}
    for node in model.graph.node:
        if node.domain not in STANDARD or is_declared(node, declared) or node.op_type in ("Constant", *WINDOWED):
            continue
        operands = [values.get(name) for name in node.input]
        if any(attribute.HasField("g") for attribute in node.attribute) or not all(
            isinstance(each, np.ndarray) or not name for each, name in zip(operands, node.input, strict=True)
        ):
            continue
        shapes = tuple((each.dtype.str, each.shape) if each is not None else None for each in operands)
        said = tuple(attribute.SerializeToString() for attribute in node.attribute)
        kinds.setdefault((node.op_type, said, shapes, len(node.output)), node)
    return list(kinds.values())[:_MOST_KINDS]


def _add(
    graph: onnx.GraphProto,
    node: onnx.NodeProto,
    mark: str,
    values: Mapping[str, Any],
    constants: set[str],
    at: tuple[dict[str, Array], dict[str, tuple[onnx.NodeProto, Array]]],
) -> None:
    """One node with names of its own; what it takes becomes inputs or, where small and constant, initializers."""
    feeds, wanted = at
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = mark
    copy.input[:] = [mark + name if name else "" for name in node.input]
    copy.output[:] = [mark + name if name else "" for name in node.output]
    graph.node.append(copy)
    for name in {name for name in node.input if name}:
        value = np.asarray(values[name])
        if value.size <= _SMALL and (name in constants or value.dtype.kind in "iub"):
            graph.initializer.append(numpy_helper.from_array(value, mark + name))
        else:
            feeds[mark + name] = value
            graph.input.append(_info(mark + name, value))
    for name in filter(None, node.output):
        value = np.asarray(values[name])
        wanted[mark + name] = (node, value)
        graph.output.append(_info(mark + name, value))


def _info(name: str, value: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
