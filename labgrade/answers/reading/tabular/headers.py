"""Which column of a spec a printed header means: `Param #` is `parameters`, `Mult-Adds` is `macs`."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.words.terms import SIGNS
from labgrade.answers.reading.words.vocabulary import known_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SAME: tuple[list[str], ...] = known_words("columns")
_GROUP = {str(word): number for number, words in enumerate(_SAME) for word in words}
_ROW_WORDS = frozenset(next(words for words in _SAME if "layer" in words))
_TYPE_WORDS = frozenset(known_words("types_heads"))
OUR_ANSWER = re.compile(
    r"\b(?:ours?|my|mine|now|new|final|after|fixed|agreed|handed in|submitted|correct(?:ed)?"
    r"|unsere?|mein|finale?|nuestr[oa]"
    r"|notre)\b(?! (?:old|first))|\banswers?\b|\bAntwort|最終|最终|答案",
    re.IGNORECASE,
)
_OTHER_NETWORK = re.compile(r"\b(?:toy|tiny|baseline)\b", re.IGNORECASE)
_PREFIXED = re.compile(r"(?<![A-Za-z])([kKMGT])((?:MACs?|FLOPs?|FLOPS|Mult-?[Aa]dds?|M[Aa]dds?)(?![A-Za-z]))")
_SERIES = re.compile(r"Name: (\w{1,40}), (?:Length: \d{1,9}, )?dtype: ")
_LONGEST_SAID = 80
_AXES = (("n", "b", "batch", "batchsize"), ("c", "ch", "channel", "channels"), ("h", "height"), ("w", "width"))
_AXIS = {word: place for place, words in enumerate(_AXES) for word in words}


def plain_word(header: str) -> str:
    """Return a header without case, spaces, markup and signs: `Param #` is `param`."""
    return SIGNS.sub("", header.lower())


def unit_of_header(header: str) -> str:
    """Return the unit of a header, in brackets at its end, `MACs (M)`, or as a prefix of its noun: `GMACs`."""
    match = re.search(r"[(\[]([^()\[\]]{1,24})[)\]]\s*$", as_ascii(header)) or _PREFIXED.search(header)
    return match[1] if match else ""


def answer_column(header: Sequence[str]) -> int | None:
    """Return the place of the only head that calls its column the answer; None if there is none, or several.

    Beside `toy`, `mine` is another network: the head does not say which of them the task is about.
    """
    meant = [place for place, each in enumerate(header) if OUR_ANSWER.search(each)]
    return meant[0] if len(meant) == 1 and not any(map(_OTHER_NETWORK.search, header)) else None


def column_meant(header: str, columns: Iterable[str]) -> str | None:
    """Return the one of `columns` that the header names, literally or by synonym; None if there is none."""
    return _meant(header, tuple(columns))


@functools.lru_cache(maxsize=1 << 10)  # the same few for each row of a table
def _meant(header: str, columns: tuple[str, ...]) -> str | None:
    known = {plain_word(column): column for column in columns}
    without_unit = re.sub(r"[(\[][^()\[\]]*[)\]]\s*$", "", as_ascii(header))
    for form in map(plain_word, (header, without_unit, _PREFIXED.sub(r"\2", header))):
        if form in known:
            return known[form]
        group = _GROUP.get(form)
        alike = [column for word, column in known.items() if group is not None and _GROUP.get(word) == group]
        if len(alike) == 1:
            return alike[0]
    return None


def names_rows(header: str, row: str) -> bool:
    """Return whether a header is over the rows' names: the spec's word for a row, `Layer (type:depth-idx)`, `name`.

    A word for types is no header of layers' names.
    """
    own = plain_word(row)
    words = _ROW_WORDS if own in _TYPE_WORDS else _ROW_WORDS - _TYPE_WORDS
    said = {plain_word(header), plain_word(header.partition("(")[0])}
    both = {plain_word(word) for word in header.split()}  # `層 layer`
    return (
        bool(said & {*words, own})
        or (len(both) > 1 and both <= {*words, own})
        or (own in _GROUP and own not in _ROW_WORDS and column_meant(header, [row]) == row)
    )


def is_about(header: str, row: str) -> bool:
    """Return whether a header names the rows by the spec's own word: `Layer type` does for `type`, `Layer` does not."""
    own = plain_word(row)
    words = {plain_word(header), plain_word(header.partition("(")[0])}
    return bool(words & (_TYPE_WORDS if own in _TYPE_WORDS else {own, f"{own}s", f"{own}name"}))


def with_index_named(lines: list[str], row: str) -> list[str]:
    """Return the lines with headers that pandas prints elsewhere: the index's name, the name of a series."""
    found = list(lines)
    above = -1  # the last line that is a word for the rows alone
    for place, line in enumerate(lines):
        word = line.strip()
        header = lines[place - 1] if place else ""
        if (series := _SERIES.match(line)) is not None and above >= 0 and len(word) < _LONGEST_SAID:
            found[above] += f"  {series[1]}"
            above = -1
        elif not word or len(word) > _LONGEST_SAID or line[:1] != word[:1] or not names_rows(word, row):
            above = above if word else -1
        elif header.strip() and not header[: len(word) + 1].strip():
            found[place - 1 : place + 1] = [word + header[len(word) :], "-" * len(word)]
        else:
            above = place
    return found


def could_head(line: str, columns: Mapping[str, str]) -> bool:
    """Return, after a quick look, whether a line may name a column, or the axes of a shape."""
    squeezed = plain_word(line)
    if any(word in squeezed for column in columns for word in _words_for(column)):
        return True
    return "shape" in columns.values() and {0, 1, 2, 3} <= {_axis(word) for word in re.split(r"[^\w()]+", line[:200])}


def axes_of_shape(pieces: Sequence[str]) -> tuple[int, ...]:
    """Return the places of a header that are the axes of one shape: `N`, `C`, `H`, `W`; N has to be there."""
    axes = [_axis(piece) for piece in pieces]
    starts = (at for at in range(len(axes) - 3) if axes[at : at + 4] == [0, 1, 2, 3])
    return next((tuple(range(at, at + 4)) for at in starts), ())


def _axis(header: str) -> int | None:
    word = plain_word(header)
    return _AXIS.get(word, _AXIS.get(word.replace("output", "").replace("out", "")))


def _words_for(column: str) -> tuple[str, ...]:
    group = _GROUP.get(plain_word(column))
    return (plain_word(column), *(_SAME[group] if group is not None else ()))


def told_apart(
    values: Sequence[object], kinds: Mapping[str, str], fits: Callable[[object, str], bool]
) -> dict[str, object] | None:
    """Return the value of each column, without values of no column (a layer's type); None if types do not decide.

    Values in the order of the columns are taken as they are; a value of None fits any column there. In another order,
    or with more of them, each column must have exactly one value that fits it; two numbers more may be a part of it.
    """
    in_order = dict(zip(kinds, values, strict=False))
    if len(values) == len(kinds) and all(cell is None or fits(cell, kinds[name]) for name, cell in in_order.items()):
        return in_order
    places: dict[str, int] = {}
    for column, kind in kinds.items():
        fitting = [place for place, value in enumerate(values) if fits(value, kind)]
        if len(fitting) != 1 or fitting[0] in places.values():
            return None
        places[column] = fitting[0]
    more = [value for place, value in enumerate(values) if place not in places.values()]
    if sum(isinstance(value, int | float) for value in more) > 1:
        return None
    return {column: values[place] for column, place in places.items()}
