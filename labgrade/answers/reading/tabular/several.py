"""Several tables of one text, and several names in one row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import finest_of
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from labgrade.values import Row

_NAMES_APART = re.compile(r"\s*(?:,\s*and\b|,|\band\b|&|、|\+|/)\s*")
_NAME = re.compile(r"[A-Za-z]\w*")


def each_apart(table: Table) -> Table:
    """The table, with a row for each of several names that have one count: `Shape, Gather, Concat | 1 each`.

    Only where the count is smaller than their number, and so can't be that of all of them together.
    """
    rows: list[Row] = []
    for row in table.rows:
        names = _NAMES_APART.split(row.name)
        (value, *more) = row.cells.values() or (None,)
        joined = len(names) > 1 and not more and all(map(_NAME.fullmatch, names))
        if joined and isinstance(value, Number) and 0 < value.value < len(names):
            rows += [replace(row, name=name) for name in names]
        else:
            rows.append(row)
    return replace(table, rows=tuple(rows))


def is_part(part: Table, whole: Table) -> bool:
    """Whether every row of a table stands in the other one, too, or in a coarser print."""
    rows = {row.name: row for row in whole.rows}
    return all(
        row.name in rows and all(_same(cell, rows[row.name].cells[column]) for column, cell in row.cells.items())
        for row in part.rows
    )


def _same(one: object, other: object) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return finest_of([one, other]) is not None
    return one is None or other is None or one == other
