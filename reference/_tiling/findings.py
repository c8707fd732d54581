"""What the proof found: each finding is one sentence for the student, with the place it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "file", "signature", "invalid", "rest", "too big", "dead", "tile", "unfinished", "output", "outside",
    "too large",
]  # fmt: skip
_FIRST = (
    "file",
    "signature",
    "invalid",
    "tile",
    "unfinished",
    "output",
    "rest",
    "too big",
    "dead",
    "outside",
    "too large",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFinding:
    """One thing that keeps a graph from being proved right.

    `certain` is False where the proof does not cover what it met: that may be right, and a person has to look. `tile`
    is (m, k, n), counted in blocks of the limit; `place` orders tiles within a layer.
    """

    kind: Kind
    says: str
    certain: bool = True
    layer: str = ""
    node: str = ""
    tile: tuple[int, int, int] | None = None
    place: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def order(self) -> tuple[bool, int, tuple[int, int, int, int]]:
        """What is certain first, then by kind, then by layer and (m, n, k)."""
        return (not self.certain, _FIRST.index(self.kind), self.place)

    def as_plain(self) -> dict[str, Any]:
        """Plain data, as it leaves the process that measured it."""
        plain: dict[str, Any] = {"kind": self.kind, "says": self.says, "certain": self.certain}
        if self.layer:
            plain["layer"] = self.layer
        if self.node:
            plain["node"] = self.node
        if self.tile is not None:
            plain["tile"] = list(self.tile)
        return plain
