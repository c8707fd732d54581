"""What a free text says of a table: one of its tables, else lines that name its rows, else what is for a person."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.answers.obtain import report_path, tables_of, text_forms
from labgrade.answers.reader.asks import ask_tables
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableType, TextForm
from labgrade.judging.texts.beside import table_in_sight
from labgrade.judging.texts.choice import Choice, waiting
from labgrade.judging.texts.choose_listed import numbers_said, tables_lines
from labgrade.judging.texts.choose_rows import rows_by_name
from labgrade.judging.texts.choose_tables import choose_table, names_any, right_by_order
from labgrade.judging.texts.row_names import is_of_others
from labgrade.judging.texts.unread import (
    and_others,
    as_table,
    holds_rows,
    is_open,
    left_to_person,
    merged,
    printed_tensors,
    unread,
)
from labgrade.values import Number, Table
from labgrade.verdict import ALL_NUMBERS, OTHER_ROWS, Outcome, Verdict, correct, without_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from labgrade.answers.reader.reader import Reader
    from labgrade.answers.reading.lines import Line
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerSpec, AnswerType, Check, Source
    from labgrade.judging.texts.choose_rows import RowsFound
    from labgrade.values import Value

_MOSTLY = Fraction(1, 2)  # of rows found by their names: with fewer of them right, these may be others
_HISTOGRAM = TableType(row="name", columns={"count": "count"})


def is_table(kind: AnswerType) -> bool:
    """Whether an answer is a table, or names with counts."""
    return isinstance(kind, TableType) or kind == "histogram"


class FreeTable:
    """One table of one submission in free text. `judged`: the verdict on a value; `taken`: numbers of other answers."""

    def __init__(
        self,
        reader: Reader,
        submission: Submission,
        wanted: AnswerSpec,
        check: Check,
        judged: Callable[[Value], Verdict],
        expect: Callable[[Source], Value],
        taken: frozenset[Fraction],
    ) -> None:
        self._reader, self._submission, self._wanted, self._check, self._taken = (
            reader,
            submission,
            wanted,
            check,
            taken,
        )
        self._judge = judged
        self._kind = wanted.type if isinstance(wanted.type, TableType) else _HISTOGRAM
        self._expected = as_table(expect(check.expected)) if check.expected is not None else None

    def verdict(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...], *, told: bool) -> Choice:
        """What the text says; `told`: the lines are of no section of the task."""
        found = self._said(answer, as_it_is, lines, told=told)
        lacking = self._lacking(answer)
        if not lacking or found.verdict.outcome is not Outcome.INCORRECT:
            return found
        return left_to_person(found, f"no column of the table at {answer.origin} is called '{lacking}'", "no column")

    def _lacking(self, answer: Answered) -> str:
        """The first column that no row of a table has, and the expected one has; "" where there is none."""
        if not isinstance(answer, Answer) or not isinstance(answer.value, Table) or self._expected is None:
            return ""
        said = {name for row in answer.value.rows for name, cell in row.cells.items() if cell is not None}
        asked = {name for row in self._expected.rows for name in row.cells}
        return next((name for name in self._kind.columns if name in asked - said), "")

    def _said(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...], *, told: bool) -> Choice:
        if as_it_is.verdict.credit == 1 or self._expected is None:
            return as_it_is
        tabled = self._tabled(self._tables(told=told), self._expected)
        if tabled is not None and (tabled.verdict.credit == 1 or tabled.verdict.credit > as_it_is.verdict.credit > 0):
            return tabled
        if tabled is not None and tabled.verdict.suggestion and tabled.verdict.suggestion.credit == 1:
            return merged(as_it_is, tabled)  # another table says something else: lines tell no more
        if isinstance(answer, Answer) and as_it_is.verdict.outcome is Outcome.MANUAL:
            own = answer.value if isinstance(answer.value, Table) else Table(rows=())
            return replace(as_it_is, verdict=right_by_order(own, as_it_is.verdict))
        found = self._of_lines(answer, as_it_is, lines, self._expected)
        return merged(found, tabled) if tabled is not None and not _says_more(found.verdict, tabled.verdict) else found

    def if_missing(self, missing: Choice, own: list[Line], task: str) -> Choice:
        """What waits where no section has the table: its numbers in lines of the task, or the table elsewhere."""
        if self._expected is None:
            return missing
        if holds_rows(own, self._expected):
            return merged(missing, unread(task, own, TABLE_HINT))
        asked = ask_tables(self._wanted.type, TextForm(report=()))
        reported = not self._check.bonus and bool(report_path(self._wanted)) and bool(text_forms(self._wanted))
        found = self._tabled(self._reader.ask(self._submission, asked), self._expected) if reported else None
        if found is None or found.verdict.outcome is Outcome.MANUAL or found.verdict.credit < _MOSTLY:
            return missing
        return left_to_person(found, f"the table stands elsewhere, from {found.place} on", "elsewhere")

    def _tabled(self, tables: list[Answer], expected: Table) -> Choice | None:
        return choose_table(tables, expected, self._judged)

    def _judged(self, table: Value) -> Verdict:
        if self._wanted.type == "histogram" and isinstance(table, Table):
            table = {row.name: count for row in table.rows if isinstance(count := row.cells["count"], Number)}
        return self._judge(table)

    def _tables(self, *, told: bool) -> list[Answer]:
        """All that may be the table, in the sections of the task, or outside of tasks' sections."""
        asks = tables_of(self._wanted, around=told)
        return [each for ask in asks for each in self._reader.ask(self._submission, ask)]

    def _of_lines(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...], expected: Table) -> Choice:
        """What lines come to that name rows, or hold the numbers that are expected."""
        if isinstance(answer, Answer) and not (as_it_is.verdict.credit or names_any(answer.value, expected)):
            outcome = Outcome.MISSING if self._check.bonus else Outcome.MANUAL
            waits = without_value(outcome, f"the table at {answer.origin} names no row that is asked for")
            answer, as_it_is = NoAnswer(verdict=waits, free=True), replace(as_it_is, verdict=waits)
        own = answer.value if isinstance(answer, Answer) and isinstance(answer.value, Table) else None
        if own and not as_it_is.verdict.credit:
            as_it_is = replace(as_it_is, verdict=table_in_sight(self._judged, own, as_it_is.verdict, lines))
            if as_it_is.verdict.outcome is Outcome.MANUAL:
                return as_it_is
        found = rows_by_name(self._kind, expected, lines)
        read = self.no_rows(answer, as_it_is, lines) if found is None else self._named(found, answer, as_it_is, lines)
        if own and read.verdict.outcome is Outcome.PARTIAL and is_of_others(own, expected):
            return left_to_person(read, _OTHER_TABLE, OTHER_ROWS)
        return read

    def _named(self, found: RowsFound, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...]) -> Choice:
        """What the rows come to that were found by their names: as sure as they are."""
        verdict = self._judged(found.table)
        if verdict.credit <= as_it_is.verdict.credit and isinstance(answer, Answer):
            return as_it_is
        mostly = verdict.credit >= _MOSTLY and len(found.table.rows) > 1 and isinstance(answer, NoAnswer)
        if (verdict.credit == 1 and not found.rival) or (found.sure and (verdict.credit == 1 or mostly)):
            note = f"the rows were found by their names, from {found.place} on"
            return Choice(verdict=replace(verdict, notes=(*verdict.notes, note)), place=found.place)
        if not verdict.credit:
            return self.no_rows(answer, as_it_is, lines)
        why = f"rows by their names, from {found.place} on: {verdict.reason or 'all are right'}"
        read = Choice(verdict=replace(verdict, reason=why), place=found.place)
        choice = left_to_person(read, "the table could not be read for certain", "rows by their names", TABLE_HINT)
        if found.rival and verdict.outcome is Outcome.CORRECT:
            choice = replace(choice, verdict=replace(choice.verdict, suggestion=None))
        return merged(as_it_is, choice)

    def no_rows(self, answer: Answered, as_it_is: Choice, lines: tuple[Line, ...]) -> Choice:
        """MANUAL where lines with values of the table's kinds belong to no answer, or some say what is expected."""
        if self._check.bonus or isinstance(answer, Answer) or as_it_is.verdict.outcome is Outcome.MANUAL:
            return as_it_is
        by_numbers = numbers_said(lines, self._expected) if self._expected is not None else []
        left = tables_lines(self._kind, self._expected, lines, self._taken) or by_numbers
        if not left:
            return as_it_is
        tensors = printed_tensors(lines, "none of them says its shape")
        if tensors is not None and not any(isinstance(piece.value, tuple) for line in left for piece in line.pieces):
            return merged(as_it_is, tensors)
        refused = as_it_is.verdict.reason if as_it_is.verdict.outcome is Outcome.INCORRECT else ""
        reason = refused or f"no table could be read; values stand on {left[0].place}{and_others(len(left) - 1)}"
        waits = without_value(Outcome.MANUAL, reason, hint=TABLE_HINT)
        if by_numbers:
            place = by_numbers[0].place
            why = f"all numbers that are expected stand there, from {place} on; of which rows, nothing tells"
            waits = waiting(reason, correct(), ALL_NUMBERS, why, place, TABLE_HINT)
        return merged(as_it_is, Choice(verdict=waits, place=left[0].place))


def _says_more(found: Verdict, other: Verdict) -> bool:
    """Whether what lines came to says more than what a table did."""
    if found.outcome not in (Outcome.MISSING, Outcome.MANUAL):
        return True
    if is_open(other) or (found.suggestion is not None and other.outcome is Outcome.MANUAL):
        return found.outcome is Outcome.MANUAL
    return False


_OTHER_TABLE = "the table may be of something else: it names one of the rows that are asked for, beside others"
TABLE_HINT = "print one line a row: its name, then its values, under a header that names the columns"
