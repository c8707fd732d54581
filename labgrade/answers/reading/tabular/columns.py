"""Columns of a printed table: what the points and commas of their numbers mean, as all of them together tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import MEASURED, with_point
from labgrade.answers.reading.tabular.cells import row_of

if TYPE_CHECKING:
    from labgrade.values import Row

_DOTTED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){1,10}")
_GROUPS = re.compile(r"\s*[+-]?\d{1,3}(?:,\d{3}){2}")


def as_meant(
    rows: list[Row],
    written: list[dict[str, str]],
    kinds: dict[str, str],
    units: dict[str, str],
    *,
    listed: bool = False,
) -> list[Row]:
    """The rows that were read of the `written` cells, with the points and commas of their numbers as they are meant.

    `listed`: each cell has a unit of its own, or none.
    """
    measured = {column for column, of in kinds.items() if listed or of in MEASURED or units.get(column)}
    whole = {column for column, of in kinds.items() if of in ("count", "bytes") and not units.get(column)}
    meant = _with_points(_without_groups(written, whole), measured)
    if meant == written:
        return rows
    return [row_of(row.name, cells, kinds, units, as_text=True) for row, cells in zip(rows, meant, strict=True)]


def _without_groups(written: list[dict[str, str]], whole: set[str]) -> list[dict[str, str]]:
    """Whole numbers as `9.408` without their points, where all have such groups and one has two (`1.025.000`)."""
    dotted = [cell for cells in written for column, cell in cells.items() if column in whole and "." in cell]
    if not (all(map(_DOTTED.fullmatch, dotted)) and any(cell.count(".") > 1 for cell in dotted)):
        return written
    return [
        {name: cell.replace(".", "") if name in whole else cell for name, cell in cells.items()} for cells in written
    ]


def _with_points(written: list[dict[str, str]], measured: set[str]) -> list[dict[str, str]]:
    """Cells with `1,234` as 1.234 where another has a decimal comma, and none has commas of groups."""
    printed = [cell for cells in written for column, cell in cells.items() if column in measured]
    if not any(with_point(cell) != cell for cell in printed) or any(map(_GROUPS.match, printed)):
        return written
    return [
        {column: with_point(cell, surely=True) if column in measured else cell for column, cell in cells.items()}
        for cells in written
    ]
