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

from labgrade.answers.reading.doubts import is_model
from labgrade.answers.reading.lines import LinePiece
from labgrade.answers.reading.words.terms import agree, misprinted
from labgrade.judging.texts.beside import (
    CLAIMABLE_DIGITS,
    PARTS,
    is_wrong,
    with_point,
)
from labgrade.judging.texts.candidates import Candidates
from labgrade.judging.texts.choice import MOST_ALIKE, Choice, answered, suggested, waits_with_numbers
from labgrade.judging.texts.evidence import (
    SPECIAL,
    Rank,
    Sighting,
    are_rivals,
    best_labelled,
    digits_of,
    distinct_sightings,
    enough,
    is_bare,
    is_known,
    is_sum,
    misplaced,
)
from labgrade.values import Number
from labgrade.verdict import DOUBTFUL, Outcome, Verdict, without_value

_MOST_JUDGED = 40  # different numbers of a section
_SMALLEST = 10  # a smaller number may be right by another convention by accident


class Decision(Candidates):
    """Decides what the lines of a section say of one number."""

    def made(self) -> Choice | None:
        """Return the choice that the lines lead to; None if they have no number of the kind."""
        distinct = best_labelled(distinct_sightings(self._plain), _MOST_JUDGED)
        judged = {id(each): self._wanted.judged(each.number) for each in distinct}
        right = [each for each in distinct if judged[id(each)].credit == 1]
        best = max(right, key=lambda each: (self._strength(each), -each.line.number), default=None)
        if best is not None:
            return self._right(
                best, judged[id(best)], [each for each in self._plain if is_wrong(each, distinct, judged)]
            )
        return self._wrong(distinct)

    def _strength(self, each: Sighting) -> tuple[int, bool, int]:
        """Return how well a number is labelled, whether it is called a total, and how telling its digits are."""
        return each.rank, each.says_total, digits_of(each.number)

    def _right(self, best: Sighting, verdict: Verdict, others: list[Sighting]) -> Choice:
        if not self._is_enough(best):
            same = [each for each in self._said if agree(each.number, best.number)]
            if self._wanted.asked & SPECIAL and best.rank < Rank.NAMED and len(same) < PARTS:
                return waits_with_numbers(self._wanted, [best])  # the whole, of which a part is asked for
            return suggested(self._wanted, verdict, best, "value without a label", self._said)
        concluded = [each for each in self._said if self._concludes(each, best)]
        rivals = distinct_sightings([*(each for each in others if self._is_rival(each, best)), *concluded])
        if len(rivals) > MOST_ALIKE or self._flooded(best) or self._is_undecided(best):
            return waits_with_numbers(self._wanted, [best, *rivals])
        if rivals:
            reason = (
                f"the report says {best.number} on {best.line.place}, and {rivals[0].number} on {rivals[0].line.place}"
            )
            return Choice(
                verdict=without_value(Outcome.MANUAL, reason, hint="say one value"), place=rivals[0].line.place
            )
        if best.line.quoted:
            return waits_with_numbers(self._wanted, [best])
        if self._has_unit_in_sight(best):
            return suggested(self._wanted, verdict, best, "unit in sight", self._said)
        return answered(verdict, best)

    def _is_undecided(self, best: Sighting) -> bool:
        """Return whether the text does not know which of its numbers is the answer."""
        others = (
            each for each in self._said if are_rivals(each.number, best.number) and not is_model(each.piece.doubt)
        )
        return any(line.undecided for line in self._lines) and any(others)

    def _is_enough(self, best: Sighting) -> bool:
        wanted = self._wanted
        if wanted.small:
            first = isinstance(wanted.right[0], Number) and agree(best.number, wanted.right[0])
            special = bool(wanted.asked & SPECIAL & {*best.piece.said}) and not best.piece.titled
            sure = first or special or best.rank == Rank.WORDS or best.number.value >= _SMALLEST
            labelled = best.rank >= Rank.NAMED or self._sums_up(best)
            return labelled and sure and best.number.half_unit <= Fraction(1, 2)
        if wanted.beside and wanted.asked & SPECIAL and best.rank < Rank.NAMED:
            return "trainable" in wanted.asked and self._of_all is not None
        large = [each for each in self._said if not each.piece.small and not agree(each.number, best.number)]
        alone = not large and digits_of(best.number) >= CLAIMABLE_DIGITS
        return enough(best) or (
            alone and (best.piece.measures == wanted.kind or digits_of(best.number) > CLAIMABLE_DIGITS)
        )

    def _is_rival(self, other: Sighting, best: Sighting) -> bool:
        """Return whether another number has as good a claim: a label as near, and no sign that it is something else."""
        if self._is_same(other, best):
            return False
        if other.line.place == best.line.place and self._contradicts(other, best):
            return True
        unlabelled = best.piece.measures and not other.piece.measures and other.rank < Rank.NAMED
        if misprinted(best.number, other.number) or self._is_part(other, best):
            return False
        if unlabelled and self._wanted.kind == "bytes":
            return False
        in_words = not any(map(str.isdigit, best.number.text))
        if self._wanted.small and other.line.place == best.line.place and in_words and not other.piece.small:
            return True  # none (1,025,000 if the classifier is left as it is)
        near = are_rivals(other.number, best.number)
        if near and other.line.numbered and other.rank >= Rank.GENERAL:
            return True  # a summary that says something else than the task's own section
        if other.rank == Rank.WORDS:
            return not (best.says_total and not other.says_total)
        if other.rank < best.rank or (best.says_total and not other.says_total and other.rank < Rank.WORDS):
            return False
        return near or (self._wanted.small and other.rank >= Rank.NAMED)

    def _is_same(self, other: Sighting, best: Sighting) -> bool:
        """Return whether a number repeats the right one, as in a unit that it leaves out, or is about another model."""
        same = agree(other.number, best.number) or agree(with_point(other.number), best.number)
        again = is_bare(other.number) and other.number.half_unit > 0 and self._of_ours(other, best)
        return same or again or is_model(other.piece.doubt)

    def _contradicts(self, other: Sighting, best: Sighting) -> bool:
        """Return whether a line ends with another number, or the same digits with another prefix."""
        digits = misplaced(best.number, other.number) and not is_bare(other.number)
        return self._comes_to(best, other) or digits

    def _concludes(self, other: Sighting, best: Sighting) -> bool:
        """Return whether the section ends with another answer behind the right number: `So 52,011,392 B`."""
        pieces = best.line.pieces
        both = other.line is best.line and best.piece in pieces and other.piece in pieces
        later = other.line.number > best.line.number or (both and pieces.index(other.piece) > pieces.index(best.piece))
        telling = later and other.piece.concludes and not (best.piece.concludes or other.piece.small)
        telling = telling and not self._wanted.small
        return telling and not (other.piece.doubt or self._of_ours(other, best) or agree(other.number, best.number))

    def _of_ours(self, other: Sighting, best: Sighting) -> bool:
        """Return whether a number goes with the right one: right itself, another answer's, or the same scaled."""
        powers = [base**power for base in (1000, 1024) for power in (1, 2, 3)]
        scales = [Fraction(2), *(Fraction(1000**power, 1024**power) for power in (1, 2, 3))]  # FLOPs; MB for MiB
        scales += [Fraction(1, each) for each in powers if is_bare(other.number)]
        known = self._is_right(other) or other.number.value in self._wanted.taken
        scaled = (replace(best.number, value=best.number.value * scale) for scale in scales)
        return known or any(agree(each, other.number) for each in scaled)

    def _comes_to(self, best: Sighting, other: Sighting) -> bool:
        """Return whether a sentence goes from the right number to another: `5 bytes a picture, of 8 pictures: 40`."""
        pieces = best.line.pieces
        both = best.piece in pieces and other.piece in pieces
        later = both and pieces.index(other.piece) > pieces.index(best.piece)
        plain = later and other.piece.led and not (other.line.row or other.piece.small or other.rank == Rank.OTHER)
        return (
            plain
            and digits_of(other.number) > CLAIMABLE_DIGITS
            and not (self._of_ours(other, best) or self._is_part(other, best))
        )

    def _wrong(self, distinct: list[Sighting]) -> Choice | None:
        """Return the choice if no candidate is right."""
        wanted = self._wanted
        doubtful = [each for each in self._said if each.piece.doubt and self._is_right(each) and enough(each)]
        doubtful = [each for each in doubtful if not (each.line.row and is_model(each.piece.doubt))]  # its column's
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
            return waits_with_numbers(self._wanted, [left_out])
        if meant is not None:
            return self._judged_wrong(meant, doubtful)
        if labelled:
            return waits_with_numbers(self._wanted, labelled)
        return self._unlabelled(distinct, doubtful)

    def _meant(self, labelled: list[Sighting]) -> Sighting | None:
        """Return the only number, the sum of the others, or the only one called a total."""
        if len(labelled) == 1:
            return labelled[0]
        sums = [each for each in labelled if is_sum(each, labelled)]
        totals = [each for each in labelled if each.says_total]
        return next((found[0] for found in (sums, totals) if len(found) == 1), None)

    def _judged_wrong(self, meant: Sighting, doubtful: list[Sighting]) -> Choice:
        """Return a number whose label fits what is asked for, and that is not right."""
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
            return waits_with_numbers(self._wanted, [meant])
        if wanted.small and meant.rank < Rank.WORDS and not beside:
            return waits_with_numbers(self._wanted, [meant])
        if beside or self._right_by_another_word(meant):
            chosen = beside[0] if beside else meant
            return suggested(wanted, wanted.judged(chosen.number), chosen, "another value", self._said)
        if self._replaced_right(meant):
            return suggested(wanted, verdict, meant, "value taken back", self._said)
        known = known and not (meant.rank <= Rank.GENERAL and self._right_somewhere())
        claimable = plain and self._is_claimable(meant)
        sure = (each for each in self._said if not each.piece.doubt and self._is_right(each) and enough(each))
        right = next(sure, None)
        if claimable and not (known or special) and right is not None:  # under another label: a person sees it
            return suggested(wanted, wanted.judged(right.number), right, "another value", self._said)
        if known or claimable:
            return answered(verdict, meant)
        if meant.piece.small and not wanted.small:
            return waits_with_numbers(self._wanted, [meant])
        best = doubtful[0] if doubtful and not plain else meant
        return suggested(
            wanted, wanted.judged(best.number), best, DOUBTFUL if doubtful else "labelled value", self._said
        )

    def _right_in_other_words(self) -> Choice | None:
        """Return the only right number in full, whatever its label: decided if the section has no other."""
        wanted = self._wanted
        right = distinct_sightings([each for each in self._said if self._is_right(each) and enough(each)])
        right = [each for each in right if {*each.piece.said} & SPECIAL == wanted.asked & SPECIAL]
        if len(right) != 1 or wanted.small:
            return None
        verdict = wanted.judged(right[0].number)
        if self._is_all_that_is_said(right[0]):
            return answered(verdict, right[0])
        return suggested(wanted, verdict, right[0], "right value in other words", self._said)

    def _unlabelled(self, distinct: list[Sighting], doubtful: list[Sighting]) -> Choice | None:
        """Return the choice if no number has a label that fits."""
        wanted = self._wanted
        large = [each for each in distinct if not each.piece.small and each.number.value not in wanted.taken]
        known = [each for each in large if is_known(wanted, each.number) and not set(each.piece.said) - {"total"}]
        if len(known) == 1 and not any(are_rivals(known[0].number, each.number) for each in large):
            verdict = wanted.judged(known[0].number)
            sure = verdict.hint and not self._right_somewhere()
            return answered(verdict, known[0]) if sure else suggested(wanted, verdict, known[0], "only number", large)
        if any(each.piece.doubt == "or" for each in doubtful):
            return waits_with_numbers(self._wanted, doubtful)
        if doubtful and len(distinct_sightings(doubtful)) == 1:
            instead = [each for each in large if each.line.place == doubtful[0].line.place] or large
            chosen = instead[0] if len(instead) == 1 else doubtful[0]
            return suggested(wanted, wanted.judged(chosen.number), chosen, DOUBTFUL, self._said)
        if len(large) == 1 and not wanted.small and self._is_alone_there(large[0]):
            return answered(wanted.judged(large[0].number), large[0])
        if len(large) == 1 and not wanted.small:
            return suggested(wanted, wanted.judged(large[0].number), large[0], "only number", self._said)
        if (right := self._right_in_other_words()) is not None:
            return right
        if large:
            return waits_with_numbers(self._wanted, large)
        others = distinct_sightings(
            [each for each in self._said if is_model(each.piece.doubt) and not each.piece.small]
        )
        if len(others) == 1 and not wanted.small:
            return suggested(wanted, wanted.judged(others[0].number), others[0], DOUBTFUL, self._said)
        left = [each for each in self._everything if each.line.code and is_known(wanted, each.number)]
        if len(distinct_sightings(left)) == 1 and self._is_right(left[0]):
            return suggested(wanted, wanted.judged(left[0].number), left[0], "value beside code", self._said)
        return waits_with_numbers(self._wanted, left) if left else None
