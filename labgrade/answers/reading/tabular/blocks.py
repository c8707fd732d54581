"""A table as a block of lines for each row: `Layer fc1:`, and below it `MACs = 10 * 20 = 200` and `FLOPs = 400`.

Or as a line for each row, or several in a line: `Layer fc1: MACs = 200, FLOPs = 400`; `fc1: 200 MACs, 400 FLOPs; ...`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.numerals.numbers import as_ascii
from labgrade.answers.reading.tabular.cells import cell_value, row_name
from labgrade.answers.reading.tabular.headers import column_meant
from labgrade.answers.reading.typed_values import NUMBER_KINDS, WrongTypeError
from labgrade.answers.reading.words.terms import TOTAL
from labgrade.values import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.core.task import TableType
    from labgrade.values import Scalar

_LONGEST_LINE = 300
_PAIR = re.compile(r"[\s>*+`|-]*([A-Za-z][\w #*-]{0,30}?)[\s*`]*[:=](?!=)\s*(\S.*)$")
_NAMED = re.compile(
    r"[\s>#*+`|-]*(?:(?:layer|module|node|operator)\s+)?([\w.]{1,60}(?:\s*\([\w.]{1,40}\))?)[\s*`]*:?[\s*`]*$",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"(?:^[\s>*+|-]*|(?<=[;,.\u3002])\s*)(?:(?:layer|module|node|operator)\s+)?([A-Za-z0-9][\w.]{0,60}(?:\s?\([\w.]{1,40}\))?)"
    r"[\s*`]{0,3}(?::|->|\s-)[\s*`]{0,4}(?=[A-Za-z\d])",
    re.IGNORECASE,
)
_PIECES = re.compile(r"[;\u3001\u3002]|,(?!\d{3}(?!\d))|\band\b|\.\s|\.$")
_BEFORE_NAME = re.compile(r"([\d][\d\s,.]{0,30}(?:(?:[kKMG]|million|billion)(?![A-Za-z]))?)\s*([A-Za-z][\w -]{0,30})$")
_LEAST = 2  # rows of a table


def find_blocks(lines: Sequence[str], kind: TableType) -> Iterator[tuple[Table, int]]:
    """Yield the tables with a block of lines for each row, and their first lines; a row needs all columns."""
    if len(kind.columns) < _LEAST or not set(kind.columns.values()) <= set(NUMBER_KINDS):
        return
    rows: list[Row] = []
    first, name, begun = 0, "", 0
    cells: dict[str, Scalar | None] = {}
    for number, line in enumerate([*lines, "\0"]):
        said = _said(line, kind) if name else None
        whole = list(_whole_rows(line, kind)) if said is None else []
        if whole:
            first = first if rows else number
            rows, name, cells = [*rows, *whole], "", {}
        elif said is not None and said[0] not in cells:
            cells[said[0]] = said[1]
            if len(cells) == len(kind.columns):
                first = first if rows else begun
                rows.append(Row(name=name, cells={column: cells[column] for column in kind.columns}))
                name, cells = "", {}
        elif line.strip() and not (said is not None and TOTAL.match(line)):
            heads = _heads(line)
            if not heads and len(rows) >= _LEAST:
                yield Table(rows=tuple(rows)), first
            rows = rows if heads else []
            name, begun, cells = heads, number, {}


def _whole_rows(line: str, kind: TableType) -> Iterator[Row]:
    """Yield the rows of a line, each with its name and a value for every column."""
    plain = as_ascii(line)
    if len(line) >= _LONGEST_LINE or is_code(line) or line.lstrip().startswith("|"):
        return
    begins = [each for each in _ROW.finditer(plain) if column_meant(each[1], kind.columns) is None]
    ends = [*(each.start() for each in begins[1:]), len(plain)]
    for begin, behind in zip(begins, ends, strict=False):
        told: dict[str, Scalar | None] = {}
        for piece in _PIECES.split(plain[begin.end() : behind]):
            turned = _BEFORE_NAME.fullmatch(piece.rpartition("=")[2].strip(" *`"))
            said = _said(f"{turned[2]}: {turned[1]}" if turned else piece, kind)
            told |= dict([said]) if said is not None and said[0] not in told else {}
        if len(told) == len(kind.columns) and not TOTAL.match(begin[1]):
            yield Row(name=row_name(begin[1]), cells={column: told[column] for column in kind.columns})


def _said(line: str, kind: TableType) -> tuple[str, Scalar | None] | None:
    """Return the column that a line is about, and its value, which is behind the last `=`."""
    pair = _PAIR.match(line) if len(line) < _LONGEST_LINE and not is_code(line) else None
    column = column_meant(pair[1], kind.columns) if pair is not None and not TOTAL.match(pair[1]) else None
    if pair is None or column is None:
        return None
    try:
        return column, cell_value(pair[2].rpartition("=")[2].strip(" *`.;,"), kind.columns[column])
    except WrongTypeError:
        return None


def _heads(line: str) -> str:
    """Return the name of the row that a line begins; an empty text if it begins none."""
    named = _NAMED.match(line) if len(line) < _LONGEST_LINE else None
    return row_name(named[1]) if named is not None and not TOTAL.match(named[1]) else ""
