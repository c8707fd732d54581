"""What slips, and products of slips, make of the quantities of ONNX files: for functions that are called on many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._onnx.attributes import floats_of
from ._onnx.load import load
from ._slips import kinds, moved, nodes, tables
from ._slips.compose import BYTE_UNITS, WantedProducts, answered, applied
from .onnx_memory import onnx_activation_bytes
from .onnx_nodes import onnx_attributes

if TYPE_CHECKING:
    from pathlib import Path

    from ._slips.compose import Composition

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
    found = _traffic(artifact, input_shape, policy, constants=constants)
    return answered(found.library, found.totals(WantedProducts(most=most, among=among, between=between)))


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
    found = _activations(artifact, input_shape, graph_input=graph_input)
    return answered(found.library, found.totals(wanted))


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
    rows = onnx_attributes(artifact, input_shape=input_shape, operators=operators, of=of, constants=constants)
    floats = floats_of(load(artifact))
    rows = [row | {"floats": [key for key in row if (row["node"], key) in floats]} for row in rows]
    found = tables.changed(nodes.ATTRIBUTES, rows, WantedProducts(most=most, among=among))
    return {**answered(nodes.ATTRIBUTES, found), "kinds": kinds.of_nodes(rows)}


def _traffic(artifact: Path, input_shape: list[int] | None, policy: str = "per_node", **others: bool) -> Composition:
    constants = others.get("constants", False)
    return moved.composition(artifact, input_shape, moved.traffic(policy, constants=constants), moved.TRAFFIC)


def _activations(artifact: Path, input_shape: list[int] | None, *, graph_input: bool = False) -> Composition:
    return moved.composition(artifact, input_shape, moved.activations(graph_input=graph_input), moved.ACTIVATIONS)
