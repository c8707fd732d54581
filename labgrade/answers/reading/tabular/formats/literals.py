"""Tables that a text prints as Python or JSON does: dictionaries, counters, lists of rows, of names and of numbers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading import code
from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.tabular.headers import column_meant, names_rows
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.answers.reading.words.terms import TOTAL
from labgrade.values import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.task import TableType

_LARGEST = 200_000
_MOST_IN_VAIN = 1_000_000  # characters that are looked through and hold no table
_DEEPEST = 4
_REACH = 400
_OPENS = re.compile(r"(?<![\w\]}\"'^_\\{$])[{](?=\s{0,80}[\"'<A-Za-z(])|(?<![\w\])}])[\[(](?=\s{0,80}[\"'\[({])")
_BRACKET = re.compile(r"""[\[\](){}]|"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"|'[^'\\\n]*+(?>(?:\\.[^'\\\n]*+)*)'""")
_CALLED = re.compile(r"(?:Counter|OrderedDict|dict|defaultdict|dict_items)\((?:<class '\w{1,20}'>,\s{0,3})?$")
_CALL = re.compile(
    r"\b(?:torch\.Size|(?:np|numpy)\.\w{1,12}|OrderedDict|defaultdict|Counter|tensor|dict_(?:items|keys|values))\("
    r"(?:<(?:class|function) [^<>\n]{1,60}>,\s{0,3})?"
)
_CLASS = re.compile(r"<class '(?:\w{1,60}\.){0,8}(\w{1,60})'>")
_BARE_KEY = re.compile(r"(?<=[{,])(\s{0,80})([A-Za-z_][\w.:/#-]{0,80})(?=\s{0,4}:\s)")
_BETWEEN = re.compile(r"[\s,;:=]{0,20}(?:[^\W\d]\w{0,30}[\s:=]{1,3}){0,3}")
_ONE_A_LINE = re.compile(r",?[ \t]{0,20}\n[ \t>]{0,20}(?=[\[({])")
_NUMBERS = re.compile(r"\[\s{0,20}\d[\d,_.\se+]{0,20000}\]")


def find_literals(text: str, kind: TableType) -> Iterator[tuple[Table, int, int]]:
    """Yield the tables that a text prints as literals, each with its start and end.

    Values that are assigned to a variable, returned or passed on are code. Literals of one kind on a line each are the
    rows of one table. 200,000 characters of a literal are read.
    """
    position = spent = 0
    while spent < _MOST_IN_VAIN and (match := _OPENS.search(text, position)) is not None:
        position = match.end()
        if _in_code(text, match.start()):
            continue
        end = _closing(text, match.start())
        plain = _read(text[match.start() : end]) if end is not None else None
        if end is not None and _are_names(plain) and (numbers := _numbers_behind(text, end)) is not None:
            plain, end = _paired(plain, numbers[0]), numbers[1]
        rows = [plain]
        while end is not None and plain is not None and (more := _next(text, end, type(plain))) is not None:
            rows.append(more[0])
            end = more[1]
        found = (_as_table(rows, kind) if rows[1:] else None) or _as_table(plain, kind)
        if found is not None and end is not None:
            yield found, match.start(), end
            position = end
        else:
            spent += (end or match.start() + _LARGEST) - match.start()


def _next(text: str, end: int, of: type) -> tuple[object, int] | None:
    """Return the literal of the same type that follows on its own line, and its end."""
    between = _ONE_A_LINE.match(text, end)
    behind = _closing(text, between.end()) if between is not None else None
    plain = _read(text[between.end() : behind]) if between is not None and behind is not None else None
    return (plain, behind) if behind is not None and isinstance(plain, of) else None


def as_tables(plain: object, kind: TableType) -> Table | None:
    """Return the table that plain data is or holds, under the key for it or the only possible one; else None."""
    return _as_table(plain, kind)


def _as_table(plain: object, kind: TableType, depth: int = 0) -> Table | None:
    for each in _forms(plain, kind):
        try:
            table = as_value(each, kind)
        except WrongTypeError:
            continue
        if isinstance(table, Table) and table.rows:
            return _without_totals(table)
    held = list(plain.values()) if isinstance(plain, dict) and depth < _DEEPEST else []
    inner = [
        each for value in held if isinstance(value, dict | list | tuple) and (each := _as_table(value, kind, depth + 1))
    ]
    return inner[0] if len(inner) == 1 else None


def _forms(plain: object, kind: TableType) -> Iterator[object]:
    """Yield plain data in the ways in which tables are written: as it is, as lists of columns, with a header row."""
    if isinstance(plain, dict):
        columns = {key: list(value.values()) if isinstance(value, dict) else value for key, value in plain.items()}
        lists = (
            all(isinstance(value, list | tuple) for value in columns.values())
            and len(set(map(len, columns.values()))) == 1
        )
        names = [key for key in columns if names_rows(str(key), kind.row)]
        if names and lists and any(column_meant(str(key), kind.columns) for key in columns):
            yield [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        elif not _holds_answers(plain, kind):
            yield plain
    elif isinstance(plain, list | tuple) and plain:
        rows = [row for row in plain if isinstance(row, list | tuple | dict)]
        if len(rows) < len(plain):
            return
        head = plain[0]
        if isinstance(head, list | tuple) and any(names_rows(str(each), kind.row) for each in head):
            yield [dict(zip(map(str, head), row, strict=False)) for row in plain[1:]]
        named = [row for row in rows if isinstance(row, dict) and any(names_rows(str(key), kind.row) for key in row)]
        yield named if len(named) > 1 else plain
        if all(isinstance(row, list | tuple) and len(row) == 2 and isinstance(row[1], str) for row in plain):  # noqa: PLR2004
            yield [(row[1], row[0]) for row in plain]


def _holds_answers(plain: dict[Any, Any], kind: TableType) -> bool:
    """Return whether a dictionary is no table but holds answers: `{"total": 5, "by_type": {"Conv2d": 4}}`."""
    values = plain.values()
    if any(isinstance(each, list) and each and isinstance(each[0], dict) for each in values):
        return True
    rows = [each for each in values if isinstance(each, dict) and each]
    return bool(rows) and not any(column_meant(str(key), kind.columns) for row in rows for key in row)


def _without_totals(table: Table) -> Table | None:
    rows = tuple(row for row in table.rows if not TOTAL.match(row.name))
    return Table(rows=rows, abridged=table.abridged) if rows else None


def _are_names(plain: object) -> bool:
    return isinstance(plain, list | tuple) and len(plain) > 1 and all(isinstance(each, str) for each in plain)


def _numbers_behind(text: str, end: int) -> tuple[object, int] | None:
    """Return the list of numbers that follows a list of names, and its end."""
    between = _BETWEEN.match(text, end)
    match = _NUMBERS.match(text, between.end() if between else end)
    return (_read(match[0]), match.end()) if match else None


def _paired(names: Any, numbers: Any) -> object:
    same = isinstance(numbers, list) and len(names) == len(numbers)
    return list(zip(names, numbers, strict=True)) if same else names


def _in_code(text: str, position: int) -> bool:
    before = text[max(0, position - _REACH) : position].rpartition("\n")[2]
    before = _CALLED.sub("", before)
    return before.rstrip().endswith(("=", "(", "return", "import")) or is_code(before)


def _closing(text: str, position: int) -> int | None:
    """Return the position behind the bracket that closes the one at `position`."""
    depth = 0
    for match in _BRACKET.finditer(text, position, position + _LARGEST):
        depth += (match[0] in "[({") - (match[0] in "])}")
        if depth == 0:
            return match.end()
    return None


def _read(written: str) -> object:
    for read in (json.loads, _from_python):
        try:
            return read(written)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def _from_python(written: str) -> object:
    plain = _CLASS.sub(r"'\1'", _CALL.sub("(", written))
    return code.literal(_BARE_KEY.sub(r"\1'\2'", plain))
