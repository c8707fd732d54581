"""Which of the tables of a section is the answer: each is held against what is expected, and the right one counts.

A table in parts, such as one a block of layers, is one table. Where another one names the same rows and says something
else, nothing tells which is meant.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import finest_of
from labgrade.answers.reading.words.vocabulary import concepts
from labgrade.judging.texts.choice import Choice, waiting
from labgrade.judging.texts.row_names import names_of, plain_name, with_types_named
from labgrade.values import Number, Table
from labgrade.verdict import Outcome, correct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from labgrade.core.results import Answer
    from labgrade.values import Row, Scalar, Value
    from labgrade.verdict import Verdict

_OTHERS = frozenset({"total", "types", "operators", "parameters", "macs", "flops", "memory", "activations", "traffic"})
_TELLING = 1_000
_HALF = Fraction(1, 2)
_MAGNITUDE = 100  # what differs by more is a number of something else


def choose_table(found: Sequence[Answer], expected: Table, judged: Callable[[Value], Verdict]) -> Choice | None:
    """Choose the right table, or the one with most rows; MANUAL if another contradicts it.

    None where no table names half of the rows that are asked for.
    """
    tables = [(_rows_alone(each.value, expected), each.origin) for each in found if isinstance(each.value, Table)]
    named = [(table, place, said) for table, place in tables if len(said := _rows_named(table, expected)) > 0]
    if not named:
        return None
    every = _options([(one, place) for one, place, _ in named], expected)
    options = [(table, place, right_by_order(table, judged(table))) for table, place in every]
    table, place, verdict = max(options, key=lambda each: (each[2].credit, len(_rows_named(each[0], expected))))
    rows = _rows_named(table, expected)
    needed = sum(not row.optional for row in expected.rows)
    few = len(rows) < 2 or 2 * len(rows) < needed  # noqa: PLR2004 - one row may be of anything
    if verdict.credit < 1 and few and not (table.abridged and len(rows) > 1):
        if len(rows) < 2:  # noqa: PLR2004
            return None
        return Choice(verdict=_waits(verdict, place, f"a table names {len(rows)} of the {needed} rows"), place=place)
    against = next(
        (each for each in named if 2 * len(each[2]) >= len(rows) and _differs(each[0], table, expected)), None
    )
    if against is None or verdict.credit < 1:
        sure = verdict.credit == 1 or (against is None and verdict.credit >= _HALF)
        note = f"the table was found by its rows, from {place} on"
        chosen = replace(verdict, notes=(*verdict.notes, note))
        return Choice(
            verdict=chosen if sure else _waits(verdict, place, "the table could not be read for certain"), place=place
        )
    reason = f"several tables name these rows and don't say the same: {place} and {against[1]}"
    return Choice(verdict=_waits(verdict, place, reason), place=place)


def _waits(verdict: Verdict, place: str, reason: str) -> Verdict:
    if verdict.outcome is Outcome.MANUAL:
        return verdict
    why = f"the table from {place} on: {verdict.reason or 'all rows are right'}"
    return waiting(reason, verdict, "table by its rows", why, place)


def right_by_order(table: Table, waits: Verdict) -> Verdict:
    """Turn a waiting verdict into CORRECT if all rows are right in order and each has a telling value."""
    said = waits.suggestion
    in_order = said is not None and said.kind == "rows in their order" and said.credit == 1
    if said is None or not in_order or not all(map(_is_telling, table.rows)):
        return waits
    right = correct(said.why, **waits.facts)
    return replace(right, rows=waits.rows, notes=(*waits.notes, "the rows were told by their order"))


def _is_telling(row: Row) -> bool:
    return any(
        (isinstance(cell, Number) and abs(cell.value) >= _TELLING) or (isinstance(cell, tuple) and len(cell) > 2)  # noqa: PLR2004 - a shape
        for cell in row.cells.values()
    )


def names_any(value: Value, expected: Table) -> bool:
    """Return whether a table names an expected row."""
    table = value if isinstance(value, Table) else Table(rows=())
    return not table.rows or bool(_rows_named(table, expected))


def _rows_alone(table: Table, expected: Table) -> Table:
    """Drop lines below a table that are no rows: `Different types: 6`."""
    names = names_of(expected)
    rows = tuple(row for row in table.rows if plain_name(row.name) in names or not concepts(row.name) & _OTHERS)
    return replace(table, rows=rows)


def _rows_named(table: Table, expected: Table) -> frozenset[str]:
    """Return the expected rows that a table names."""
    return frozenset(_by_name(table, expected))


def _options(tables: Sequence[tuple[Table, str]], expected: Table) -> Iterator[tuple[Table, str]]:
    """Yield each table, and all joined if their rows differ."""
    yield from tables
    whole: list[Table] = []
    names: frozenset[str] = frozenset()
    place = ""
    for table, origin in tables:
        own = _rows_named(table, expected)
        if own and not own & names:
            whole, names, place = [*whole, table], names | own, place or origin
    if whole[1:]:
        rows = tuple(row for table in whole for row in table.rows)
        yield Table(rows=rows, abridged=any(table.abridged for table in whole)), place


def _differs(other: Table, table: Table, expected: Table) -> bool:
    """Return whether another table has a different value of like size for a row that both name."""
    mine, others = _by_name(table, expected), _by_name(other, expected)
    return any(
        _contradict(cell, own.cells.get(column))
        for name, rows in others.items()
        for own in mine.get(name, ())
        for each in rows
        for column, cell in each.cells.items()
    )


def _by_name(table: Table, expected: Table) -> dict[str, list[Row]]:
    names = names_of(expected)
    found: dict[str, list[Row]] = {}
    named = with_types_named(table, expected)
    for row in named.rows if isinstance(named, Table) else ():
        for own in {names.get(plain_name(each)) for each in (row.name, *row.also_named)} - {None}:
            found.setdefault(str(own), []).append(row)
    return found


def _contradict(one: Scalar | None, other: Scalar | None) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        near = abs(one.value) <= _MAGNITUDE * abs(other.value) and abs(other.value) <= _MAGNITUDE * abs(one.value)
        return near and finest_of([one, other]) is None
    return None not in (one, other) and one != other
