"""Dictionaries and lists as Python or JSON prints them: `{'conv1': [1, 64]}`, `Counter({'Conv2d': 57})`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from labgrade.answers import python
from labgrade.answers.code import is_code
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.values import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.forms import TableType

_LARGEST = 200_000
_MOST_PLACES = 20
_OPENS = re.compile(r"(?<![\w\]}\"'^_\\{$])[{](?=\s{0,80}[\"'])|^\s{0,8}\[(?=\s{0,80}\{)", re.MULTILINE)
_BRACKET = re.compile(r"""[\[\](){}]|"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"|'[^'\\\n]*+(?>(?:\\.[^'\\\n]*+)*)'""")
_REACH = 400
_KIND = re.compile(r"(?:Counter|OrderedDict|dict|defaultdict)\((?:<class '\w{1,20}'>,\s{0,3})?$")
_WRAPPED = re.compile(r"\b(?:torch\.Size|(?:np|numpy)\.\w{1,12}|OrderedDict|defaultdict|Counter|tensor)\(")


def find_printed(text: str, kind: TableType) -> Iterator[tuple[Table, int, int]]:
    """The tables that a text prints as a dictionary or a list of dictionaries, with the place of each.

    What is assigned to a variable, returned or passed on is code. Reads at most 200,000 characters from each of the
    first 20 places where a table may begin.
    """
    position = 0
    for _ in range(_MOST_PLACES):
        match = _OPENS.search(text, position)
        if match is None:
            return
        end = _closing(text, match.end() - 1)
        position = match.end()
        if _in_code(text, match.start()):
            continue
        plain = _read(text[match.end() - 1 : end]) if end is not None else None
        if not plain:
            continue
        try:
            table = as_value(plain, kind)
        except WrongTypeError:
            continue
        if isinstance(table, Table) and end is not None:
            yield table, match.end() - 1, end
            position = end


def _in_code(text: str, position: int) -> bool:
    before = text[max(0, position - _REACH) : position].rpartition("\n")[2]
    before = _KIND.sub("", before)
    return before.rstrip().endswith(("=", "(", "return")) or is_code(before)


def _closing(text: str, position: int) -> int | None:
    """Behind the bracket that closes the one at `position`."""
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
    return python.literal(_WRAPPED.sub("(", written))
