"""What the lines of a text list: names to be counted, values, names and shapes that are wanted; no text is parsed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING

from labgrade.answers.reading.lines import LinePiece
from labgrade.answers.reading.placeholders import is_placeholder
from labgrade.answers.reading.words.vocabulary import concepts, labels
from labgrade.judging.texts.choice import Choice, suggested, waiting
from labgrade.judging.texts.evidence import Sighting, sightings
from labgrade.judging.texts.row_names import names_of, plain_name
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.core.task import TableType
    from labgrade.judging.texts.evidence import WantedNumber
    from labgrade.values import Row, Table, Value
    from labgrade.verdict import Verdict

TOLD_APART = 10  # a smaller number stands in any text
_MANY = 10  # rows, of which a few values are no table
_DENSE = 4  # values of one line that may be a table by themselves
_LEAST_SAID = 3  # values that say more than chance


def count_listed(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """Return MANUAL with the number of names in the longest list; None if no types are asked for, or there is no list.

    A person decides: the number is the answer only if the list is complete.
    """
    if not any("types" in each for each in wanted.label_sets):
        return None
    found = max(_lists(lines), key=lambda each: len(each[1]), default=None)
    if found is None or len(found[1]) < _LEAST_SAID:
        return None
    line, names = found
    number = Number(value=Fraction(len(names)), text=f"{len(names)} names")
    at = Sighting(line=line, piece=LinePiece(value=number), number=number)
    choice = suggested(wanted, wanted.judged(number), at, "names listed", ())
    reason = f"no value could be read for certain: {len(names)} different names are listed from {line.place} on"
    return replace(choice, verdict=replace(choice.verdict, reason=reason))


def _lists(lines: Sequence[Line]) -> Iterator[tuple[Line, frozenset[str]]]:
    """Yield the names behind a word for operators or types: on its line, or alone on the lines below it."""
    for place, line in enumerate(lines):
        words = line.words
        labelling = [at for at, word in enumerate(words) if concepts(word) & {"types", "operators"}]
        if not labelling or len(words) < len(line.pieces):
            continue
        behind = [word for word in words[labelling[-1] + 1 :] if _is_name(word)]
        if len(behind) < 2:  # noqa: PLR2004 - one name is no list
            behind = [word for each in takewhile(_is_names, lines[place + 1 :]) for word in each.words]
        if len(behind) > 1:
            yield line, frozenset(behind)


def _is_names(line: Line) -> bool:
    words = line.words
    return len(words) == len(line.pieces) and all(map(_is_name, words)) and not line.code


def _is_name(word: str) -> bool:
    return word[:1].isupper() or "::" in word


def left_open(wanted: WantedNumber, lines: Sequence[Line]) -> bool:
    """Return whether a line leaves the value open, `Trainable parameters: TODO`, and no other line has it."""
    others = [concepts(words) for words in wanted.beside]
    found = [each for each in sightings(wanted.kind, lines) if not (each.piece.small and not wanted.small)]
    if any(not any(labels(one, frozenset(each.piece.said)) for one in others) for each in found):
        return False
    return _line_left_open(wanted, lines) is not None


def unfilled(wanted: WantedNumber, lines: Iterable[Line], verdict: Verdict) -> Choice | None:
    """Return MANUAL if the value's words are before a blank, and a wrong value was read elsewhere."""
    line = _line_left_open(wanted, lines) if verdict.outcome is not Outcome.MANUAL else None
    if line is None:
        return None
    reason = f"{line.place} leaves the value open; of what stands elsewhere: {verdict.reason}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason), place=line.place)


def _line_left_open(wanted: WantedNumber, lines: Iterable[Line]) -> Line | None:
    """Return the first line with the value's words that leaves the value open: `Total MACs: ?`."""
    words = [(line, line.words) for line in lines if len(line.words) == len(line.pieces)]
    said = [(line, concepts(" ".join(each[:-1]))) for line, each in words if each and is_placeholder(each[-1])]
    return next((line for line, each in said if any(labels(label, each) for label in wanted.label_sets)), None)


def numbers_said(lines: Sequence[Line], expected: Table) -> list[Line]:
    """Return the lines that together have all numbers of a table, at least three, in order if all rows are named."""
    numbers = {cell.value for row in expected.rows for cell in row.cells.values() if isinstance(cell, Number)}
    wanted = {each for each in numbers if each >= TOLD_APART}
    said = [
        (line, {piece.value.value for piece in line.pieces if isinstance(piece.value, Number)} & wanted)
        for line in lines
        if not (line.code or line.quoted)
    ]
    every = len(wanted) >= _LEAST_SAID and set().union(*(each for _, each in said)) == wanted
    return [line for line, each in said if each] if every and in_order(lines, expected) else []


def in_order(lines: Iterable[Line], expected: Table) -> bool:
    """Return whether a column's numbers are in the order of the rows' names, if all names are there."""
    right = {row.name: cell.value for row in expected.rows for cell in row.cells.values() if isinstance(cell, Number)}
    pieces = [piece.value for line in lines if not (line.code or line.quoted) for piece in line.pieces]
    names = list(dict.fromkeys(each for each in pieces if isinstance(each, str) and each in right))
    if len(names) < len(right) or len(right) < len(expected.rows):
        return True
    wanted = [right[name] for name in names if right[name] >= TOLD_APART]
    found = [each.value for each in pieces if isinstance(each, Number) and each.value in wanted]
    return list(dict.fromkeys(found)) == list(dict.fromkeys(wanted))


def tables_lines(
    kind: TableType, expected: Table | None, lines: Sequence[Line], taken: frozenset[Fraction]
) -> list[Line]:
    """Return the lines with values that may be a table which could not be read; none if there are too few.

    A value is a number that is no other answer's, or a shape if the table has some. Numbers beside names of operators
    or layers, and those of sums, are values, too.
    """
    shapes = "shape" in kind.columns.values()
    decimals = shapes or "number" in kind.columns.values()
    plain = [line for line in lines if not (line.code or line.quoted)]
    values = [
        (line, sum(_is_value(piece, taken, shapes=shapes, decimals=decimals) for piece in line.pieces))
        for line in plain
    ]
    held = [line for line, count in values if count] or [line for line in plain if line.terms]
    count = sum(count for _, count in values)
    required = [row for row in expected.rows if not row.optional] if expected is not None else []
    few = len(required) >= _MANY and 2 * count < len(required) and not any(line.dots for line in lines)
    rows = names_of(expected) if expected is not None else {}
    named = [line for line in plain if _names_rows(line, shapes=shapes) or (line.terms and _names_two(line, rows))]
    named = named or _naming_all(plain, required, rows)
    return named or (held if (len(held) > 1 or count >= _DENSE) and not few else [])


def _is_value(piece: LinePiece, taken: frozenset[Fraction], *, shapes: bool, decimals: bool) -> bool:
    if isinstance(piece.value, tuple):
        return shapes and len(piece.value) > 1
    return (
        isinstance(piece.value, Number)
        and not (piece.small or piece.measures or piece.value.value in taken)
        and (decimals or not ("memory" in piece.said or 0 < piece.value.half_unit < 1))  # no count of anything
    )


def _naming_all(lines: Sequence[Line], required: Sequence[Row], rows: Mapping[str, str]) -> list[Line]:
    """Return the lines that together name all rows which are not empty, three at least."""
    wanted = {
        row.name for row in required if any(not isinstance(cell, Number) or cell.value for cell in row.cells.values())
    }
    said = [
        (line, {rows.get(plain_name(each)) for word in line.words for each in (word, word.removesuffix("s"))})
        for line in lines
    ]
    every = len(wanted) >= _LEAST_SAID and wanted <= set().union(*(names for _, names in said))
    return [line for line, names in said if names & wanted] if every else []


def _names_two(line: Line, rows: Mapping[str, str]) -> bool:
    """Return whether a line names two rows, as for their sum."""
    return len({rows[name] for word in line.words if (name := plain_name(word)) in rows}) > 1


def _names_rows(line: Line, *, shapes: bool) -> bool:
    """Return whether a line has operators' whole names and as many numbers, or a layer's and a size for each column."""
    words = line.words
    numbers = sum(isinstance(piece.value, Number) for piece in line.pieces)
    operators = sum("::" in word for word in words)
    return (shapes and numbers > 1 and any("." in word for word in words)) or 1 < operators <= numbers


def choose_shape(
    right: Collection[Value], known: Collection[Value], judged: Callable[[Value], Verdict], lines: Sequence[Line]
) -> Choice | None:
    """Return MANUAL if the lines have shapes with as many sizes as a `right` one; None if they have none.

    It suggests a right shape, else the first that is `known` to be wrong.
    """
    ranks = {len(each) for each in right if isinstance(each, tuple)}
    said = [
        (line, piece.value)
        for line in lines
        if not (line.code or line.quoted)
        for piece in line.pieces
        if isinstance(piece.value, tuple) and not piece.doubt and len(piece.value) in ranks
    ]
    if not said:
        return None
    chosen = next((each for of in (right, known) for each in said if each[1] in of), None)
    place = (chosen or said[0])[0].place
    waits = without_value(Outcome.MANUAL, f"no shape could be read for certain: {_sizes_and_place(chosen or said[0])}")
    if chosen is not None:
        verdict = judged(chosen[1])
        why = f"{_sizes_and_place(chosen)}: {verdict.hint or verdict.reason or 'it is the expected value'}"
        waits = waiting(waits.reason, verdict, "value without a label", why, place)
    return Choice(verdict=waits, place=place)


def _sizes_and_place(sighting: tuple[Line, tuple[int, ...]]) -> str:
    line, shape = sighting
    return f"{list(shape)} stands on {line.place}"
