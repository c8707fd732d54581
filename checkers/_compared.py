"""The cells of a row beside those that are expected: what a report can draw."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number
from labgrade.verdict import ComparedRow

from ._wording import clip, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labgrade.values import Row, Scalar
    from labgrade.verdict import Verdict

_TOO_LARGE = 10**300  # no float holds more


def compared(row: Row | None, got: Row, cells: Mapping[str, Verdict], *, right: bool) -> list[ComparedRow]:
    """One entry a cell. `row` is what is expected, `got` what was handed in; `cells` are the verdicts on them.

    A row that is wrong as a whole (out of its place, one too many) has no right cell.
    """
    named = row or got
    entries = []
    for column in named.cells:
        wanted = row.cells[column] if row is not None else None
        given = got.cells.get(column)
        if (wanted is None and given is None) or (row is not None and column not in cells):
            continue  # not compared: left open where nothing had to be said
        entries.append(
            ComparedRow(
                name=clip(named.name),
                column=column,
                got=_size(given),
                expected=_size(wanted),
                right=(right or _some_wrong(cells)) and column in cells and cells[column].credit == 1,
                got_text=_text(given),
                expected_text=_text(wanted),
            )
        )
    return entries


def left_out(row: Row) -> ComparedRow:
    """A row that was not handed in: what is expected there stays untold, or a table could be had for an empty one."""
    return ComparedRow(name=clip(row.name), got=None, expected=None, right=False)


def _some_wrong(cells: Mapping[str, Verdict]) -> bool:
    """Whether a cell says why its row is wrong; else the row is wrong as a whole."""
    return any(verdict.credit < 1 for verdict in cells.values())


def _size(cell: Scalar | None) -> float | None:
    """A number as it is, a shape by its elements; texts have no size."""
    if isinstance(cell, tuple):
        cell = Number(value=Fraction(math.prod(cell)))
    if not isinstance(cell, Number) or abs(cell.value) > _TOO_LARGE:
        return None
    return float(cell.value)


def _text(cell: Scalar | None) -> str:
    return "" if cell is None else clip(cell) if isinstance(cell, str) else shown(cell)
