"""What slips, and products of slips, make of the quantities of ONNX files: for functions that are called on many."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ._onnx.attributes import floats_of
from ._onnx.load import load, nodes_of
from ._slips import kinds, memory, moved, nodes, tables
from ._slips.compose import BYTE_UNITS, Composition, Part, WantedProducts, answered, applied
from ._slips.kept import kept
from .onnx_memory import onnx_activation_bytes
from .onnx_nodes import onnx_attributes

if TYPE_CHECKING:
    from pathlib import Path


_PEAK = ("peak_live", "largest_node")


def onnx_traffic_bytes_slips(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    policy: Literal["per_node", "per_tensor", "activations_only"] = "per_node",
    constants: bool = False,
    most: int = 1,
    among: list[str] | None = None,
    between: list[str] | None = None,
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
    among: list[str] | None = None,
    between: list[str] | None = None,
) -> dict[str, Any]:
    """What slips make of `onnx_activation_bytes`; of what is needed at one time, units alone."""
    wanted = WantedProducts(most=most, among=among, between=between)
    if policy in _PEAK:
        peak = onnx_activation_bytes(artifact, input_shape=input_shape, policy=policy)
        return answered(BYTE_UNITS, applied(BYTE_UNITS, peak, wanted))
    make = partial(_activations, artifact, input_shape, graph_input=graph_input)
    found = kept(wanted, make, artifact, "activations", input_shape, graph_input)
    return answered(found.library, found.totals(wanted))


def onnx_operator_counts_slips(
    artifact: Path,
    *,
    operators: list[str] | None = None,
    constants: bool = True,
    nested: bool = True,
    most: int = 1,
    among: list[str] | None = None,
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
    among: list[str] | None = None,
    between: list[str] | None = None,
) -> dict[str, Any]:
    """What slips make of `onnx_operator_total`."""
    found = _nodes(artifact, None, constants=constants, nested=nested)
    return answered(found.library, found.totals(WantedProducts(most=most, among=among, between=between)))


def _nodes(artifact: Path, operators: list[str] | None, *, constants: bool, nested: bool) -> Composition:
    model = load(artifact)
    counted = list(nodes_of(model, nested=nested))  # held, or protobuf gives a node another identity each time
    outer = {id(node) for node in nodes_of(model, nested=False)}
    otherwise = {id(node) for node in nodes.in_else_branches(model.graph)}
    bodies = [node for function in model.functions for node in function.node]
    kind_of = {**dict.fromkeys(otherwise, nodes.ELSE), **dict.fromkeys(outer, "")}
    kind_of |= dict.fromkeys(map(id, bodies), nodes.INSIDE)
    parts = [
        Part(row=node.op_type, count=1, source=node, kind=kind, counted=kind != nodes.INSIDE)
        for node in (*counted, *bodies)
        if (operators is None or node.op_type in operators) and (constants or node.op_type != "Constant")
        for kind in (kind_of.get(id(node), nodes.NESTED),)
    ]
    stored = [Part(row="", count=1, source=each, kind=nodes.STORED, counted=False) for each in model.graph.initializer]
    return Composition(library=nodes.COUNTS, make=lambda _: [*parts, *stored])


def onnx_attributes_slips(
    artifact: Path,
    *,
    input_shape: list[int] | None = None,
    operators: list[str] | None = None,
    of: Literal["input", "output"] = "input",
    constants: bool = True,
    most: int = 1,
    among: list[str] | None = None,
) -> dict[str, Any]:
    """What slips make of `onnx_attributes`."""
    rows, outs = (
        onnx_attributes(artifact, input_shape=input_shape, operators=operators, of=each, constants=constants)
        for each in (of, "output")
    )
    floats = floats_of(load(artifact))
    rows = [
        row
        | {"floats": [key for key in row if (row["node"], key) in floats]}
        | {"out": out if "channel" in out else None, "batch": input_shape[0] if input_shape else 1}
        for row, out in zip(rows, outs, strict=True)
    ]
    found = tables.changed(nodes.ATTRIBUTES, rows, WantedProducts(most=most, among=among))
    return {**answered(nodes.ATTRIBUTES, found), "kinds": kinds.of_nodes(rows)}


def _traffic(artifact: Path, input_shape: list[int] | None, policy: str = "per_node", **others: bool) -> Composition:
    constants = others.get("constants", False)
    return moved.composition(artifact, input_shape, moved.traffic(policy, constants=constants), memory.TRAFFIC)


def _activations(artifact: Path, input_shape: list[int] | None, *, graph_input: bool = False) -> Composition:
    return moved.composition(artifact, input_shape, moved.activations(graph_input=graph_input), memory.ACTIVATIONS)
