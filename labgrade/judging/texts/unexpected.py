"""A number of which a spec expects no value, but bounds: what a text says of it, and where that has to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.results import Answer
from labgrade.judging.texts.choose_number import Choice, choose_fitting
from labgrade.judging.texts.second_look import is_right
from labgrade.judging.texts.unread import doubted, left_to_person, merged
from labgrade.values import Number
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.core.results import Answered
    from labgrade.judging.texts.sightings import WantedNumber


def unexpected(wanted: WantedNumber, answer: Answered, as_it_is: Choice, lines: Sequence[Line]) -> Choice:
    """MANUAL where none was read, and the text says one that may be meant, or where the one on its line is not sure.

    `Total parameters: 117 (toy), 1177 (mine)` says two; in `1177/117 = 10.06` what was read is no count at all.
    """
    if not isinstance(answer, Answer):
        found = choose_fitting(wanted, lines)
        return as_it_is if found is None else merged(as_it_is, found)
    if as_it_is.verdict.outcome is Outcome.MANUAL:
        return as_it_is
    found = choose_fitting(wanted, [line for line in lines if line.place == answer.origin.partition(",")[0]])
    if found is not None and is_right(found.verdict):
        return doubted(as_it_is, found)
    read = answer.value
    if wanted.kind == "count" and isinstance(read, Number) and read.value.denominator > 1:
        return left_to_person(as_it_is, f"{answer.origin} says {read}, which counts nothing", "no whole number")
    return as_it_is
