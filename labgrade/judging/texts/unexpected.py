"""A number of which a spec expects no value, but bounds: what a text says of it, and where that has to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.results import Answer
from labgrade.judging.texts.choice import Choice, suggested
from labgrade.judging.texts.evidence import Rank, distinct_sightings, ranked, sightings
from labgrade.judging.texts.unread import doubted, left_to_person, merged
from labgrade.values import Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.core.results import Answered
    from labgrade.judging.texts.evidence import WantedNumber

_LEAST = 100  # a smaller number is often one of a line, of a layer, of units


def choose_fitting(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """Return MANUAL with the best labelled number that gets credit, if the spec has no expected value."""
    found = ranked(wanted, sightings(wanted.kind, lines))
    found = [each for each in found if not (each.line.code or each.line.quoted)]
    # `Parameters: toy 117, ours 1,253`
    said = {each.line.place for each in found if each.rank >= Rank.GENERAL}
    labelled = [each for each in found if each.line.place in said and abs(each.number.value) >= _LEAST]
    labelled = distinct_sightings(labelled)
    judged = [(wanted.judged(each.number), each) for each in labelled]
    verdict, chosen = max(judged, key=lambda one: one[0].credit, default=(None, None))
    if verdict is None or chosen is None or not verdict.credit:
        return None
    return suggested(wanted, verdict, chosen, "a value that fits", found)


def unexpected(wanted: WantedNumber, answer: Answered, as_it_is: Choice, lines: Sequence[Line]) -> Choice:
    """Return MANUAL if nothing was read but the text has a number that may be meant, or if the line read has others.

    `Total parameters: 117 (toy), 1177 (mine)` has two; in `1177/117 = 10.06` what was read is no count at all.
    """
    if not isinstance(answer, Answer):
        found = choose_fitting(wanted, lines)
        return as_it_is if found is None else merged(as_it_is, found)
    if as_it_is.verdict.outcome is Outcome.MANUAL:
        return as_it_is
    found = choose_fitting(wanted, [line for line in lines if line.place == answer.origin.partition(",")[0]])
    if found is not None and _is_right(found):
        return doubted(as_it_is, found)
    read = answer.value
    if wanted.kind == "count" and isinstance(read, Number) and read.value.denominator > 1:
        return left_to_person(as_it_is, f"{answer.origin} says {read}, which counts nothing", "no whole number")
    return as_it_is


def _is_right(found: Choice) -> bool:
    """Return whether a verdict, or its suggestion, is CORRECT."""
    said = found.verdict.suggestion
    return Outcome.CORRECT in (found.verdict.outcome, said.outcome if said else None)
