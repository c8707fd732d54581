"""Rows of measured runs: the numbers of their columns, and the runs that share a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.values import Number

from ._wording import listed, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from labgrade.values import Row, Table

_NOT_FINITE = frozenset({"nan", "inf", "-inf"})


def unreadable(table: Table, columns: Sequence[str]) -> str:
    """Which rows have no number in one of these columns, as a sentence; nothing where all have."""
    if not table.rows:
        return "the table has no rows"
    for column in columns:
        lacking = [row.name for row in table.rows if not isinstance(row.cells.get(column), Number)]
        if lacking:
            return (
                f"{len(lacking)} of {len(table.rows)} rows have no number in the column '{column}': {listed(lacking)}"
            )
    return ""


def diverged(table: Table, column: str) -> list[Row]:
    """The rows whose number in a column is not finite, as a run leaves it that went astray."""
    return [row for row in table.rows if row.cells.get(column) in _NOT_FINITE]


def number(row: Row, column: str) -> Fraction:
    """The number of a column, once `unreadable` found it there."""
    cell = row.cells[column]
    if not isinstance(cell, Number):
        raise TypeError(shown(cell))
    return cell.value


def groups(table: Table, along: str) -> dict[Fraction, list[Row]]:
    """The rows of each value of a column, the smallest value first."""
    found: dict[Fraction, list[Row]] = {}
    for row in table.rows:
        found.setdefault(number(row, along), []).append(row)
    return dict(sorted(found.items()))
