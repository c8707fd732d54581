"""Which number of a free text is meant, found with the values that would mean something; no text is parsed here.

The reader has turned the text into lines of typed pieces. What is read beyond doubt is judged as any answer; else the
check waits for a person, with what labgrade would say of it. Time is linear in the length of the text.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.vocabulary import concepts, labels
from labgrade.values import Number, show
from labgrade.verdict import Outcome, Suggestion, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from labgrade.answers.reading.lines import Line, Piece
    from labgrade.values import Value

_LEAST_DIGITS = 5  # of a value that is recognised wherever it stands
_MOST_ALIKE = 20  # numbers of the right magnitude; a text with more of them is a list, in which one of them is right
_MAGNITUDE = 10
_MOST_LISTED = 4
_LABELLED = "labelled value"
_CLAIMABLE_DIGITS = 3  # of a known mistake that is the only number with the label
NUMBERS = frozenset({"count", "bytes", "number"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for: the kind of value, words behind which the spec looks, values that are right or known wrong.

    `judged` is the verdict on a value; `taken` are numbers that other answers of the task have read.
    """

    kind: str
    words: tuple[str, ...]
    right: tuple[Value, ...]
    known: tuple[Value, ...]
    judged: Callable[[Value], Verdict]
    taken: frozenset[Fraction] = frozenset()

    @property
    def hint(self) -> str:
        """What a student should write, so that the answer is read."""
        return f"write '{self.words[0]}:' and the number behind it, on a line of its own" if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A verdict on what was read, and where that stands."""

    verdict: Verdict
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sighting:
    line: Line
    piece: Piece
    number: Number


def choose_number(wanted: Wanted, lines: Sequence[Line]) -> Choice | None:
    """What the lines say of a number; None where they hold none of its kind."""
    everything = _sightings(wanted.kind, lines)
    found = [each for each in everything if not (each.line.code or each.line.quoted)]
    sets = {concepts(words) for words in wanted.words}
    small = any(isinstance(each, Number) and abs(each.value) < 10_000 for each in wanted.right)  # noqa: PLR2004 - four digits
    labelled = [
        each
        for each in found
        if (small or not each.piece.small) and any(labels(one, frozenset(each.piece.said)) for one in sets)
    ]
    labelled = [each for each in labelled if not each.piece.titled] or labelled
    clean = [each for each in labelled if not each.piece.doubt]
    chosen, kind = _meant(clean)
    known = _distinct([each for each in found if _is_known(wanted, each.number)])
    if chosen is not None and _is_sum(chosen, clean):  # its parts may be known mistakes, and are none here
        parts = {each.number.value for each in clean} - {chosen.number.value}
        known = [each for each in known if each.number.value not in parts]
    if chosen is not None and kind:
        sure = len(known) == 1 and _is_known(wanted, chosen.number) and not _flooded(wanted, found)
        sure = sure or (not known and kind == _LABELLED and _is_mistake(wanted, chosen.number))
        return _answered(wanted, chosen) if sure else _suggested(wanted, chosen, kind, found)
    right_kind = [each for each in _distinct(clean) if _is_known(wanted, each.number)]
    if len(right_kind) == 1:
        return _suggested(wanted, right_kind[0], "one known value among others", found)
    whole = next((each for each in known if _is_sum(each, known)), known[0] if len(known) == 1 else None)
    if whole is not None and whole.piece.doubt and not clean:
        others = _distinct([each for each in found if not (each.piece.doubt or each.piece.small)])
        if len(others) == 1:  # not this but that
            return _suggested(wanted, others[0], "doubtful value", found)
    if whole is not None and not clean:
        return _suggested(wanted, whole, "value without a label", found)
    if len(_distinct(labelled)) == 1:
        return _suggested(wanted, labelled[0], "doubtful value", found)
    asked = frozenset[str]().union(*sets) - {"total"}
    left = [
        each
        for each in found
        if (not each.piece.small or (small and asked & set(each.piece.said)))
        and each.number.value not in wanted.taken
        and not (wanted.kind == "count" and "memory" in each.piece.said)
    ]
    left = clean or left or [each for each in everything if each.line.code and _is_known(wanted, each.number)]
    return _unread(wanted, left) if left else None


def _sightings(kind: str, lines: Iterable[Line]) -> list[_Sighting]:
    return [
        _Sighting(line=line, piece=piece, number=piece.value)
        for line in lines
        for piece in line.pieces
        if isinstance(piece.value, Number)
        and (kind == "number" or piece.measures in ("", kind))
        and not (kind == "count" and 0 < piece.value.half_unit < Fraction(1, 2))  # 6.0 is no count
    ]


def _meant(clean: list[_Sighting]) -> tuple[_Sighting | None, str]:
    """The only value that is labelled as it should be, or the total among its parts."""
    distinct = _distinct(clean)
    if len(distinct) <= 1:
        return (distinct[0], _LABELLED) if distinct else (None, "")
    sums = [each for each in distinct if _is_sum(each, distinct)]
    totals = _distinct([each for each in clean if "total" in each.piece.said])
    for found in (sums, totals):
        if len(found) == 1:
            return found[0], "total among parts"
    return None, ""


def _is_sum(one: _Sighting, all_of_them: Iterable[_Sighting]) -> bool:
    """Whether a number is what the others, of which there are several, add up to, as far as they were printed."""
    others = {each.number.value: each.number.half_unit for each in all_of_them if each.number.value != one.number.value}
    off = abs(one.number.value - sum(others))
    return len(others) > 1 and off <= one.number.half_unit + sum(others.values())


def _distinct(found: Iterable[_Sighting]) -> list[_Sighting]:
    """Those that differ; of those that agree the finest."""
    ordered = sorted(found, key=lambda each: (each.number.half_unit, each.line.number))
    kept: dict[Fraction, _Sighting] = {}
    values: list[Fraction] = []
    for each in ordered:
        value, half = each.number.value, each.number.half_unit
        near = bisect_left(values, value - half)
        agrees = near < len(values) and values[near] <= value + half
        if value not in kept and not agrees:
            kept[value] = each
            insort(values, value)
    return list(kept.values())


def _is_known(wanted: Wanted, number: Number) -> bool:
    """Whether it is a value that means something, written precisely enough to be no accident."""
    digits = number.digits if number.digits is not None else len(str(abs(int(number.value))))
    return digits >= _LEAST_DIGITS and any(
        isinstance(each, Number) and abs(each.value - number.value) <= number.half_unit + each.half_unit
        for each in (*wanted.right, *wanted.known)
    )


def _is_mistake(wanted: Wanted, number: Number) -> bool:
    """Whether it is a known wrong value, as a tool rounds it, and the verdict has a hint for it."""
    verdict = wanted.judged(number) if number.digits is None or number.digits >= _CLAIMABLE_DIGITS else None
    return verdict is not None and verdict.credit < 1 and bool(verdict.hint)


def _flooded(wanted: Wanted, found: Iterable[_Sighting]) -> bool:
    """Whether the text lists so many numbers like the right one that one of them had to be right."""
    like = next((abs(each.value) for each in wanted.right if isinstance(each, Number)), None)
    alike = {
        each.number.value for each in found if like and like / _MAGNITUDE < abs(each.number.value) < like * _MAGNITUDE
    }
    return len(alike) > _MOST_ALIKE


def _answered(wanted: Wanted, chosen: _Sighting) -> Choice:
    verdict = wanted.judged(chosen.number)
    note = f"read on {chosen.line.place}, where other words than the task's label it"
    return Choice(verdict=replace(verdict, notes=(*verdict.notes, note)), place=chosen.line.place)


def _suggested(wanted: Wanted, chosen: _Sighting, kind: str, found: Iterable[_Sighting]) -> Choice:
    """MANUAL, with what labgrade would say; without where the text lists too much to say anything."""
    verdict = wanted.judged(chosen.number)
    stands = f"{chosen.number} stands on {chosen.line.place}"
    reason = f"no value could be read for certain: {stands}"
    waits = without_value(Outcome.MANUAL, reason, hint=wanted.hint)
    if _flooded(wanted, found):
        return Choice(verdict=waits, place=chosen.line.place)
    said = verdict.hint or verdict.reason or "it is the expected value"
    suggestion = Suggestion(
        outcome=verdict.outcome,
        credit=verdict.credit,
        why=f"{stands}{f' ({chosen.piece.doubt!r})' if chosen.piece.doubt else ''}: {said}",
        place=chosen.line.place,
        kind=kind,
    )
    return Choice(verdict=replace(waits, suggestion=suggestion, facts=verdict.facts), place=chosen.line.place)


def _unread(wanted: Wanted, left: list[_Sighting]) -> Choice:
    """MANUAL where there are numbers, and none that is known to be meant."""
    first = _distinct(left)[:_MOST_LISTED]
    listed = ", ".join(f"{each.number.text or show(each.number.value)} ({each.line.place})" for each in first)
    verdict = without_value(Outcome.MANUAL, f"no value could be read for certain among {listed}", hint=wanted.hint)
    return Choice(verdict=verdict, place=first[0].line.place if first else "")
