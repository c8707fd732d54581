"""Tables below a line that names their columns: how a header says that its rows are to be read, and the rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from labgrade.answers.reading.code import is_code
from labgrade.answers.reading.tabular.cells import as_meant, row_name, row_of, without_tree
from labgrade.answers.reading.tabular.formats.trees import is_tensor, tree_below
from labgrade.answers.reading.tabular.headers import (
    axes_of_shape,
    column_meant,
    could_head,
    is_about,
    names_rows,
    plain_word,
    unit_of_header,
)
from labgrade.answers.reading.tabular.splits import (
    PIECE,
    by_blanks,
    by_commas,
    by_frame,
    by_pipes,
    by_place,
    by_semicolons,
    by_tabs,
    by_words,
    places,
)
from labgrade.answers.reading.tabular.studies import as_run, is_study
from labgrade.answers.reading.typed_values import WrongTypeError
from labgrade.answers.reading.words.terms import LEFT_OUT, RULE, TOTAL
from labgrade.values import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labgrade.core.task import TableType
    from labgrade.values import Row

Splitter: TypeAlias = "Callable[[str], list[str]]"

_MOST_BLANK = 5  # lines between two rows
_LONGEST_LINE = 2_000
_NAME = re.compile(r"[\w/.:#-]{1,200}+")
_WITH_INDEX = re.compile(r"\d+ \S")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFound:
    """A table, and where its header (or first row) is. `about`: its header names the rows as the spec does."""

    table: Table
    position: int
    about: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProblem:
    """A passage that looks like the table but can't be read: where, and why."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    """How a table's lines are split, and which piece is the name and which is each column (or the axes of one).

    `indexed`: its rows may begin with numbers that have no header, as pandas prints them. `places`: the position of
    each of its words, if only blanks part them.
    """

    split: Splitter
    pieces: int
    name_at: int
    columns: Mapping[str, tuple[int, ...]]
    units: dict[str, str]
    about: bool
    indexed: bool = False
    places: tuple[tuple[int, int], ...] = ()

    @property
    def delimited(self) -> bool:
        return self.split not in (by_blanks, by_words)


def below_headers(
    lines: list[str], kind: TableType, starts: list[int]
) -> tuple[list[TableFound | TableProblem], list[TableFound | TableProblem]]:
    """Return the tables below header lines, and what lacks in headers of other tables."""
    found: list[TableFound | TableProblem] = []
    lacking: list[TableFound | TableProblem] = []
    number = 0
    while number < len(lines):
        header = _header(lines[number][:_LONGEST_LINE], kind)
        if isinstance(header, _Header):
            each, number = _read(lines, number + 1, header, kind, starts)
            found += [each] if each is not None else []
        else:
            lacking += [TableProblem(position=starts[number], reason=header)] if header else []
            number += 1
    return found, lacking


def headless(lines: list[str], kind: TableType, starts: list[int]) -> list[TableFound | TableProblem]:
    """Return a table of commas without a header whose columns can't be confused: a name, a count, a shape."""
    if len(kind.columns) < 2 or len(set(kind.columns.values())) < len(kind.columns):  # noqa: PLR2004 - two columns
        return []
    columns = {column: (place,) for place, column in enumerate(kind.columns, 1)}
    for split in (by_tabs, by_commas, by_semicolons):
        header = _Header(
            split=split,
            pieces=1 + len(columns),
            name_at=0,
            columns=columns,
            units=dict.fromkeys(columns, ""),
            about=False,
        )
        first = next((number for number, line in enumerate(lines) if line.strip()), None)
        if first is not None and len(split(lines[first][:_LONGEST_LINE])) == header.pieces:
            each, behind = _read(lines, first, header, kind, starts)
            if isinstance(each, TableFound) and not any(line.strip() for line in lines[behind:]):
                return [TableFound(table=each.table, position=starts[first])]
    return []


def _header(line: str, kind: TableType) -> _Header | str:
    """Return how the table below a line is read; else what the header lacks, or "" if the line is none."""
    if not could_head(line, kind.columns) or is_code(line):
        return ""
    lacking = ""
    for split in (by_pipes, by_tabs, by_commas, by_semicolons, by_blanks, by_words):
        pieces = _header_pieces(line, split, kind)
        names = _name_place(pieces, kind, empty=split is by_pipes)
        if split is by_words and (names != 0 or re.search(r"[=:]\s?\d", line)):
            continue
        if len(pieces) < 2 or names is None:  # noqa: PLR2004 - a name and a value
            continue
        columns: dict[str, tuple[int, ...]] = {}
        for place, piece in enumerate(pieces):
            meant = column_meant(piece, kind.columns) if place != names or kind.row in kind.columns else None
            if meant is not None:
                columns.setdefault(meant, (place,))
        lacks = [column for column in kind.columns if column not in columns]
        if [kind.columns[column] for column in lacks] == ["shape"] and (axes := axes_of_shape(pieces)):
            columns[lacks[0]] = axes
        if len(columns) == len(kind.columns) or (kind.sparse and columns and _measures(columns, kind)):
            units = {column: unit_of_header(pieces[places[0]]) for column, places in columns.items()}
            return _Header(
                split=split,
                pieces=len(pieces),
                name_at=names,
                columns=columns,
                units=units,
                about=is_about(pieces[names], kind.row),
                indexed=split is by_blanks and line[:1].isspace(),
                places=places(line, pieces) if split is by_blanks else (),
            )
        if columns and not lacking:
            missing = next(column for column in kind.columns if column not in columns)
            lacking = f"the table has no column '{missing}'; it has " + ", ".join(f"'{piece}'" for piece in pieces[:8])
    return lacking


def _header_pieces(line: str, split: Splitter, kind: TableType) -> list[str]:
    pieces, words = split(line), by_frame(line) if split is by_blanks else []
    return words if _known(words, kind) > _known(pieces, kind) else pieces


def _known(pieces: list[str], kind: TableType) -> int:
    """Return how many pieces of a header are columns of the table."""
    return len({meant for piece in pieces if (meant := column_meant(piece, kind.columns)) is not None})


def _measures(columns: Mapping[str, tuple[int, ...]], kind: TableType) -> bool:
    """Return whether a sparse table has its last column, which a study measures: a table of settings has not."""
    return kind.row not in kind.columns or list(kind.columns)[-1] in columns


def _name_place(pieces: list[str], kind: TableType, *, empty: bool) -> int | None:
    """Return the piece of a header over the names: the spec's word for a row, a synonym, or (`empty`) no word."""
    words = [plain_word(piece) for piece in pieces]
    if plain_word(kind.row) in words:
        return words.index(plain_word(kind.row))
    alike = [place for place, piece in enumerate(pieces) if names_rows(piece, kind.row)]
    return alike[0] if alike else 0 if empty and pieces and not words[0] else None


def _read(
    lines: list[str], number: int, header: _Header, kind: TableType, starts: list[int]
) -> tuple[TableFound | TableProblem | None, int]:
    """Return the rows below a header, and the number of the line behind them."""
    rows: list[Row] = []
    written: list[dict[str, str]] = []
    abridged, first = False, number - 1
    tree = tree_below(lines[first])
    while number < len(lines):
        line = lines[number][:_LONGEST_LINE]
        if LEFT_OUT.match(line):
            abridged = True
        elif _ends(line, header, begun=bool(rows or abridged)) and not (rows and _goes_on(lines, number, header, kind)):
            break
        elif line.strip() and not RULE.match(line) and not is_tensor(line):
            pieces = _pieces(line, header) or _name_alone(lines, number, header, kind)
            if pieces is None:
                break
            name = row_name(pieces[header.name_at])
            name = tree.name(line, name, abridged=abridged) if tree is not None else name
            cells = _cells_of(pieces, header, kind, written) if line.strip() != lines[first].strip() else None
            if cells is not None and not TOTAL.match(name):
                try:
                    row = _row(name or cells.get(kind.row, ""), cells, kind, header, begun=bool(rows))
                except WrongTypeError as error:
                    return TableProblem(position=starts[number], reason=str(error)), number + 1
                if row is None:
                    break
                rows.append(row)
                written.append(cells)
        number += 1
    if not rows:
        return None, max(number, first + 1)
    rows = as_meant(rows, written, dict(kind.columns), header.units) if header.delimited else rows
    table = Table(rows=tuple(rows), abridged=abridged)
    return TableFound(table=table, position=starts[first], about=header.about), number


def _row(name: str, cells: dict[str, str], kind: TableType, header: _Header, *, begun: bool) -> Row | None:
    """Return a row; None at the table's end. A cell that can't be read is text if signs delimit the cells.

    Raises:
        WrongTypeError: a cell of the first row can't be read.
    """
    try:
        return row_of(name, cells, dict(kind.columns), header.units)
    except WrongTypeError:
        if not begun:
            raise
        return row_of(name, cells, dict(kind.columns), header.units, as_text=True) if header.delimited else None


def _ends(line: str, header: _Header, *, begun: bool) -> bool:
    """Return whether a line is behind the last row: a blank line, or a rule below columns of blanks."""
    if not line.strip():
        return begun or header.split is by_pipes
    return begun and not header.delimited and bool(RULE.match(line))


def _name_alone(lines: list[str], number: int, header: _Header, kind: TableType) -> list[str] | None:
    """Return the pieces of a row with only a name, before another row: an operator without attributes."""
    name = lines[number].strip()
    if header.name_at != 0 or not _NAME.fullmatch(name):
        return None
    behind = range(number + 1, min(len(lines), number + 1 + _MOST_BLANK))
    following = next((place for place in behind if not _NAME.fullmatch(lines[place].strip())), number)
    goes_on = _goes_on(lines, following, header, kind, short=True)
    return [name, *[""] * (header.pieces - 1)] if goes_on else None


def _goes_on(lines: list[str], number: int, header: _Header, kind: TableType, *, short: bool = False) -> bool:
    """Return whether a few blank lines separate rows that are delimited by commas or the like; some may be `short`."""
    line = next((line for line in lines[number : number + _MOST_BLANK] if line.strip()), "")[:_LONGEST_LINE]
    pieces = header.split(line) if header.split in (by_commas, by_semicolons, by_tabs) else []
    pieces += [""] * (header.pieces - len(pieces) if short and len(pieces) > 1 else 0)
    if len(pieces) != header.pieces:
        return False
    try:
        row = row_of("", _cells(pieces, header), dict(kind.columns), header.units)
    except WrongTypeError:
        return False
    return any(cell is not None for cell in row.cells.values()) or not any(pieces)


def _cells_of(
    pieces: list[str], header: _Header, kind: TableType, written: list[dict[str, str]]
) -> dict[str, str] | None:
    """Return the cells of a row below those that are `written`; None if it is empty, or no run of a study."""
    if header.delimited and not any(pieces):
        return None
    cells = _cells(pieces, header)
    return as_run(cells, written[-1] if written else None, kind) if is_study(kind) else cells


def _cells(pieces: list[str], header: _Header) -> dict[str, str]:
    return {
        column: f"[{', '.join(pieces[place] for place in places)}]" if places[1:] else pieces[places[0]]
        for column, places in header.columns.items()
    }


def _pieces(line: str, header: _Header) -> list[str] | None:
    """Return a row's pieces in the order of the header; None if the line is no row of this table."""
    if header.delimited:
        pieces = header.split(line)
        if len(pieces) < 2 or (header.split is by_pipes and "|" not in line):  # noqa: PLR2004 - a name and a value
            return None
        return pieces + [""] * (header.pieces - len(pieces))
    whole = line
    if header.name_at == 0:
        line = without_tree(line)
    pieces = by_blanks(line)
    if header.indexed and len(pieces) == header.pieces + 1 and pieces[0].isdecimal():
        return pieces[1:]
    if len(pieces) == header.pieces and not (header.indexed and _WITH_INDEX.match(pieces[0])):
        return pieces
    if header.indexed and (placed := by_place(whole, header.places, right=True)) is not None:
        return placed
    values = header.pieces - 1
    found = list(PIECE.finditer(line))
    if header.name_at != 0 or len(found) <= values:
        return by_place(whole, header.places, right=False)
    return [line[: found[-values].start()].strip(), *(match[0] for match in found[-values:])]
