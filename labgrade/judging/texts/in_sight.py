"""Units that stand beside a number or a table, or above it, and what that comes to in them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.units import label_unit
from labgrade.judging.texts.choice import waiting
from labgrade.judging.texts.evidence import words_of
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.answers.reading.numerals.units import Unit
    from labgrade.values import Scalar, Table, Value
    from labgrade.verdict import Verdict
_ABOVE = 6  # lines


def units_on(line: Line) -> list[Unit]:
    """The units that stand by themselves on a line."""
    found = [label_unit(word) for word in dict.fromkeys(words_of(line))]
    return [unit for unit in found if unit is not None and unit.scale != 1]


def units_above(lines: Sequence[Line], line: Line) -> list[Unit]:
    """The units on a line and on those above it, the nearest first."""
    at = next((at for at, each in enumerate(lines) if each.place == line.place), 0)
    near = [each for each in lines[max(0, at - _ABOVE) : at + 1] if not each.code]
    return [unit for each in reversed(near) for unit in units_on(each)]


def scaled(number: Number, scale: Fraction, unit: str) -> Number:
    """A number in a unit that stands elsewhere."""
    digits = number.digits if number.digits is not None else len(str(abs(int(number.value))))
    half = (number.half_unit or Fraction(1, 2)) * scale
    return replace(number, value=number.value * scale, half_unit=half, digits=digits, text=f"{number.text} {unit}")


def table_in_sight(
    judged: Callable[[Value], Verdict], table: Table, as_it_is: Verdict, lines: Sequence[Line]
) -> Verdict:
    """MANUAL where all rows are right in a unit that stands beside the table; else the verdict as it is."""
    for line in lines:
        for unit in units_on(line):
            rows = (
                replace(row, cells={key: _cell_in(cell, unit) for key, cell in row.cells.items()}) for row in table.rows
            )
            verdict = judged(replace(table, rows=tuple(rows)))
            if verdict.credit == 1:
                why = f"in '{unit.text}', which stands on {line.place}, all rows are right"
                return waiting(as_it_is.reason, verdict, "unit in sight", why, line.place)
    return as_it_is


def _cell_in(cell: Scalar | None, unit: Unit) -> Scalar | None:
    return scaled(cell, unit.scale, unit.text) if isinstance(cell, Number) else cell
