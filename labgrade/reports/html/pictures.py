"""What is drawn of a check, the same on a student's page, at the desk and for a class: charts with their data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from labgrade.reports.html import charts, planes
from labgrade.reports.html import render as page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.core.results import Graded, Plot
    from labgrade.reports.html.planes import Point
    from labgrade.verdict import ComparedRow

_MOST_ROWS = 400
_EXPECTED, _RIGHT, _WRONG = ("expected", "expected"), ("right", "yours, right"), ("wrong", "yours, wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartData:
    """A chart's data as a table. The first cell of a row is its name; `off` are the wrong rows."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    off: frozenset[int] = frozenset()


def check_pictures(graded: Graded, anchor: str) -> Markup:
    """Draw all pictures of a check; `anchor` is its anchor on the page."""
    drawn = []
    if graded.rows:
        drawn.append(_row_bars(graded.rows, anchor, graded.id))
    if graded.plot is not None:
        drawn.append(plot_with_data(graded.plot, f"{anchor}-p", graded.id))
    return Markup("\n").join(drawn)


def plot_with_data(plot: Plot, anchor: str, label: str, points: Sequence[Point] = ()) -> Markup:
    """Draw a plot with its data; of a class, with all `points`."""
    chart = planes.draw_plot(plot, salt=anchor, points=points)
    caption, title = "", f"All {len(plot.xs)} numbers of the picture"
    if plot.step is not None:
        counts = [(f"{x:.6g}", f"{y:,.0f}") for x, y in zip(plot.xs, plot.ys, strict=True) if y]
        data = ChartData(title=title, head=("value", "numbers"), rows=counts)
        caption = f"Dotted lines are multiples of {plot.step:.4g}." if planes.shows_grid(plot.xs, plot.step) else ""
        return chart_element(chart, data, label, caption)
    found = list(points or planes.points_of(plot))
    above = planes.above_roof(plot, found)
    rows = [(each.name or "yours", f"{each.x:.6g}", f"{each.y:.6g}") for each in found[:_MOST_ROWS]]
    if plot.peak or plot.slopes:
        roofs = [f"{name}: {slope:.6g} times {plot.x}" for name, slope in plot.slopes]
        roofs += [f"peak: {plot.peak:.6g}"] if plot.peak else []
        caption = f"Roofs: {'; '.join(roofs)}." + (f" {len(above)} of {len(found)} lie above." if above else "")
    elif len(found) > 1:
        caption = "The line joins those that no other one beats in both: smaller, and higher."
    head = ("", plot.x, plot.y)
    title = f"All {len(rows)} points of the picture"
    return chart_element(chart, ChartData(title=title, head=head, rows=rows, off=frozenset(above)), label, caption)


def chart_element(
    chart: Markup | None,
    data: ChartData,
    label: str,
    caption: str = "",
    keys: Sequence[tuple[str, str]] = (),
    first: str = "",
) -> Markup:
    """Return a chart with caption and data table, or the table alone. `label` names the table."""
    return page.fragment("picture.html", chart=chart, data=data, label=label, caption=caption, keys=keys, first=first)


def _row_bars(rows: Sequence[ComparedRow], anchor: str, label: str) -> Markup:
    """Draw a handed-in table: bars of the first column with a wrong number, and all cells."""
    cells = rows[:_MOST_ROWS]
    told = any(row.expected_text or row.expected is not None for row in rows)
    head = ("row", "column", "yours", *(["expected"] if told else []), "right?")
    lines = [
        (
            row.name,
            row.column,
            row.got_text or "none",
            *([row.expected_text or "\N{EN DASH}"] if told else []),
            "✓ yes" if row.right else "✗ no",
        )
        for row in cells
    ]
    title = f"All {len(cells)} values beside the expected ones" if told else f"All {len(cells)} values of yours"
    data = ChartData(
        title=title, head=head, rows=lines, off=frozenset(at for at, row in enumerate(cells) if not row.right)
    )
    first = next((row.name for row in rows if not row.right), "")
    keys = (*([_EXPECTED] if told else []), _RIGHT, _WRONG)
    chart = _bars(rows, anchor, told=told)
    return chart_element(chart, data, label, keys=keys, first=first) if chart else chart_element(None, data, label)


def _bars(rows: Sequence[ComparedRow], anchor: str, *, told: bool) -> Markup | None:
    """Bars of the first column that has a wrong number; none where no number is wrong."""
    wrong = (row for row in rows if not row.right and row.got is not None and (row.expected is not None or not told))
    column = next((row.column for row in wrong), None)
    if column is None:
        return None
    bars = [
        charts.Bar(name=row.name, got=row.got, expected=row.expected, right=row.right)
        for row in rows
        if row.column == column and (row.expected is not None or not told)
    ]
    off = [bar for bar in bars if not bar.right]
    differ = f"{len(off):,} differ, first '{off[0].name}'" if told else f"{len(off):,} wrong, first '{off[0].name}'"
    beside = ", yours before the expected ones" if told else " of yours"
    title = f"{column} of {len(bars):,} rows{beside}; {differ}"
    return charts.compared(bars, title=title, unit=column, salt=anchor)
