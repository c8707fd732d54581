"""A line made ready to be read as rows: names of two words, one number for several names, sizes that are one shape."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.number_words import in_words
from labgrade.answers.reading.pieces import LinePiece
from labgrade.judging.texts.row_names import plain_name
from labgrade.values import Number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from labgrade.answers.reading.lines import Line

_TIMES = re.compile(r"[x\u00d7*](\d{1,9})")
_WIDE = "\u2e80"  # where the scripts begin that have no blanks between words
_LEAST_SIZES = 3  # of a shape without brackets


def as_row(line: Line, names: Mapping[str, str], ranks: Collection[int]) -> Line:
    """Return the line with names and numbers in the form of rows; `ranks`: dimensions of shapes that are asked for."""
    found = _with_each(_with_joined(line, names), names)
    return _with_shape(found, names, ranks) if ranks else found


def _with_joined(line: Line, names: Mapping[str, str]) -> Line:
    """Return the line with two words that are one name joined, `Call module`, `batch norm`, and `x52` as a number.

    In a language without blanks, a word is replaced by the one name in it.
    """
    pieces: list[LinePiece] = []
    wide = {name for name in names if name[:1] > _WIDE}
    for piece in line.pieces:
        if isinstance(piece.value, str) and (times := _TIMES.fullmatch(piece.value)):
            piece = replace(piece, value=Number(value=Fraction(times[1]), text=times[1]))  # noqa: PLW2901
        within = {names[name] for name in wide if isinstance(piece.value, str) and name in piece.value}
        if len(within) == 1:
            piece = replace(piece, value=within.pop())  # noqa: PLW2901
        before = pieces[-1].value if pieces else None
        words = isinstance(before, str) and isinstance(piece.value, str)
        both = [f"{before}{sign}{piece.value}" for sign in ("_", "-", "")] if words else []
        known = next((each for each in both if plain_name(each) in names), None)
        if known is not None:
            pieces[-1] = replace(piece, value=known)
        else:
            pieces.append(piece)
    return replace(line, pieces=tuple(pieces))


def _with_each(line: Line, names: Mapping[str, str]) -> Line:
    """Return the line with the number of `one each of A, B and C` beside each name, in the order that others have."""
    each = next((at for at, piece in enumerate(line.pieces) if at and piece.value == "each"), 0)
    said = line.pieces[each - 1] if each else None
    if said is not None and isinstance(said.value, str) and (read := in_words(said.value, 0)) is not None:
        said = replace(said, value=Number(value=Fraction(read[1])))
    until = next((at for at, one in enumerate(line.pieces) if at > each and not isinstance(one.value, str)), None)
    behind = line.pieces[each + 1 : until]
    if said is None or not isinstance(said.value, Number):
        return line
    words = [piece.value if isinstance(piece.value, str) else "" for piece in line.pieces[:each]]
    # In `Add 10, and one each of Flatten and Gemm` names come first.
    first = next((at for at, word in enumerate(words) if plain_name(word) in names), None)
    order = 1 if first is None or not all(words[: first + 1]) else -1
    spread = [
        piece for one in behind for piece in ((said, one)[::order] if plain_name(str(one.value)) in names else (one,))
    ]
    return replace(line, pieces=(*line.pieces[: each - 1], *spread, *line.pieces[until or len(line.pieces) :]))


def _with_shape(line: Line, names: Mapping[str, str], ranks: Collection[int]) -> Line:
    """Return the line with the sizes behind a name as one shape, if there are as many: `conv1 1 64 112 112`."""
    words = [at for at, piece in enumerate(line.pieces) if isinstance(piece.value, str)]
    name = next((at for at in words if plain_name(str(line.pieces[at].value)) in names), None)
    values = [piece.value for piece in line.pieces if not isinstance(piece.value, str)]
    whole = all(isinstance(each, Number) and each.value.denominator == 1 for each in values)
    said = [part for each in values for part in str(each).split()]  # of 64 112 112, which may be a number
    sizes = [int(part) for part in said if part.isdecimal()]
    if name is None or not whole or len(sizes) < len(said) or len(sizes) not in ranks or len(sizes) < _LEAST_SIZES:
        return line
    kept = [piece for piece in line.pieces if isinstance(piece.value, str)]
    return replace(line, pieces=(*kept, LinePiece(value=tuple(sizes))))
