"""The findings of a proof as plain data: at most five in full, how many more, and the pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .picture import grid, picture

if TYPE_CHECKING:
    from .findings import Finding
    from .layers import Layer
    from .prove import Proof

SHOWN = 5


def told(proof: Proof, limit: int, opinion: str = "") -> list[dict[str, Any]]:
    """The findings, the certain ones first. The first of a layer has the picture of the layer's tiles."""
    shown = [finding.as_plain() for finding in proof.findings[:SHOWN]]
    drawn: set[str] = set()
    for plain in shown:
        if opinion and not plain["certain"]:
            plain["opinion"] = opinion
        if "tile" in plain and plain["layer"] not in drawn:
            drawn.add(plain["layer"])
            layer, wrong = _wrong(proof, plain["layer"])
            plain["picture"] = picture(layer, wrong, limit)
            plain["grid"] = grid(layer, wrong, limit)
    left = proof.findings[SHOWN:]
    if left:
        says = f"and {len(left):,} more like {'these' if len(shown) > 1 else 'this'}"
        shown.append({"kind": "more", "says": says, "certain": any(finding.certain for finding in left)})
    return shown


def _wrong(proof: Proof, name: str) -> tuple[Layer, list[tuple[int, int, int]]]:
    layer = next(layer for layer in proof.original.layers if layer.name == name)
    return layer, [tile for finding in proof.findings if (tile := _tile_of(finding, name)) is not None]


def _tile_of(finding: Finding, layer: str) -> tuple[int, int, int] | None:
    return finding.tile if finding.layer == layer else None
