"""Charts as inline SVG. matplotlib draws them in the colours of the page, which are others in light and in dark."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from labgrade.core.text import escaped, for_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labgrade.verdict import TileGrid

# What matplotlib gets, and what the page says in its place.
TEXT, _LINE, _EXPECTED, RIGHT, _WRONG = "#010101", "#020202", "#030303", "#040404", "#050505"
_PAGE_COLOURS = {
    TEXT: "currentColor",
    _LINE: "var(--line)",
    _EXPECTED: "var(--expected)",
    RIGHT: "var(--right)",
    _WRONG: "var(--wrong)",
}
_INCHES = (5.6, 2.5)  # at 72 points an inch a phone shows the letters at about 9 pixels
_AXES = (0.15, 0.2, 0.8, 0.74)  # left, bottom, width, height: finding out what labels need takes twice the time
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": _LINE,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "text.color": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_FONT = re.compile(r" font-family: [^;\"]*;")  # the page's is as good
_STYLE = re.compile(r' style="([^"]*)"')  # the desk's pages allow none within the page; attributes say the same
_DIGITS = re.compile(r"(?<=\d\.\d\d)\d+(?=[ \"),])")  # hundredths of a pixel are enough
_SPACES = re.compile(r"\s+")
_UNUSED_ID = re.compile(r' id="(?:figure|patch|axes|matplotlib|xtick|ytick|text|line2d|LineCollection|Path)[^"]*"')
_LEFT_OUT = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)
_LONGEST_NAME = 36  # characters, about what fits beside the mark
_MANY_TIMES = 3_000  # from this spread on, a logarithm shows the small bars too


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A layer's handed-in and expected value; None where there is none to draw or it may not be shown."""

    name: str
    got: float | None
    expected: float | None
    right: bool


def compared(rows: Sequence[Bar], *, title: str, unit: str, salt: str) -> Markup:
    """The student's bars in front of the expected ones, in the order of the layers; the first wrong one is marked.

    What is wrong is hollow, so that it shows in grey, too.

    `salt` is unique within the page: what refers to parts of the chart is named by it.
    """
    with chart_settings(salt):
        return _compared(rows, title, unit)


def _compared(rows: Sequence[Bar], title: str, unit: str) -> Markup:
    from matplotlib.ticker import EngFormatter

    drawn_on, axes = figure()
    bars(axes, [(i, bar.expected) for i, bar in enumerate(rows)], _EXPECTED, 0.9)
    bars(axes, [(i, bar.got if bar.right else None) for i, bar in enumerate(rows)], RIGHT, 0.5)
    bars(axes, [(i, None if bar.right else bar.got) for i, bar in enumerate(rows)], _WRONG, 0.5, hollow=True)
    sizes = [abs(value) for bar in rows for value in (bar.got, bar.expected) if value]
    wide = bool(sizes) and max(sizes) > _MANY_TIMES * min(sizes)
    if wide:
        axes.set_yscale("symlog", linthresh=max(1.0, min(sizes)))
    axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.set_ylim(0, (20 if wide else 1.25) * max(sizes, default=1))
    axes.set_xlim(-1, len(rows))
    wrong = next((i for i, bar in enumerate(rows) if not bar.right and bar.got is not None), None)
    if wrong is not None:
        axes.axvline(wrong, color=_WRONG, linewidth=1, linestyle=(0, (3, 2)))
        late = wrong > len(rows) / 2
        axes.annotate(
            f"first wrong: {in_known_characters(rows[wrong].name)}",
            (wrong, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if late else 4, -9),
            textcoords="offset points",
            ha="right" if late else "left",
            color=_WRONG,
        )
    axes.set_ylabel(in_known_characters(unit))
    told = any(bar.expected is not None for bar in rows)
    axes.set_xlabel(f"{len(rows):,} rows, in the expected order" if told else f"{len(rows):,} rows")
    axes.set_xticks([])
    return svg(drawn_on, title)


def distribution(shares: Iterable[float], *, title: str, salt: str) -> Markup:
    """How many submissions earned which share (0 to 1) of the points, in tenths."""
    counts = [0] * 10
    for share in shares:
        counts[min(9, max(0, int(share * 10)))] += 1
    with chart_settings(salt):
        return _distribution(counts, title)


def _distribution(counts: Sequence[int], title: str) -> Markup:
    drawn_on, axes = figure()
    bars(axes, [(place + 0.5, count or None) for place, count in enumerate(counts)], RIGHT, 0.92)
    for place, count in enumerate(counts):
        if count:
            axes.annotate(str(count), (place + 0.5, count), (0, 3), textcoords="offset points", ha="center", color=TEXT)
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 1.15 * max(1, *counts))
    axes.set_xticks(range(0, 11, 2), [f"{place * 10} %" for place in range(0, 11, 2)])
    axes.set_yticks([])
    axes.set_xlabel("share of the points")
    axes.set_ylabel("submissions")
    return svg(drawn_on, title)


def chart_settings(salt: str) -> AbstractContextManager[None]:
    """Apply matplotlib's settings while a chart is drawn and written."""
    import matplotlib as mpl

    return mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt})


def figure(height: float = _INCHES[1]) -> tuple[Figure, Axes]:
    """A figure of the width of a page's charts, and what is drawn on."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(_INCHES[0], height))
    return made, made.add_axes(_AXES)


def bars(
    axes: Axes,
    heights: Iterable[tuple[float, float | None]],
    colour: str,
    width: float,
    *,
    hollow: bool = False,
    foot: float = 0,
) -> None:
    """Draw all bars of one colour as one shape, from `foot` up, so that a chart of 200 layers stays small."""
    corners: list[tuple[float, float]] = []
    for place, height in heights:
        if height is not None:
            left, right = place - width / 2, place + width / 2
            top = foot + height
            corners += [(left, foot), (left, top), (right, top), (right, foot), (left, foot)]
    _add_shape(axes, corners, colour, hollow=hollow)


def horizontal_bars(axes: Axes, lengths: Iterable[float], colour: str, width: float) -> None:
    """Draw horizontal bars of one colour as one shape."""
    corners: list[tuple[float, float]] = []
    for place, long in enumerate(lengths):
        low, high = place - width / 2, place + width / 2
        corners += [(0, low), (long, low), (long, high), (0, high), (0, low)]
    _add_shape(axes, corners, colour)


def _add_shape(axes: Axes, corners: Sequence[tuple[float, float]], colour: str, *, hollow: bool = False) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if corners:
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
        own = {"facecolor": "none", "edgecolor": colour} if hollow else {"facecolor": colour}
        # As a patch it would be asked for its limits, curve by curve; who draws it sets them.
        axes.add_artist(PathPatch(Path(corners, codes), linewidth=1.4 if hollow else 0, **own))


def in_known_characters(name: str) -> str:
    """A name on one line, in characters that every font has: matplotlib measures text with its own."""
    short = " ".join(escaped(name).split()).encode("ascii", "backslashreplace").decode("ascii")
    return short if len(short) <= _LONGEST_NAME else f"{short[:_LONGEST_NAME]}..."


def _as_attributes(found: re.Match[str]) -> str:
    """Turn a style's declarations into SVG attributes of the same names."""
    said = (each.partition(":") for each in found[1].split(";") if ":" in each)
    known = {name.strip(): value.strip() for name, _, value in said}
    return "".join(f' {name}="{value}"' for name, value in known.items())


def svg(drawn_on: Figure, title: str) -> Markup:
    """The figure as an element of a page, with a title for those who don't see it."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.StringIO()
    undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
    FigureCanvasSVG(drawn_on).print_svg(stream, metadata=undated)  # type: ignore[no-untyped-call]
    text = _FONT.sub("", _UNUSED_ID.sub("", _LEFT_OUT.sub("", stream.getvalue())))
    text = _DIGITS.sub("", _STYLE.sub(_as_attributes, _SPACES.sub(" ", text)))
    for told, said in _PAGE_COLOURS.items():
        text = text.replace(told, said)
    head, _, body = text.partition(">")
    head = re.sub(r' (?:width|height|version)="[^"]*"', "", head)
    return Markup(f'{head} role="img" aria-label="{for_html(title)}" class="chart">{body}')  # noqa: S704 - drawn by us


_LONGEST = 420  # pixels of the longer side
_LARGEST = 22  # pixels of one tile where there are few
_FINEST_LINES = 4  # below this many pixels a tile, lines between them would be all that is seen
_MARGIN = 18
_WRONG_TILE = "#"


def grid_in_words(grid: TileGrid) -> str:
    """The grid in a sentence, for those who don't see it and as its caption."""
    blocks, down, across = grid.tiles
    wrong = sum(line.count(_WRONG_TILE) for line in grid.lines)
    of = f", row block {grid.block} of {blocks}" if blocks > 1 else ""
    each_down, each_across = grid.scale
    scale = f"; a square stands for {each_down} x {each_across} tiles" if grid.scale != (1, 1) else ""
    squares = f"{wrong:,} {'square' if wrong == 1 else 'squares'} marked"
    return f"{escaped(grid.layer)}: {down:,} x {across:,} tiles{of}; k runs down, n across{scale}; {squares} wrong"


def tile_grid(grid: TileGrid) -> Markup:
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
    k, n = next(((k, line.index(_WRONG_TILE)) for k, line in enumerate(grid.lines) if _WRONG_TILE in line), (0, 0))
    x, y = (n + 0.5) * side, (k + 0.5) * side
    parts.append(f'<path d="M{x:.1f} -3l-6 -11h12zM-3 {y:.1f}l-11 -6v12z" class="tile-mark"/>')
    box = f"{-_MARGIN} {-_MARGIN} {width + _MARGIN + 2:.1f} {height + _MARGIN + 2:.1f}"
    size = f'style="max-width:{width + _MARGIN + 2:.0f}px"'
    body = "".join(parts)
    label = for_html(grid_in_words(grid))
    return Markup(  # noqa: S704 - numbers of labgrade's, and a name that was escaped
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} role="img" aria-label="{label}" class="grid">'
        f"{body}</svg>"
    )


def _runs(line: str) -> Iterator[tuple[int, int]]:
    """Yield each run of adjacent wrong tiles: the first, and how many."""
    for sign, run in itertools.groupby(enumerate(line), key=lambda item: item[1]):
        places = [place for place, _ in run]
        if sign == _WRONG_TILE:
            yield places[0], len(places)
