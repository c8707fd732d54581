"""The names that rows go by: what people call a layer or a type of layers, and a table whose names nobody expected."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.words.languages import LANGUAGES
from labgrade.answers.reading.words.terms import BRACKETS
from labgrade.answers.reading.words.vocabulary import known_words
from labgrade.judging.texts.choice import waiting
from labgrade.values import Number, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from labgrade.values import Row, Value
    from labgrade.verdict import Verdict

_PREFIXES = ("model.", "module.", "net.", "self.", "nn.", "torch.nn.")
_LAYERS = re.compile(r"(?<=\w)[-_ ]?(?:layers?|schicht(?:en)?|ebenen?|lagen?|層|层)$")
_BLANKS = re.compile(r"[\s_]+")
_SYNONYMS: dict[str, list[str]] = LANGUAGES["tables"]["layer_types"]
_LAYER_WORDS = frozenset(known_words("layer"))
_TYPE = re.compile(r"([A-Z]\w*)[-: ]")
_TYPE_NUMBER = re.compile(r"[a-z]\w*-\d+")
_TYPE_AND_NUMBER = re.compile(r"([A-Za-z]\w*?)[ _#(]{1,3}(\d+)\)?|#?(\d+)[ _.:)-]{1,3}([A-Za-z]\w*)")
_INDEX = re.compile(r"(?<=\w)\[(\d+)\]")
_WORD = re.compile(r"[^\s()\[\]{},;:=|<>\u2192'\"`]+")
_SIZES = re.compile(r"[\d.,#x\u00d7*/\u2013\u2014-]+")
_LABEL = re.compile(r"(?:layers?|modules?|nodes?|schicht|couche|capa|層|层)[\s_#.:]{0,3}(?=\S)")


def is_of_others(table: Table, expected: Table) -> bool:
    """Return whether a table has only one expected name, beside names that nobody asked for: `conv1`, `fc`."""
    names = names_of(expected)
    required = {row.name for row in expected.rows if not row.optional}
    found = [names.get(plain_name(row.name)) for row in table.rows]
    return len(required) > 1 and None in found and len(set(found) - {None}) == 1


def names_of(expected: Table) -> Mapping[str, str]:
    """Return each name of an expected row, in plain form."""
    found: dict[str, str] = {}
    for own in (True, False):
        for row in expected.rows:
            for name in (row.name,) if own else row.also_named:
                found.setdefault(plain_name(name), row.name)
    bare = {name.rpartition("::")[2]: own for name, own in found.items() if "::" in name}
    marked = {name.lstrip("_"): own for name, own in bare.items()}  # `_conv` may lose its mark in Markdown
    return {**_synonyms_of_types(expected), **marked, **bare, **found}


def _synonyms_of_types(expected: Table) -> Mapping[str, str]:
    """Return people's names for the types of layers that are rows, without names that fit several."""
    of_class = ((row.name, _base(row.name)) for row in expected.rows)
    names = [(each, name) for name, base in of_class for each in {base.lower(), *_SYNONYMS.get(base, ())}]
    shared = Counter(each for each, _ in names)
    return {each: name for each, name in names if shared[each] == 1}


def with_types_named(answer: Value, expected: Value | None) -> Value:
    """Return a handed-in table with its rows named as expected, where people shorten a layer's type.

    `Conv` is Conv2d if no other row can be, of those expected or those handed in.
    """
    if not isinstance(answer, Table) or not isinstance(expected, Table):
        return answer
    answer = _with_names_alone(_without_labels(answer, expected), expected)
    called = _synonyms_of_types(expected)
    own = {plain_name(name) for row in expected.rows for name in (row.name, *row.also_named)}
    plain = [_BLANKS.sub("-", plain_name(row.name)) for row in answer.rows]
    meant = [called.get(name, "") if name not in own else "" for name in plain]
    taken = Counter([*plain, *(name.lower() for name in meant)])
    rows = (
        replace(row, name=name) if name and taken[name.lower()] == 1 else row
        for row, name in zip(answer.rows, meant, strict=True)
    )
    return replace(answer, rows=tuple(rows))


def _without_labels(answer: Table, expected: Table) -> Table:
    """Return a table with `layer 0` as the row `0`, if all rows are called so and no row is expected by that."""
    own = {plain_name(name) for row in expected.rows for name in (row.name, *row.also_named)}
    bare = [_LABEL.sub("", plain_name(row.name), count=1) for row in answer.rows]
    told = all(name in own and plain_name(row.name) not in own for name, row in zip(bare, answer.rows, strict=True))
    if not bare or not told:
        return answer
    return replace(answer, rows=tuple(replace(row, name=name) for row, name in zip(answer.rows, bare, strict=True)))


def _with_names_alone(answer: Table, expected: Table) -> Table:
    """Return a table with only the layers' names where cells have more: `Conv2d: conv1`, `conv1 (3x3)`, `features/0`.

    A cell has a name if it contains it whole, once, beside numbers and words for a layer of its type alone, and no
    other row may be the same layer. A type with a number, `Conv2d 1`, is written as tools do: `Conv2d-1`.
    """
    known = names_of(expected)
    types = {row.name: _types(row) for row in expected.rows}
    classes = set().union(*types.values())
    direct = [known.get(plain_name(row.name), "") for row in answer.rows]
    found = [own or _named_in(row.name, known, types) for own, row in zip(direct, answer.rows, strict=True)]
    taken = Counter(found)
    rows = [
        replace(row, name=name if name and taken[name] == 1 else _numbered(row.name, classes)) if not own else row
        for row, own, name in zip(answer.rows, direct, found, strict=True)
    ]
    return replace(answer, rows=tuple(rows))


def _base(name: str) -> str:
    """Return the class of a layer without its dimensions: `Conv` of `Conv2d`."""
    return name[:-2] if name[-3:-2].islower() and name.endswith(("1d", "2d", "3d")) else name


def _types(row: Row) -> frozenset[str]:
    """Return the words for the type of a layer, with which its other names begin."""
    classes = {found[1] for name in row.also_named if (found := _TYPE.match(name))}
    bases = {_base(name) for name in classes}
    words = {word for base in bases for word in _SYNONYMS.get(base, ())}
    return frozenset({name.lower() for name in classes | bases} | words)


def _named_in(cell: str, known: Mapping[str, str], types: Mapping[str, frozenset[str]]) -> str:
    """Return the row whose name is among a cell's words; an empty text if it may be another row, or none."""
    cell = _INDEX.sub(r".\1", cell)
    outside = BRACKETS.sub(" ", cell)
    said = [(word, _row_of(word, known, types)) for word in _WORD.findall(cell)]
    named = {row for _, row in said if row}
    if len(named) != 1:
        return ""
    name = named.pop()
    if any(_row_of(word, known, types) for word in _WORD.findall(outside)):
        said = [(word, _row_of(word, known, types)) for word in _WORD.findall(outside)]
    allowed = types[name] | _LAYER_WORDS
    return name if all(row or _SIZES.fullmatch(word) or plain_name(word) in allowed for word, row in said) else ""


def _row_of(word: str, known: Mapping[str, str], types: Mapping[str, frozenset[str]]) -> str:
    """Return the row that a word (no number, no type) names: `/features/0/Conv` is `features.0`."""
    plain = plain_name(word.replace("/", ".").strip(".*"))
    for name in (plain, plain.rpartition(".")[0]):
        row = known.get(name, "")
        if row and not name.isdecimal() and name not in types[row] and not _TYPE_NUMBER.fullmatch(name):
            return row if name == plain or plain.rpartition(".")[2] in types[row] else ""
    return ""


def _numbered(name: str, classes: Collection[str]) -> str:
    """Return `Conv2d-1` for `Conv2d 1` and `1_Conv2d`; any other name as it is."""
    found = _TYPE_AND_NUMBER.fullmatch(name.strip())
    if found is None:
        return name
    of, number = (found[1], found[2]) if found[1] else (found[4], found[3])
    return f"{of}-{number}" if plain_name(of) in classes else name


def plain_name(name: str) -> str:
    """Return a name in lower case, without its module and without words for a layer: `Conv2d-Schichten`."""
    plain = _LAYERS.sub("", name.strip().lower())
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain


_UNNAMED = "rows bear no name that is asked for; in their order "
_MOSTLY = Fraction(1, 2)
_TOTALS = ("total", "\u5408\u8a08", "\u7e3d", "\u603b", "\u5408\u8ba1")


def named_in_order(answer: Value, expected: Value | None) -> Table | None:
    """Return the table with the expected names in order; None if its rows may be others.

    No name may be an expected one, or the others must be words and no names: `the first of them`. A name of several
    rows names none of them: `ReLU` is no row of the module `relu` alone.
    """
    if not isinstance(answer, Table) or not isinstance(expected, Table):
        return None
    known = {name: own for name, own in names_of(expected).items() if not _TYPE_NUMBER.fullmatch(name)}
    rows = [row for row in answer.rows if not plain_name(row.name).startswith(_TOTALS)]
    called = Counter(plain_name(row.name) for row in rows)
    found = [known.get(plain_name(row.name), "") if called[plain_name(row.name)] == 1 else "" for row in rows]
    words = all(name or " " in row.name.strip() for name, row in zip(found, rows, strict=True))
    if "" not in found or (any(found) and not words):
        return None
    whole = [[row for row in expected.rows if not row.optional], [*expected.rows]]
    meant = [*_abridged_rows(rows, whole)] if answer.abridged else [each for each in whole if len(each) == len(rows)]
    fits = [each for each in meant if all(own in ("", row.name) for own, row in zip(found, each, strict=True))]
    best = max(fits, key=lambda each: sum(map(_agree, rows, each)), default=None)
    if best is None:
        return None
    named = (replace(row, name=wanted.name) for row, wanted in zip(rows, best, strict=True))
    return replace(answer, rows=tuple(named))


def _abridged_rows(rows: Sequence[Row], whole: Sequence[Sequence[Row]]) -> Iterator[list[Row]]:
    """Yield the expected rows that those of an abridged table may be: the first, or the next with equal values."""
    for each in whole:
        rest = iter(each)
        following = [next((wanted for wanted in rest if _agree(row, wanted)), None) for row in rows]
        yield from (
            found for found in ([*each[: len(rows)]], [one for one in following if one]) if len(found) == len(rows)
        )


def _agree(row: Row, wanted: Row) -> bool:
    """Return whether a row has the values of another, as far as it has any."""
    cells = [(cell, wanted.cells.get(column)) for column, cell in row.cells.items() if cell is not None]
    return bool(cells) and all(
        abs(one.value - other.value) <= one.half_unit
        if isinstance(one, Number) and isinstance(other, Number)
        else one == other
        for one, other in cells
    )


def left_in_order(verdict: Verdict, named: Verdict) -> Verdict:
    """Return MANUAL if a table with its rows `named` in order is right, or mostly right if it has no name."""
    if named.credit < (1 if verdict.credit else _MOSTLY):
        return verdict
    reason = _UNNAMED + ("all are right" if named.credit == 1 else "most are right")
    return waiting(reason, named, "rows in their order", named.reason)
