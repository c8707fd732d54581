"""Which quantity says layer by layer what another says in all.

By its name: beside `macs` stands `macs_by_layer`, beside `onnx_macs` `onnx_macs_by_layer`; it takes at least the same
conventions and gives rows with `layer`, perhaps `type`, and one whole number, whatever that is called. Parameters have
none on purpose: their layers are of so few sizes that a forgotten bias would be taken for a forgotten layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.model import QuantityCall

if TYPE_CHECKING:
    from labgrade.model import Source
    from labgrade.registry import Registry

SUFFIX = "_by_layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One row of what a total is made of."""

    name: str
    type: str
    value: int


def layers_of(rows: object) -> tuple[Layer, ...]:
    """What a by-layer quantity gave; rows without a name or with several numbers are left out."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        numbers = [value for value in row.values() if type(value) is int]
        if len(numbers) == 1 and "layer" in row:
            found.append(Layer(name=str(row["layer"]), type=str(row.get("type", "")), value=numbers[0]))
    return tuple(found)


def companion(source: Source | None, quantities: Registry) -> QuantityCall | None:
    """The by-layer quantity of a total with the same conventions, or None where there is none."""
    if not isinstance(source, QuantityCall):
        return None
    name = source.quantity if source.quantity.endswith(SUFFIX) else source.quantity + SUFFIX
    entry = quantities.entries.get(name)
    if entry is None or set(source.parameters) - set(entry.parameters):
        return None
    return replace(source, quantity=name, published=None)
