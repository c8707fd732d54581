"""The candidates of a section for one number: which are said of it, which are doubted, and how they stand together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import is_model
from labgrade.answers.reading.words.terms import agree
from labgrade.answers.reading.words.vocabulary import concepts, labels
from labgrade.judging.texts.beside import (
    CLAIMABLE_DIGITS,
    MOST_PARTS,
    PARTS,
    THOP,
    adding_up,
    all_trainable,
    as_trainable,
    is_of_another,
    is_rounder,
    is_same_number,
    scaled,
    units_above,
)
from labgrade.judging.texts.choice import MOST_ALIKE
from labgrade.judging.texts.evidence import (
    LEAST_DIGITS,
    MAGNITUDE,
    SPECIAL,
    Rank,
    Sighting,
    WantedNumber,
    are_rivals,
    between,
    digits_of,
    distinct_sightings,
    is_bare,
    ranked,
    sightings,
)
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.answers.reading.lines import Line

_MOST_SUMS = 20  # that are looked at
_OPERATIONS = frozenset({"macs", "flops"})  # a number of one is no number of the other


class Candidates:
    """The values in a section's lines that may be one number. `claimed`: the value plainly behind the spec's words."""

    def __init__(self, wanted: WantedNumber, lines: Sequence[Line], claimed: Sighting | None = None) -> None:
        self._wanted, self._lines = wanted, lines
        self._parts: set[int] | None = None
        self._sums: set[int] | None = None
        everything = ranked(wanted, sightings(wanted.kind, lines))
        said = [each for each in everything if not (each.line.code or each.line.quoted)]
        # Who quotes may stress the answer; a statement that is quoted does not say what is right.
        said = said or [each for each in everything if each.line.quoted and self._is_right(each)]
        if claimed is not None and not is_of_another(wanted, claimed, said):
            same = [at for at, each in enumerate(said) if is_same_number(each, claimed)]
            for at in same:
                said[at] = replace(said[at], rank=Rank.WORDS, number=claimed.number, claimed=True)
            said = said if same else [claimed, *said]
        self._of_all = all_trainable(lines)
        if self._of_all is not None and "trainable" in wanted.asked:
            said = [as_trainable(each, self._of_all) for each in said]
        if wanted.kind == "count":
            said = [self._without_prefix(each) for each in said]
        self._everything, self._said = everything, said
        said = self._said = [self._settled(each) for each in said]
        plain = [each for each in said if not each.piece.doubt and each.rank > Rank.OTHER and self._of_size(each)]
        self._plain = self._not_replaced([each for each in plain if not is_rounder(each, plain)])

    def _without_prefix(self, each: Sighting) -> Sighting:
        """Return a number whose B is thop's word for no prefix, `858.000B`, if that is right and a billion is not."""
        if not THOP.fullmatch(each.number.text) or self._is_right(each):
            return each
        value, half = each.number.value / 10**9, each.number.half_unit / 10**9
        plain = replace(each, number=replace(each.number, value=value, half_unit=half))
        return plain if self._is_right(plain) else each

    def _settled(self, each: Sighting) -> Sighting:
        """Return a number; without doubt whether it or another is meant, if both are right."""
        if each.piece.doubt != "or":
            return each
        either = [one for one in self._said if one.line is each.line and one.piece.doubt == "or"]
        right = all(map(self._is_right, either))
        return replace(each, piece=replace(each.piece, doubt="")) if right else each

    def _of_size(self, each: Sighting) -> bool:
        """Return whether a number may be meant at all: a small one only if its label fits."""
        if self._wanted.small:
            return each.rank >= Rank.NAMED or not each.piece.small or self._sums_up(each)
        return (
            not each.piece.small
            or each.claimed
            or (each.rank >= Rank.NAMED and each.piece.led and each.number.value > 0)
        )

    def _sums_up(self, each: Sighting) -> bool:
        """Return whether a right number is called a total, and several numbers before it add up to it."""
        if self._sums is None:
            self._sums = {id(one.piece) for one in self._right_sums()}
        return id(each.piece) in self._sums

    def _right_sums(self) -> Iterator[Sighting]:
        totals = [at for at, one in enumerate(self._said) if one.says_total and one.rank >= Rank.GENERAL]
        for at in [at for at in totals if self._is_right(self._said[at])][:_MOST_SUMS]:
            before = self._said[max(0, at - MOST_PARTS) : at]
            if any(adding_up(self._said[at].number, before[first:]) for first in range(len(before))):
                yield self._said[at]

    def _not_replaced(self, found: list[Sighting]) -> list[Sighting]:
        """Return the numbers that no later line replaces: `Oops, again without ...`."""
        later = [
            each
            for each in self._said
            if not is_model(each.piece.doubt) and not each.piece.small and each.rank > Rank.OTHER
        ]
        return [each for each in found if not any(self._replaces(other, each) for other in later)]

    def _replaces(self, later: Sighting, first: Sighting) -> bool:
        if not are_rivals(first.number, later.number) or later.line.number <= first.line.number:
            return False
        return any(line.corrects for line in between(self._lines, first, later))

    def _is_part(self, other: Sighting, best: Sighting) -> bool:
        """Return whether a number is one of several that follow one another and add up to the best."""
        if self._parts is None:
            others = [each for each in self._said if not agree(each.number, best.number)]
            own = [each for each in others if each.rank > Rank.OTHER]
            runs = (adding_up(best.number, of[at : at + MOST_PARTS]) for of in (own, others) for at in range(len(of)))
            self._parts = {id(each.piece) for run in runs for each in run}
        return id(other.piece) in self._parts

    def _lacks_its_unit(self, each: Sighting) -> bool:
        """Return whether a bare number with a decimal point would be right in some unit: 26.499616, without MB."""
        if not (is_bare(each.number) and 0 < each.number.half_unit < 1) or digits_of(each.number) <= CLAIMABLE_DIGITS:
            return False
        scales = [Fraction(base) ** power for base in (1000, 1024) for power in (1, 2, 3)]
        return any(self._is_right(replace(each, number=scaled(each.number, one, ""))) for one in scales)

    def _replaced_right(self, meant: Sighting) -> bool:
        """Return whether this number replaces a right one, so that a person should look."""
        right = [each for each in self._said if self._is_right(each) and each.rank > Rank.OTHER]
        return any(each.piece.doubt == "taken back" or self._replaces(meant, each) for each in right)

    def _is_all_that_is_said(self, right: Sighting) -> bool:
        """Return whether a right number in full is the only large one of the task's section, whatever its label."""
        large = [each for each in self._said if not each.piece.small and not agree(each.number, right.number)]
        plain = not (right.piece.doubt or right.line.shared or large) and digits_of(right.number) > LEAST_DIGITS
        other_noun = ({*right.piece.said} & _OPERATIONS) - self._wanted.asked  # FLOPs, where MACs are asked for
        return plain and not (self._is_of_others(right) or self._wanted.asked & SPECIAL or other_noun)

    def _is_alone_there(self, only: Sighting) -> bool:
        """Return whether a number is the only one in the task's own section: with its unit or in full."""
        large = [each for each in self._said if not each.piece.small and not agree(each.number, only.number)]
        of_memory = self._wanted.kind != "bytes" or only.piece.measures or not {*only.piece.said} & {"parameters"}
        telling = only.piece.measures == self._wanted.kind or (of_memory and digits_of(only.number) >= LEAST_DIGITS)
        return telling and not (large or only.line.shared or self._right_somewhere() or self._has_unit_in_sight(only))

    def _right_somewhere(self) -> bool:
        """Return whether the section has a right number that is no accident, be it doubted, quoted or in code."""
        return any(self._is_right(each) and digits_of(each.number) >= LEAST_DIGITS for each in self._everything)

    def _is_of_others(self, each: Sighting) -> bool:
        """Return whether a number's label belongs to another answer of the task."""
        return any(labels(concepts(words), frozenset(each.piece.said)) for words in self._wanted.beside)

    def _is_claimable(self, meant: Sighting) -> bool:
        large = any(not each.piece.small and each is not meant for each in self._said)
        return self._wanted.small or not meant.piece.small or not large

    def _parts_are_right(self, meant: Sighting) -> bool:
        """Return whether the line's numbers add up to what is right, or this one and another of the section."""
        parts = {each.number.value for each in self._said if each.line.place == meant.line.place}
        whole = sum(parts - {meant.number.value})
        others = {each.number.value for each in self._said if not each.piece.small} - {meant.number.value}
        if self._wanted.asked & SPECIAL:  # these and the others are all there are
            others = set()
        sums = {meant.number.value + other for other in others}
        sums |= {whole, whole + meant.number.value} if len(parts) > PARTS else set()
        return any(isinstance(one, Number) and one.value in sums for one in self._wanted.right)

    def _right_by_another_word(self, meant: Sighting) -> bool:
        """Return whether the section has a right number that only its label keeps from being the answer."""
        return any(
            self._is_right(each) and digits_of(each.number) >= LEAST_DIGITS for each in self._plain if each is not meant
        )

    def _is_right(self, each: Sighting) -> bool:
        return any(isinstance(one, Number) and agree(each.number, one) for one in self._wanted.right)

    def _is_alone(self, meant: Sighting) -> bool:
        return not any(are_rivals(each.number, meant.number) for each in self._said if not each.piece.small)

    def _is_as_near(self, each: Sighting, best: Sighting) -> bool:
        """Return whether a number's label fits as well as another number's: it is called a total, say."""
        return each.rank >= best.rank and each.says_total if best.says_total else each.rank >= Rank.GENERAL

    def _flooded(self, best: Sighting) -> bool:
        """Return whether there are so many numbers with labels as good near the right one that some had to be right."""
        like = next((abs(each.value) for each in self._wanted.right if isinstance(each, Number)), None)
        alike = {
            each.number.value
            for each in self._said
            if like and self._is_as_near(each, best) and like / MAGNITUDE < abs(each.number.value) < like * MAGNITUDE
        }
        return len(alike) > MOST_ALIKE

    def _is_anothers(self) -> bool:
        """Return whether the text only has another answer of the task: a total, and no word of what is asked."""
        wanted = self._wanted
        if not wanted.asked & SPECIAL or all(concepts(words) & SPECIAL for words in wanted.beside):
            return False
        said = {concept for line in self._lines for piece in line.pieces for concept in piece.said}
        words = {word for line in self._lines if not line.code for word in line.words}
        return not wanted.asked & SPECIAL & said.union(*map(concepts, sorted(words)))

    def _has_unit_in_sight(self, chosen: Sighting) -> bool:
        """Return whether a large number, right without a unit, has one beside or above it in which it is wrong."""
        if self._wanted.small or not is_bare(chosen.number) or chosen.rank == Rank.WORDS:
            return False
        return any(len(unit.text) > 1 for unit in units_above(self._lines, chosen.line))

    def _in_sight(self) -> Sighting | None:
        """Return the right value that a number without a unit has in a unit on its line or above."""
        found = []
        for each in sightings("number", self._lines):
            if (
                each.piece.measures in ("", self._wanted.kind)
                and not (each.line.code or each.piece.doubt)
                and is_bare(each.number)
            ):
                in_units = (scaled(each.number, unit.scale, unit.text) for unit in units_above(self._lines, each.line))
                found += [
                    replace(each, number=one)
                    for one in in_units
                    if digits_of(one) >= CLAIMABLE_DIGITS and self._is_right(replace(each, number=one))
                ][:1]
        found = distinct_sightings(found)
        return found[0] if len(found) == 1 else None
