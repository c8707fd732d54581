"""What slips, and products of slips, make of the quantities of ONNX files: for functions that are called on many."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._onnx.attributes import floats_of
from ._onnx.load import load, nodes_of
from ._onnx.run import run
from ._slips import kinds, memory, moved, node_counts, nodes, peaks, tables
from ._slips.common import BYTE_UNITS
from ._slips.compose import Composition, Library, Part, WantedProducts, answered, applied
from ._slips.kept import kept
from .onnx_memory import onnx_activation_bytes
from .onnx_nodes import onnx_attributes

if TYPE_CHECKING:
    from pathlib import Path


Names = list[str] | None


def onnx_traffic_bytes_slips(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    policy: Literal["per_node", "per_tensor", "activations_only"] = "per_node",
    constants: bool = False,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_traffic_bytes`."""
    wanted = WantedProducts(most=most, among=among, between=between)
    make = partial(_traffic, artifact, input_shape, policy, constants=constants)
    found = kept(wanted, make, artifact, "traffic", input_shape, policy, constants)
    return answered(found.library, found.totals(wanted))


def onnx_activation_bytes_slips(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    policy: Literal["sum", "peak_live", "largest_node"] = "sum",
    graph_input: bool = False,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_activation_bytes`; of the largest node, units alone."""
    wanted = WantedProducts(most=most, among=among, between=between)
    if policy == "peak_live":
        return answered(peaks.PEAKS, peaks.values(run(artifact, input_shape).whole(), wanted))
    if policy == "largest_node":
        largest = onnx_activation_bytes(artifact, input_shape=input_shape, policy=policy)
        return answered(BYTE_UNITS, applied(BYTE_UNITS, largest, wanted))
    make = partial(_activations, artifact, input_shape, graph_input=graph_input)
    found = kept(wanted, make, artifact, "activations", input_shape, graph_input)
    return answered(found.library, found.totals(wanted))


def onnx_operator_counts_slips(
    artifact: Path,
    *,
    operators: Names = None,
    constants: bool = True,
    nested: bool = True,
    most: int = 1,
    among: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_operator_counts`."""
    found = _nodes(artifact, operators, constants=constants, nested=nested)
    return answered(found.library, found.tables(WantedProducts(most=most, among=among)))


def onnx_operator_total_slips(
    artifact: Path,
    *,
    constants: bool = True,
    nested: bool = True,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_operator_total`."""
    found = _nodes(artifact, None, constants=constants, nested=nested)
    return answered(found.library, found.totals(WantedProducts(most=most, among=among, between=between)))


def onnx_operator_types_slips(
    artifact: Path,
    *,
    constants: bool = True,
    nested: bool = True,
    most: int = 1,
    among: Names = None,
    between: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_operator_types`: in how many rows operators stand; of at most two at once."""
    found = _nodes(artifact, None, constants=constants, nested=nested, library=node_counts.TYPES)
    wanted = WantedProducts(most=min(most, 2), among=among, between=between)
    counts = ((names, len(rows)) for names, rows in found.tables(wanted))
    low, high = wanted.bounds or (0, math.inf)
    return answered(found.library, ((names, count) for names, count in counts if low <= count <= high))


def _nodes(
    artifact: Path, operators: Names, *, constants: bool, nested: bool, library: Library = node_counts.COUNTS
) -> Composition:
    model = load(artifact)
    counted = list(nodes_of(model, nested=nested))  # held, or protobuf gives a node another identity each time
    kind_of = {id(node): node_counts.ELSE for node in node_counts.within(model.graph, "else_branch")}
    kind_of |= {id(node): node_counts.BODY for node in node_counts.within(model.graph, "body")}
    kind_of |= dict.fromkeys(map(id, nodes_of(model, nested=False)), "")
    calls = Counter((node.domain, node.op_type) for node in counted)
    inside = [
        (node, kind, count)
        for function in model.functions
        for node in function.node
        for kind, count in ((node_counts.INSIDE, 1), (node_counts.AGAIN, calls[function.domain, function.name] - 1))
    ]
    parts = [
        Part(row=node.op_type, count=count, source=node, kind=kind, counted=kind in node_counts.COUNTED)
        for node, kind, count in (*((node, kind_of.get(id(node), node_counts.NESTED), 1) for node in counted), *inside)
        if (operators is None or node.op_type in operators) and (constants or node.op_type != "Constant")
    ]
    stored = [
        Part(row="", count=1, source=each, kind=node_counts.STORED, counted=False) for each in model.graph.initializer
    ]
    return Composition(library=library, make=lambda _: [*parts, *stored])


def onnx_attributes_slips(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    operators: Names = None,
    of: Literal["input", "output"] = "input",
    constants: bool = True,
    most: int = 1,
    among: Names = None,
) -> dict[str, Any]:
    """What slips make of `onnx_attributes`."""
    rows, outs = (
        onnx_attributes(artifact, input_shape=input_shape, operators=operators, of=each, constants=constants)
        for each in (of, "output")
    )
    model = load(artifact)
    floats, given = floats_of(model), {each.name for each in model.graph.input}
    first = {node.name for node in model.graph.node if node.input and node.input[0] in given}
    rows = [
        row
        | {"floats": [key for key in row if (row["node"], key) in floats]}
        | {"of_input": row["node"] in first}
        | {"out": out if "channel" in out else None, "batch": input_shape[0] if input_shape else 1}
        for row, out in zip(rows, outs, strict=True)
    ]
    found = tables.changed(nodes.ATTRIBUTES, rows, WantedProducts(most=most, among=among))
    return {**answered(nodes.ATTRIBUTES, found), "kinds": kinds.of_nodes(rows)}


def _traffic(artifact: Path, input_shape: list[int] | None, policy: str = "per_node", **others: bool) -> Composition:
    constants = others.get("constants", False)
    # Where each tensor moves once, all that nodes read was written before, but for the model's input.
    library = {name: slip for name, slip in memory.TRAFFIC.items() if name != "reads" or policy != "per_tensor"}
    return moved.composition(artifact, input_shape, moved.traffic(policy, constants=constants), library)


def _activations(artifact: Path, input_shape: list[int] | None, *, graph_input: bool = False) -> Composition:
    return moved.composition(artifact, input_shape, moved.activations(graph_input=graph_input), memory.ACTIVATIONS)
