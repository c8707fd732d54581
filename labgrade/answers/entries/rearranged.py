"""Tables and counts that an entry holds in another arrangement: as text, as columns, as a list of pairs or mappings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers, read_number
from labgrade.answers.reading.plain_values import ARROW, factor_of, find_shapes, read_shape
from labgrade.answers.reading.tabular.headed import TableFound
from labgrade.answers.reading.tabular.headers import column_meant, names_rows
from labgrade.answers.reading.tabular.tables import find_tables
from labgrade.answers.reading.words.terms import TOTAL
from labgrade.core.task import TableType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.values import Number

COUNTS = TableType(row="name", columns={"count": "count"})
_MOST_TEXT = 100_000
_MOST_PIECES = 2_000
_LONGEST_PIECE = 200
_PARTED = re.compile(
    r"\n|;|\u3001|\||\s[/+&]\s|,(?=\s*[^\s\d])|,(?=\s)|(?:(?<=[\d)\]])\s+|,?\s+(?=\w{1,3}\s+\d))(?:and|und|et|y|e)\s+"
)
_BETWEEN = r"[\s:=(\[\u00d7*\->\u2192]{1,6}(?:[x\u00d7]\s?)?"
_NAME = r"[^\W\d][\w./:-]{0,80}?"
_NAME_FIRST = re.compile(rf"\W{{0,4}}(?P<name>{_NAME}){_BETWEEN}(?P<number>\d[\d,._]*)[\s)\]]*")
_NUMBER_FIRST = re.compile(rf"\W{{0,4}}(?P<number>\d[\d,._]*)\s?(?:[x\u00d7*]\s)?\s?[(\[]?(?P<name>{_NAME})[)\]]?\s*")
_SPACED_PAIR = re.compile(r"[^\W\d][\w./-]{0,80}[\s:=]{1,6}\d[\d,._]*(?!\S)")
_SPACED = re.compile(rf"(?:{_SPACED_PAIR.pattern}\s*){{2,2000}}")


def joined(plain: Sequence[object]) -> dict[str, object] | None:
    """Return a list of mappings with one entry each, `[{total: 5}, {types: 2}]`, as one mapping; else None."""
    pairs = [pair for each in plain if isinstance(each, dict) and len(each) == 1 for pair in each.items()]
    whole = {str(key): value for key, value in pairs}
    return whole if pairs and len(whole) == len(plain) else None


def forms(plain: object, table: TableType) -> Iterator[object]:
    """Yield the tables that plain data may be, for `as_value` to accept or refuse."""
    if isinstance(plain, str):
        yield from _of_text(plain, table)
    elif isinstance(plain, list | tuple):
        yield from _of_list(plain, table)
    elif isinstance(plain, dict):
        yield from _of_columns(plain, table)
        if len(plain) == 1:
            (inner,) = plain.values()
            if isinstance(inner, dict | list | tuple | str):
                yield inner
                yield from forms(inner, table)


def _of_list(plain: Sequence[Any], table: TableType) -> Iterator[object]:
    """Yield a list as one mapping, as lines of a text, as names beside numbers, or with another word for the name."""
    if (whole := joined(plain)) is not None:
        yield whole
    if plain and all(isinstance(each, str) for each in plain):
        yield from _of_text("\n".join(plain), table)
    match plain:
        case [[*names], [*numbers]] if len(names) == len(numbers) and {*map(type, names)} == {str}:
            yield dict(zip(names, numbers, strict=True))
    if (named := _named_by(plain, table)) is not None:
        yield named


def _of_text(text: str, table: TableType) -> Iterator[object]:
    """Yield the rows of a text: a name and a number each, else a printed table."""
    text = text[:_MOST_TEXT]
    if len(table.columns) == 1 and "shape" not in table.columns.values() and (pairs := _pairs(text)) is not None:
        yield pairs
    found = [each.table for each in find_tables(text, 0, len(text), table) if isinstance(each, TableFound)]
    if found:
        yield max(found, key=lambda each: len(each.rows))


def _pairs(text: str) -> dict[str, object] | None:
    """Return the names and numbers of `Conv: 4, MaxPool: 2`, `52 Conv / 35 Clip`; None unless each piece has both."""
    plain = as_ascii(text).replace("'", "").replace('"', "")
    pieces = [each.strip(" \t.{}") for each in _PARTED.split(plain, _MOST_PIECES)]
    pieces = [piece for piece in pieces if piece and not TOTAL.match(piece)]
    if len(pieces) == 1 and _SPACED.fullmatch(pieces[0]):  # as YAML folds lines
        pieces = [match[0] for match in _SPACED_PAIR.finditer(pieces[0]) if not TOTAL.match(match[0])]
    found: dict[str, object] = {}
    for piece in pieces:
        named = _NAME_FIRST.fullmatch(piece[:_LONGEST_PIECE]) or _NUMBER_FIRST.fullmatch(piece[:_LONGEST_PIECE])
        value = read_number(named["number"], "count") if named else None
        if named is None or value is None or named["name"] in found:
            return None
        found[named["name"]] = value
    return found or None


def _named_by(rows: Sequence[Any], table: TableType) -> list[object] | None:
    """Return rows named by the only key that has a different text in each of them."""
    if not rows or not all(isinstance(each, dict) for each in rows):
        return None
    shared = set.intersection(*(set(each) for each in rows))
    own = [
        key
        for key in rows[0]
        if key in shared
        and column_meant(str(key), table.columns) is None
        and len({each[key] for each in rows if isinstance(each[key], str)}) == len(rows)
    ]
    return [{**each, table.row: each[own[0]]} for each in rows] if len(own) == 1 else None


def _of_columns(plain: Mapping[Any, Any], table: TableType) -> Iterator[object]:
    """Yield the rows of columns, as pandas writes a frame: lists of one length, or mappings with the same names."""
    columns = list(plain.values())
    if len(columns) > 1 and all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns):
        rows = [dict(zip(plain, cells, strict=True)) for cells in zip(*columns, strict=True)]
        named = any(str(key) == table.row or names_rows(str(key), table.row) for key in plain)
        yield rows if named else _named_by(rows, table)
    elif columns and all(isinstance(each, dict) and each.keys() == columns[0].keys() for each in columns):
        turned = {name: {key: plain[key][name] for key in plain} for name in columns[0]}
        named = any(str(key) == table.row or names_rows(str(key), table.row) for key in plain)
        yield list(turned.values()) if named else turned


Shape: TypeAlias = "tuple[int, ...]"

_LONGEST_SHAPE, _MOST_DIMENSIONS = 1_000, 16
_OTHER = re.compile(
    r"[\d+\u2260?]|\b(?:not?|or|but|instead|except|should|each|per|nicht|oder|sondern|statt|je)\b|\u4e0d|\u6216",
    re.IGNORECASE,
)


def shapes_meant(plain: object) -> tuple[list[Shape], bool] | None:
    """Return the shapes that may be meant, likeliest first, and whether that one is certain; None if there are none."""
    if isinstance(plain, int) and not isinstance(plain, bool):
        return [(plain,)], True
    if isinstance(plain, str):
        return _shape_of_text(as_ascii(plain)) if len(plain) <= _LONGEST_SHAPE else None
    if isinstance(plain, dict):
        values = list(plain.values())
        if len(values) == 1 and values[0] is not None:
            return _shape_of_list(values[0]) if isinstance(values[0], list | tuple) else shapes_meant(values[0])
        sizes = _sizes([*plain] if is_in_braces(plain) else values)
        return ([sizes], False) if sizes else None
    return _shape_of_list(plain) if isinstance(plain, list | tuple) else None


def is_in_braces(plain: object) -> bool:
    """Return whether a value is `{3, 1000}`: to YAML that is names without values, where equal ones become one."""
    return isinstance(plain, dict) and all(each is None for each in plain.values()) and _sizes([*plain]) is not None


def _shape_of_list(plain: Sequence[object]) -> tuple[list[Shape], bool] | None:
    """Return the shapes of a list of texts: sizes, or several shapes, any of which may be meant."""
    if (sizes := _sizes(plain)) is not None:
        return [sizes], True
    if len(plain) == 1:
        return shapes_meant(plain[0])
    inner = [_sizes(each) for each in plain if isinstance(each, list | tuple)]
    shapes = [each for each in inner if each is not None]
    return ([*dict.fromkeys(shapes)], False) if len(shapes) == len(plain) > 0 else None


def _sizes(plain: Sequence[object]) -> Shape | None:
    """Return whole numbers, each by itself or as a text."""
    found = [_size(each) for each in plain[: _MOST_DIMENSIONS + 1]]
    sizes = [each for each in found if each is not None]
    return tuple(sizes) if 0 < len(sizes) == len(plain) <= _MOST_DIMENSIONS else None


def _size(plain: object) -> int | None:
    if isinstance(plain, int) and not isinstance(plain, bool):
        return plain
    number = read_number(plain, "count") if isinstance(plain, str) and len(plain) <= _LONGEST_SHAPE else None
    return int(number.value) if number is not None and number.value.denominator == 1 else None


def _shape_of_text(text: str) -> tuple[list[Shape], bool] | None:
    """Return the shapes of a text, the last behind an arrow first; else its numbers, one for each dimension."""
    if (whole := read_shape(text)) is not None:
        return [whole], True
    found = list(find_shapes(text))
    if not found:
        numbers: list[Number | None] = [each.number for each in find_numbers(text, "count")]
        sizes = tuple(int(each.value) for each in numbers if each is not None and each.value.denominator == 1)
        return ([sizes], False) if 1 < len(sizes) == len(numbers) <= _MOST_DIMENSIONS else None
    arrows = [arrow.end() for arrow in ARROW.finditer(text)]
    behind = [shape for shape, start, _ in found if arrows and start >= arrows[-1]]
    factors = [(shape, factor_of(text, start, end)) for shape, start, end in found]
    several = [(factor * shape[0], *shape[1:]) for shape, factor in factors if factor > 1]
    rest = text
    for _, start, end in reversed(found):
        rest = rest[:start] + rest[end:]
    distinct = [*dict.fromkeys([*behind, *(shape for shape, _, _ in found), *several])]
    return distinct, len(distinct) == 1 and not _OTHER.search(rest)
