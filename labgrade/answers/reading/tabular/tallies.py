"""A table that counts things by their type, of a listing with a line for each thing: `ReLU | ReLU | False`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.reading.tabular.cells import row_name
from labgrade.answers.reading.tabular.headers import column_meant, is_about, names_rows, plain_word
from labgrade.answers.reading.tabular.splits import grids
from labgrade.answers.reading.words.vocabulary import known_words
from labgrade.values import Number, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labgrade.core.task import TableType

_YES, _NO = frozenset(known_words("says_yes")), frozenset(known_words("says_no"))
_NOT = "un"  # before the word of a column: what is not so
_TOTALS = ("total", "count")
_AFTER = re.compile(r"new|after|quanti[sz]ed|neu|nach|[新後后]", re.IGNORECASE)
_TYPE = re.compile(r"type|class|typ\b|klasse|類型|类型", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Things:
    """Where a line of a listing has a thing's type, and whether it counts: by a flag, or by two different types."""

    type_at: int
    flag_at: int | None
    after_at: int | None

    def counted(self, pieces: list[str]) -> bool | None:
        """Return whether the thing of a line counts; None if the line does not say."""
        if self.flag_at is None:
            return row_name(pieces[self.type_at]) != row_name(pieces[self.after_at or 0])
        said = pieces[self.flag_at].strip(" *`_").lower()
        return said in _YES if said in _YES | _NO else None


def find_tallies(lines: list[str], kind: TableType) -> Iterator[tuple[Table, int]]:
    """Yield the tables that count the things of listings, with the number of each one's header.

    The spec has a column and its opposite, `changed` and `unchanged`, and perhaps one for how many there are.
    """
    flag = next((each for each in kind.columns if f"{_NOT}{each}" in kind.columns), None)
    rest = [each for each in kind.columns if each not in (flag, f"{_NOT}{flag}")]
    if flag is None or len(rest) > 1 or any(plain_word(each) not in _TOTALS for each in rest):
        return
    for first, (header, *rows) in grids(lines):
        things = _heads(header, kind, flag)
        # pandas begins a line with a number of its own
        below = [row[1:] if len(row) > len(header) and row[0].isdecimal() else row for row in rows]
        if things is not None and below and all(len(row) == len(header) for row in below):
            told = [(row_name(each[things.type_at]), things.counted(each)) for each in below]
            if all(counted is not None for _, counted in told):
                yield Table(rows=tuple(_rows(told, flag, rest))), first


def _heads(pieces: list[str], kind: TableType, flag: str) -> _Things | None:
    """Return the places in a listing's lines, as its header says; None if it heads none."""
    flagged = [place for place, each in enumerate(pieces) if column_meant(each.strip(" ?"), [flag]) == flag]
    types = [place for place, each in enumerate(pieces) if _names_type(each, kind.row)]
    before = [place for place in types if not _AFTER.search(pieces[place])]
    after = [place for place in types if _AFTER.search(pieces[place])]
    if not before or not (flagged or len(after) == 1):
        return None
    own = [place for place in before if is_about(pieces[place], kind.row)] or before
    return _Things(
        type_at=own[0],
        flag_at=flagged[0] if flagged else None,
        after_at=after[0] if after else None,
    )


def _names_type(header: str, row: str) -> bool:
    return bool(_TYPE.search(header)) and (names_rows(header, row) or len(header.split()) <= 3)  # noqa: PLR2004 - words


def _rows(told: Sequence[tuple[str, bool | None]], flag: str, rest: Sequence[str]) -> Iterator[Row]:
    totals, counted = Counter(name for name, _ in told), Counter(name for name, said in told if said)
    for name, total in totals.items():
        cells = {flag: counted[name], f"{_NOT}{flag}": total - counted[name], **dict.fromkeys(rest, total)}
        yield Row(name=name, cells={each: Number(value=Fraction(n), text=str(n)) for each, n in cells.items()})


_GRAPH = re.compile(  # of Graph.print_tabular()
    r"^[ \t>|]*opcode[ \t|]+name[ \t|]+target\b.*\n(?:[ \t|:+=-]*\n)?"
    r"((?:[ \t>|]*(?:placeholder|get_attr|call_function|call_module|call_method|output)\b.*(?:\n|\Z))+)",
    re.MULTILINE,
)
_OPCODE = re.compile(r"^[ \t>|]*(\w+)", re.MULTILINE)


def find_graphs(text: str, kind: TableType) -> Iterator[tuple[Table, int, int]]:
    """Yield how many nodes of each kind a graph printed by torch.fx has, with the place of the graph."""
    if list(kind.columns.values()) != ["count"]:
        return
    (column,) = kind.columns
    for graph in _GRAPH.finditer(text):
        counts = Counter(_OPCODE.findall(graph[1])).items()
        rows = (Row(name=name, cells={column: Number(value=Fraction(count))}) for name, count in counts)
        yield Table(rows=tuple(rows)), graph.start(), graph.end()
