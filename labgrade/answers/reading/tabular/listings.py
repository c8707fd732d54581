"""One-column tables without a header: `Conv2d: 1497352192`, `MACs for [ Conv2d ] layers is 1497352192`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numerals.numbers import as_ascii, find_numbers
from labgrade.answers.reading.plain_values import find_shape
from labgrade.answers.reading.tabular.cells import as_meant, row_name, without_package
from labgrade.answers.reading.tabular.headers import answer_column, column_meant
from labgrade.answers.reading.typed_values import NUMBER_KINDS
from labgrade.answers.reading.words.terms import DIGIT, JOINED, LEFT_OUT, TOTAL
from labgrade.values import Number, Row, Scalar, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import TableType

_LONGEST_LINE = 300
_LONGEST_NAME, _MOST_WORDS = 60, 4
_BRACKETED = re.compile(r"[\[<]\s*([^\[\]<>]{1,60}?)\s*[\]>]")
_SHAPE_CALL = re.compile(r"(?:(?:torch\.)?Size|(?:output[ _]?)?shape)?[\s(:=]*$", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:number|amount|count|of|for|in|the|all|layers?|modules?|ops?|operators?|is|are|has|have|total|in|input)\b",
    re.IGNORECASE,
)
_TYPE = re.compile(r"[(\[]?[A-Z][a-z]\w*[)\]]?:?")
_SEVERAL = re.compile(r"[A-Za-z]\w{1,40}(?:,\s?(?:and\s)?[A-Za-z]\w{1,40}){1,8}")  # a name each, of one value
_OUTPUT = re.compile(
    r"(?<![A-Za-z])(?:output|out)(?:[ _]?(?:shape|size))?[\s:=]*(?:(?:torch\.)?Size\()?$", re.IGNORECASE
)
_LEADS_ON = re.compile(r"(?:[\s:=|>,\u2192~\u2248-]|(?<=\s)[x\u00d7]\s*$)+$")
_ALONE = re.compile(r"[\s*_`~]{0,8}\d[\d., '\u00a0_]{0,40}(?:[kKMGT]i?)?[A-Za-z]{0,6}[\s*_`]{0,8}")
_PARTED = re.compile(r"(?<=[:=|] )\d{1,3}(?:[ \u00a0]\d{3}){1,6}(?=[ \t]*\|?[ \t]*$)")
_RULE = re.compile(r"\s*+(?:[-=*_+\u2500-\u257f\s]++|`{3,}.*|:::.*)$")


def find_listings(lines: list[str], kind: TableType, *, least: int) -> Iterator[tuple[Table, int]]:
    """Yield runs of at least `least` lines with a name and its value, with the number of their first line (from 0).

    A blank line, a rule or a line of totals does not end a run; any other line does.
    """
    rows: list[Row] = []
    header: list[str] = []
    abridged, first = False, 0
    for number, whole in enumerate([*lines, "\0"]):
        line = whole[:_LONGEST_LINE]
        header = line.split("|") if "|" in line and not DIGIT.search(line) and not _RULE.match(line) else header
        row = _row(_of_answer(line, header), kind) if len(whole) < _LONGEST_LINE else None
        if row is not None:
            first = first if rows else number
            rows.append(row)
        elif LEFT_OUT.match(line):
            abridged = bool(rows)
        elif line.strip() and not _RULE.match(line) and not TOTAL.match(row_name(line)):
            if len(rows) >= least:
                yield Table(rows=tuple(_alike(rows, kind)), abridged=abridged), first
            rows, abridged = [], False


def _alike(rows: list[Row], kind: TableType) -> list[Row]:
    """Return the rows, with each number read as its neighbours are."""
    ((column, of),) = kind.columns.items()
    if of not in NUMBER_KINDS:
        return rows
    written = [{column: cell.text if isinstance(cell := row.cells[column], Number) else ""} for row in rows]
    return as_meant(rows, written, dict(kind.columns), {}, listed=True)


def _of_answer(line: str, header: list[str]) -> str:
    """Return a row of several numbers as its name and the number of the answer's column: `now`, `final`.

    Without a number if no column is called so, or several are.
    """
    cells = line.split("|")
    numbers = [place for place, cell in enumerate(cells) if _ALONE.fullmatch(cell)]
    if len(numbers) < 2 or len(cells) != len(header):  # noqa: PLR2004 - several
        return line
    meant = answer_column(header)
    return "|".join(cell for place, cell in enumerate(cells) if place not in numbers or place == meant)


def _row(line: str, kind: TableType) -> Row | None:
    ((column, of),) = kind.columns.items()
    said = _shape(line) if of == "shape" else _number(line, of) if of in NUMBER_KINDS else _text(line)
    if said is None or is_code(line):
        return None
    before, value = said
    name = _name(before, column, kind.row)
    return Row(name=name, cells={column: value}) if name else None


def _number(line: str, kind: str) -> tuple[str, Scalar] | None:
    plain = as_ascii(line)
    parted = _PARTED.search(plain) if kind in ("count", "bytes") else None
    if parted is not None:
        return line[: parted.start()], Number(value=Fraction(re.sub(r"\D", "", parted[0])), text=parted[0].strip())
    found = [each for each in find_numbers(plain, kind) if each.number is not None and each.start > 0]
    found = [each for each in found if kind != "bytes" or not each.noun]  # 5 calls are none
    chosen = next((each for each in found if JOINED.search(plain[: each.start])), found[-1] if found else None)
    if (
        chosen is None
        or chosen.number is None
        or not re.match(r"[^A-Za-z]*(?:\(|[A-Za-z]{1,12}\W*$|$)", plain[chosen.end :])
    ):
        return None
    return line[: chosen.start], chosen.number


def _shape(line: str) -> tuple[str, Scalar] | None:
    """Return the first shape of a line, or the shape that is called the output: `conv1: in [1, 3] out [1, 64]`."""
    found = first = find_shape(line)
    if found is None or first is None:
        return None
    while not _OUTPUT.search(line[: found[1]]) and (later := find_shape(line, found[2])) is not None:
        found = later
    chosen = found if _OUTPUT.search(line[: found[1]]) else first
    return (_SHAPE_CALL.sub("", line[: first[1]]), chosen[0])


def _text(line: str) -> tuple[str, Scalar] | None:
    name, separator, value = as_ascii(line).partition(":")
    return (name, value.strip()) if separator and value.strip() else None


def _name(before: str, column: str, row: str) -> str:
    """Return the row's name before its value; an empty text if that is prose, a total or only the column's word."""
    before = without_package(before)
    if TOTAL.match(row_name(before)):
        return ""
    bracketed = _BRACKETED.search(before)
    if bracketed is not None:
        return row_name(bracketed[1])
    name = row_name(_LEADS_ON.sub("", as_ascii(before).rstrip("*` ")))
    if _SEVERAL.fullmatch(name):
        return name
    words = [word for word in _FILLER.sub(" ", name).split() if column_meant(word.strip(":(),"), [column]) is None]
    short = 0 < len(words) <= _MOST_WORDS and len(name) <= _LONGEST_NAME
    return " ".join(_named(words, row)).strip(" :*`,'\"") if short else ""


def _named(words: list[str], row: str) -> list[str]:
    """Return the part of a text that names the row, without a type or a description: `conv1 (Conv2d)`."""
    types = [word for word in words if _TYPE.fullmatch(word)]
    if row in ("type", "operator"):
        return [word.strip("()[]") for word in types] if len(types) == 1 else words
    return [word for word in words if word not in types] or words if len(types) == 1 else words
