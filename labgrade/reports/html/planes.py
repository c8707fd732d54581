"""Charts of points and numbers: kernels under a roofline, size against accuracy, weights on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.reports.html import charts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

_MOST_NAMED = 12  # points; of more the names would cover each other
_MOST_TOLD = 40  # rows for those who don't see the picture
_BINS = 64
_MARKS = ("o", "s", "^", "D", "v")  # what differs differs in shape, too: a page may be printed in grey


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point in a plane, by its name."""

    name: str
    x: float
    y: float


def roofline(points: Sequence[Point], *, peak: float, bandwidths: dict[str, float], salt: str) -> Markup:
    """Kernels by FLOPs for each byte and FLOPs a second, below the roofs of a machine."""
    title = f"Roofline: {_told(points, 'FLOPs a byte', 'FLOPs a second')}"
    with charts.drawing(salt):
        figure, axes = charts.figure()
        ridges = [peak / each for each in bandwidths.values()]
        ends = [value for value in (*(each.x for each in points), *ridges) if value > 0]
        low, high = min(ends) / 4, max(ends) * 4
        for (name, bandwidth), ridge in zip(bandwidths.items(), ridges, strict=True):
            axes.plot([low, ridge, high], [bandwidth * low, peak, peak], color=charts.TEXT, linewidth=1.2)
            axes.annotate(charts.plain(name), (low, bandwidth * low), (3, 6), textcoords="offset points")
        _scattered(axes, points)
        axes.set(xscale="log", yscale="log", xlabel="FLOPs a byte", ylabel="FLOPs a second")
        return charts.svg(figure, title)


def frontier(points: Sequence[Point], *, x: str, y: str, salt: str) -> Markup:
    """Points of which small `x` and large `y` are wanted, with the line of those that no other one beats in both."""
    line = best(points)
    with charts.drawing(salt):
        figure, axes = charts.figure()
        axes.step([each.x for each in line], [each.y for each in line], where="post", color=charts.TEXT, linewidth=1.2)
        _scattered(axes, points)
        axes.set(xlabel=charts.plain(x), ylabel=charts.plain(y))
        return charts.svg(figure, f"{y} against {x}: {_told(points, x, y)}")


def best(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats in both, from the smallest `x` on."""
    found: list[Point] = []
    for each in sorted(points, key=lambda each: (each.x, -each.y)):
        if not found or each.y > found[-1].y:
            found.append(each)
    return found


def histogram(values: Sequence[float], *, step: float, salt: str) -> Markup:
    """How many numbers lie where; with a `step`, lines at its multiples, the values of a grid."""
    low, high = min(values), max(values)
    width = (high - low) / _BINS or 1.0
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((value - low) / width))] += 1
    title = f"Histogram of {len(values):,} numbers from {low:.4g} to {high:.4g}; most, {max(counts):,}, at "
    title += f"{low + (counts.index(max(counts)) + 0.5) * width:.4g}"
    with charts.drawing(salt):
        figure, axes = charts.figure()
        charts.bars(axes, list(enumerate(count or None for count in counts)), charts.RIGHT, 0.9)
        if step and (high - low) / step <= _BINS:
            for multiple in range(math.ceil(low / step), math.floor(high / step) + 1):
                place = (multiple * step - low) / width - 0.5
                axes.axvline(place, color=charts.TEXT, linewidth=0.6, linestyle=(0, (1, 2)))
        axes.set(xlim=(-1, _BINS), ylim=(0, 1.1 * max(counts)), xlabel="value", ylabel="numbers")
        axes.set_xticks([-0.5, _BINS / 2 - 0.5, _BINS - 0.5], [f"{at:.3g}" for at in (low, (low + high) / 2, high)])
        return charts.svg(figure, title)


def by_itself(drawn: Markup) -> str:
    """A chart as a file of its own, with the colours that a page would give it, light and dark."""
    head, _, body = str(drawn).partition(">")
    title = head.partition('aria-label="')[2].partition('"')[0]
    style = (
        "<style>svg{color:#222;--line:#999;--right:#2a6f97;--wrong:#b3261e;--expected:#ccc;font:10px sans-serif}"
        "@media(prefers-color-scheme:dark){svg{color:#ddd;--right:#7fb8da;--wrong:#ff8a80;--expected:#555}}</style>"
    )
    return f"{head}><title>{title}</title>{style}{body}\n"


def _scattered(axes: Any, points: Sequence[Point]) -> None:
    if len(points) > _MOST_NAMED:
        axes.plot(
            [each.x for each in points],
            [each.y for each in points],
            ".",
            color=charts.RIGHT,
            markersize=6,
            markeredgewidth=0,
        )
        return
    for place, each in enumerate(points):
        axes.plot(each.x, each.y, _MARKS[place % len(_MARKS)], color=charts.RIGHT, markersize=5)
        axes.annotate(charts.plain(each.name), (each.x, each.y), (4, 3), textcoords="offset points")


def _told(points: Sequence[Point], x: str, y: str) -> str:
    """The data as a text, for those who don't see the picture."""
    return "; ".join(f"{each.name}: {each.x:.4g} {x}, {each.y:.4g} {y}" for each in points[:_MOST_TOLD])
