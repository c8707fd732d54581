"""What the lines of a text list: names to be counted, values, names and shapes that are wanted; no text is parsed."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING

from labgrade.answers.reading.lines import LinePiece
from labgrade.answers.reading.vocabulary import concepts, labels
from labgrade.judging.texts.choice import Choice, suggested
from labgrade.judging.texts.evidence import Sighting, sightings
from labgrade.values import Number
from labgrade.verdict import Outcome, Suggestion, without_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.judging.texts.evidence import WantedNumber
    from labgrade.values import Row, Table, Value
    from labgrade.verdict import Verdict

TOLD_APART = 10  # a smaller number stands in any text
_DENSE = 4  # values of one line that may be a table by themselves
_LEAST_SAID = 3  # values that say more than chance


def count_listed(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """MANUAL with how many names the longest list has; None where it is not asked for types, or nothing is listed.

    A person decides: they are the answer only if the list is one of all.
    """
    if not any("types" in each for each in wanted.label_sets):
        return None
    found = max(_lists(lines), key=lambda each: len(each[1]), default=None)
    if found is None or len(found[1]) < _LEAST_SAID:
        return None
    line, names = found
    number = Number(value=Fraction(len(names)), text=f"{len(names)} names")
    at = Sighting(line=line, piece=LinePiece(value=number), number=number)
    choice = suggested(wanted, wanted.judged(number), at, "names listed", ())
    reason = f"no value could be read for certain: {len(names)} different names are listed from {line.place} on"
    return replace(choice, verdict=replace(choice.verdict, reason=reason))


def _lists(lines: Sequence[Line]) -> Iterator[tuple[Line, frozenset[str]]]:
    """The names behind a word of operators or types: on its line, or alone on the lines below it."""
    for place, line in enumerate(lines):
        words = _words(line)
        labelling = [at for at, word in enumerate(words) if concepts(word) & {"types", "operators"}]
        if not labelling or len(words) < len(line.pieces):
            continue
        behind = [word for word in words[labelling[-1] + 1 :] if _is_name(word)]
        if len(behind) < 2:  # noqa: PLR2004 - one name is no list
            behind = [word for each in takewhile(_is_names, lines[place + 1 :]) for word in _words(each)]
        if len(behind) > 1:
            yield line, frozenset(behind)


def _words(line: Line) -> list[str]:
    return [piece.value for piece in line.pieces if isinstance(piece.value, str)]


def _is_names(line: Line) -> bool:
    words = _words(line)
    return len(words) == len(line.pieces) and all(map(_is_name, words)) and not line.code


def _is_name(word: str) -> bool:
    return word[:1].isupper() or "::" in word


def saying(lines: tuple[Line, ...], wanted: Collection[Fraction | str]) -> list[Line]:
    """The lines that together say all that is wanted; none where that is little."""
    found = [(line, _values(line) & set(wanted)) for line in lines]
    all_said = len(wanted) >= _LEAST_SAID and set().union(*(said for _, said in found)) == wanted
    return [line for line, said in found if said] if all_said else []


_OPEN = re.compile(
    r"(?:\?{2,}|todo|tb[ad]|n/a|missing|unknown|fehlt|offen|pendiente|falta|manque|待補|待补|未完成)$", re.IGNORECASE
)


def left_open(wanted: WantedNumber, lines: Sequence[Line]) -> bool:
    """Whether a line says that the value is still to come, `Trainable parameters: TODO`, and no other says it."""
    others = [concepts(words) for words in wanted.beside]
    found = [each for each in sightings(wanted.kind, lines) if not (each.piece.small and not wanted.small)]
    if any(not any(labels(one, frozenset(each.piece.said)) for one in others) for each in found):
        return False
    return _line_left_open(wanted, lines) is not None


def unfilled(wanted: WantedNumber, lines: Iterable[Line], verdict: Verdict) -> Choice | None:
    """MANUAL where the words of a value stand before a blank, and what was read stands elsewhere and is wrong."""
    line = _line_left_open(wanted, lines) if verdict.outcome is not Outcome.MANUAL else None
    if line is None:
        return None
    reason = f"{line.place} leaves the value open; of what stands elsewhere: {verdict.reason}"
    return Choice(verdict=without_value(Outcome.MANUAL, reason), place=line.place)


def _line_left_open(wanted: WantedNumber, lines: Iterable[Line]) -> Line | None:
    """The first line that says the words of a value and that it is still to come: `Total MACs: ?`."""
    words = [(line, _words(line)) for line in lines if len(_words(line)) == len(line.pieces)]
    said = [(line, concepts(" ".join(each[:-1]))) for line, each in words if each and _OPEN.match(each[-1])]
    return next((line for line, each in said if any(labels(label, each) for label in wanted.label_sets)), None)


def in_order(lines: Iterable[Line], expected: Table) -> bool:
    """Whether the numbers of a column stand in the order of their rows' names, where all of those are there."""
    right = {row.name: cell.value for row in expected.rows for cell in row.cells.values() if isinstance(cell, Number)}
    pieces = [piece.value for line in lines if not (line.code or line.quoted) for piece in line.pieces]
    names = list(dict.fromkeys(each for each in pieces if isinstance(each, str) and each in right))
    if len(names) < len(right) or len(right) < len(expected.rows):
        return True
    wanted = [right[name] for name in names if right[name] >= TOLD_APART]
    found = [each.value for each in pieces if isinstance(each, Number) and each.value in wanted]
    return list(dict.fromkeys(found)) == list(dict.fromkeys(wanted))


def _values(line: Line) -> set[Fraction | str | tuple[int, ...]]:
    """The numbers and words of a line of prose."""
    if line.code or line.quoted:
        return set()
    found = {piece.value.value if isinstance(piece.value, Number) else piece.value for piece in line.pieces}
    return found | {each.removesuffix("s") for each in found if isinstance(each, str)}


def says_something(row: Row) -> bool:
    """Whether a row holds more than zeros."""
    return any(not isinstance(cell, Number) or cell.value for cell in row.cells.values())


def holds_values(line: Line, taken: frozenset[Fraction], *, shapes: bool, decimals: bool, least: int = 1) -> bool:
    """Whether a line holds `least` values that no other answer took; with `shapes`, printed arrays hold some."""
    if line.code or line.quoted:
        return False
    return least <= sum(
        (shapes and isinstance(piece.value, tuple) and len(piece.value) > 1)
        or (
            isinstance(piece.value, Number)
            and not piece.small
            and not piece.measures
            and (decimals or not ("memory" in piece.said or 0 < piece.value.half_unit < 1))  # no count of anything
            and piece.value.value not in taken
        )
        for piece in line.pieces
    )


def names_rows(line: Line, *, shapes: bool) -> bool:
    """Whether a line has operators' whole names and as many numbers, or a layer's with its sizes a column each."""
    words = [piece.value for piece in line.pieces if isinstance(piece.value, str)]
    numbers = sum(isinstance(piece.value, Number) for piece in line.pieces)
    operators = sum("::" in word for word in words)
    sized = shapes and numbers > 1 and any("." in word for word in words)
    return (sized or 1 < operators <= numbers) and not (line.code or line.quoted)


def may_be_table(lines: Sequence[Line], taken: frozenset[Fraction], *, shapes: bool, decimals: bool) -> bool:
    """Whether lines that hold values may be a table: two of them, or one with several rows."""
    dense = (holds_values(line, taken, shapes=shapes, decimals=decimals, least=_DENSE) for line in lines)
    return len(lines) > 1 or any(dense) or any(names_rows(line, shapes=False) for line in lines)


def choose_shape(
    right: Collection[Value], known: Collection[Value], judged: Callable[[Value], Verdict], lines: Sequence[Line]
) -> Choice | None:
    """MANUAL where the lines say shapes of as many sizes as a `right` one; None where they say none.

    Suggested is a right one, else the first that is `known` to be wrong.
    """
    ranks = {len(each) for each in right if isinstance(each, tuple)}
    said = [
        (line, piece.value)
        for line in lines
        if not (line.code or line.quoted)
        for piece in line.pieces
        if isinstance(piece.value, tuple) and not piece.doubt and len(piece.value) in ranks
    ]
    if not said:
        return None
    chosen = next((each for of in (right, known) for each in said if each[1] in of), None)
    place = (chosen or said[0])[0].place
    waits = without_value(Outcome.MANUAL, f"no shape could be read for certain: {_shown(chosen or said[0])}")
    if chosen is not None:
        verdict = judged(chosen[1])
        why = f"{_shown(chosen)}: {verdict.hint or verdict.reason or 'it is the expected value'}"
        kind = "value without a label"
        suggestion = Suggestion(outcome=verdict.outcome, credit=verdict.credit, why=why, place=place, kind=kind)
        waits = replace(waits, suggestion=suggestion)
    return Choice(verdict=waits, place=place)


def _shown(sighting: tuple[Line, tuple[int, ...]]) -> str:
    line, shape = sighting
    return f"{list(shape)} stands on {line.place}"
