"""Charts of points and numbers: kernels under roofs, size against accuracy, weights on a grid, a class's mistakes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.core.results import Plot
from labgrade.core.text import for_html
from labgrade.reports.html import charts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

_MOST_NAMED = 9  # points; of more the names would cover each other
_MOST_DRAWN = 400
_BINS = 64
_MARKS = ("o", "s", "^", "D", "v")  # what differs differs in shape, too: a page may be printed in grey
_MANY_TIMES = 100  # from this spread on, an axis is one of powers of ten
_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e4
_DOTTED = (0, (1, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point in a plane, by its name."""

    name: str
    x: float
    y: float


def points_of(plot: Plot, who: str = "") -> list[Point]:
    """The points of a plot; of a class each with who it is of."""
    names = plot.names or ("",) * len(plot.xs)
    return [
        Point(name=" ".join(filter(None, (who, name))), x=x, y=y)
        for name, x, y in zip(names, plot.xs, plot.ys, strict=True)
    ]


def draw_plot(plot: Plot, *, salt: str, points: Sequence[Point] = ()) -> Markup:
    """Draw a plot; of a class, with all of its `points`."""
    if plot.step is not None:
        return histogram(plot.xs, plot.ys, step=plot.step, salt=salt)
    found = points or points_of(plot)
    if plot.peak is None and not plot.slopes:
        return frontier(found, x=plot.x, y=plot.y, salt=salt)
    return roofline_of_plot(found, plot, salt=salt)


def roofline(points: Sequence[Point], *, peak: float, bandwidths: dict[str, float], salt: str) -> Markup:
    """Kernels by FLOPs for each byte and FLOPs a second, below the roofs of a machine."""
    plane = Plot(x="FLOPs a byte", y="FLOPs a second", peak=peak, slopes=tuple(bandwidths.items()))
    return roofline_of_plot(points, plane, salt=salt)


def roofline_of_plot(points: Sequence[Point], plane: Plot, *, salt: str) -> Markup:
    """Points below what rises with `x` and below the `peak`, on axes of powers of ten."""
    shown = [each for each in points if each.x > 0 and each.y > 0]
    beyond = len(above_roof(plane, shown))
    with charts.chart_settings(salt):
        figure, axes = charts.figure()
        ridges = [plane.peak / slope for _, slope in plane.slopes] if plane.peak else []
        ends = [each.x for each in shown] + ridges or [1.0]
        low, high = min(ends) / 4, max(ends) * 4
        for name, slope in plane.slopes:
            bend = min(high, plane.peak / slope) if plane.peak else high
            top = slope * bend
            axes.plot([low, bend, high], [slope * low, top, top], color=charts.TEXT, linewidth=1.2)
            axes.annotate(charts.in_known_characters(name), (low, slope * low), (14, -3), textcoords="offset points")
        if plane.peak and not plane.slopes:
            axes.axhline(plane.peak, color=charts.TEXT, linewidth=1.2)
        _scattered(axes, shown)
        axes.set(xscale="log", yscale="log")
        _labelled(axes, plane.x, plane.y)
        told = f"{beyond} of {len(shown)} above the roof" if beyond else f"all {len(shown)} below the roof"
        return charts.svg(figure, f"Roofline: {plane.y} against {plane.x}, {told}")


def above_roof(plane: Plot, points: Sequence[Point]) -> list[int]:
    """Return the indices of the points that lie above a roof."""
    return [
        place
        for place, each in enumerate(points)
        if each.y > min([plane.peak or math.inf, *(slope * each.x for _, slope in plane.slopes)])
    ]


def frontier(points: Sequence[Point], *, x: str, y: str, salt: str) -> Markup:
    """Points of which small `x` and large `y` are wanted, with the line of those that no other one beats in both."""
    line = pareto_front(points)
    with charts.chart_settings(salt):
        figure, axes = charts.figure()
        if len(points) > 1:
            steps = [each.x for each in line], [each.y for each in line]
            axes.step(*steps, where="post", color=charts.TEXT, linewidth=1.2)
        _scattered(axes, points)
        sizes = [each.x for each in points]
        if sizes and min(sizes) > 0 and max(sizes) > _MANY_TIMES * min(sizes):
            axes.set_xscale("log")
        axes.margins(0.08, 0.12)
        _labelled(axes, x, y)
        named = ", ".join(each.name for each in line[:3] if each.name)
        first = f": {named}" if named else ""
        return charts.svg(figure, f"{y} against {x} of {len(points):,}; {len(line)} that none beats in both{first}")


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in both `x` and `y`, sorted by `x`."""
    found: list[Point] = []
    for each in sorted(points, key=lambda each: (each.x, -each.y)):
        if not found or each.y > found[-1].y:
            found.append(each)
    return found


def histogram(middles: Sequence[float], counts: Sequence[float], *, step: float, salt: str) -> Markup:
    """Draw how many numbers lie in each of some bins of equal width."""
    low, high, width = _ends(middles, step)
    most = max(counts)
    title = f"Histogram of {sum(counts):,.0f} numbers from {low:.4g} to {high:.4g}; most, {most:,.0f}, at "
    title += f"{middles[list(counts).index(most)]:.4g}"
    with charts.chart_settings(salt):
        figure, axes = charts.figure()
        tall = ((middle, count or None) for middle, count in zip(middles, counts, strict=True))
        charts.bars(axes, list(tall), charts.RIGHT, 0.9 * width)
        if shows_grid(middles, step):
            at = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
            axes.vlines(at, 0, 1.1 * most, color=charts.TEXT, linewidth=0.6, linestyle=_DOTTED)
        axes.set(xlim=(low - width, high + width), ylim=(0, 1.1 * most))
        _labelled(axes, "value", "numbers")
        return charts.svg(figure, title)


def spread_bars(rows: Sequence[tuple[str, Sequence[int]]], *, title: str, salt: str) -> Markup:
    """For each of some tasks how many earned which tenth of its points, as small bars beside each other."""
    height = 0.3 * len(rows) + 0.6
    with charts.chart_settings(salt):
        figure, axes = charts.figure(height=height)
        low = 0.45 / height
        axes.set_position((0.3, low, 0.64, 0.98 - low))
        for place, (_, counts) in enumerate(rows):
            tallest = max(*counts, 1)
            tall = ((at + 0.5, 0.8 * count / tallest if count else None) for at, count in enumerate(counts))
            charts.bars(axes, tall, charts.RIGHT, 0.9, foot=len(rows) - place - 1)
        axes.hlines(range(len(rows)), 0, 10, color=charts.TEXT, linewidth=0.5)
        axes.set_yticks(
            [len(rows) - place - 0.6 for place in range(len(rows))],
            [charts.in_known_characters(name) for name, _ in rows],
        )
        axes.set(xlim=(0, 10), ylim=(0, len(rows)))
        axes.set_xticks(range(0, 11, 5), ["0 %", "50 %", "100 %"])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("share of the task's points")
        return charts.svg(figure, title)


def shows_grid(middles: Sequence[float], step: float) -> bool:
    """Whether a histogram has lines for the values of its grid: not of so many that nothing else is seen."""
    low, high, _ = _ends(middles, step)
    return bool(step) and (high - low) / step <= _BINS + 2


def _ends(middles: Sequence[float], step: float) -> tuple[float, float, float]:
    width = middles[1] - middles[0] if len(middles) > 1 else step or 1.0
    return middles[0] - width / 2, middles[-1] + width / 2, width


def ranked_bars(counts: Sequence[tuple[str, int]], *, title: str, unit: str, salt: str) -> Markup:
    """Draw how often each thing occurs as horizontal bars, the most frequent first."""
    with charts.chart_settings(salt):
        figure, axes = charts.figure(height=0.24 * len(counts) + 0.7)
        low = 0.5 / (0.24 * len(counts) + 0.7)
        axes.set_position((0.5, low, 0.47, 0.98 - low))  # names at the left
        charts.horizontal_bars(axes, [count for _, count in counts], charts.RIGHT, 0.7)
        axes.set_yticks(range(len(counts)), [f"{charts.in_known_characters(name)}  {count}" for name, count in counts])
        most = max(count for _, count in counts)
        axes.set(ylim=(len(counts) - 0.5, -0.5), xlim=(0, 1.05 * most))
        axes.set_xticks([0, most])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(charts.in_known_characters(unit))
        return charts.svg(figure, title)


def standalone_svg(drawn: Markup, told: Sequence[Sequence[str]] = ()) -> str:
    """Return a chart as an SVG file of its own, with a page's colours and its data for screen readers."""
    head, _, body = str(drawn).partition(">")
    title = head.partition('aria-label="')[2].partition('"')[0]
    data = "; ".join(", ".join(row) for row in told)
    style = (
        "<style>svg{color:#222;--line:#999;--right:#2a6f97;--wrong:#b3261e;--expected:#ccc;font:10px sans-serif}"
        "@media(prefers-color-scheme:dark){svg{color:#ddd;--right:#7fb8da;--wrong:#ff8a80;--expected:#555}}</style>"
    )
    desc = f"<desc>{for_html(data)}</desc>" if data else ""
    return f"{head}><title>{title}</title>{desc}{style}{body}\n"


def _labelled(axes: Any, x: str, y: str) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter, NullLocator

    large = EngFormatter(sep=" ")

    def said(value: float, _: object) -> str:
        return f"{value:.4g}" if value == 0 or _LEAST_PLAIN <= abs(value) < _MOST_PLAIN else large(value)

    for axis, label in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_label_text(charts.in_known_characters(label))
        axis.set_major_formatter(FuncFormatter(said))
        axis.set_minor_locator(NullLocator())  # of which powers of ten have many, and each takes its time


def _scattered(axes: Any, points: Sequence[Point]) -> None:
    if len(points) > _MOST_NAMED:
        shown = points[:: math.ceil(len(points) / _MOST_DRAWN)]
        axes.plot(
            [each.x for each in shown],
            [each.y for each in shown],
            ".",
            color=charts.RIGHT,
            markersize=6,
            markeredgewidth=0,
        )
        return
    for place, mark in enumerate(_MARKS[: len(points)]):
        own = points[place :: len(_MARKS)]
        axes.plot([each.x for each in own], [each.y for each in own], mark, color=charts.RIGHT, markersize=5)
    for place, each in enumerate(sorted(points, key=lambda each: each.x)):
        beside, side = ((-5, 3), "right") if place % 2 else ((5, -10), "left")  # of neighbours one above, one below
        axes.annotate(
            charts.in_known_characters(each.name), (each.x, each.y), beside, textcoords="offset points", ha=side
        )
