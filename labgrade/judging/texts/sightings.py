"""Numbers of a text as the judge sees them: where each stands, what labels it, which of them say the same."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.units import label_unit
from labgrade.answers.reading.vocabulary import concepts, labels
from labgrade.core.results import Answer
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.answers.reading.numerals.units import Unit
    from labgrade.core.results import Answered
    from labgrade.values import Value
    from labgrade.verdict import Verdict

NUMBERS = frozenset({"count", "bytes", "number"})
LEAST_DIGITS = 5  # of a value that is recognised wherever it stands
MAGNITUDE = 10
_LARGE = 10_000  # a number that is no count of items, of layers, of a table's rows
_ROUNDED = Fraction(1, 1000)  # by which `1,498` is off
_NEAR = Fraction(1, 100)
_BARE = re.compile(r"[\d.,'_ \u00a0]+")
_ABOVE = 6  # lines


@dataclass(frozen=True, kw_only=True)
class WantedNumber:
    """What is looked for: the kind of value, words behind which the spec looks, values that are right or known wrong.

    `judged` is the verdict on a value; `taken` are numbers that other answers of the task have read, `beside` the words
    behind which those are looked for that are numbers of the same kind.
    """

    kind: str
    words: tuple[str, ...]
    right: tuple[Value, ...]
    known: tuple[Value, ...]
    judged: Callable[[Value], Verdict]
    taken: frozenset[Fraction] = frozenset()
    beside: tuple[str, ...] = ()

    @cached_property
    def small(self) -> bool:
        """Whether a right value is so small that other numbers of its size stand in any text."""
        return any(isinstance(each, Number) and abs(each.value) < _LARGE for each in self.right)

    @cached_property
    def label_sets(self) -> set[frozenset[str]]:
        """The concepts of each phrase that may label the value."""
        return {concepts(words) for words in self.words}

    @property
    def hint(self) -> str:
        """What a student should write, so that the answer is read."""
        return f"write '{self.words[0]}:' and the number behind it, on a line of its own" if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A number of a text, the piece of a line that it is, and the line."""

    line: Line
    piece: LinePiece
    number: Number


def agree(one: Number, other: Number) -> bool:
    """Whether two numbers may be the same, as far as they were printed."""
    return abs(one.value - other.value) <= one.half_unit + other.half_unit


def misplaced(one: Number, other: Number) -> bool:
    """Whether one is the other with another prefix: `119,445,696 bytes = 119.4 KB`."""
    return not agree(one, other) and same_digits(one, other)


def nearly_same(one: Number, other: Number) -> bool:
    """Whether two numbers differ, and so little that both are said of the same: digits were swapped."""
    return not agree(one, other) and abs(one.value - other.value) <= _NEAR * abs(one.value)


def same_digits(one: Number, other: Number) -> bool:
    """Whether one is the other but for a power of ten, as far as it was printed."""
    if one.value <= 0 or other.value <= 0:
        return False
    ratio = other.value / one.value
    return abs(ratio / Fraction(10) ** round(math.log10(ratio)) - 1) < _ROUNDED


def sightings(kind: str, lines: Iterable[Line]) -> list[Sighting]:
    """The numbers of the lines that may be of a kind, in order."""
    return [
        Sighting(line=line, piece=piece, number=piece.value)
        for line in lines
        for piece in line.pieces
        if isinstance(piece.value, Number)
        and (kind == "number" or piece.measures in ("", kind))
        and not (kind == "count" and 0 < piece.value.half_unit < Fraction(1, 2))  # 6.0 is no count
    ]


def labelled_sightings(wanted: WantedNumber, found: Iterable[Sighting]) -> list[Sighting]:
    """The numbers beside words of the spec; those that only a heading labels count where there is no other."""
    sets = wanted.label_sets
    labelled = [
        each
        for each in found
        if (wanted.small or not each.piece.small) and any(labels(one, frozenset(each.piece.said)) for one in sets)
    ]
    return [each for each in labelled if not each.piece.titled] or labelled


def is_sum(one: Sighting, all_of_them: Iterable[Sighting]) -> bool:
    """Whether a number is what the others, of which there are several, add up to, as far as they were printed."""
    others = {each.number.value: each.number.half_unit for each in all_of_them if each.number.value != one.number.value}
    off = abs(one.number.value - sum(others))
    return len(others) > 1 and off <= one.number.half_unit + sum(others.values())


def distinct_sightings(found: Iterable[Sighting]) -> list[Sighting]:
    """Those that differ; of those that agree the finest."""
    ordered = sorted(found, key=lambda each: (each.number.half_unit, each.line.number))
    kept: dict[Fraction, Sighting] = {}
    values: list[Fraction] = []
    for each in ordered:
        value, half = each.number.value, each.number.half_unit
        near = bisect_left(values, value - half)
        agrees = near < len(values) and values[near] <= value + half
        if value not in kept and not agrees:
            kept[value] = each
            insort(values, value)
    return list(kept.values())


def digits_of(number: Number) -> int:
    """The digits that a number was printed with, as far as they say something."""
    return number.digits if number.digits is not None else len(str(abs(int(number.value))))


def is_known(wanted: WantedNumber, number: Number) -> bool:
    """Whether it is a value that means something, written precisely enough to be no accident."""
    return digits_of(number) >= LEAST_DIGITS and any(
        isinstance(each, Number) and abs(each.value - number.value) <= number.half_unit + each.half_unit
        for each in (*wanted.right, *wanted.known)
    )


def are_rivals(one: Number, other: Number) -> bool:
    """Whether two numbers differ, and not so much that they can't be said of the same."""
    small, large = sorted((one.value, other.value))
    return not agree(one, other) and large < MAGNITUDE * small


_OR = frozenset(("or", "oder", "ou", "o", "или", "或", "或者", "或是", "또는", "または"))


def is_either(chosen: Sighting) -> bool:
    """Whether another number of its size is all the same to the writer: `5,200 bytes or 10,500 bytes`."""
    pieces = chosen.line.pieces
    for one, word, other in zip(pieces, pieces[1:], pieces[2:], strict=False):
        both = [each.value for each in (one, other) if isinstance(each.value, Number)]
        linked = isinstance(word.value, str) and word.value.lower() in _OR
        if len(both) > 1 and linked and chosen.piece in (one, other) and are_rivals(*both):
            return True
    return False


def words_of(line: Line) -> list[str]:
    """The words of a line, in order."""
    return [piece.value for piece in line.pieces if isinstance(piece.value, str)]


def units_in_sight(lines: Sequence[Line], at: int) -> list[Unit]:
    """The units that stand by themselves on a line or on those above it, the nearest first."""
    near = [
        word for line in lines[at : max(0, at - _ABOVE) - 1 if at > _ABOVE else None : -1] for word in words_of(line)
    ]
    found = [label_unit(word) for word in dict.fromkeys(near)]
    return [unit for unit in found if unit is not None and unit.scale != 1]


def is_bare(number: Number) -> bool:
    """Whether a number was written without any unit or word."""
    return bool(_BARE.fullmatch(number.text))


def numbers_of(answer: Answered | None) -> Iterator[Fraction]:
    """The numbers of an answer: its own, or those of a table's cells."""
    value = answer.value if isinstance(answer, Answer) else None
    if isinstance(value, Number):
        yield value.value
    elif isinstance(value, Table):
        yield from (cell.value for row in value.rows for cell in row.cells.values() if isinstance(cell, Number))


def is_one(kind: object) -> bool:
    """Whether an answer's type is that of one number."""
    return isinstance(kind, str) and kind in NUMBERS
