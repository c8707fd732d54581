"""Points merged into a gradebook that a learning platform exported (Canvas, Moodle): one column, nothing else.

Whatever is not a cell of that column in a row of a submission stays as it is, byte for byte: encoding, quotes, line
ends, other columns, rows such as Canvas' "Points Possible".
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.core.points import final_totals
from labgrade.reports import csv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from labgrade.core.results import Report

# What tells who a row is about, most telling first; folded. Canvas' names, then Moodle's.
_IDS = (
    ("sis user id", "sis login id", "id", "student"),
    (
        "id number",
        "username",
        "email address",
        "identifier",
        "full name",
        "first name+last name",
        "last name+first name",
    ),
)
_NUMBER = re.compile(r"_(\d+)$")
_PLATFORM = "#"
_PARTICIPANT = re.compile(r"participant\s+(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The file with the points in it, and what a person has to know.

    `unknown`: students of the report who are in no row. `ambiguous`: who fits several rows. `pending`: whose points are
    not settled yet. None of these has a cell written. `left`: rows of the file that nobody in the report fits.
    """

    text: bytes
    written: int
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]
    pending: tuple[str, ...]
    left: int


def merge(report: Report, exported: bytes, name: str, column: str, *, with_pending: bool = False) -> Merged:
    """Write the final points of each student into their row of `column`. `name` is what the file is called.

    Raises:
        UsageError: the file is no CSV, has no such column, or none that tells who a row is about.
    """
    text, encoding = _decoded(exported, name)
    rows = list(_rows(text, _delimiter(text)))
    if not rows:
        message = f"{name}: there is nothing in it"
        raise UsageError(message)
    heads = [_unquoted(text[start:end]).strip() for start, end in rows[0]]
    place = _column(heads, column, name)
    known = _rows_by_name(text, rows[1:], heads, name)
    people = list(_students(report))
    fitted = [_rows_of_student(who, known) for who, *_ in people]
    if not any(fitted):  # the file has none of our ids, so that a name can't stand for another id
        fitted = [_rows_of_student(called, known) if called else frozenset[int]() for _, called, *_ in people]
    students = [(who, points, waits, found) for (who, _, points, waits), found in zip(people, fitted, strict=True)]
    taken = Counter(row for *_, fitting in students for row in fitting)
    changes: dict[tuple[int, int], str] = {}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for who, points, waits, fitting in students:
        cell = next((rows[row + 1][place] for row in fitting if place < len(rows[row + 1])), None)
        if cell is None:
            found["unknown"].append(who)
        elif len(fitting) > 1 or any(taken[row] > 1 for row in fitting):
            found["ambiguous"].append(who)
        elif waits and not with_pending:
            found["pending"].append(who)
        else:
            changes[cell] = points
    return Merged(
        text=_with_cells(text, changes).encode(encoding),
        written=len(changes),
        unknown=tuple(found["unknown"]),
        ambiguous=tuple(found["ambiguous"]),
        pending=tuple(found["pending"]),
        left=len(rows) - 1 - len(taken),
    )


def _students(report: Report) -> Iterator[tuple[str, str, str, bool]]:
    """Each student, the roster's name or "", the final points, and whether some wait."""
    for submission in report.submissions:
        total = final_totals(submission)
        names = itertools.chain(submission.called, itertools.repeat(""))
        for who, called in zip(submission.members or (submission.name,), names, strict=False):
            yield who, called, csv.number(total.final), total.pending > 0


def _rows_of_student(who: str, known: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """Find a student's rows by name, by the platform's number, or by the name without it."""
    number = _NUMBER.search(who)
    keys = [_folded(who)]
    if number:
        keys += [_PLATFORM + number[1], _folded(who[: number.start()])]
    return next((known[key] for key in keys if key in known), frozenset())


def _rows_by_name(
    text: str, rows: Sequence[Sequence[tuple[int, int]]], heads: Sequence[str], name: str
) -> dict[str, frozenset[int]]:
    """Index the rows by name, number and address."""
    folded = [_folded(head) for head in heads]
    wanted = [each for group in _IDS for each in group]
    columns = [tuple(map(folded.index, each.split("+"))) for each in wanted if set(each.split("+")) <= set(folded)]
    if not columns:
        message = f"{name}: no column tells who a row is about; one of these has to be there: {', '.join(wanted)}"
        raise UsageError(message)
    found: defaultdict[str, set[int]] = defaultdict(set)
    for number, row in enumerate(rows):
        for places in columns:
            cells = [_folded(_unquoted(text[slice(*row[place])])) for place in places if place < len(row)]
            for key in _names(" ".join(cells), folded[places[0]]):
                found[key].add(number)
    return {key: frozenset(places) for key, places in found.items()}


def _names(cell: str, head: str) -> Iterator[str]:
    """A cell, and what it is called elsewhere: an address before its @, Canvas' `Lee, Anna`, `Participant 12`.

    The platform's own number is told apart from others, such as a student's: they may be the same by chance.
    """
    participant = _PARTICIPANT.fullmatch(cell)
    if participant or (head == "id" and cell):
        yield _PLATFORM + (participant[1] if participant else cell)
    last, comma, first = cell.partition(",")
    names = (cell, cell.partition("@")[0], f"{first.strip()} {last.strip()}" if comma else "")
    yield from filter(None, names)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _column(heads: Sequence[str], wanted: str, name: str) -> int:
    """Find the column by name; the number that Canvas appends, `HW 2 (12345)`, may be left out."""
    bare = [re.sub(r" \(\d+\)$", "", head) for head in heads]
    places = [place for place, head in enumerate(heads) if head == wanted]
    places = places or [place for place, head in enumerate(bare) if head == wanted]
    if len(places) == 1:
        return places[0]
    problem = f"{len(places)} columns are called" if places else "there is no column"
    message = f"{name}: {problem} '{wanted}'{'' if places else did_you_mean(wanted, heads)}"
    raise UsageError(message)


def _decoded(exported: bytes, name: str) -> tuple[str, str]:
    """Decode the file; return the text and the encoding that reproduces its bytes."""
    for encoding in ("utf-8", "utf-16"):
        if encoding == "utf-16" and not exported.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        try:
            if encoding == "utf-16":
                encoding = "utf-16-le" if exported.startswith(b"\xff\xfe") else "utf-16-be"  # noqa: PLW2901
            return exported.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    message = f"{name}: this is neither UTF-8 nor UTF-16; export it anew, as CSV in UTF-8"
    raise UsageError(message)


def _delimiter(text: str) -> str:
    """Return the delimiter of the head row: comma, semicolon or tab."""
    line = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    return max(",;\t", key=line.count)


def _rows(text: str, delimiter: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the spans of each row's cells in the text, quotes included; empty lines are no rows (RFC 4180)."""
    cell = re.compile(rf'(?: *"(?:[^"]|"")*"[^{delimiter}\r\n]*|[^{delimiter}\r\n]*)')
    at, row = (1 if text.startswith("\ufeff") else 0), list[tuple[int, int]]()
    while at <= len(text):
        found = cell.match(text, at)
        end = found.end() if found else at
        row.append((at, end))
        if text[end : end + 1] == delimiter:
            at = end + 1
            continue
        if len(row) > 1 or row[0][0] != row[0][1]:
            yield row
        row = []
        at = end + (2 if text[end : end + 2] == "\r\n" else 1)


def _unquoted(cell: str) -> str:
    """A cell without its quotes."""
    bare = cell.strip()
    return bare[1:-1].replace('""', '"') if len(bare) > 1 and bare[0] == bare[-1] == '"' else cell


def _with_cells(text: str, changes: dict[tuple[int, int], str]) -> str:
    """Replace cells in the text; a quoted cell stays quoted."""
    parts, at = [], 0
    for (start, end), points in sorted(changes.items()):
        quoted = text[start:end].strip().startswith('"')
        parts += [text[at:start], f'"{points}"' if quoted else points]
        at = end
    return "".join((*parts, text[at:]))
