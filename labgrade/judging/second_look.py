"""A second look at a number that was read: what is said besides, on its line, in its section, in the whole report.

What contradicts what was read waits for a person, with both places and no suggestion: which of them holds is not known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.answers.reading.claims import misprinted
from labgrade.judging.choose_number import (
    MOST_ALIKE,
    Choice,
    Sighting,
    WantedNumber,
    agree,
    distinct_sightings,
    is_known,
    is_sum,
    labelled_sightings,
    nearly_same,
    same_digits,
    sightings,
    suggested,
)
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.answers.reading.lines import Line, LinePiece

_LEAST_DIGITS = 6


def right_beside(wanted: WantedNumber, lines: Sequence[Line], read: Number, place: str) -> Choice | None:
    """A right value on the line from which another was `read` that has the same digits: a word for millions, say."""
    everything = sightings(wanted.kind, lines)
    right = replace(wanted, known=())
    same = [each for each in everything if each.line.place == place and same_digits(read, each.number)]
    found = [each for each in same if is_known(right, each.number)]
    chosen = next((each for each in found if not each.piece.doubt), None)
    return suggested(wanted, wanted.judged(chosen.number), chosen, "another value", everything) if chosen else None


def said_otherwise(wanted: WantedNumber, lines: Sequence[Line], read: Number) -> Choice | None:
    """MANUAL where the text plainly says another total than was `read`, and one of the two is right; else None.

    What is right in another convention is no contradiction, and neither is a number that the text takes back.
    """
    found = [each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted)]
    total = [each for each in labelled_sightings(wanted, found) if _is_total(each.piece)]
    others = [each for each in total if not (each.piece.doubt or each.piece.small or agree(each.number, read))]
    is_right = any(isinstance(each, Number) and agree(each, read) for each in wanted.right)
    right = replace(wanted, known=())
    others = [each for each in distinct_sightings(others) if is_known(right, each.number) != is_right]
    if len(others) != 1:
        return None
    other = others[0]
    line = distinct_sightings(each for each in found if each.line.place == other.line.place)
    if any(agree(each.number, read) and is_sum(each, line) for each in line):  # what it comes to, behind its parts
        return None
    reason = f"the report says {read} behind these words, and {other.number} on {other.line.place}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason, hint="say one value"), place=other.line.place)


def right_elsewhere(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """MANUAL with the right value that a report says plainly, though not under the heading of its task; else None."""
    judged = [(wanted.judged(each.number), each) for each in _plainly(wanted, lines)]
    right = [(verdict, each) for verdict, each in judged if verdict.credit == 1]
    if len(right) != 1:
        return None
    verdict, chosen = right[0]
    return suggested(wanted, verdict, chosen, "under another heading", sightings(wanted.kind, lines))


def contradicted(wanted: WantedNumber, lines: Sequence[Line], read: Number, place: str) -> Choice | None:
    """MANUAL where a report plainly says another value than was `read` under the heading; else None.

    `lines` are of the whole report. Where a wrong value was read, the other is the right one; where the right one was,
    the other is nearly the same and means nothing by itself, as with digits that were swapped.
    """
    plain = [each for each in _plainly(wanted, lines) if not agree(each.number, read)]
    right = replace(wanted, known=())
    if any(isinstance(each, Number) and agree(each, read) for each in wanted.right):
        near = [each for each in plain if nearly_same(each.number, read)]
        others = [each for each in near if _in_full(each.number) and not is_known(wanted, each.number)]
    else:
        others = [each for each in plain if is_known(right, each.number)]
    if wanted.small or len(others) != 1:
        return None
    other = others[0]
    reason = f"the report says {read} ({place}), and {other.number} on {other.line.place}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason, hint="say one value"), place=other.line.place)


def exactly_beside(wanted: WantedNumber, lines: Sequence[Line], read: Number) -> Choice | None:
    """The right number of bytes, in full, of which the number `read` is MiB called MB; None where there is none."""
    everything = sightings(wanted.kind, lines)
    right = replace(wanted, known=())
    found = [each for each in everything if is_known(right, each.number) and not each.number.half_unit]
    exact = next((each for each in found if misprinted(each.number, read) and not each.piece.doubt), None)
    return suggested(wanted, wanted.judged(exact.number), exact, "another value", everything) if exact else None


def _in_full(number: Number) -> bool:
    return number.digits is None or number.digits >= _LEAST_DIGITS


def _plainly(wanted: WantedNumber, lines: Sequence[Line]) -> list[Sighting]:
    """The different numbers that a text plainly says behind the words."""
    everything = [each for each in sightings(wanted.kind, lines) if not each.line.quoted]
    return distinct_sightings([each for each in labelled_sightings(wanted, everything) if not each.piece.doubt])[
        :MOST_ALIKE
    ]


def _is_total(piece: LinePiece) -> bool:
    """Whether its own words call a number a total, and say of what: not `Estimated Total Size`."""
    return "total" in piece.said and bool(set(piece.said) - {"total", "memory"}) and not piece.titled
