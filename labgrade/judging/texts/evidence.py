"""What speaks for each number of a text being the answer: how its label fits, how surprising its digits are.

A candidate's rank says how near its label is to what is asked for. The fitted figures stand here, and
`tests/helpers/report_figures.py` prints what a change of them does to the galleries.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.terms import agree
from labgrade.answers.reading.words.vocabulary import concepts, foreign, labels, special
from labgrade.core.results import Answer
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.core.results import Answered
    from labgrade.values import Value
    from labgrade.verdict import Verdict

NUMBERS = frozenset({"count", "bytes", "number"})
MAGNITUDE = 10
_LARGE = 10_000  # a number that is no count of items, of layers, of a table's rows
_FLOAT = 1_000  # from here on a count may be printed as a float
_ROUNDED = Fraction(1, 1000)  # by which `1,498` is off
_MARKS = ".,'_ \u00a0"  # within digits
# How many digits a right value needs to be no accident, by the rank of its label.
LEAST_DIGITS = 5
_ENOUGH = {4: 2, 3: 3, 2: 4, 1: 4}
_BESIDE = frozenset({"input", "operators", "types", "parameters"})  # of which a label may speak besides
SPECIAL = frozenset({"trainable", "frozen", "types"})  # what only one of several like answers is about


class Rank(IntEnum):
    """How well a number's label fits what is asked for."""

    OTHER = 0  # it speaks of another quantity
    NONE = 1  # it says nothing
    GENERAL = 2  # `total`, `answer`; or the section's heading alone says what it is
    NAMED = 3  # it speaks of what is asked for
    WORDS = 4  # it has the very words of the spec


@dataclass(frozen=True, kw_only=True)
class WantedNumber:
    """The number that is looked for: its kind, the spec's words, values that are right or known to be wrong.

    `judged` is the verdict on a value; `taken` are numbers that other answers of the task have read, `beside` the words
    of those other answers that are numbers of the same kind.
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
        """Return whether a right value is so small that other numbers of its size stand in any text."""
        return any(isinstance(each, Number) and abs(each.value) < _LARGE for each in self.right)

    @cached_property
    def label_sets(self) -> list[frozenset[str]]:
        """Return the concepts of each phrase that may label the value."""
        return [*dict.fromkeys(concepts(words) for words in self.words)]

    @cached_property
    def asked(self) -> frozenset[str]:
        """Return all concepts of its words."""
        return frozenset[str]().union(*self.label_sets)

    @property
    def hint(self) -> str:
        """Return how a student should write the answer so that it is read."""
        return f"write '{self.words[0]}:' and the number behind it, on a line of its own" if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A number in a text: the piece of a line, the line, and how well its label fits what is asked for.

    `claimed`: it is plainly behind the spec's own words.
    """

    line: Line
    piece: LinePiece
    number: Number
    rank: Rank = Rank.NONE
    claimed: bool = False

    @property
    def says_total(self) -> bool:
        """Return whether its own words call it a total."""
        return "total" in self.piece.said and not self.piece.titled


def sightings(kind: str, lines: Iterable[Line]) -> list[Sighting]:
    """Return the numbers of the lines that may be of a kind, in order."""
    return [
        Sighting(line=line, piece=piece, number=piece.value)
        for line in lines
        for piece in line.pieces
        if isinstance(piece.value, Number)
        and (kind == "number" or piece.measures in ("", kind))
        and not (kind == "count" and 0 < piece.value.half_unit < Fraction(1, 2) and piece.value.value < _FLOAT)  # 6.0
    ]


def ranked(wanted: WantedNumber, found: Iterable[Sighting]) -> list[Sighting]:
    """Return the numbers, each with the rank of its label."""
    return [replace(each, rank=_rank(wanted, each)) for each in found]


def _rank(wanted: WantedNumber, each: Sighting) -> Rank:
    """Return the rank of a label; a number that is plainly behind the spec's words has the best."""
    said = frozenset(each.piece.said)
    text = f" {' '.join(each.line.words).casefold()} "
    own = any(_says(text, words) for words in wanted.words)
    fits = any(labels(one, said) for one in wanted.label_sets)
    named = any(special(one) and special(one) <= said for one in wanted.label_sets) or (own and not wanted.asked)
    if wanted.kind == "count" and "memory" in said and "memory" not in wanted.asked:
        return Rank.OTHER
    if not fits and foreign(wanted.asked, said) - (_BESIDE if named else frozenset()):
        return Rank.OTHER
    if said & SPECIAL - wanted.asked and not each.piece.titled:
        return Rank.OTHER
    if not own and any(_says(text, words) and concepts(words) in wanted.label_sets for words in wanted.beside):
        return Rank.OTHER
    if not named and any(labels(concepts(words), said) for words in wanted.beside):
        return Rank.OTHER
    bare = wanted.kind == "bytes" and each.piece.measures == "bytes" and not said - {"memory", "total"}
    if bare:  # only its unit says that it is memory
        return Rank.GENERAL if "total" in said else Rank.NONE
    if each.piece.titled:
        return Rank.GENERAL if named else Rank.NONE
    if named:
        very = own and each.piece.led and any(" " in words for words in wanted.words)
        return Rank.WORDS if very or ("total" in said and "total" in wanted.asked) else Rank.NAMED
    return Rank.GENERAL if fits else Rank.NONE


def _says(text: str, words: str) -> bool:
    plain = " ".join(re.findall(r"[^\W_]+", words.casefold()))
    return bool(plain) and (f" {plain}" in text or (plain.isascii() is False and plain in text))


def enough(each: Sighting) -> bool:
    """Return whether a right value has enough digits to be no accident, with the label that it has."""
    bare = each.rank <= Rank.NONE and not each.piece.measures
    return digits_of(each.number) >= _ENOUGH.get(each.rank, LEAST_DIGITS) + bare


def misplaced(one: Number, other: Number) -> bool:
    """Return whether one number is the other with another prefix: `119,445,696 bytes = 119.4 KB`."""
    return not agree(one, other) and same_digits(one, other)


def same_digits(one: Number, other: Number) -> bool:
    """Return whether one number is the other times a power of ten, to its printed precision."""
    if one.value <= 0 or other.value <= 0:
        return False
    ratio = other.value / one.value
    power = round(math.log10(ratio))
    return power != 0 and abs(ratio / Fraction(10) ** power - 1) < _ROUNDED


def is_sum(one: Sighting, all_of_them: Iterable[Sighting]) -> bool:
    """Return whether a number is the sum of the others, two at least, to their printed precision."""
    others = {each.number.value: each.number.half_unit for each in all_of_them if each.number.value != one.number.value}
    off = abs(one.number.value - sum(others))
    return len(others) > 1 and off <= one.number.half_unit + sum(others.values())


def distinct_sightings(found: Iterable[Sighting]) -> list[Sighting]:
    """Return the different numbers in the text's order; of equal ones, the best labelled or else the finest.

    What a line says once more, in more digits, is what its label means: `0.714 GMACs (714,188,480)`.
    """
    kept: list[Sighting] = []
    for each in sorted(found, key=lambda one: (-one.rank, not one.says_total, one.number.half_unit, one.line.number)):
        at = next((at for at, other in enumerate(kept[:200]) if _is_same(each.number, other.number)), None)
        if at is None:
            kept.append(each)
        elif each.line is kept[at].line and each.number.half_unit < kept[at].number.half_unit:
            kept[at] = replace(kept[at], number=each.number)
    return sorted(kept, key=lambda one: one.line.number)


def best_labelled(found: list[Sighting], most: int) -> list[Sighting]:
    """Return at most so many numbers, those with the best labels, in the order of the text."""
    best = sorted(found, key=lambda one: (not one.says_total, -one.rank))[:most]
    return sorted(best, key=lambda one: one.line.number)


def _is_same(one: Number, other: Number) -> bool:
    """Return whether one number may be the other rounded; two roundings to one place must be equal."""
    return abs(one.value - other.value) <= max(one.half_unit, other.half_unit)


def digits_of(number: Number) -> int:
    """Return the significant digits that a number was printed with."""
    return number.digits if number.digits is not None else len(str(abs(int(number.value))))


def is_known(wanted: WantedNumber, number: Number) -> bool:
    """Return whether it is a value with a meaning, in enough digits to be no accident."""
    return digits_of(number) >= LEAST_DIGITS and any(
        isinstance(each, Number) and agree(each, number) for each in (*wanted.right, *wanted.known)
    )


def are_rivals(one: Number, other: Number) -> bool:
    """Return whether two numbers differ, but so little that both may be meant."""
    small, large = sorted((one.value, other.value))
    return not agree(one, other) and large < MAGNITUDE * small


def is_bare(number: Number) -> bool:
    """Return whether a number was written without any unit or word."""
    return bool(number.text) and all(each.isdecimal() or each in _MARKS for each in number.text)


def numbers_of(answer: Answered | None) -> Iterator[Fraction]:
    """Yield the numbers of an answer: its own, or those of a table's cells."""
    value = answer.value if isinstance(answer, Answer) else None
    if isinstance(value, Number):
        yield value.value
    elif isinstance(value, Table):
        yield from (cell.value for row in value.rows for cell in row.cells.values() if isinstance(cell, Number))


def is_one(kind: object) -> bool:
    """Return whether an answer's type is a single number."""
    return isinstance(kind, str) and kind in NUMBERS


def between(lines: Sequence[Line], first: Sighting, later: Sighting) -> list[Line]:
    """Return the lines behind one number, up to that of a later one."""
    return [line for line in lines if first.line.number < line.number <= later.line.number]
