"""How many different names a text lists, where it is asked how many there are; no text is parsed here."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING

from labgrade.answers.reading.lines import LinePiece
from labgrade.answers.reading.vocabulary import concepts
from labgrade.judging.choose_number import Sighting, suggested
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.judging.choose_number import Choice, WantedNumber


def count_listed(wanted: WantedNumber, lines: Sequence[Line]) -> Choice | None:
    """MANUAL with how many names the longest list has; None where it is not asked for types, or nothing is listed.

    A person decides: they are the answer only if the list is one of all.
    """
    if not any("types" in each for each in wanted.label_sets):
        return None
    found = max(_lists(lines), key=lambda each: len(each[1]), default=None)
    if found is None:
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
