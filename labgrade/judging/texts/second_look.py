"""A second look at a number that was read: what is said besides, on its line, in its section, in the whole report.

What contradicts what was read waits for a person, with both places and no suggestion: which of them holds is not known.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.claims import misprinted
from labgrade.judging.texts.choose_number import MOST_ALIKE, Choice, suggested
from labgrade.judging.texts.sightings import (
    Sighting,
    WantedNumber,
    agree,
    are_rivals,
    digits_of,
    distinct_sightings,
    is_bare,
    is_known,
    is_sum,
    labelled_sightings,
    nearly_same,
    same_digits,
    sightings,
    units_in_sight,
    words_of,
)
from labgrade.values import Number
from labgrade.verdict import Outcome, Suggestion, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.answers.reading.numerals.units import Unit
    from labgrade.values import Scalar, Table, Value
    from labgrade.verdict import Verdict

_LEAST_DIGITS = 6
_IN_UNITS = 3  # digits of a number whose unit stands elsewhere


def right_beside(wanted: WantedNumber, lines: Sequence[Line], read: Number, place: str) -> Choice | None:
    """A right value on the line from which another was `read` that has the same digits: a word for millions, say."""
    everything = sightings(wanted.kind, lines)
    right = replace(wanted, known=())
    same = [each for each in everything if each.line.place == place and same_digits(read, each.number)]
    found = [each for each in same if is_known(right, each.number)]
    chosen = next((each for each in found if not each.piece.doubt), None)
    return suggested(wanted, wanted.judged(chosen.number), chosen, "another value", everything) if chosen else None


def each_right(wanted: WantedNumber, lines: Sequence[Line], as_it_is: Verdict) -> Choice | None:
    """CORRECT where a text says different numbers behind the words, and each of them is right; else None."""
    if as_it_is.outcome is not Outcome.MANUAL:
        return None
    everything = [each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted)]
    found = distinct_sightings(labelled_sightings(wanted, everything))
    verdicts = [wanted.judged(each.number) for each in found[:MOST_ALIKE]]
    plain = 1 < len(found) <= MOST_ALIKE and not any(each.piece.doubt for each in found)
    if not plain or any(each.outcome is not Outcome.CORRECT for each in verdicts):
        return None
    note = f"each of them is right: {', '.join(str(each.number) for each in found)}"
    return Choice(verdict=replace(verdicts[0], notes=(*verdicts[0].notes, note)), place=found[0].line.place)


def said_otherwise(wanted: WantedNumber, lines: Sequence[Line], read: Number) -> Choice | None:
    """MANUAL where the text plainly says another total than was `read`, and one of the two is right; else None.

    What is right in another convention is no contradiction, and neither is a number that the text takes back.
    """
    found = [each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted)]
    total = [each for each in labelled_sightings(wanted, found) if _is_total(each.piece)]
    others = [each for each in total if not (each.piece.doubt or each.piece.small or agree(each.number, read))]
    is_right = any(isinstance(each, Number) and agree(each, read) for each in wanted.right)
    right = replace(wanted, known=())
    own = [each for each in found if are_rivals(each.number, read) and _OWN.search(" ".join(words_of(each.line)))]
    others = [each for each in distinct_sightings([*others, *own]) if is_known(right, each.number) != is_right]
    if len(others) != 1:
        return None
    other = others[0]
    line = distinct_sightings(each for each in found if each.line.place == other.line.place)
    if any(agree(each.number, read) and is_sum(each, line) for each in line):  # what it comes to, behind its parts
        return None
    reason = f"the report says {read} behind these words, and {other.number} on {other.line.place}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason, hint="say one value"), place=other.line.place)


_OWN = re.compile(r"\b(?:I|we) (?:get|got|find|found|measured?|obtain(?:ed)?)\b|\bmine\b", re.IGNORECASE)


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


_UNIT = "unit in sight"


def in_sight(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """MANUAL with the right value that a number without a unit comes to, in a unit on its line or above; else None."""
    place = {line.place: at for at, line in enumerate(lines)}
    everything = [each for each in sightings("number", lines) if each.piece.measures in ("", wanted.kind)]
    found: list[Sighting] = []
    for each in everything:
        if not each.line.code and not each.piece.doubt and is_bare(each.number):
            scaled = (_scaled(each.number, unit) for unit in units_in_sight(lines, place[each.line.place]))
            meant = (one for one in scaled if any(isinstance(own, Number) and agree(one, own) for own in wanted.right))
            found += [replace(each, number=number) for number in meant if digits_of(number) >= _IN_UNITS][:1]
    found = distinct_sightings(found)
    return suggested(wanted, wanted.judged(found[0].number), found[0], _UNIT, ()) if len(found) == 1 else None


def table_in_sight(judged: Callable[[Value], Verdict], table: Table, as_it_is: Choice, lines: Sequence[Line]) -> Choice:
    """MANUAL where all rows are right in a unit that stands beside the table; else the verdict as it is."""
    for line in lines:
        for unit in units_in_sight((line,), 0):
            rows = (
                replace(row, cells={key: _cell(cell, unit) for key, cell in row.cells.items()}) for row in table.rows
            )
            verdict = judged(replace(table, rows=tuple(rows)))
            if verdict.credit == 1:
                why = f"in '{unit.text}', which stands on {line.place}, all rows are right"
                said = Suggestion(outcome=verdict.outcome, credit=verdict.credit, why=why, place=line.place, kind=_UNIT)
                waits = without_value(Outcome.MANUAL, as_it_is.verdict.reason)
                return replace(as_it_is, verdict=replace(waits, suggestion=said))
    return as_it_is


def says_more(read: Value, lines: Sequence[Line]) -> bool:
    """Whether a text holds another number than the answer: what the answer comes to is known."""
    values = (piece.value for line in lines for piece in line.pieces)
    numbers = {replace(each, text="") for each in values if isinstance(each, Number)}
    return not isinstance(read, Number) or numbers != {replace(read, text="")}


def is_right(verdict: Verdict) -> bool:
    """Whether a verdict, or what it suggests, is CORRECT."""
    return Outcome.CORRECT in (verdict.outcome, verdict.suggestion.outcome if verdict.suggestion else None)


def _cell(cell: Scalar | None, unit: Unit) -> Scalar | None:
    return _scaled(cell, unit) if isinstance(cell, Number) else cell


def _scaled(number: Number, unit: Unit) -> Number:
    digits = number.digits if number.digits is not None else len(str(abs(int(number.value))))
    half = (number.half_unit or Fraction(1, 2)) * unit.scale
    return replace(
        number, value=number.value * unit.scale, half_unit=half, digits=digits, text=f"{number.text} {unit.text}"
    )


_CORRECTION = re.compile(
    r"\b(?:errat(?:a|um)|edit(?:ed)? should|corrigend(?:a|um)|(?:should|must|has to) (?:read|say)"
    r"|berichtigung|muss (?:es )?hei\u00dfen"
    r"|fe de errat(?:as|a)|debe decir|rectificati(?:f|on)|lire plut\u00f4t)\b"
    r"|[\u52d8\u6b63]\u8aa4\u8868?|\u52d8\u8bef|\u8a02\u6b63|\u66f4\u6b63|\uc815\uc815",
    re.IGNORECASE,
)


def corrected(wanted: WantedNumber, report: Sequence[Line], read: Number) -> Choice | None:
    """MANUAL where a report has a list of corrections, with another number of the size.

    What it puts in the place of the number that was `read` is suggested, where there is only one such number.
    """
    first = next((at for at, line in enumerate(report) if _CORRECTION.search(" ".join(words_of(line)))), None)
    if first is None:
        return None
    found = [each for each in sightings(wanted.kind, report[first:]) if not each.piece.small]
    others = distinct_sightings([each for each in found if are_rivals(each.number, read)])
    if not others:
        return None
    waits = f"the report says {read}, and corrects something from {report[first].place} on"
    if len(others) == 1:
        verdict = wanted.judged(others[0].number)
        choice = suggested(wanted, verdict, others[0], "value taken back", found)
        return replace(choice, verdict=replace(choice.verdict, reason=waits))
    return Choice(verdict=without_value(Outcome.MANUAL, waits, hint="say one value"), place=others[0].line.place)


def exactly_beside(wanted: WantedNumber, lines: Sequence[Line], read: Value) -> Choice | None:
    """The right number of bytes, in full, of which the number `read` is MiB called MB; None where there is none."""
    if not isinstance(read, Number):
        return None
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
