"""What pages draw of an answer, as numbers: a `Picture` of the spec and what was handed in become a `Plot`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labgrade.core.results import Plot
from labgrade.core.text import encodable
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labgrade.core.task import Picture
    from labgrade.values import Value

_MOST_POINTS = 400
_LONGEST_NAME = 80
_BINS = 64
_REAL = tuple("biuf")  # kinds of numpy


def of_value(picture: Picture, value: Value) -> Plot | None:
    """Plot a table, or arrays and numbers; None if there is nothing to draw."""
    if picture.step is not None:
        return _histogram(picture.step, value)
    if not isinstance(value, Table):
        return None
    rows = ((row.name, row.cells.get(picture.x), row.cells.get(picture.y)) for row in value.rows)
    return _points(picture, ((name, _number(x), _number(y)) for name, x, y in rows))


def of_measured(picture: Picture, plain: object) -> Plot | None:
    """Plot a quantity's rows or single point; a row's first text is its name."""
    rows = [plain] if isinstance(plain, Mapping) else plain if isinstance(plain, list) else []
    found = (
        (next(filter(_is_text, row.values()), ""), row.get(picture.x), row.get(picture.y))
        for row in rows
        if isinstance(row, Mapping)
    )
    return _points(picture, found)


def _points(picture: Picture, rows: Iterable[tuple[str, Any, Any]]) -> Plot | None:
    known = [(name, float(x), float(y)) for name, x, y in rows if _is_finite(x) and _is_finite(y)][:_MOST_POINTS]
    if not known:
        return None
    names, xs, ys = zip(*known, strict=True)
    return Plot(
        x=picture.x,
        y=picture.y,
        names=tuple(encodable(name[:_LONGEST_NAME]) for name in names),
        xs=xs,
        ys=ys,
        peak=picture.peak,
        slopes=picture.slopes,
        measured=picture.measured is not None,
    )


def _histogram(step: float, value: Value) -> Plot | None:
    """Count the numbers in bins of equal width, a multiple of the grid's step."""
    import numpy as np

    parts = [np.asarray(each, dtype=np.float64).ravel() for each in _arrays(value)]
    numbers = np.concatenate(parts) if parts else np.empty(0)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return None
    low, high = float(numbers.min()), float(numbers.max())
    if step:
        width = step * max(1, math.ceil((high - low) / step / _BINS))
        first, last = math.floor(low / width + 0.5), math.floor(high / width + 0.5)
        edges = (np.arange(first, last + 2) - 0.5) * width
    else:
        edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    counts, edges = np.histogram(numbers, bins=edges)
    middles = (edges[:-1] + edges[1:]) / 2
    return Plot(x="value", y="numbers", xs=tuple(middles.tolist()), ys=tuple(map(float, counts.tolist())), step=step)


def _arrays(value: Value) -> Iterator[Any]:
    """Yield the arrays and numbers of an answer."""
    if isinstance(value, Number):
        yield float(value.value)
    elif isinstance(value, Table):
        for row in value.rows:
            yield from (float(cell.value) for cell in row.cells.values() if isinstance(cell, Number))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _arrays(each)
    elif getattr(getattr(value, "dtype", None), "kind", "") in _REAL:
        yield value


def _number(cell: object) -> float | None:
    try:
        return float(cell.value) if isinstance(cell, Number) else None
    except OverflowError:
        return None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
