"""Which lines of a free text are the rows of a table: those that bear an expected name; no text is parsed here.

What stands before the names of most such lines is learnt; a line of the same form that bears no expected name is a row
that nobody expected. Time is linear in the length of the text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.words.vocabulary import known_words
from labgrade.judging.texts.row_lines import as_row
from labgrade.judging.texts.row_names import names_of, plain_name
from labgrade.values import Number, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.core.task import TableType
    from labgrade.values import Scalar

_SLOTS = (0, -1, 1, -2, 2)
_NAMESPACE = "::"
_NEAR = 2  # lines from row to row of a table
_MAGNITUDE = 10  # within which sums of two columns may be of the same
_MOST_BELOW = 4  # lines between a name and its value
_NUMBERS = frozenset({"count", "bytes", "number"})
_COUNT_WORDS = frozenset(known_words("count_words"))
_Form: TypeAlias = "tuple[tuple[str, ...], int, int]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsFound:
    """A table put together from lines.

    `sure`: all of them have one form, and one value for each column, so that nothing was chosen. `rival`: another
    column of numbers may be meant as well, such as a partner's.
    """

    table: Table
    place: str
    sure: bool
    rival: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedValues:
    """A name with the values beside it. `form`: what is before the name, and how many values of each kind."""

    name: str
    line: Line
    values: tuple[LinePiece, ...]
    form: _Form


def rows_by_name(kind: TableType, expected: Table, lines: Sequence[Line]) -> RowsFound | None:
    """Return the table of lines with expected names; None if fewer than half of the names are there."""
    columns = {name: of for name, of in kind.columns.items() if of in _NUMBERS or of == "shape"}
    if len(columns) != len(kind.columns) or sum(of in _NUMBERS for of in columns.values()) > 1:
        return None
    names = names_of(expected)
    names = {**_kinds_beside(lines, names), **names}
    ranks = {len(cell) for row in expected.rows for cell in row.cells.values() if isinstance(cell, tuple)}
    lines = [as_row(line, names, ranks) for line in lines]
    # Which of several names on a line a value belongs to, the one before or behind it, is decided by what is right.
    ways = (_beside_others(list(_records(lines, names, columns, leads=leads))) for leads in (None, False, True))
    records = max(ways, key=lambda each: _right(each, expected))
    if not records:
        return None
    usual = Counter(each.form for each in records).most_common(1)[0][0]
    in_form = [each for each in records if each.form == usual]
    seen = {each.name for each in in_form}
    others = [each for each in records if each.form != usual and each.name not in seen]
    used = [*in_form, *others]
    required = [row.name for row in expected.rows if not row.optional]
    dots = any(line.dots or _leaves_out(line) for line in lines)
    there = {each.name for each in used}.intersection(row.name for row in expected.rows)
    if 2 * len(there) < len(required) and not (dots and len(seen) > 1):
        return None
    slots = {column: _slot(column, of, used, expected) for column, of in columns.items()}
    extra = list(_unexpected_rows(lines, names, usual, in_form)) if usual[0] or len(in_form) > 1 else []
    extra = _of_the_table(extra, used)
    ordered = sorted([*used, *extra], key=lambda each: each.line.number)
    rows = tuple(_row(each, columns, slots) for each in ordered)
    once = _each_once(rows, expected)
    alone = all(len(_of_kind(each.values, of)) == 1 for each in used for of in columns.values())
    sure = (
        alone
        and not others
        and not _without_value(used, names)
        and len(once) == len({(row.name, *row.cells.values()) for row in rows})
    )
    table = Table(rows=rows if sure else once, abridged=dots)
    return RowsFound(table=table, place=ordered[0].line.place, sure=sure, rival=_has_rival(used, columns, slots))


def _leaves_out(line: Line) -> bool:
    """Return whether a line leaves out values between two others: `and so on until`."""
    words = [piece.value if isinstance(piece.value, str) else "" for piece in line.pieces]
    return any(pair in (("so", "on"), ("and", "so"), ("etc", "")) for pair in pairwise(words)) and words.count("") > 1


def _right(records: Sequence[_NamedValues], expected: Table) -> int:
    """Return how many expected rows have a value of theirs among those beside their names."""
    right = {row.name: [cell for cell in row.cells.values() if cell is not None] for row in expected.rows}
    said = {
        each.name
        for each in records
        if any(_equal_cells(one.value, cell) for one in each.values for cell in right.get(each.name, ()))
    }
    return len(said)


def _kinds_beside(lines: Sequence[Line], names: Mapping[str, str]) -> dict[str, str]:
    """Return unexpected names of the namespace of expected ones, on a line with one of these."""
    known = {name.partition(_NAMESPACE)[0] for name in names.values() if _NAMESPACE in name}
    words = [line.words for line in lines if known]
    beside = (word for each in words if any(plain_name(word) in names for word in each) for word in each)
    return {plain_name(word): word for word in beside if _NAMESPACE in word and word.partition(_NAMESPACE)[0] in known}


def _without_value(used: Sequence[_NamedValues], names: Mapping[str, str]) -> set[str]:
    """Return the rows that the same lines name without a readable value: `MaxPool2d once`."""
    words = (word for each in used for word in each.line.words)
    return {names[plain_name(word)] for word in words if plain_name(word) in names} - {each.name for each in used}


def _has_rival(records: Sequence[_NamedValues], columns: Mapping[str, str], slots: Mapping[str, int]) -> bool:
    """Return whether another column of the lines has a sum of the same size as the chosen one."""
    column = next((name for name, of in columns.items() if of in _NUMBERS), None)
    if column is None:
        return False
    values = [
        [each.value for each in _of_kind(one.values, columns[column]) if isinstance(each, Number)] for one in records
    ]
    slot, counts = slots[column], {len(each) for each in values}
    if len(counts) != 1 or not -max(counts) <= slot < max(counts):
        return False
    by_column = list(zip(*values, strict=True))
    sums = [sum(each) for each in by_column if each != tuple(range(1, len(each) + 1))]  # which numbers the rows
    chosen = sum(by_column[slot])
    return any(other != chosen and other < _MAGNITUDE * chosen and chosen < _MAGNITUDE * other for other in sums)


def _beside_others(records: list[_NamedValues]) -> list[_NamedValues]:
    """Return the records whose names may be rows'.

    A line with another name of a row than its own counts only beside another record, or below the row's name: `fc` is
    Linear under `conv`, and a layer in a table of layers.
    """
    places = [each.line.number for each in records]
    return [
        each
        for place, each in enumerate(records)
        if any(
            isinstance(piece.value, str) and plain_name(piece.value) == plain_name(each.name)
            for piece in each.line.pieces
        )
        or each.form[2] < 0
        or any(
            records[other].name != each.name and abs(places[other] - each.line.number) <= _NEAR
            for other in (place - 1, place + 1)
            if 0 <= other < len(records)
        )
    ]


def _of_the_table(extra: list[_NamedValues], used: Sequence[_NamedValues]) -> list[_NamedValues]:
    """Return those of further lines that are among the rows of a table, or continue it above or below."""
    first, last = min(each.line.number for each in used), max(each.line.number for each in used)
    for each in extra:
        last = each.line.number if last < each.line.number <= last + _NEAR else last
    for each in reversed(extra):
        first = each.line.number if first > each.line.number >= first - _NEAR else first
    return [each for each in extra if first <= each.line.number <= last]


def _each_once(rows: Sequence[Row], expected: Table) -> tuple[Row, ...]:
    """Return a row for each name: of several, as if there are two networks, the right row, or the first.

    All of them if one is right below the other: the same table then has two values.
    """
    twice = [one.name for one, other in pairwise(rows) if one.name == other.name and one.cells != other.cells]
    if len(twice) > 1 and set(twice) <= {row.name for row in expected.rows}:
        return tuple(rows)
    right = {row.name: row.cells for row in expected.rows}
    kept: dict[str, Row] = {}
    for row in rows:
        wanted = right.get(row.name, {})
        fits = all(_equal_cells(cell, wanted.get(column)) for column, cell in row.cells.items() if cell is not None)
        if row.name not in kept or fits:
            kept[row.name] = row
    return tuple(kept.values())


def _of_kind(values: Sequence[LinePiece], kind: str) -> list[Scalar]:
    if kind == "shape":
        return [each.value for each in values if isinstance(each.value, tuple)]
    return [
        each.value
        for each in values
        if isinstance(each.value, Number) and (kind == "number" or each.measures in ("", kind)) and not each.doubt
    ]


def _form(line: Line, at: int) -> _Form:
    before = tuple(piece.value.lower() for piece in line.pieces[:at] if isinstance(piece.value, str))
    numbers = sum(isinstance(piece.value, Number) for piece in line.pieces)
    return before, numbers, sum(isinstance(piece.value, tuple) for piece in line.pieces)


def _records(
    lines: Sequence[Line], names: Mapping[str, str], columns: Mapping[str, str], *, leads: bool | None
) -> Iterator[_NamedValues]:
    waiting: list[tuple[int, str, Line]] = []
    below = 0
    for line in lines:
        if line.code or line.quoted:
            continue
        at = [
            (place, names[plain_name(piece.value)])
            for place, piece in enumerate(line.pieces)
            if isinstance(piece.value, str) and plain_name(piece.value) in names
        ]
        values = line.values
        fit = [each for each in values if any(_of_kind([each], of) for of in columns.values())]
        if at and fit:
            yield from _on_line(line, at, leads=leads)
            last = at[-1] if len(at) > 1 and _wraps(line, at) else None
            waiting, below = ([(*last, line)] if last else []), _MOST_BELOW - 1
        elif at:
            waiting, below = [(place, name, line) for place, name in at], 0
        elif waiting and fit:
            if _is_value_of(line, columns):
                yield from _values_below(line, waiting, fit)
            below += 1
            waiting = waiting if len(waiting) == 1 and below < _MOST_BELOW and len(columns) > 1 else []
        elif waiting:
            below += 1
            waiting = waiting if below < _MOST_BELOW else []


def _wraps(line: Line, at: Sequence[tuple[int, str]]) -> bool:
    """Return whether the first of several names leads to its value, and the last one's value is on the next line."""
    behind = [[not isinstance(piece.value, str) for piece in line.pieces[place:]] for place in (at[0][0], at[-1][0])]
    leads = not any(not isinstance(piece.value, str) for piece in line.pieces[: at[0][0]])
    return leads and any(behind[0]) and not any(behind[1])


def _is_value_of(line: Line, columns: Mapping[str, str]) -> bool:
    """Return whether a line below a name has its value: `count: 52`, and not an attribute such as `group: 1`."""
    words = {word.lower().rstrip("s") for word in line.words}
    return "count" not in columns or words <= _COUNT_WORDS


def _on_line(line: Line, at: Sequence[tuple[int, str]], *, leads: bool | None) -> Iterator[_NamedValues]:
    """Yield the values of each name on a line: behind it, or before it if a value `leads`; of one name all values."""
    if len({name for _, name in at}) == 1:
        values = line.values
        yield _NamedValues(name=at[0][1], line=line, values=values, form=_form(line, at[0][0]))
        return
    leads = _value_leads(line, at) if leads is None else leads
    places = [place for place, _ in at]
    bounds = [-1, *places] if leads else [*places, len(line.pieces)]
    for number, (_, name) in enumerate(at):
        between = line.pieces[bounds[number] + 1 : bounds[number + 1]]
        values = tuple(piece for piece in between if not isinstance(piece.value, str))
        if values:
            yield _NamedValues(name=name, line=line, values=values, form=((), len(values), -1))


def _value_leads(line: Line, at: Sequence[tuple[int, str]]) -> bool:
    """Return whether the first value of a line is before its name."""
    are_values = [not isinstance(piece.value, str) for piece in line.pieces]
    first = at[0][0]
    # In `and Linear 5; besides BatchNorm2d 6, MaxPool2d 7` each name leads to its value.
    behind = first > 0 and not are_values[first - 1] and any(are_values[first + 1 : first + 2])
    # In `5 calls of Conv2d, 3 calls of Linear` the numbers lead, though one stands behind the first name, too.
    words = {line.pieces[place - 1].value for place, _ in at if place}
    behind = behind and (len(words) > 1 or any(are_values[at[-1][0] :]))
    counted = [piece for piece, is_value in zip(line.pieces[:first], are_values, strict=False) if is_value]
    return any("total" not in piece.said for piece in counted) and not behind  # `Total 9 (Conv2d 8, Linear 1)`


def _values_below(
    line: Line, waiting: Sequence[tuple[int, str, Line]], values: Sequence[LinePiece]
) -> Iterator[_NamedValues]:
    """Yield the values below a name, or below a row of names if there are as many."""
    if len(waiting) == 1:
        place, name, above = waiting[0]
        yield _NamedValues(name=name, line=line, values=tuple(values), form=(_form(above, place)[0], len(values), -2))
    elif len(waiting) == len(values):
        for (_, name, _above), value in zip(waiting, values, strict=True):
            yield _NamedValues(name=name, line=line, values=(value,), form=((), 1, -3))


def _slot(column: str, kind: str, records: Sequence[_NamedValues], expected: Table) -> int:
    """Return which of several values on a line is the column's: the value that most often agrees with the expected."""
    right = {row.name: row.cells.get(column) for row in expected.rows}
    hits: Counter[int] = Counter()
    for each in records:
        found = _of_kind(each.values, kind)
        for slot in _SLOTS:
            if -len(found) <= slot < len(found) and _equal_cells(found[slot], right.get(each.name)):
                hits[slot] += 1
    return max(_SLOTS, key=lambda slot: (hits[slot], -_SLOTS.index(slot)))


def _equal_cells(one: Scalar, other: Scalar | None) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return abs(one.value - other.value) <= one.half_unit + other.half_unit
    return one == other


def _row(record: _NamedValues, columns: Mapping[str, str], slots: Mapping[str, int]) -> Row:
    cells: dict[str, Scalar | None] = {}
    for column, kind in columns.items():
        found = _of_kind(record.values, kind)
        slot = slots[column]
        cells[column] = found[slot] if -len(found) <= slot < len(found) else None
    return Row(name=record.name, cells=cells)


def _unexpected_rows(
    lines: Sequence[Line], names: Mapping[str, str], usual: _Form, in_form: Sequence[_NamedValues]
) -> Iterator[_NamedValues]:
    """Yield the lines of the usual form with an unexpected name that is written as the expected ones are."""
    spaced = all(_NAMESPACE in each.name for each in in_form)
    dotted = all("." in each.name or any(map(str.isdigit, each.name)) for each in in_form)
    for line in lines:
        if line.code or line.quoted or usual[2] < 0:
            continue
        words = [(place, piece.value) for place, piece in enumerate(line.pieces) if isinstance(piece.value, str)]
        if len(words) <= len(usual[0]) or any(plain_name(word) in names for _, word in words):
            continue
        place, name = words[len(usual[0])]
        like = ("." in name or any(map(str.isdigit, name))) if dotted else name[:1].isupper() and not name.isupper()
        if (like or spaced) and _form(line, place) == usual:
            values = line.values
            yield _NamedValues(name=name, line=line, values=values, form=usual)
