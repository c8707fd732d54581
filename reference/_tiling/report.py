"""The findings of a proof as plain data: at most five in full, how many more, and the pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .picture import picture

if TYPE_CHECKING:
    from .findings import Finding
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
            plain["picture"] = _picture(proof, plain["layer"], limit)
    left = proof.findings[SHOWN:]
    if left:
        says = f"and {len(left):,} more like {'these' if len(shown) > 1 else 'this'}"
        shown.append({"kind": "more", "says": says, "certain": any(finding.certain for finding in left)})
    return shown


def _picture(proof: Proof, name: str, limit: int) -> list[str]:
    layer = next(layer for layer in proof.original.layers if layer.name == name)
    wrong = [tile for finding in proof.findings if (tile := _tile_of(finding, name)) is not None]
    return picture(layer, wrong, limit)


def _tile_of(finding: Finding, layer: str) -> tuple[int, int, int] | None:
    return finding.tile if finding.layer == layer else None
