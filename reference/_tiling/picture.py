"""A picture of a layer's tiles in characters, the wrong ones marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .layers import Layer

_MOST_LINES, _MOST_SIGNS = 10, 48
_FINEST = 200  # lines and signs of what is drawn elsewhere
RIGHT, WRONG = ".", "#"


def picture(layer: Layer, wrong: Iterable[tuple[int, int, int]], limit: int) -> list[str]:
    """Lines of signs: k runs down, n across; of the first row block that has a wrong tile. Large grids are shrunk."""
    tiles = sorted(wrong)
    m = tiles[0][0]
    down, across = -(-layer.depth // limit), -(-layer.columns // limit)
    each_down, each_across = -(-down // _MOST_LINES), -(-across // _MOST_SIGNS)
    lines = _lines({(k, n) for row, k, n in tiles if row == m}, (down, across), (each_down, each_across))
    scale = "" if each_down == each_across == 1 else f", a sign for {each_down}x{each_across}"
    rows = f" of row block {m}" if layer.rows > limit else ""
    return [f"{layer.name}: {down}x{across} tiles{rows} (k down, n across{scale}; {WRONG} has a wrong one)", *lines]


def grid(layer: Layer, wrong: Iterable[tuple[int, int, int]], limit: int) -> dict[str, Any]:
    """The same as plain data and finer, for whoever draws it: a sign a tile up to 200 x 200 of them.

    Holds `layer`, `block` (the first row block with a wrong tile), `tiles` (m, k, n), `scale` (the tiles that a sign
    stands for along k and n) and `lines`.
    """
    tiles = sorted(wrong)
    m = tiles[0][0]
    rows, down, across = (-(-size // limit) for size in (layer.rows, layer.depth, layer.columns))
    scale = (-(-down // _FINEST), -(-across // _FINEST))
    lines = _lines({(k, n) for row, k, n in tiles if row == m}, (down, across), scale)
    return {"layer": layer.name, "block": m, "tiles": [rows, down, across], "scale": list(scale), "lines": lines}


def _lines(wrong: Collection[tuple[int, int]], tiles: tuple[int, int], scale: tuple[int, int]) -> list[str]:
    """Signs along n, line by line along k; each stands for `scale` tiles."""
    (down, across), (each_down, each_across) = tiles, scale
    marked = {(k // each_down, n // each_across) for k, n in wrong}
    return [
        "".join(WRONG if (line, sign) in marked else RIGHT for sign in range(-(-across // each_across)))
        for line in range(-(-down // each_down))
    ]
