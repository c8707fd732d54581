"""The findings of a proof as plain data: at most five in full, how many more, and the pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .execution import execute
from .picture import grid, picture

if TYPE_CHECKING:
    from pathlib import Path

    from .execution import TiledExecution
    from .findings import ProofFinding
    from .layers import Layer
    from .prove import Proof

SHOWN = 5
_EVIDENCE_SECONDS = 5.0  # of CPU, for a run that decides nothing


def findings_of(
    proof: Proof, submitted: Path, original: Path, limit: int, declared: frozenset[str]
) -> list[dict[str, Any]]:
    """The findings of a proof, and of an execution of the file where the proof has none that are certain."""
    if any(finding.certain for finding in proof.findings):
        return _plain(proof, limit, "")
    if any(finding.kind == "too large" for finding in proof.findings):
        return _plain(proof, limit, "not run, as it is too large")
    if proof.findings:
        done = execute(submitted, original, proof, declared, _EVIDENCE_SECONDS)
        return [*_counterexample(proof, done), *_plain(proof, limit, done.says)]
    done = execute(submitted, original, proof, declared)
    match done.outcome:
        case "agrees":
            return []
        case "refused":
            return [{"kind": "invalid", "says": f"the file does not run: {done.says}", "certain": True}]
        case "differs":
            says = f"proved the same function as the original, and yet {done.says}"
            return [{"kind": "fault", "says": says, "certain": False}]
    says = f"the file is proved the same function, but could not be run: {done.says}"
    return [{"kind": "outside", "says": says, "certain": False}]


def _counterexample(proof: Proof, done: TiledExecution) -> list[dict[str, Any]]:
    """A file that can't be followed is wrong all the same where a run shows that it computes something else."""
    if not done.is_counterexample:
        return []
    node = next((finding.node for finding in proof.findings if finding.node), "")
    place = f" beyond '{node}'" if node else ""
    says = f"{done.says}: it does not compute what the original does. Where is not known: it can't be followed{place}"
    return [{"kind": "output", "says": says, "certain": True}]


def _plain(proof: Proof, limit: int, opinion: str) -> list[dict[str, Any]]:
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


def _tile_of(finding: ProofFinding, layer: str) -> tuple[int, int, int] | None:
    return finding.tile if finding.layer == layer else None
