"""Tables as people print them: torchinfo, torchsummary, Markdown, CSV, boxes, columns of blanks, `name: value`."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.find_words import find_words
from labgrade.answers.reading.tabular.blocks import find_blocks
from labgrade.answers.reading.tabular.formats.literals import find_literals
from labgrade.answers.reading.tabular.formats.records import find_in_line, find_records
from labgrade.answers.reading.tabular.headed import TableFound, TableProblem, below_headers, headless
from labgrade.answers.reading.tabular.headers import (
    with_index_named,
)
from labgrade.answers.reading.tabular.listings import find_listings
from labgrade.answers.reading.tabular.splits import (
    turned,
    unwrapped,
)
from labgrade.answers.reading.tabular.studies import find_runs
from labgrade.answers.reading.tabular.tallies import find_graphs, find_tallies
from labgrade.answers.reading.words.terms import INK, PIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from labgrade.core.task import TableType

Splitter: TypeAlias = "Callable[[str], list[str]]"

_BEHIND_WORDS = re.compile(r"[\s:=*_`]{0,20}(?:\w{1,20}\()?\{")
_WITHOUT_BRACES = re.compile(r"(?:\w{1,20}\()?\{[^\n]*")
_FENCE, _TREE = re.compile(r"[ \t]*(?:`{3,}|~{3,})"), re.compile(r"[ \t|]*[\u2500-\u257f]")
_MOST_BETWEEN = 8  # lines
_MOST_TEXT = 4_000_000
_MOST_LINES = 100_000
_MOST_PLACES = 50
_TWO_CELLS = 3  # pipes of a line
_LONGEST_LINE = 2_000


def find_tables(
    text: str, start: int, end: int, kind: TableType, *, words: str | None = None
) -> list[TableFound | TableProblem]:
    """Return the tables of that kind in a part of a text; with `words`, only the first one behind each place of them.

    At most 4,000,000 characters and 100,000 lines of each part are read.
    """
    if words is None:
        return _tables(text, start, end, kind)
    found: list[TableFound | TableProblem] = []
    for place, match in enumerate(find_words(words, text, start, end)):
        line_start = text.rfind("\n", max(0, match.start() - _LONGEST_LINE), match.start()) + 1
        line_end = text.find("\n", match.end(), match.end() + _LONGEST_LINE)
        if place == _MOST_PLACES:
            break
        behind = _BEHIND_WORDS.match(text, match.end())
        written = text[line_start : line_end if line_end != -1 else match.end() + _LONGEST_LINE]
        if (line_end == -1 and behind is None) or is_code(_WITHOUT_BRACES.sub("", written)):
            continue
        if behind is not None:
            opens = behind.end() - 1
            found += _without_header(text[opens : min(end, opens + _MOST_TEXT)], opens, kind, 1)[:1]
        else:
            found += _tables(text, line_end + 1, end, kind, least=1)[:1]
    return found


def find_every(text: str, start: int, end: int, kind: TableType) -> list[TableFound]:
    """Return all that may be a table of that kind, in any form; a table may be found twice."""
    lines, starts, region = _split(text, start, end, kind)
    rows, _ = below_headers(lines, kind, starts)
    more = [*_runs(lines, kind, starts), *_of_lines(lines, kind, starts), *_without_header(region, start, kind, 2)]
    records = [find(region, kind) for find in (find_records, find_in_line)] if kind.sparse else []
    found = [*rows, *more, *headless(lines, kind, starts)]
    found += [TableFound(table=each, position=start) for each in records if each is not None]
    return [each for each in found if isinstance(each, TableFound)]


def _split(text: str, start: int, end: int, kind: TableType) -> tuple[list[str], list[int], str]:
    """Return the lines of a part of a text, their places, and the whole."""
    region = text[start : min(end, start + _MOST_TEXT)].translate(PIPES)
    lines = region.split("\n", _MOST_LINES)[:_MOST_LINES]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=start))
    between = set(_between_pages(lines))
    kept = [at for at in range(len(lines)) if at not in between]
    lines, starts = [lines[at] for at in kept], [starts[at] for at in kept]
    return with_index_named(unwrapped(lines), kind.row), starts, region


def _between_pages(lines: list[str]) -> Iterator[int]:
    """Yield the lines between two pages of a tree: fences, and words such as `Page 2 of 3`."""
    for at in (at for at, line in enumerate(lines) if at and _FENCE.match(line) and _TREE.match(lines[at - 1])):
        behind = next((to for to in range(at, min(at + _MOST_BETWEEN, len(lines))) if _TREE.match(lines[to])), at)
        if not any(line.lstrip().startswith(("#", "|")) for line in lines[at:behind]):
            yield from range(at, behind)


def _tables(text: str, start: int, end: int, kind: TableType, *, least: int = 2) -> list[TableFound | TableProblem]:
    lines, starts, region = _split(text, start, end, kind)
    found, lacking = below_headers(lines, kind, starts)
    found = _fuller(_runs(lines, kind, starts), found)
    found = found or _of_lines(lines, kind, starts) or _without_header(region, start, kind, least)
    return found or lacking or headless(lines, kind, starts)


def _runs(lines: list[str], kind: TableType, starts: list[int]) -> list[TableFound]:
    return (
        [TableFound(table=table, position=starts[first]) for table, first in find_runs(lines, kind)]
        if kind.sparse
        else []
    )


def _of_lines(lines: list[str], kind: TableType, starts: list[int]) -> list[TableFound | TableProblem]:
    """Return tables with a block of lines for each row, with a line for each thing counted, or transposed."""
    others = (*find_tallies(lines, kind), *find_blocks(lines, kind))
    found: list[TableFound | TableProblem] = [
        TableFound(table=table, position=starts[first], about=True) for table, first in others
    ]
    for first, side in turned(lines):
        read, _ = below_headers(side, kind, [starts[first]] * len(side))
        found += [each for each in read if isinstance(each, TableFound) and len(each.table.rows) > 1]
        if side[0].count("|") == _TWO_CELLS and len(kind.columns) == 1 and "text" not in kind.columns.values():
            found += [
                TableFound(table=table, position=starts[first]) for table, _ in find_listings(side, kind, least=2)
            ]
    return found


def _fuller(runs: list[TableFound], rows: list[TableFound | TableProblem]) -> list[TableFound | TableProblem]:
    """Return the tables read run by run, if they fill more columns than those read row by row."""
    filled = [
        max((sum(cell is not None for row in each.table.rows[:1] for cell in row.cells.values())) for each in tables)
        if (tables := [each for each in some if isinstance(each, TableFound)])
        else 0
        for some in (runs, rows)
    ]
    return list(runs) if filled[0] > filled[1] else rows


def _without_header(region: str, start: int, kind: TableType, least: int) -> list[TableFound | TableProblem]:
    """Return tables that are printed as a dictionary, or with one name and its value on a line."""
    found: list[TableFound | TableProblem] = []
    for table, first, behind in list(find_literals(region, kind)):
        found.append(TableFound(table=table, position=start + first))
        region = region[:first] + INK.sub("!", region[first:behind]) + region[behind:]
    graphs: list[TableFound | TableProblem] = []
    for table, first, behind in find_graphs(region, kind):
        graphs.append(TableFound(table=table, position=start + first))
        region = region[:first] + INK.sub(" ", region[first:behind]) + region[behind:]
    if len(kind.columns) == 1:
        lines = region.split("\n", _MOST_LINES)[:_MOST_LINES]
        starts = list(accumulate((len(line) + 1 for line in lines), initial=start))
        found += [
            TableFound(table=table, position=starts[line]) for table, line in find_listings(lines, kind, least=least)
        ]
    return found or graphs
