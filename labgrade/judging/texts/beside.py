"""Numbers of a section beside one another: two readings of one, roundings, parts of a sum, all that is trainable."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.lines import Line, LinePiece
from labgrade.answers.reading.numerals.units import label_unit
from labgrade.answers.reading.words.terms import agree
from labgrade.answers.reading.words.vocabulary import concepts, pattern
from labgrade.core.results import Answer
from labgrade.judging.texts.choice import waiting
from labgrade.judging.texts.evidence import LEAST_DIGITS, MAGNITUDE, SPECIAL, Rank, Sighting
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.answers.reading.numerals.units import Unit
    from labgrade.core.results import Answered
    from labgrade.judging.texts.evidence import WantedNumber
    from labgrade.values import Scalar, Table, Value
    from labgrade.verdict import Verdict

CLAIMABLE_DIGITS = 3  # of a known mistake that is the only number with the label
PARTS, MOST_PARTS = 2, 100  # of a sum
_TELLING = 10_000  # a smaller number may stand anywhere
_WHOLE = frozenset({"parameters", "total", "memory"})
_COMMA = re.compile(r"(\d{1,3}),(\d{3})\s?([A-Za-z].*)")
THOP = re.compile(r"\d{1,3}\.\d{3}B")


def as_trainable(each: Sighting, of_all: Line) -> Sighting:
    """Return the number of all parameters, if a line with a number says that all of them are trainable."""
    numbers = any(isinstance(piece.value, Number) for piece in of_all.pieces)
    whole = numbers and each.rank == Rank.OTHER and "parameters" in each.piece.said and {*each.piece.said} <= _WHOLE
    return replace(each, rank=Rank.NAMED) if whole else each


def is_same_number(one: Sighting, other: Sighting) -> bool:
    """Return whether two readings of a line are of one number, from which one may have lost its first digits."""
    if one.line.place != other.line.place and not other.line.place.startswith(f"{one.line.place},"):
        return False
    own, others = ("".join(filter(str.isdigit, each.number.text)) for each in (one, other))
    return (
        own == others
        or (len(own) >= CLAIMABLE_DIGITS and others.endswith(own))
        or (len(own) > 1 and others.startswith(own))
    )


def is_rounder(one: Sighting, others: Iterable[Sighting]) -> bool:
    """Return whether a tool rounded a number beside a larger one in full, so that it is no total of that one."""
    number = one.number
    if number.digits is None or number.digits > CLAIMABLE_DIGITS or number.half_unit < 1:
        return False
    larger = (each.number for each in others if each.number.digits is None or each.number.digits >= LEAST_DIGITS)
    return any(number.value + number.half_unit < each.value < MAGNITUDE * number.value for each in larger)


def is_of_another(wanted: WantedNumber, claimed: Sighting, said: Iterable[Sighting]) -> bool:
    """Return whether numbers are paired with like labels, `5 / 4 / 1`, so that the nearest is of other words."""
    asked = wanted.asked & SPECIAL
    line = [each for each in said if each.line.place == claimed.line.place]
    own = [each for each in line if asked & {*each.piece.said} and not each.piece.titled]
    return bool(asked and own) and not any(is_same_number(each, claimed) for each in own)


def is_wrong(each: Sighting, distinct: list[Sighting], judged: dict[int, Verdict]) -> bool:
    """Return whether no right number agrees with it."""
    return not any(judged[id(one)].credit == 1 and agree(one.number, each.number) for one in distinct)


def all_trainable(lines: Iterable[Line]) -> Line | None:
    """Return the line that says of all parameters that they are trainable."""
    for line in lines:
        text = " ".join(line.words).lower()
        if line.code or line.quoted or not pattern("everything").search(text) or pattern("exceptions").search(text):
            continue
        none = any(isinstance(piece.value, Number) and not piece.value.value for piece in line.pieces)
        if "trainable" in (said := concepts(text)) and (none or "frozen" not in said):
            return line
    return None


def with_point(number: Number) -> Number:
    """Return a number with its comma read as a decimal one if it may be, `1,498 GMac`; others as they are."""
    match = _COMMA.fullmatch(number.text)
    value = number.value / 1000 if match else number.value
    return replace(number, value=value, half_unit=number.half_unit / 1000) if match else number


def adding_up(whole: Number, numbers: Sequence[Sighting]) -> list[Sighting]:
    """Return the first numbers, two at least, that add up to a whole, to their printed precision; none otherwise."""
    total, off = Fraction(0), whole.half_unit
    for count, each in enumerate(numbers[:MOST_PARTS], start=1):
        total, off = total + each.number.value, off + each.number.half_unit
        if count >= PARTS and abs(total - whole.value) <= off:
            return list(numbers[:count])
        if total > whole.value + off:
            break
    return []


def claimed_by(answer: Answered, lines: Sequence[Line], words: Sequence[str]) -> Sighting | None:
    """Return the value plainly behind the spec's words, as a candidate; none if it is quoted from somebody else."""
    if not isinstance(answer, Answer) or not isinstance(answer.value, Number):
        return None
    place = answer.origin.partition(",")[0]
    number = place.rpartition(":")[2]
    unknown = Line(place=place, number=int(number) if number.isdecimal() else 0)
    line = next((line for line in lines if line.place == place), unknown)
    piece = LinePiece(value=answer.value, said=tuple(sorted(concepts(" ".join(words)))))
    claimed = Sighting(line=line, piece=piece, number=answer.value, rank=Rank.WORDS, claimed=True)
    return None if line.quoted else claimed


_ABOVE = 6  # lines


def units_on(line: Line) -> list[Unit]:
    """Return the units that stand by themselves on a line."""
    found = [label_unit(word) for word in dict.fromkeys(line.words)]
    return [unit for unit in found if unit is not None and unit.scale != 1]


def units_above(lines: Sequence[Line], line: Line) -> list[Unit]:
    """Return the units on a line and on those above it, the nearest first."""
    at = next((at for at, each in enumerate(lines) if each.place == line.place), 0)
    near = [each for each in lines[max(0, at - _ABOVE) : at + 1] if not each.code]
    return [unit for each in reversed(near) for unit in units_on(each)]


def scaled(number: Number, scale: Fraction, unit: str) -> Number:
    """Return a number in a unit that is elsewhere in the text."""
    digits = number.digits if number.digits is not None else len(str(abs(int(number.value))))
    half = (number.half_unit or Fraction(1, 2)) * scale
    return replace(number, value=number.value * scale, half_unit=half, digits=digits, text=f"{number.text} {unit}")


def table_in_sight(
    judged: Callable[[Value], Verdict], table: Table, as_it_is: Verdict, lines: Sequence[Line]
) -> Verdict:
    """Return MANUAL if all rows are right in a unit beside the table; else the verdict as it is."""
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


def said_in_order(
    right: Sequence[Number], lines: Iterable[Line]
) -> tuple[Line, Sequence[Number]] | tuple[None, Sequence[Number]]:
    """Return the line, or the first of all lines, with exactly the right numbers in order; and these numbers.

    `6,624,904 / 6,624,904 / 0`, once or several times: so many digits in their order are no accident.
    """
    if len(right) < PARTS or not any(each.value >= _TELLING for each in right):
        return None, ()
    plain = [line for line in lines if not (line.code or line.quoted) and _said_by(line)]
    for line in plain:
        if _repeats(right, said := _said_by(line)):
            return line, said
    every = [each for line in plain for each in _said_by(line)]
    return (plain[0], every) if plain and _repeats(right, every) else (None, ())


def labelled_otherwise(words: Sequence[str], lines: Iterable[Line]) -> bool:
    """Return whether lines name the answers in another order: `frozen / trainable: 5 / 2`."""
    asked = [kind for each in words for kind in SPECIAL & concepts(each)]
    said = [kind for line in lines for word in line.words for kind in SPECIAL & concepts(word)]
    first = [kind for kind in dict.fromkeys(said) if kind in asked]
    return first != [kind for kind in dict.fromkeys(asked) if kind in first]


def _said_by(line: Line) -> list[Number]:
    """Return the numbers of a line in order, also those of a list in brackets; none if one is doubted."""
    found: list[Number] = []
    for piece in line.pieces:
        if piece.doubt:
            return []
        if isinstance(piece.value, Number):
            found.append(piece.value)
        elif isinstance(piece.value, tuple):
            found += [Number(value=Fraction(size), text=str(size)) for size in piece.value]
    return found


def _repeats(right: Sequence[Number], said: Sequence[Number]) -> bool:
    times, rest = divmod(len(said), len(right))
    return times > 0 and not rest and all(agree(each, own) for each, own in zip(said, [*right] * times, strict=True))
