"""Rows of measured runs: the numbers of their columns, and the runs that share a setting."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.values import Number, Table
from labgrade.verdict import Outcome, Suggestion, Verdict, incorrect, without_value

from ._wording import listed, of_all_parts, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.values import Row

_PERCENT = 100
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})


def judged_without_gaps(table: Table, columns: Sequence[str], judged: Callable[[Table], Verdict]) -> Verdict:
    """The verdict on the rows that have a number in each of these columns.

    Rows without one may be runs or not: they wait for a person, with what the others show as a suggestion.
    """
    if not table.rows:
        return incorrect("the table has no rows")
    for column in columns:
        if not any(isinstance(row.cells.get(column), Number) for row in table.rows):
            return _without(table, column, [each for each in columns if each != column])
    gaps = with_gaps(table, columns)
    if not gaps:
        return judged(table)
    whole = [row for row in table.rows if _is_whole(row, columns)]
    lacking = f"{of_all_parts(len(gaps), len(table.rows), 'rows', 'has', 'have')} no number in {' or '.join(columns)}"
    rest = judged(Table(rows=tuple(whole))) if whole else incorrect("no row has all numbers")
    return to_look_at(f"{lacking} ({listed([_in_words(row) for row in gaps])})", len(gaps), rest)


def with_gaps(table: Table, columns: Sequence[str]) -> list[Row]:
    """The rows that have no number in one of these columns."""
    return [row for row in table.rows if not _is_whole(row, columns)]


def _is_whole(row: Row, columns: Sequence[str]) -> bool:
    return all(isinstance(row.cells.get(column), Number) for column in columns)


def _without(table: Table, column: str, others: Sequence[str]) -> Verdict:
    """The verdict on a table that lacks a column; where settings stand there twice, another name may be meant."""
    cells = [(name, cell) for row in table.rows for name, cell in row.cells.items() if isinstance(cell, Number)]
    names = listed([*dict.fromkeys(name for name, _ in cells)])
    reason = f"no row has a number in a column '{column}'" + (f"; numbers stand in {names}" if cells else "")
    settings = {tuple(map(shown, map(row.cells.get, others))) for row in table.rows}
    no_more = incorrect(reason)
    if not cells or len(settings) == len(table.rows):
        return no_more
    waits = without_value(Outcome.MANUAL, f"{reason}, in more rows than settings")
    return replace(waits, suggestion=Suggestion(outcome=no_more.outcome, credit=no_more.credit, why=reason))


def to_look_at(said: str, count: int, rest: Verdict) -> Verdict:
    """MANUAL for what is `said` of some runs, with what the others show as a suggestion."""
    shows = f"without {'them' if count > 1 else 'it'}: {rest.reason or 'right'}"
    alone = rest.suggestion or rest
    waits = without_value(Outcome.MANUAL, f"{said}; {shows}", **rest.facts)
    return replace(waits, suggestion=Suggestion(outcome=alone.outcome, credit=alone.credit, why=shows))


def _in_words(row: Row) -> str:
    return ", ".join(f"{column} {shown(cell)}" for column, cell in row.cells.items() if cell is not None) or row.name


def diverged(table: Table, column: str) -> list[Row]:
    """The rows whose number in a column is not finite, as a run leaves it that went astray."""
    return [row for row in table.rows if row.cells.get(column) in _NOT_FINITE]


def as_finite(table: Table, column: str) -> Table:
    """The table with 0 for each number of a column that is not finite: the run took place all the same."""
    astray = diverged(table, column)
    zero = {column: Number(value=Fraction(0))}
    rows = (replace(row, cells={**row.cells, **zero}) if row in astray else row for row in table.rows)
    return replace(table, rows=tuple(rows))


def no_share(table: Table, column: str) -> Verdict | None:
    """MANUAL where a column has numbers that are no shares, in percent neither; else None."""
    beyond = [row for row in table.rows if not 0 <= number(row, column) <= _PERCENT]
    named = listed([shown(row.cells[column]) for row in beyond])
    reason = f"a share is from 0 to 1, or to 100 %; {column} is {named}"
    return without_value(Outcome.MANUAL, reason) if beyond else None


def number(row: Row, column: str) -> Fraction:
    """The number of a column, once it is known to be there."""
    cell = row.cells[column]
    if not isinstance(cell, Number):
        raise TypeError(shown(cell))
    return cell.written


def groups(table: Table, along: str) -> dict[Fraction, list[Row]]:
    """The rows of each value of a column, the smallest value first."""
    found: dict[Fraction, list[Row]] = {}
    for row in table.rows:
        found.setdefault(number(row, along), []).append(row)
    return dict(sorted(found.items()))
