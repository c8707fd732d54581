"""What waits to be marked as a table for a spreadsheet, and back: all of it or nothing is taken in.

One row is one line of a rubric. Excel reads it (UTF-8 with its mark), and no cell of a student's is a formula.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import UsageError
from labgrade.core.text import escaped, guarded, unguarded
from labgrade.reports import summary
from labgrade.review.decisions import Place, points
from labgrade.review.marking import ACCEPT, NoPointsError, ToDecide, is_open, mark, parse_share, rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    from labgrade.core.results import Graded, Report
    from labgrade.review.decisions import Decisions, Ruling
    from labgrade.review.pseudonyms import Pseudonyms

HEADS = ("submission", "lab", "task", "check", "line", "worth", "points", "comment", "text", "version", "suggestion")
_NEEDED = HEADS[:-1]
_LONGEST_CELL = 30_000  # Excel takes 32,767 characters
_MOST_SAID = 30
_MARK = "\ufeff"
_POINTED = re.compile(r"^\s*(\d+),(\d{1,2})\s*$")


@dataclass(frozen=True, slots=True)
class _SheetRow:
    """One row of a table, and the line of the file on which it begins."""

    line: int
    cells: Mapping[str, str]


def render(rows: Iterable[ToDecide], decisions: Decisions, names: Pseudonyms) -> str:
    """Write the table of what waits to be marked. `version` says what it was made from."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(HEADS)
    for each in rows:
        place = each.place
        for number, (worth, what) in enumerate(each.rubric):
            cells = (
                *(names.of(place.submission), place.lab, place.task, place.check, what, points(worth), "", ""),
                *(cell_text(each.graded) if number == 0 else "", _version(each.graded, decisions.last(place))),
                summary.suggested(suggestion) if (suggestion := each.graded.verdict.suggestion) is not None else "",
            )
            writer.writerow([guarded(cell) for cell in cells])
    return _MARK + out.getvalue()


def import_marks(
    text: bytes, report: Report, decisions: Decisions, names: Pseudonyms, by: str
) -> list[tuple[Ruling, int]]:
    """Read the marks of a table as decisions, each with the number of the last row that its maker saw.

    Rows whose points are left open are left out.

    Raises:
        UsageError: something in it is wrong; every finding is named with its line, and nothing is taken.
    """
    rows = _rows(text)
    known = {
        Place(submission=each.name, lab=task.lab, task=task.id, check=check.id): check
        for each in report.submissions
        for task in each.tasks
        for check in task.checks
    }
    found: list[str] = []
    checks: dict[Place, list[_SheetRow]] = {}
    for row in rows:
        place = Place(
            submission=names.name(row.cells["submission"]), **{key: row.cells[key] for key in ("lab", "task", "check")}
        )
        if place in known:
            checks.setdefault(place, []).append(row)
        else:
            found.append(f"line {row.line}: {_unknown(place, row, known, names)}")
    rulings = []
    for place, own in checks.items():
        taken = _check(own, known[place], place, decisions, by)
        if isinstance(taken, list):
            found += taken
        elif taken is not None:
            rulings.append((taken, decisions.last(place)))
    if found:
        raise UsageError(_refusal(found))
    return rulings


def cell_text(check: Graded) -> str:
    """Return the text of a hand-in that fits into a cell, after the numbers shown beside it."""
    text = check.to_mark.text if check.to_mark is not None else ""
    numbers = "".join(f"{each.name}: {summary.beside_expected(each)}\n" for each in check.verdict.comparisons)
    text = escaped((f"{numbers}\n" if numbers else "") + (text or summary.full_reason(check.verdict)))
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]} ... (cut; labgrade mark shows it all)"


def _version(check: Graded, last: int) -> str:
    """Return a digest of what a mark is about and the last decision that its maker saw."""
    return f"{check.basis.partition(':')[2][:12] or 'none'}.{last}"


# ---- reading ---------------------------------------------------------------------------------------------------


def _rows(data: bytes) -> list[_SheetRow]:
    try:
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line}: this is not UTF-8; in Excel, save it as 'CSV UTF-8'"
        raise UsageError(message) from None
    first = text.partition("\n")[0]
    between = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    try:
        heads = [head.strip() for head in next(reader, [])]
        missing = [head for head in _NEEDED if head not in heads]
        if missing:
            message = f"line 1: there is no column '{missing[0]}'; --export writes {', '.join(HEADS)}"
            raise UsageError(message)
        return list(_read(reader, heads, comma=between == ";"))
    except csv.Error as error:
        message = f"line {reader.line_num}: this is no table: {error}"
        raise UsageError(message) from None


def _read(reader: Iterator[list[str]], heads: list[str], *, comma: bool) -> Iterator[_SheetRow]:
    """Read rows; with semicolons between cells, numbers have a decimal comma."""
    line = reader.line_num  # type: ignore[attr-defined]
    for cells in reader:
        start, line = line + 1, reader.line_num  # type: ignore[attr-defined]
        named = {head: unguarded(cell.strip("\ufeff")) for head, cell in zip(heads, cells, strict=False)}
        if comma:
            named |= {key: _POINTED.sub(r"\1.\2", named[key]) for key in ("worth", "points") if key in named}
        if any(cell.strip() for cell in cells):
            yield _SheetRow(start, {head: named.get(head, "") for head in HEADS})


def _unknown(place: Place, row: _SheetRow, known: Iterable[Place], names: Pseudonyms) -> str:
    there = {each for each in known if each.submission == place.submission}
    if not there:
        said = {names.of(each.submission) for each in known}
        return f"there is no submission '{row.cells['submission']}'{did_you_mean(row.cells['submission'], said)}"
    for key in ("lab", "task", "check"):
        values = {getattr(each, key) for each in there}
        if getattr(place, key) not in values:
            return f"there is no {key} '{getattr(place, key)}'{did_you_mean(getattr(place, key), values)}"
        there = {each for each in there if getattr(each, key) == getattr(place, key)}
    return f"there is no such check as '{place}'"  # pragma: no cover - one of the keys was unknown


def _check(
    rows: list[_SheetRow], check: Graded, place: Place, decisions: Decisions, by: str
) -> Ruling | list[str] | None:
    """Return the mark that a check's rows give, what is wrong with them, or None if they are left open."""
    filled = [row for row in rows if row.cells["points"].strip() or row.cells["comment"].strip()]
    if not filled:
        return None
    found = list(_why_edited(rows, check))
    lines = rubric(check)
    shares: dict[str, Fraction] = {}
    for row in rows:
        what, text = row.cells["line"], row.cells["points"]
        worth = next((worth for worth, name in lines if name == what), None)
        if worth is None:
            found.append(f"line {row.line}: the rubric of '{place.check}' has no line '{what}'")
        elif what in shares:
            found.append(f"line {row.line}: the line '{what}' stands twice")
        elif not text.strip():
            found.append(f"line {row.line}: no points are given for '{what}', but for other lines of '{place}'")
        else:
            suggestion = check.verdict.suggestion
            try:
                taken = suggestion is not None and text.strip().lower() == ACCEPT
                shares[what] = suggestion.credit if suggestion is not None and taken else parse_share(text, worth)
            except NoPointsError as error:
                found.append(f"line {row.line}: {error}")
    named = {row.cells["line"] for row in rows}
    found += [
        f"line {rows[0].line}: the line '{what}' of the rubric is missing" for _, what in lines if what not in named
    ]
    comments = dict.fromkeys(text for row in rows if (text := row.cells["comment"].strip()))
    if not found:
        made = mark(place, check, [shares[what] for _, what in lines], by=by, comment="; ".join(comments))
        if _is_in(made, decisions):
            return None
        found = _why_stale(filled[0], check, decisions.last(place)) or _why_closed(filled[0], check)
    return found or made


def _is_in(made: Ruling, decisions: Decisions) -> bool:
    """Return whether a mark is in force already, so that a table may be imported twice."""
    now = decisions.in_force(made.place)
    return now is not None and all(
        getattr(now, key) == getattr(made, key) for key in ("credit", "lines", "reason", "basis", "worth")
    )


def _why_closed(row: _SheetRow, check: Graded) -> list[str]:
    if is_open(check) or check.decision is not None:
        return []
    return [f"line {row.line}: '{check.id}' does not wait to be marked; for a decision of your own: labgrade override"]


def _why_stale(row: _SheetRow, check: Graded, last: int) -> list[str]:
    version = row.cells["version"].strip()
    if version == _version(check, last):
        return []
    if version.rpartition(".")[0] == _version(check, last).rpartition(".")[0]:
        return [f"line {row.line}: it was marked meanwhile by somebody else; export anew"]
    return [f"line {row.line}: what was handed in changed since the export, or 'version' was edited; export anew"]


def _why_edited(rows: list[_SheetRow], check: Graded) -> Iterator[str]:
    """Find changed cells that are not for editing: a column sorted alone would give marks to the wrong student."""
    texts = [row for row in rows if row.cells["text"].strip()]
    if len(texts) != 1 or texts[0].cells["text"].split() != cell_text(check).split():
        line = texts[0].line if texts else rows[0].line
        yield f"line {line}: the text differs from the exported one; edit 'points' and 'comment' alone"
    worth = {what: points(most) for most, what in rubric(check)}
    for row in rows:
        what, said = row.cells["line"], row.cells["worth"].strip()
        if what in worth and said != worth[what]:
            yield f"line {row.line}: '{what}' is worth {worth[what]}, not '{said}'"


def _refusal(found: list[str]) -> str:
    more = [f"and {len(found) - _MOST_SAID:,} more"] if len(found) > _MOST_SAID else []
    return "\n".join(["nothing was imported:", *(f"  {each}" for each in [*found[:_MOST_SAID], *more])])
