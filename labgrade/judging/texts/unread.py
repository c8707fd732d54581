"""What a hand-in says of a task of which no value was read: only where that is nothing is an answer missing.

The reader has turned the text into lines of typed pieces; no text is parsed here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from labgrade.answers.obtain import UNREAD
from labgrade.answers.reading.placeholders import is_to_come
from labgrade.answers.reading.words.terms import agree, letters_of
from labgrade.answers.reading.words.vocabulary import concepts, known_words
from labgrade.judging.texts.choice import Choice, suggested, waiting
from labgrade.judging.texts.evidence import (
    SPECIAL,
    Rank,
    Sighting,
    WantedNumber,
    are_rivals,
    distinct_sightings,
    ranked,
    sightings,
)
from labgrade.values import Number, Row, Table
from labgrade.verdict import Outcome, Verdict, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from labgrade.answers.reading.lines import Line, LinePiece
    from labgrade.values import Value

_TENSORS = ("tensor", "torch.tensor", "array", "ndarray")
_LEAST_DIGITS = 3
_FEW, _MAGNITUDE = 6, 10
_HALF_OF = 4  # names or shapes, at least
_TOLD_APART = 100  # a smaller number may stand anywhere
_LARGE = 1_000  # a smaller number that would be right may stand anywhere
# Words that say nothing beside another answer's number: `It has 6,624,904 parameters in total.`
_PLAIN = frozenset(known_words("plain", "on_a_line"))


def own_lines(wanted: WantedNumber, lines: Iterable[Line], given: Sequence[str], title: str) -> list[Line]:
    """Return the lines that add to the texts that were `given`, and that leave nothing open.

    Without lines of another answer of the task, in words without meaning or of its `title`: numbers that were taken, or
    the only number if something special is asked for.
    """
    words = [f" {letters_of(text)} " for text in given]
    told = [line for line in lines if line.pieces or line.terms]
    own = [line for line in told if not (_is_given(line, words, given) or _is_to_come(line))]
    plain = _PLAIN.union(letters_of(title).split())
    others = [line for line in own if _is_plain(line, plain)]
    counts = [count for line in others for count in _counts(line)]
    if not (wanted.taken.issuperset(counts) or (len(counts) == 1 and _is_special(wanted))):
        return own
    return [line for line in own if line not in others]


def _is_special(wanted: WantedNumber) -> bool:
    """Return whether what is asked for, `trainable`, is a part of a similar answer of the task, a total."""
    others = [concepts(words) for words in wanted.beside]
    return bool(SPECIAL.intersection(*wanted.label_sets)) and any(not each & SPECIAL for each in others)


def right_among(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """Return MANUAL with the right number if it is among a few others, none of them of its size.

    A part that may be the whole must be there twice, once for each.
    """
    everything = [
        each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted or each.piece.doubt)
    ]
    distinct = distinct_sightings(everything)
    right = [each for each in distinct if wanted.judged(each.number).credit == 1]
    if len(right) != 1 or len(distinct) > _FEW:
        return None
    value = right[0].number.value
    said = sum(agree(each.number, right[0].number) for each in everything)
    alike = (each.number.value for each in distinct if each is not right[0])
    if any(value < _MAGNITUDE * other and other < _MAGNITUDE * value for other in alike):
        return None
    if said < 2 and value >= _LARGE and _is_special(wanted):  # noqa: PLR2004 - once for the whole, once for the part
        return None
    return suggested(wanted, wanted.judged(right[0].number), right[0], "right value among others", everything)


def unread(task: str, lines: Sequence[Line], hint: str) -> Choice:
    """Return MANUAL if lines are about a task, and nothing could be read; it names the first line with a number."""
    line = first_number(lines) or next((each for each in lines if any(map(_is_number, each.pieces))), lines[0])
    reason = f"{line.place} speaks of {task}, but what the answer is could not be read"
    return Choice(verdict=without_value(Outcome.MANUAL, reason, hint=hint), place=line.place)


def only_suggested(found: Choice, task: str) -> Choice:
    """Return what was found beside a task's number, within a line and no heading, for a person to decide."""
    if found.verdict.outcome is Outcome.MANUAL:
        return found
    reason = f"{found.place} speaks of {task}, under no heading of its own"
    return left_to_person(found, reason, "beside the task's number")


def left_to_person(found: Choice, reason: str, kind: str, hint: str = "") -> Choice:
    """Return MANUAL with what was found as a suggestion of this `kind`."""
    return replace(found, verdict=waiting(reason, found.verdict, kind, "", found.place, hint))


def in_words(wanted: WantedNumber, found: Choice, missing: Choice, lines: Sequence[Line]) -> Choice:
    """Return the choice from the `lines` of a report without tasks' numbers; `missing` if words lead to no value.

    A wrong value is a suggestion: the report may be about another task, or about none. So is a right value if another
    number of its size is labelled as well, even if that is doubtful: an older value, or a newer one.
    """
    verdict, said = found.verdict, found.verdict.suggestion
    if said is not None:
        return found if said.credit == 1 else missing
    if verdict.outcome in (Outcome.MANUAL, Outcome.MISSING) or not _has_rivals(wanted, found, lines):
        return found
    reason = f"no value could be read for certain: {found.place} says one of several"
    return replace(found, verdict=waiting(reason, verdict, "labelled value", verdict.hint, found.place))


def _has_rivals(wanted: WantedNumber, found: Choice, lines: Sequence[Line]) -> bool:
    """Return whether another value has a word of the label; always, where a wrong value was read."""
    asked = frozenset[str]().union(*wanted.label_sets)
    asked = asked - {"total", "memory"} or asked
    labelled = [
        each
        for each in sightings(wanted.kind, lines)
        if asked & {*each.piece.said, *concepts(_letters_of_line(each.line))}
    ]
    right = [each for each in labelled if each.line.place == found.place and _is_right(wanted, each)]
    small = wanted.small or not right
    others = (each for each in labelled if not any(agree(each.number, one.number) for one in right))
    return found.verdict.outcome is not Outcome.CORRECT or (
        not small and any(are_rivals(each.number, right[0].number) for each in others)
    )


def right_in_other_words(wanted: WantedNumber, lines: Iterable[Line]) -> Choice | None:
    """Return MANUAL with the only right number of some size that is claimed, whatever its label; else None."""
    found = [each for each in sightings(wanted.kind, lines) if not (each.line.code or each.line.quoted)]
    right = distinct_sightings([each for each in found if _is_right(wanted, each) and not each.piece.doubt])
    right = [each for each in right if not _is_special(wanted) or {*each.piece.said} & SPECIAL & wanted.asked]
    right = [each for each in right if not {*each.piece.said} & SPECIAL - wanted.asked]
    if len(right) != 1:
        return None
    finest = min(
        (each for each in found if agree(each.number, right[0].number)), key=lambda each: each.number.half_unit
    )
    right = [finest if _is_right(wanted, finest) and not finest.piece.doubt else right[0]]
    return suggested(wanted, wanted.judged(right[0].number), right[0], "right value in other words", right)


def right_anywhere(wanted: WantedNumber, lines: Sequence[Line]) -> Line | None:
    """Return the line of the first right number of some size, or shape of several dimensions, whatever its label."""
    shapes = {each for each in wanted.right if isinstance(each, tuple) and len(each) > 1}
    found = (line for line in lines if any(isinstance(one.value, tuple) and one.value in shapes for one in line.pieces))
    return next((each.line for each in sightings(wanted.kind, lines) if _is_right(wanted, each)), next(found, None))


def and_others(count: int) -> str:
    """Return `and 5 other lines`, to stand behind the place of the first line."""
    return f" and {count:,} other line{'s' * (count > 1)}" if count else ""


def _is_right(wanted: WantedNumber, each: Sighting) -> bool:
    digits = each.number.digits
    right = (one for one in wanted.right if isinstance(one, Number) and abs(one.value) >= _LARGE)
    return (digits is None or digits >= _LEAST_DIGITS) and any(agree(each.number, one) for one in right)


def first_number(lines: Sequence[Line]) -> Line | None:
    """Return the first line with a number that is not mentioned in passing; else with any, but not of code."""
    plain = (line for line in lines if not (line.code or line.quoted) and any(map(_stands_out, line.pieces)))
    written = (line for line in lines if not line.code)
    any_of_them = (line for line in written if any(isinstance(piece.value, Number) for piece in line.pieces))
    return next(plain, None) or next(any_of_them, None)


def holds_rows(lines: Iterable[Line], expected: Table) -> bool:
    """Return whether lines have half of a table's larger numbers, two at least, so that they may be the table."""
    cells = (cell for row in expected.rows for cell in row.cells.values())
    wanted = {cell.value for cell in cells if isinstance(cell, Number) and cell.value >= _TOLD_APART}
    pieces = (piece.value for line in lines for piece in line.pieces)
    found = {each.value for each in pieces if isinstance(each, Number)} & wanted
    return len(found) > 1 and 2 * len(found) >= len(wanted)


def holds_values(lines: Sequence[Line], right: Sequence[Value]) -> bool:
    """Return whether lines have half of a right table's names, larger numbers or shapes: they may be the table."""
    tables = [table for each in right if (table := as_table(each)) is not None]
    rows = [row for table in tables for row in table.rows]
    shapes = {cell for row in rows for cell in row.cells.values() if isinstance(cell, tuple) and len(cell) > 1}
    said = {piece.value for line in lines for piece in line.pieces if not isinstance(piece.value, Number)}
    mostly = (2 * len(own & said) >= max(len(own), _HALF_OF) for own in (shapes, {row.name for row in rows}))
    return any(holds_rows(lines, table) for table in tables) or any(mostly)


def as_many_numbers(lines: Iterable[Line], right: Sequence[Value], taken: frozenset[Fraction]) -> list[Line]:
    """Return the lines with half as many numbers as a right table has rows; they may be the rows in a sentence.

    A table of one or two rows does not count: any sentence has so many numbers.
    """
    rows = max((len(table.rows) for each in right if (table := as_table(each)) is not None), default=0)
    plain = [line for line in lines if not (line.code or line.quoted)]
    return [line for line in plain if rows >= _HALF_OF and 2 * sum(each not in taken for each in _counts(line)) >= rows]


def right_in_full(wanted: WantedNumber, lines: Iterable[Line]) -> Choice | None:
    """Return MANUAL with the first right value in full, on a line that is not quoted and without a doubt; else None."""
    least = Rank.NAMED if wanted.asked & SPECIAL else Rank.NONE
    found = (
        each
        for each in ranked(wanted, sightings(wanted.kind, lines))
        if each.rank >= least
        and _is_right(wanted, each)
        and not (each.line.code or each.line.quoted or each.piece.doubt)
    )
    right = next((each for each in found if each.number.digits is None or each.number.digits > _LEAST_DIGITS), None)
    return None if right is None else suggested(wanted, wanted.judged(right.number), right, "another value", [right])


def as_table(value: Value) -> Table | None:
    """Return a table, and a histogram as a table of counts; None for other values."""
    if isinstance(value, Table):
        return value
    if isinstance(value, dict):
        return Table(rows=tuple(Row(name=name, cells={"count": count}) for name, count in value.items()))
    return None


def is_open(verdict: Verdict) -> bool:
    """Return whether a person has to look, without a suggestion."""
    return verdict.outcome is Outcome.MANUAL and verdict.suggestion is None


def merged(as_it_is: Choice, found: Choice) -> Choice:
    """Return what was found, with the earlier hint where to look, if a person has to."""
    before = as_it_is.verdict
    if found.verdict.outcome is not Outcome.MANUAL:
        return found
    kept = replace(found.verdict, looked_for=before.looked_for, suggestions=before.suggestions)
    if before.outcome is Outcome.MANUAL and not (before.reason == UNREAD and kept.suggestion):
        kept = replace(kept, reason=before.reason, hint=before.hint)
    elif before.suggestions:
        kept = replace(kept, hint="")
    return Choice(verdict=kept, place=found.place or as_it_is.place)


def doubted(as_it_is: Choice, found: Choice) -> Choice:
    """Return MANUAL if words led to a wrong value, and another value with a label is right."""
    reason = f"{as_it_is.verdict.reason}; another value stands on {found.place}"
    waits = waiting(reason, found.verdict, "another value", f"a right value stands on {found.place}", found.place)
    waits = replace(waits, suggestion=found.verdict.suggestion or waits.suggestion, facts=as_it_is.verdict.facts)
    return Choice(verdict=waits, place=as_it_is.place)


def printed_tensors(lines: tuple[Line, ...], but: str) -> Choice | None:
    """Return MANUAL for printed tensors, which can't be compared: `but` says why; None if there are none."""
    at = [line.place for line in lines if not line.code and _prints_tensor(line)]
    if not at:
        return None
    reason = f"tensors are printed, from {at[0]} on; {but}"
    wrong = without_value(Outcome.INCORRECT, reason)
    return Choice(verdict=waiting(reason, wrong, "printed tensors", place=at[0]), place=at[0])


def _prints_tensor(line: Line) -> bool:
    pieces = [piece.value for piece in line.pieces]
    return any(
        isinstance(one, str) and one.lower() in _TENSORS and not isinstance(other, str)
        for one, other in pairwise(pieces)
    )


def _is_number(piece: LinePiece) -> bool:
    return isinstance(piece.value, Number)


def _stands_out(piece: LinePiece) -> bool:
    return isinstance(piece.value, Number) and not piece.small


def _letters_of_line(line: Line) -> str:
    return letters_of(" ".join(line.words))


def _is_given(line: Line, words: Sequence[str], given: Sequence[str]) -> bool:
    numbers = [piece.value for piece in line.values]
    known = not line.terms and all(
        isinstance(each, Number) and each.text and any(each.text in text for text in given) for each in numbers
    )
    return known and any(f" {_letters_of_line(line)} " in text for text in words)


def _is_plain(line: Line, plain: frozenset[str]) -> bool:
    """Return whether a line has at most a number, in words that have no special meaning."""
    shapes = any(isinstance(piece.value, tuple) for piece in line.pieces)
    alone = len(_counts(line)) <= 1 and not (shapes or line.terms)
    return alone and all(_says_nothing_special(word, plain) for word in line.words)


def _counts(line: Line) -> list[Fraction]:
    """Return a line's numbers without those in a unit of something else."""
    return [piece.value.value for piece in line.pieces if isinstance(piece.value, Number) and not piece.measures]


def _says_nothing_special(word: str, plain: frozenset[str]) -> bool:
    meant = concepts(word)
    return not meant & SPECIAL and bool(meant or set(letters_of(word).split()) <= plain)


def _is_to_come(line: Line) -> bool:
    asked = any(word.startswith("??") for word in line.words)
    return not line.values and is_to_come(_letters_of_line(line), asked=asked)
