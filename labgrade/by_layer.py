"""Which quantity says layer by layer what another says in all.

By its name: beside `macs` stands `macs_by_layer`, beside `onnx_macs` would stand `onnx_macs_by_layer`; it takes at
least the same conventions and gives rows with the column of the total's name, or with one column of numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.model import QuantityCall

if TYPE_CHECKING:
    from labgrade.model import Source
    from labgrade.registry import Registry

SUFFIX = "_by_layer"


def companion(source: Source | None, quantities: Registry) -> QuantityCall | None:
    """The by-layer quantity of a total with the same conventions, or None where there is none."""
    if not isinstance(source, QuantityCall):
        return None
    name = source.quantity if source.quantity.endswith(SUFFIX) else source.quantity + SUFFIX
    entry = quantities.entries.get(name)
    if entry is None or set(source.parameters) - set(entry.parameters):
        return None
    return replace(source, quantity=name, published=None)
