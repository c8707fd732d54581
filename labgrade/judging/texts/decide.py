"""Which number of a section is the answer: right, a known mistake, plainly wrong, or a person's to say.

All numbers of the section are candidates. A right one with digits enough for its label is the answer unless another
number has as good a claim to the same words. The table:

| right, and enough digits | rival | verdict |
|---|---|---|
| yes | none | CORRECT |
| yes | some | waits, with both places |
| no | none | the labelled number as it is judged; without a label a known mistake, else a suggestion |
| no | some | waits, with what they are |
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import is_model
from labgrade.answers.reading.lines import Line, LinePiece
from labgrade.answers.reading.terms import agree, misprinted
from labgrade.answers.reading.vocabulary import concepts, labels
from labgrade.judging.texts.beside import (
    CLAIMABLE_DIGITS,
    PARTS,
    THOP,
    adding_up,
    all_trainable,
    as_trainable,
    is_rounder,
    is_same_number,
    is_wrong,
    with_point,
)
from labgrade.judging.texts.choice import MOST_ALIKE, Choice, answered, listed, suggested
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
    enough,
    is_bare,
    is_known,
    is_sum,
    misplaced,
    ranked,
    sightings,
    words_of,
)
from labgrade.judging.texts.in_sight import scaled, units_above
from labgrade.values import Number
from labgrade.verdict import DOUBTFUL, Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Sequence


_MOST_JUDGED = 40  # different numbers of a section
_SMALLEST = 10  # a smaller number may be right by another convention by accident


class Decision:
    """What the lines of a section say of one number. `claimed`: what stands plainly behind the spec's own words."""

    def __init__(self, wanted: WantedNumber, lines: Sequence[Line], claimed: Sighting | None = None) -> None:
        self._wanted, self._lines = wanted, lines
        everything = ranked(wanted, sightings(wanted.kind, lines))
        said = [each for each in everything if not (each.line.code or each.line.quoted)]
        # Who quotes may stress the answer; a statement that is quoted does not say what is right.
        said = said or [each for each in everything if each.line.quoted and self._is_right(each)]
        if claimed is not None:
            same = [at for at, each in enumerate(said) if is_same_number(each, claimed)]
            for at in same:
                said[at] = replace(said[at], rank=Rank.WORDS, number=claimed.number, claimed=True)
            said = said if same else [claimed, *said]
        self._of_all = all_trainable(lines)
        if self._of_all is not None and "trainable" in wanted.asked:
            said = [as_trainable(each) for each in said]
        if wanted.kind == "count":
            said = [self._without_prefix(each) for each in said]
        self._everything, self._said = everything, said
        said = self._said = [self._settled(each) for each in said]
        plain = [each for each in said if not each.piece.doubt and each.rank > Rank.OTHER and self._of_size(each)]
        self._plain = self._not_replaced([each for each in plain if not is_rounder(each, plain)])

    def _without_prefix(self, each: Sighting) -> Sighting:
        """A number whose B is thop's word for no prefix, `858.000B`, where that is right and a billion is not."""
        if not THOP.fullmatch(each.number.text) or self._is_right(each):
            return each
        value, half = each.number.value / 10**9, each.number.half_unit / 10**9
        plain = replace(each, number=replace(each.number, value=value, half_unit=half))
        return plain if self._is_right(plain) else each

    def _settled(self, each: Sighting) -> Sighting:
        """A number, without a doubt whether it or another is meant where both are right."""
        if each.piece.doubt != "or":
            return each
        either = [one for one in self._said if one.line is each.line and one.piece.doubt == "or"]
        right = all(map(self._is_right, either))
        return replace(each, piece=replace(each.piece, doubt="")) if right else each

    def _of_size(self, each: Sighting) -> bool:
        """Whether a number may be meant at all: a small one only where its label says so."""
        if self._wanted.small:
            return each.rank >= Rank.NAMED or not each.piece.small
        return (
            not each.piece.small
            or each.claimed
            or (each.rank >= Rank.NAMED and each.piece.led and each.number.value > 0)
        )

    def _not_replaced(self, found: list[Sighting]) -> list[Sighting]:
        """Without numbers in whose place a later line puts another: `Oops, again without ...`."""
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

    def made(self) -> Choice | None:
        """What the lines come to; None where they hold no number of the kind."""
        distinct = distinct_sightings(self._plain)[:_MOST_JUDGED]
        judged = {id(each): self._wanted.judged(each.number) for each in distinct}
        right = [each for each in distinct if judged[id(each)].credit == 1]
        best = max(right, key=lambda each: (self._strength(each), -each.line.number), default=None)
        if best is not None:
            return self._right(
                best, judged[id(best)], [each for each in self._plain if is_wrong(each, distinct, judged)]
            )
        return self._wrong(distinct)

    def _strength(self, each: Sighting) -> tuple[int, bool, int]:
        """How well a number is labelled, whether it is called a total, and how much its digits say."""
        return each.rank, each.says_total, digits_of(each.number)

    def _right(self, best: Sighting, verdict: Verdict, others: list[Sighting]) -> Choice:
        if not self._is_enough(best):
            same = [each for each in self._said if agree(each.number, best.number)]
            if self._wanted.asked & SPECIAL and best.rank < Rank.NAMED and len(same) < PARTS:
                return listed(self._wanted, [best])  # the whole, of which a part is asked for
            return suggested(self._wanted, verdict, best, "value without a label", self._said)
        rivals = distinct_sightings([each for each in others if self._is_rival(each, best)])
        if len(rivals) > MOST_ALIKE or self._flooded():
            return listed(self._wanted, [best, *rivals])
        if rivals:
            reason = (
                f"the report says {best.number} on {best.line.place}, and {rivals[0].number} on {rivals[0].line.place}"
            )
            return Choice(
                verdict=without_value(Outcome.MANUAL, reason, hint="say one value"), place=rivals[0].line.place
            )
        if self._has_unit_in_sight(best):
            return suggested(self._wanted, verdict, best, "unit in sight", self._said)
        return answered(verdict, best)

    def _is_enough(self, best: Sighting) -> bool:
        wanted = self._wanted
        if wanted.small:
            first = isinstance(wanted.right[0], Number) and agree(best.number, wanted.right[0])
            sure = first or best.rank == Rank.WORDS or best.number.value >= _SMALLEST
            return best.rank >= Rank.NAMED and sure and best.number.half_unit <= Fraction(1, 2)
        if wanted.beside and wanted.asked & SPECIAL and best.rank < Rank.NAMED:
            return "trainable" in wanted.asked and self._of_all is not None
        large = [each for each in self._said if not each.piece.small and not agree(each.number, best.number)]
        alone = not large and digits_of(best.number) >= CLAIMABLE_DIGITS
        return enough(best) or (
            alone and (best.piece.measures == wanted.kind or digits_of(best.number) > CLAIMABLE_DIGITS)
        )

    def _is_rival(self, other: Sighting, best: Sighting) -> bool:
        """Whether another number has as good a claim: as near a label, and no reason to be said of something else."""
        pointed = with_point(other.number)
        if agree(other.number, best.number) or agree(pointed, best.number) or is_model(other.piece.doubt):
            return False
        same_line = other.line.place == best.line.place
        if same_line and misplaced(best.number, other.number) and not is_bare(other.number):
            return True
        if misprinted(best.number, other.number) or self._is_part(other, best):
            return False
        in_words = not any(map(str.isdigit, best.number.text))
        if self._wanted.small and same_line and in_words and not other.piece.small:
            return True  # none (1,025,000 if the classifier is left as it is)
        if other.rank == Rank.WORDS:
            return not (best.says_total and not other.says_total)
        if other.rank < best.rank or (best.says_total and not other.says_total and other.rank < Rank.WORDS):
            return False
        return are_rivals(other.number, best.number) or (self._wanted.small and other.rank >= Rank.NAMED)

    def _is_part(self, other: Sighting, best: Sighting) -> bool:
        """Whether a number is one of those before or behind another that add up to it."""
        at = next((at for at, each in enumerate(self._said) if each is best or each.piece is best.piece), 0)
        before, behind = self._said[:at][::-1], self._said[at + 1 :]
        return any(other.piece is each.piece for side in (before, behind) for each in adding_up(best.number, side))

    def _wrong(self, distinct: list[Sighting]) -> Choice | None:
        """What is to be said where no candidate is right."""
        wanted = self._wanted
        doubtful = [each for each in self._said if each.piece.doubt and self._is_right(each) and enough(each)]
        top = max((each.rank for each in distinct), default=Rank.OTHER)
        labelled = [each for each in distinct if each.rank == top] if top >= Rank.GENERAL else []
        meant = self._meant(labelled)
        if meant is None and wanted.asked >= {"frozen"} and self._of_all is not None and not labelled:
            nothing = Number(value=Fraction(0), text="that all are trainable")
            at = Sighting(line=self._of_all, piece=LinePiece(value=nothing), number=nothing)
            return suggested(wanted, wanted.judged(nothing), at, "all trainable", self._said)
        if meant is None and not labelled and self._is_anothers():
            return None
        in_unit = self._in_sight()
        if in_unit is not None:
            return suggested(wanted, wanted.judged(in_unit.number), in_unit, "unit in sight", ())
        left_out = next((each for each in distinct if self._lacks_its_unit(each)), None)
        if left_out is not None:
            return listed(self._wanted, [left_out])
        if meant is not None:
            return self._judged_wrong(meant, doubtful)
        if labelled:
            return listed(self._wanted, labelled)
        return self._unlabelled(distinct, doubtful)

    def _lacks_its_unit(self, each: Sighting) -> bool:
        """Whether a bare number with a decimal point would be right in some unit: 26.499616, and no word of MB."""
        if not (is_bare(each.number) and 0 < each.number.half_unit < 1) or digits_of(each.number) <= CLAIMABLE_DIGITS:
            return False
        scales = [Fraction(base) ** power for base in (1000, 1024) for power in (1, 2, 3)]
        return any(self._is_right(replace(each, number=scaled(each.number, one, ""))) for one in scales)

    def _meant(self, labelled: list[Sighting]) -> Sighting | None:
        """The only one, what the others add up to, or the only one that is called a total."""
        if len(labelled) == 1:
            return labelled[0]
        sums = [each for each in labelled if is_sum(each, labelled)]
        totals = [each for each in labelled if each.says_total]
        return next((found[0] for found in (sums, totals) if len(found) == 1), None)

    def _judged_wrong(self, meant: Sighting, doubtful: list[Sighting]) -> Choice:
        """A number whose label is what is asked for, and that is not right."""
        wanted, verdict = self._wanted, self._wanted.judged(meant.number)
        known = verdict.hint and digits_of(meant.number) >= CLAIMABLE_DIGITS and not meant.piece.small
        special = bool(wanted.asked & SPECIAL) and meant.rank >= Rank.NAMED
        plain = meant.rank == Rank.WORDS or special or (meant.rank == Rank.NAMED and self._is_alone(meant))
        same = [each for each in self._said if each.line.place == meant.line.place and not each.piece.doubt]
        same = [each for each in same if not agree(each.number, meant.number)]
        same = [each for each in same if each.rank > Rank.OTHER or not self._is_of_others(each)]
        beside = [each for each in same if self._is_right(each) and (wanted.small or enough(each))]
        whole = [each for each in same if each.says_total and each.number.value > meant.number.value]
        if self._parts_are_right(meant) or (whole and not meant.says_total):
            return listed(self._wanted, [meant])
        if wanted.small and meant.rank < Rank.WORDS and not beside:
            return listed(self._wanted, [meant])
        if beside or self._right_by_another_word(meant):
            chosen = beside[0] if beside else meant
            return suggested(wanted, wanted.judged(chosen.number), chosen, "another value", self._said)
        if self._replaced_right(meant):
            return suggested(wanted, verdict, meant, "value taken back", self._said)
        known = known and not (meant.rank <= Rank.GENERAL and self._right_somewhere())
        if known or (plain and self._is_claimable(meant)):
            return answered(verdict, meant)
        if meant.piece.small and not wanted.small:
            return listed(self._wanted, [meant])
        best = doubtful[0] if doubtful and not plain else meant
        return suggested(
            wanted, wanted.judged(best.number), best, DOUBTFUL if doubtful else "labelled value", self._said
        )

    def _replaced_right(self, meant: Sighting) -> bool:
        """Whether a right number was taken back for this one, so that a person should look."""
        right = [each for each in self._said if self._is_right(each) and each.rank > Rank.OTHER]
        return any(each.piece.doubt == "taken back" or self._replaces(meant, each) for each in right)

    def _is_alone_there(self, only: Sighting) -> bool:
        """Whether a number is all that the task's own section says: with its unit or in full."""
        large = [each for each in self._said if not each.piece.small and not agree(each.number, only.number)]
        of_memory = self._wanted.kind != "bytes" or only.piece.measures or not {*only.piece.said} & {"parameters"}
        telling = only.piece.measures == self._wanted.kind or (of_memory and digits_of(only.number) >= LEAST_DIGITS)
        return telling and not (large or only.line.shared or self._right_somewhere() or self._has_unit_in_sight(only))

    def _right_somewhere(self) -> bool:
        """Whether a right number that is no accident stands in the section, be it doubted, quoted or in code."""
        return any(self._is_right(each) and digits_of(each.number) >= LEAST_DIGITS for each in self._everything)

    def _is_of_others(self, each: Sighting) -> bool:
        """Whether a number's label is that of another answer of the task."""
        return any(labels(concepts(words), frozenset(each.piece.said)) for words in self._wanted.beside)

    def _is_claimable(self, meant: Sighting) -> bool:
        large = any(not each.piece.small and each is not meant for each in self._said)
        return self._wanted.small or not meant.piece.small or not large

    def _parts_are_right(self, meant: Sighting) -> bool:
        """Whether the other numbers of its line add up to what is right, though it is not their sum."""
        parts = {each.number.value for each in self._said if each.line.place == meant.line.place}
        whole = sum(parts - {meant.number.value})
        return len(parts) > PARTS and any(isinstance(one, Number) and one.value == whole for one in self._wanted.right)

    def _right_by_another_word(self, meant: Sighting) -> bool:
        """Whether a right number stands in the section that nothing but its label keeps from being the answer."""
        return any(
            self._is_right(each) and digits_of(each.number) >= LEAST_DIGITS for each in self._plain if each is not meant
        )

    def _unlabelled(self, distinct: list[Sighting], doubtful: list[Sighting]) -> Choice | None:
        """What is to be said where no number has a label that fits."""
        wanted = self._wanted
        large = [each for each in distinct if not each.piece.small and each.number.value not in wanted.taken]
        known = [each for each in large if is_known(wanted, each.number) and not set(each.piece.said) - {"total"}]
        if len(known) == 1 and not any(are_rivals(known[0].number, each.number) for each in large):
            verdict = wanted.judged(known[0].number)
            sure = verdict.hint and not self._right_somewhere()
            return answered(verdict, known[0]) if sure else suggested(wanted, verdict, known[0], "only number", large)
        if any(each.piece.doubt == "or" for each in doubtful):
            return listed(self._wanted, doubtful)
        if doubtful and len(distinct_sightings(doubtful)) == 1:
            instead = [each for each in large if each.line.place == doubtful[0].line.place] or large
            chosen = instead[0] if len(instead) == 1 else doubtful[0]
            return suggested(wanted, wanted.judged(chosen.number), chosen, DOUBTFUL, self._said)
        if len(large) == 1 and not wanted.small and self._is_alone_there(large[0]):
            return answered(wanted.judged(large[0].number), large[0])
        if len(large) == 1 and not wanted.small:
            return suggested(wanted, wanted.judged(large[0].number), large[0], "only number", self._said)
        other = distinct_sightings([each for each in self._said if self._is_right(each) and enough(each)])
        if len(other) == 1 and not wanted.small:  # right digits, called something else
            return suggested(wanted, wanted.judged(other[0].number), other[0], "right value in other words", self._said)
        if large:
            return listed(self._wanted, large)
        others = distinct_sightings(
            [each for each in self._said if is_model(each.piece.doubt) and not each.piece.small]
        )
        if len(others) == 1 and not wanted.small:
            return suggested(wanted, wanted.judged(others[0].number), others[0], DOUBTFUL, self._said)
        left = [each for each in self._everything if each.line.code and is_known(wanted, each.number)]
        if len(distinct_sightings(left)) == 1 and self._is_right(left[0]):
            return suggested(wanted, wanted.judged(left[0].number), left[0], "value beside code", self._said)
        return listed(self._wanted, left) if left else None

    def _is_right(self, each: Sighting) -> bool:
        return any(isinstance(one, Number) and agree(each.number, one) for one in self._wanted.right)

    def _is_alone(self, meant: Sighting) -> bool:
        return not any(are_rivals(each.number, meant.number) for each in self._said if not each.piece.small)

    def _flooded(self) -> bool:
        """Whether so many numbers of the text are near the right one that some number had to be right."""
        like = next((abs(each.value) for each in self._wanted.right if isinstance(each, Number)), None)
        alike = {
            each.number.value
            for each in self._said
            if like and each.rank >= Rank.GENERAL and like / MAGNITUDE < abs(each.number.value) < like * MAGNITUDE
        }
        return len(alike) > MOST_ALIKE

    def _is_anothers(self) -> bool:
        """Whether the text says nothing but another answer of the task: a total alone, and no word of what is asked."""
        wanted = self._wanted
        if not wanted.asked & SPECIAL or all(concepts(words) & SPECIAL for words in wanted.beside):
            return False
        said = {concept for line in self._lines for piece in line.pieces for concept in piece.said}
        words = {word for line in self._lines if not line.code for word in words_of(line)}
        return not wanted.asked & SPECIAL & said.union(*map(concepts, sorted(words)))

    def _has_unit_in_sight(self, chosen: Sighting) -> bool:
        """Whether a large number that is right without a unit has one beside it or above, in which it is wrong."""
        if self._wanted.small or not is_bare(chosen.number) or chosen.rank == Rank.WORDS:
            return False
        return any(len(unit.text) > 1 for unit in units_above(self._lines, chosen.line))

    def _in_sight(self) -> Sighting | None:
        """The right value that a number without a unit comes to, in a unit on its line or above."""
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
