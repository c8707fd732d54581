"""Which number of a free text is meant, found with the values that would mean something; no text is parsed here.

The reader has turned the text into lines of typed pieces. What is read beyond doubt is judged as any answer; else the
check waits for a person, with what labgrade would say of it. Time is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.doubts import is_model
from labgrade.answers.reading.lines import LinePiece
from labgrade.answers.reading.vocabulary import concepts, foreign, labels, special
from labgrade.judging.texts.sightings import (
    LEAST_DIGITS,
    MAGNITUDE,
    Sighting,
    WantedNumber,
    agree,
    are_rivals,
    digits_of,
    distinct_sightings,
    is_bare,
    is_either,
    is_known,
    is_sum,
    labelled_sightings,
    misplaced,
    nearly_same,
    sightings,
    units_in_sight,
    words_of,
)
from labgrade.values import Number, show
from labgrade.verdict import DOUBTFUL, Outcome, Suggestion, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labgrade.answers.reading.lines import Line

MOST_ALIKE = 20  # numbers of the right magnitude; a text with more of them is a list, in which one of them is right
_TOLD_APART = 100  # a smaller number is often one of a line, of a layer, of units
_MOST_LISTED = 4
_LABELLED = "labelled value"
_WITH_UNIT = 4  # digits of a value that stands alone and says its unit
_CLAIMABLE_DIGITS = 3  # of a known mistake that is the only number with the label


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A verdict on what was read, and where that stands; the number that was chosen, if one was."""

    verdict: Verdict
    place: str = ""
    number: Number | None = None


def choose_number(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """What the lines say of a number; None where they hold none of its kind."""
    everything = sightings(wanted.kind, lines)
    found = [each for each in everything if not (each.line.code or each.line.quoted)]
    labelled = labelled_sightings(wanted, found)
    clean = [each for each in labelled if not each.piece.doubt]
    clean = [each for each in clean if not any(_is_rounder(each.number, other.number) for other in clean)]
    of_all = _says_all_trainable(lines)
    known = distinct_sightings([each for each in found if is_known(wanted, each.number)])

    def judged(chosen: Sighting, kind: str, *, labelled: bool = False) -> Choice:
        verdict = wanted.judged(chosen.number)
        sure = labelled and _is_labelled_well(wanted, verdict, chosen, kind, known, found, clean)
        sure = sure or _is_certain(wanted, verdict, chosen, everything, of_all=of_all is not None)
        sure = sure and not _has_unit_in_sight(wanted, verdict, chosen, lines)
        return _answered(verdict, chosen) if sure else suggested(wanted, verdict, chosen, kind, found)

    chosen, kind = _meant(wanted, clean)
    if chosen is not None:
        return judged(chosen, kind, labelled=True)
    if not clean and of_all is not None and frozenset(("frozen",)) <= frozenset[str]().union(*wanted.label_sets):
        nothing = Number(value=Fraction(0), text="that all are trainable")
        at = Sighting(line=of_all, piece=LinePiece(value=nothing), number=nothing)
        return suggested(wanted, wanted.judged(nothing), at, "all trainable", found)
    if not clean and _is_anothers(wanted, lines, found):
        return None
    chosen, kind = _later(clean, lines) or _likely(wanted, found, labelled, clean, known)
    if chosen is not None:
        return judged(chosen, kind)
    left = clean or [each for each in found if _may_be_meant(wanted, each)]
    alone = distinct_sightings(left)
    if len(alone) == 1 and not (wanted.small or alone[0].piece.doubt):
        return judged(alone[0], "only number")
    return _left(wanted, left, everything)


def _left(wanted: WantedNumber, left: list[Sighting], everything: list[Sighting]) -> Choice | None:
    """What is left where nothing is labelled or alone: the right value in code if it is the only one, else a list."""
    left = left or [each for each in everything if each.line.code and is_known(wanted, each.number)]
    right = replace(wanted, known=())
    if len(left) == len(distinct_sightings(left)) == 1 and is_known(right, left[0].number) and not left[0].piece.doubt:
        return suggested(wanted, wanted.judged(left[0].number), left[0], "value beside code", everything)
    return _unread(wanted, left) if left else None


def _is_labelled_well(
    wanted: WantedNumber,
    verdict: Verdict,
    chosen: Sighting,
    kind: str,
    known: list[Sighting],
    found: list[Sighting],
    clean: list[Sighting],
) -> bool:
    """Whether a labelled number is the only known one, or a mistake that its label leaves no doubt about."""
    if is_sum(chosen, clean):  # its parts may be known mistakes, and are none here
        parts = {each.number.value for each in clean} - {chosen.number.value}
        known = [each for each in known if each.number.value not in parts]
    mistake = not known and kind == _LABELLED and not chosen.piece.small and _is_mistake(chosen.number, verdict)
    return _is_sure(wanted, chosen, known, found) or mistake


def _is_sure(wanted: WantedNumber, chosen: Sighting, known: list[Sighting], found: list[Sighting]) -> bool:
    """Whether a number is the only known one of a text, and its line does not say it again with another prefix."""
    beside = [each for each in found if each.line.place == chosen.line.place and not each.piece.doubt]
    alone = len(known) == 1 and is_known(wanted, chosen.number) and not _flooded(wanted, found)
    return alone and not any(misplaced(chosen.number, each.number) for each in beside) and not is_either(chosen)


_ALL = re.compile(
    r"\b(?:all|every|each|alle|s\u00e4mtliche|tod[oa]s|tous|toutes|tutt[ie]"
    r"|wszystkie|\u0432\u0441\u0435|\u0441\u0442\u043e\u043b\u044c\u043a\u043e \u0436\u0435)\b"
    r"|[\u5747\u90fd\u7686]|\u5168\u90e8|\ubaa8\ub450|\u3059\u3079\u3066|\u5168\u3066"
)


_NOT_ALL = re.compile(
    r"\b(?:not|nicht|no|pas|non) (?:all|every|alle|tod[oa]s|tous|toutes|tutt[ie])\b|\ball (?:but|except)\b"
    r"|\b(?:except|au\u00dfer|excepto|salvo|sauf|tranne)\b|\u4e0d\u662f|\u9664\u4e86"
)


def _has_unit_in_sight(wanted: WantedNumber, verdict: Verdict, chosen: Sighting, lines: Sequence[Line]) -> bool:
    """Whether a large number that is right without a unit has one beside it or above, in which it is wrong."""
    if verdict.credit != 1 or wanted.small or not is_bare(chosen.number):
        return False
    at = next((at for at, line in enumerate(lines) if line.place == chosen.line.place), None)
    return at is not None and any(len(unit.text) > 1 for unit in units_in_sight(lines, at))


def _says_all_trainable(lines: Iterable[Line]) -> Line | None:
    """The line that says of all parameters that they are trainable."""
    for line in lines:
        text = " ".join(words_of(line)).lower()
        if line.code or line.quoted or not _ALL.search(text) or _NOT_ALL.search(text):
            continue
        none = any(isinstance(piece.value, Number) and not piece.value.value for piece in line.pieces)
        if "trainable" in (said := concepts(text)) and (none or "frozen" not in said):
            return line
    return None


def _is_certain(
    wanted: WantedNumber, verdict: Verdict, chosen: Sighting, everything: Sequence[Sighting], *, of_all: bool
) -> bool:
    """Whether a right value is the answer beyond doubt: no other number of the text may be meant instead.

    A small one must be called by what is asked, any other may also stand alone: with its unit, or in full. `of_all`:
    all parameters are said to be trainable.
    """
    said, asked = frozenset(chosen.piece.said), frozenset[str]().union(*wanted.label_sets)
    if verdict.credit != 1 or chosen.piece.doubt or is_either(chosen) or foreign(asked, said):
        return False
    named = not chosen.piece.titled and any(special(one) <= said for one in wanted.label_sets)
    named = named or (asked >= {"trainable"} and of_all and not said & {"frozen"})
    if wanted.small:  # of another file it may be by accident
        expected = isinstance(wanted.right[0], Number) and agree(chosen.number, wanted.right[0])
        whole = chosen.number.half_unit <= Fraction(1, 2)
        return named and expected and whole and not any(_is_beside(wanted, chosen, each) for each in everything)
    if wanted.beside and not named and (_is_special(wanted) or said - {"memory"}):
        return False
    least = _WITH_UNIT if chosen.piece.measures == wanted.kind or named else LEAST_DIGITS
    large = [each for each in everything if not each.piece.small]
    line = [each for each in large if each.line.place == chosen.line.place]
    apart = [each for each in large if each.line.place != chosen.line.place] if is_sum(chosen, line) else large
    apart = [] if is_sum(chosen, large) else apart
    rivals = (each for each in apart if _may_be_instead(wanted, chosen, each))
    return digits_of(chosen.number) >= least and next(rivals, None) is None


def _is_beside(wanted: WantedNumber, chosen: Sighting, other: Sighting) -> bool:
    """Whether another number than a small one is called the same."""
    said, asked = frozenset(other.piece.said), frozenset[str]().union(*wanted.label_sets)
    called = any(special(one) <= said for one in wanted.label_sets) and not foreign(asked, said)
    return called and not agree(chosen.number, other.number)


def _may_be_instead(wanted: WantedNumber, chosen: Sighting, other: Sighting) -> bool:
    """Whether another number may be the answer: it is not called something else, and not said of another model."""
    if agree(chosen.number, other.number) or other.line.quoted or is_model(other.piece.doubt):
        return False
    said = frozenset(other.piece.said)
    if any(labels(concepts(words), said) for words in wanted.beside):
        return any(labels(one, said) for one in wanted.label_sets)
    asked = frozenset[str]().union(*wanted.label_sets)
    return "total" in said or is_known(wanted, other.number) or not foreign(asked, said)


def choose_fitting(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """MANUAL where nothing is expected and a labelled number of some size gets credit, with the first of the best."""
    found = [each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted)]
    # `Parameters: toy 117, ours 1,253`
    said = {
        each.line.place for each in found if any(labels(one, frozenset(each.piece.said)) for one in wanted.label_sets)
    }
    labelled = [each for each in found if each.line.place in said and abs(each.number.value) >= _TOLD_APART]
    labelled = distinct_sightings(labelled)
    judged = [(wanted.judged(each.number), each) for each in labelled]
    verdict, chosen = max(judged, key=lambda one: one[0].credit, default=(None, None))
    if verdict is None or chosen is None or not verdict.credit:
        return None
    return suggested(wanted, verdict, chosen, "a value that fits", found)


SPECIAL = frozenset({"trainable", "frozen", "types"})  # what only one of several like answers is about


def _is_special(wanted: WantedNumber) -> bool:
    return bool(frozenset[str]().union(*wanted.label_sets) & SPECIAL)


def _is_anothers(wanted: WantedNumber, lines: Sequence[Line], found: list[Sighting]) -> bool:
    """Whether the text says nothing but another answer of the task: a total alone, and no word of what is asked."""
    special = frozenset[str]().union(*wanted.label_sets) & SPECIAL
    others = [concepts(words) for words in wanted.beside]
    if not special or not any(not each & SPECIAL for each in others):
        return False
    said = {concept for line in lines for piece in line.pieces for concept in piece.said}
    words = {piece.value for line in lines for piece in line.pieces if isinstance(piece.value, str)}
    if special & said.union(*map(concepts, words)):
        return False
    left = [each for each in found if not any(labels(one, frozenset(each.piece.said)) for one in others)]
    return not left or len(found) == 1


def _may_be_meant(wanted: WantedNumber, each: Sighting) -> bool:
    """Whether a number without the right label may be the answer, for all that is known."""
    asked = frozenset[str]().union(*wanted.label_sets) - {"total"}
    return (
        (not each.piece.small or (wanted.small and bool(asked & set(each.piece.said))))
        and each.number.value not in wanted.taken
        and not (wanted.kind == "count" and "memory" in each.piece.said)
    )


def _likely(
    wanted: WantedNumber,
    found: list[Sighting],
    labelled: list[Sighting],
    clean: list[Sighting],
    known: list[Sighting],
) -> tuple[Sighting | None, str]:
    """The value that a person should look at first where no single one is labelled as it should be, and why."""
    right_kind = [each for each in distinct_sightings(clean) if is_known(wanted, each.number)]
    if any(nearly_same(each.number, other.number) for each in right_kind for other in clean):
        return None, ""
    if len(right_kind) == 1:
        return (None, "") if _has_rival(right_kind[0], clean) else (right_kind[0], "one known value among others")
    large = [each for each in found if not each.piece.small]
    sums = [each for each in known if is_sum(each, known) or is_sum(each, large)]
    meant = found if wanted.small else large
    whole = next(iter(sums), known[0] if len(known) == 1 else None)
    if whole is not None and not clean:
        return _instead(whole, meant) if whole.piece.doubt else (whole, "value without a label")
    if len(distinct_sightings(labelled)) == 1:
        return _instead(labelled[0], meant)
    return None, ""


def _has_rival(one: Sighting, clean: Iterable[Sighting]) -> bool:
    """Whether another number of its size has the label as well, so that which of them is handed in nobody can tell."""
    return any(not each.piece.small and are_rivals(one.number, each.number) for each in clean)


_TAKES_BACK = re.compile(
    r"(?:oops|ups|errat(?:a|um)|should|forg[eo]t(?:ten)?|wrong|mistake|correct(?:ed|ion)|again|actually|nochmals?|vergessen|falsch|korrigiert"
    r"|oublié|erreur|error|olvidé|更正|修正|錯了)$",
    re.IGNORECASE,
)


def _later(clean: list[Sighting], lines: Sequence[Line]) -> tuple[Sighting, str] | None:
    """The second of two values where its line, or one before it, takes the first back: `Oops, again without ...`."""
    values = sorted(distinct_sightings(clean), key=lambda each: each.line.number)
    if len(values) != 2:  # noqa: PLR2004 - a first one, and what came after it
        return None
    between = (line for line in lines if values[0].line.number < line.number <= values[1].line.number)
    words = (piece.value for line in between for piece in line.pieces if isinstance(piece.value, str))
    return (values[1], "value taken back") if any(map(_TAKES_BACK.match, words)) else None


def _instead(doubtful: Sighting, numbers: list[Sighting]) -> tuple[Sighting | None, str]:
    """The only number of which nothing makes one doubt, on the line of a doubtful one if it can be; else that one.

    "5 was my first result, it must be 6": not this but that; none where several may be meant instead.
    """
    plain = [each for each in numbers if not each.piece.doubt]
    beside = [each for each in plain if each.line.place == doubtful.line.place]
    others = distinct_sightings(beside or [each for each in plain if not each.piece.small])
    if len(others) > 1 and beside:
        return None, ""
    return (others[0] if len(others) == 1 else doubtful), DOUBTFUL


def _meant(wanted: WantedNumber, clean: list[Sighting]) -> tuple[Sighting | None, str]:
    """The only value that is labelled as it should be, or the total among its parts, if no other has the very words."""
    distinct = distinct_sightings(clean)
    if len(distinct) <= 1:
        return (distinct[0], _LABELLED) if distinct else (None, "")
    sums = [each for each in distinct if is_sum(each, distinct)]
    totals = distinct_sightings([each for each in clean if "total" in each.piece.said])
    if any(_has_words(wanted, each) for each in clean if each not in totals) and not any(
        _has_words(wanted, each) for each in totals
    ):
        totals = []
    for found in (sums, totals):
        if len(found) == 1:
            return found[0], "total among parts"
    return None, ""


def _has_words(wanted: WantedNumber, each: Sighting) -> bool:
    """Whether a line has the spec's own words of several, such as `LoRA parameters`."""
    said = " ".join(words_of(each.line)).lower()
    return any(" " in words and words.lower() in said for words in wanted.words)


def _is_rounder(one: Number, other: Number) -> bool:
    """Whether one was rounded by a tool, beside a larger number in full of its magnitude: it is no total of that."""
    rounded = one.digits is not None and one.digits <= _CLAIMABLE_DIGITS and one.half_unit >= 1
    in_full = other.digits is None or other.digits >= LEAST_DIGITS
    return rounded and in_full and one.value + one.half_unit < other.value < MAGNITUDE * one.value


def _is_mistake(number: Number, verdict: Verdict) -> bool:
    """Whether it is a known wrong value, as a tool rounds it, and the verdict has a hint for it.

    A small number may be a known mistake by accident: 17 modules, where calls are asked for.
    """
    precise = number.digits is None or number.digits >= _CLAIMABLE_DIGITS
    return precise and verdict.credit < 1 and bool(verdict.hint)


def _flooded(wanted: WantedNumber, found: Iterable[Sighting]) -> bool:
    """Whether so many numbers of the text are near the right one that some number had to be right."""
    like = next((abs(each.value) for each in wanted.right if isinstance(each, Number)), None)
    alike = {
        each.number.value for each in found if like and like / MAGNITUDE < abs(each.number.value) < like * MAGNITUDE
    }
    return len(alike) > MOST_ALIKE


def _answered(verdict: Verdict, chosen: Sighting) -> Choice:
    note = f"read on {chosen.line.place}, where other words than the task's label it"
    return Choice(verdict=replace(verdict, notes=(*verdict.notes, note)), place=chosen.line.place, number=chosen.number)


def suggested(wanted: WantedNumber, verdict: Verdict, chosen: Sighting, kind: str, found: Iterable[Sighting]) -> Choice:
    """MANUAL, with what labgrade would say of `chosen`; without where the text lists too much to say anything."""
    stands = f"{chosen.number} stands on {chosen.line.place}"
    reason = f"no value could be read for certain: {stands}"
    waits = without_value(Outcome.MANUAL, reason, hint=wanted.hint)
    if _flooded(wanted, found) or is_either(chosen):
        return Choice(verdict=waits, place=chosen.line.place)
    said = verdict.hint or verdict.reason or ("it is the expected value" if wanted.right else "it is in the range")
    suggestion = Suggestion(
        outcome=verdict.outcome,
        credit=verdict.credit,
        why=f"{stands}{f' ({chosen.piece.doubt!r})' if chosen.piece.doubt else ''}: {said}",
        place=chosen.line.place,
        kind=kind,
    )
    waits = replace(waits, suggestion=suggestion, facts=verdict.facts)
    return Choice(verdict=waits, place=chosen.line.place, number=chosen.number)


def _unread(wanted: WantedNumber, left: list[Sighting]) -> Choice:
    """MANUAL where there are numbers, and none that is known to be meant."""
    first = distinct_sightings(left)[:_MOST_LISTED]
    listed = ", ".join(f"{each.number.text or show(each.number.value)} ({each.line.place})" for each in first)
    value = wanted.right[0] if wanted.right else None
    right = {"expected": show(value.value)} if isinstance(value, Number) else {}
    reason = f"no value could be read for certain among {listed}"
    verdict = without_value(Outcome.MANUAL, reason, hint=wanted.hint, **right)
    return Choice(verdict=verdict, place=first[0].line.place if first else "")
