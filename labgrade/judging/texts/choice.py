"""What a text comes to: a verdict, or a reason for a person to look at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.judging.texts.evidence import Rank, are_rivals
from labgrade.values import Number, show
from labgrade.verdict import Outcome, Suggestion, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labgrade.judging.texts.evidence import Sighting, WantedNumber
    from labgrade.verdict import Verdict

MOST_ALIKE = 20  # numbers of the right magnitude; a text with more of them is a list, in which one of them is right
_MOST_LISTED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A verdict on what was read, and where that stands; the number that was chosen, if one was."""

    verdict: Verdict
    place: str = ""
    number: Number | None = None


def answered(verdict: Verdict, chosen: Sighting) -> Choice:
    """Return the verdict on a number that is the answer beyond doubt."""
    return Choice(verdict=verdict, place=chosen.line.place, number=chosen.number)


def waiting(reason: str, verdict: Verdict, kind: str, why: str = "", place: str = "", hint: str = "") -> Verdict:
    """Return MANUAL with a suggestion of a `kind`, and why."""
    why = why or verdict.reason or "it is the expected value"
    said = Suggestion(outcome=verdict.outcome, credit=verdict.credit, why=why, place=place, kind=kind)
    waits = without_value(Outcome.MANUAL, reason, hint=hint)
    return replace(waits, suggestion=said, facts=verdict.facts, rows=verdict.rows)


def suggested(wanted: WantedNumber, verdict: Verdict, chosen: Sighting, kind: str, found: Iterable[Sighting]) -> Choice:
    """Return MANUAL with labgrade's verdict on `chosen` as the suggestion."""
    stands = f"{chosen.number} stands on {chosen.line.place}"
    reason = f"no value could be read for certain: {stands}"
    alike = {
        each.number.value for each in found if are_rivals(each.number, chosen.number) and each.rank >= Rank.GENERAL
    }
    if len(alike) > MOST_ALIKE:
        return Choice(verdict=without_value(Outcome.MANUAL, reason, hint=wanted.hint), place=chosen.line.place)
    said = verdict.hint or verdict.reason or ("it is the expected value" if wanted.right else "it is in the range")
    why = f"{stands}{f' ({chosen.piece.doubt!r})' if chosen.piece.doubt else ''}: {said}"
    waits = waiting(reason, verdict, kind, why, chosen.line.place, wanted.hint)
    return Choice(verdict=waits, place=chosen.line.place, number=chosen.number)


def waits_with_numbers(wanted: WantedNumber, found: Sequence[Sighting]) -> Choice:
    """Return MANUAL with the numbers that were found, none of which is known to be meant."""
    first = found[:_MOST_LISTED]
    said = ", ".join(f"{each.number.text or show(each.number.value)} ({each.line.place})" for each in first)
    value = wanted.right[0] if wanted.right else None
    facts = {"expected": show(value.value)} if isinstance(value, Number) else {}
    reason = f"no value could be read for certain among {said}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason, hint=wanted.hint, **facts), place=first[0].line.place)
