"""Tables whose rows bear no expected name: right where all of them are, in their order, and say enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.judging.texts.row_names import names_of, plain_name
from labgrade.values import Number, Table
from labgrade.verdict import correct

if TYPE_CHECKING:
    from labgrade.core.results import Answer
    from labgrade.judging.texts.choice import Choice
    from labgrade.values import Row

_TELLING = 1_000


def by_order(answer: Answer, waits: Choice) -> Choice:
    """What waits; right where all rows are, in their order, and each says a value that is no accident."""
    said = waits.verdict.suggestion
    rows = answer.value.rows if isinstance(answer.value, Table) else ()
    if said is None or said.kind != "rows in their order" or said.credit < 1 or not all(map(_is_telling, rows)):
        return waits
    note = f"the rows were told by their order, from {answer.origin} on"
    right = correct(said.why, **waits.verdict.facts)
    return replace(waits, verdict=replace(right, rows=waits.verdict.rows, notes=(*waits.verdict.notes, note)))


def _is_telling(row: Row) -> bool:
    """Whether a row says a number of four digits, or a shape of several dimensions."""
    cells = row.cells.values()
    return any(
        (isinstance(cell, Number) and abs(cell.value) >= _TELLING) or (isinstance(cell, tuple) and len(cell) > 2)  # noqa: PLR2004 - a shape
        for cell in cells
    )


def names_any(answer: Answer, expected: Table) -> bool:
    """Whether a table names one of the rows that are expected."""
    names = names_of(expected)
    rows = answer.value.rows if isinstance(answer.value, Table) else ()
    return not rows or any(plain_name(name) in names for row in rows for name in (row.name, *row.also_named))
