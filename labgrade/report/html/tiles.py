"""A layer's grid of tiles as inline SVG, the wrong ones marked: a shape for all, one for each run of wrong tiles."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from labgrade.report.seen import seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.verdict import TileGrid

_LONGEST = 420  # pixels of the longer side
_LARGEST = 22  # pixels of one tile where there are few
_FINEST_LINES = 4  # below this many pixels a tile, lines between them would be all that is seen
_MARGIN = 18
_WRONG = "#"


def described(grid: TileGrid) -> str:
    """The grid in a sentence, for those who don't see it and as its caption."""
    blocks, down, across = grid.tiles
    wrong = sum(line.count(_WRONG) for line in grid.lines)
    of = f", row block {grid.block} of {blocks}" if blocks > 1 else ""
    each_down, each_across = grid.scale
    scale = f"; a square stands for {each_down} x {each_across} tiles" if grid.scale != (1, 1) else ""
    squares = f"{wrong:,} {'square' if wrong == 1 else 'squares'} marked"
    return f"{seen(grid.layer)}: {down:,} x {across:,} tiles{of}; k runs down, n across{scale}; {squares} wrong"


def drawn(grid: TileGrid) -> Markup:
    """The grid as an element of a page."""
    down, across = len(grid.lines), max(map(len, grid.lines), default=0)
    side = min(_LARGEST, _LONGEST / max(down, across, 1))
    width, height = across * side, down * side
    parts = [f'<rect x="0" y="0" width="{width:.1f}" height="{height:.1f}" class="tiles"/>']
    if side >= _FINEST_LINES:
        lines = [f"M{n * side:.1f} 0V{height:.1f}" for n in range(1, across)]
        lines += [f"M0 {k * side:.1f}H{width:.1f}" for k in range(1, down)]
        parts.append(f'<path d="{"".join(lines)}" class="tile-lines"/>')
    kind = "tile-wrong" if side >= _FINEST_LINES else "tile-wrong tile-thick"
    parts += [
        f'<rect class="{kind}" x="{n * side:.1f}" y="{k * side:.1f}" width="{length * side:.1f}" height="{side:.1f}"/>'
        for k, line in enumerate(grid.lines)
        for n, length in _runs(line)
    ]
    # Where a tile is hardly a pixel, arrows in the margin lead the eye to the first wrong one.
    k, n = next(((k, line.index(_WRONG)) for k, line in enumerate(grid.lines) if _WRONG in line), (0, 0))
    x, y = (n + 0.5) * side, (k + 0.5) * side
    parts.append(f'<path d="M{x:.1f} -3l-6 -11h12zM-3 {y:.1f}l-11 -6v12z" class="tile-mark"/>')
    box = f"{-_MARGIN} {-_MARGIN} {width + _MARGIN + 2:.1f} {height + _MARGIN + 2:.1f}"
    size = f'style="max-width:{width + _MARGIN + 2:.0f}px"'
    body = "".join(parts)
    label = escape(described(grid))
    return Markup(  # noqa: S704 - numbers of ours, and a name that was escaped
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} role="img" aria-label="{label}" class="grid">'
        f"{body}</svg>"
    )


def _runs(line: str) -> Iterator[tuple[int, int]]:
    """Where wrong tiles stand side by side: the first, and how many."""
    for sign, run in itertools.groupby(enumerate(line), key=lambda item: item[1]):
        places = [place for place, _ in run]
        if sign == _WRONG:
            yield places[0], len(places)
