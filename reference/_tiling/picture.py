"""A picture of a layer's tiles in characters, the wrong ones marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .layers import Layer

_MOST_LINES, _MOST_SIGNS = 10, 48
RIGHT, WRONG = ".", "#"


def picture(layer: Layer, wrong: Iterable[tuple[int, int, int]], limit: int) -> list[str]:
    """Lines of signs: k runs down, n across; of the first row block that has a wrong tile. Large grids are shrunk."""
    tiles = sorted(wrong)
    m = tiles[0][0]
    down, across = -(-layer.depth // limit), -(-layer.columns // limit)
    each_down, each_across = -(-down // _MOST_LINES), -(-across // _MOST_SIGNS)
    marked = {(k // each_down, n // each_across) for row, k, n in tiles if row == m}
    lines = [
        "".join(WRONG if (line, sign) in marked else RIGHT for sign in range(-(-across // each_across)))
        for line in range(-(-down // each_down))
    ]
    scale = "" if each_down == each_across == 1 else f", a sign for {each_down}x{each_across}"
    rows = f" of row block {m}" if layer.rows > limit else ""
    return [f"{layer.name}: {down}x{across} tiles{rows} (k down, n across{scale}; {WRONG} has a wrong one)", *lines]
