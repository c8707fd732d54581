"""Answers handed in as text: the value behind some words, or a printed table, in a file or a section of the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labgrade.answers.documents import Unreadable, find_report, read_document
from labgrade.answers.numbers import finest_of
from labgrade.answers.patterns import PatternError, search
from labgrade.answers.phrases import Candidate, candidates
from labgrade.answers.records import find_records
from labgrade.answers.sections import Span, sections
from labgrade.answers.tables import TableFound, TableProblem, find_tables
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.model import TableOfType, TableType
from labgrade.results import Answer, NoAnswer
from labgrade.values import Number, Table
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.answers.documents import Document
    from labgrade.model import AnswerType, TextForm
    from labgrade.results import Submission
    from labgrade.values import Value

_MOST_NAMED = 6
_HISTOGRAM = TableType(row="name", columns={"count": "count"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The text that a form names, what is asked of it, and how to say where something stands in it."""

    name: str
    document: Document
    spans: tuple[Span, ...]
    under: str

    def origin(self, position: int | None = None) -> str:
        line = "" if position is None else f":{self.document.line(position)}"
        return f"{self.document.path}{line}{self.under}"

    def answer(self, value: Value, position: int | None, *remarks: str) -> Answer:
        remarks = (*self.document.remarks, *remarks)
        return Answer(name=self.name, value=value, origin=self.origin(position), remarks=remarks)

    def no_answer(self, outcome: Outcome, reason: str, position: int | None = None, *, hint: str = "") -> NoAnswer:
        verdict = without_value(outcome, reason, hint=hint)
        return NoAnswer(name=self.name, verdict=verdict, origin=self.origin(position), remarks=self.document.remarks)


def obtain(name: str, kind: AnswerType, form: TextForm, submission: Submission) -> Answer | NoAnswer | None:
    """The value that the text says; None where there is no such file, heading or word, or no value behind it.

    MANUAL where the text says different values behind the same words, FAULT where a pattern of the spec fails.
    """
    path = form.file if form.file is not None else find_report(submission)
    document = read_document(submission, path) if path is not None else None
    if document is None:
        return None
    if isinstance(document, Unreadable):
        return NoAnswer(name=name, verdict=without_value(Outcome.INCORRECT, document.reason), origin=document.path)
    spans = tuple(sections(document, form.report or ()))
    under = f", under {' / '.join(form.report)}" if form.report else ""
    place = _Place(name=name, document=document, spans=spans, under=under)
    return _obtain(place, kind, form) if spans else None


def _obtain(place: _Place, kind: AnswerType, form: TextForm) -> Answer | NoAnswer | None:
    if isinstance(kind, TableOfType):
        return None
    if form.find is not None:
        return _found(place, form.find, kind)
    if isinstance(kind, TableType):
        return _tabled(place, form.after, kind)
    if kind == "histogram":
        return _histogram(_tabled(place, form.after, _HISTOGRAM))
    if form.after is None:
        return _whole(place, kind)
    return _said(place, form.after, kind)


def _said(place: _Place, words: str, kind: str) -> Answer | NoAnswer | None:
    found: list[Candidate] = []
    for span in place.spans:
        found += candidates(place.document.text, span.start, span.end, words, kind)
    found = [each for each in found if each.near] or found
    valued = [each for each in found if each.value is not None]
    if not found:
        return None
    if not valued:
        first = found[0]
        reason = f"{place.origin(first.position)}: behind '{words}', {first.problem}"
        return place.no_answer(Outcome.INCORRECT, reason, first.position)
    chosen = _agreed(valued)
    if chosen is None:
        reason = f"'{words}' is followed by different values: {_listed(place, valued)}"
        return place.no_answer(Outcome.MANUAL, reason, valued[0].position, hint="say one value behind these words")
    return place.answer(chosen.value, chosen.position) if chosen.value is not None else None


def _agreed(found: list[Candidate]) -> Candidate | None:
    """The finest of candidates that all say the same; None where they differ."""
    numbers = [each.value for each in found if isinstance(each.value, Number)]
    if numbers:
        finest = finest_of(numbers)
        return next((each for each in found if each.value is finest), None) if finest is not None else None
    return found[0] if all(each.value == found[0].value for each in found) else None


def _listed(place: _Place, found: list[Candidate]) -> str:
    """The different values with their lines, each once."""
    first: dict[str, Candidate] = {}
    for each in found:
        first.setdefault(str(each.value), each)
    shown = [
        f"{value} (line {place.document.line(each.position)})" for value, each in list(first.items())[:_MOST_NAMED]
    ]
    return ", ".join(shown) + (f" and {len(first) - _MOST_NAMED} more" if len(first) > _MOST_NAMED else "")


def _found(place: _Place, pattern: str, kind: AnswerType) -> Answer | NoAnswer | None:
    """What an expert's pattern matches."""
    found: list[Candidate] = []
    problem = ""
    for span in place.spans:
        try:
            matches = search(pattern, place.document.text[span.start : span.end])
        except PatternError as error:
            return place.no_answer(Outcome.FAULT, f"{error} ({place.document.path})")
        for match in matches:
            position = span.start + match.position
            try:
                value = as_value(match.text, kind)
            except WrongTypeError as error:
                problem = problem or f"{place.origin(position)}: {error}"
            else:
                found.append(Candidate(position=position, value=value))
    if not found:
        return place.no_answer(Outcome.INCORRECT, problem) if problem else None
    chosen = _agreed(found)
    if chosen is None or chosen.value is None:
        reason = f"the text says different values: {_listed(place, found)}"
        return place.no_answer(Outcome.MANUAL, reason, found[0].position, hint="say one value")
    return place.answer(chosen.value, chosen.position)


def _whole(place: _Place, kind: str) -> Answer | NoAnswer | None:
    """A text that is the value."""
    said = " ".join(
        place.document.text[span.start : min(span.end, span.start + 200_000)].strip() for span in place.spans
    )
    if not said.strip():
        return None
    try:
        return place.answer(as_value(said, kind), place.spans[0].start)
    except WrongTypeError as error:
        return place.no_answer(Outcome.INCORRECT, f"{place.origin()}: {error}")


def _tabled(place: _Place, words: str | None, kind: TableType) -> Answer | NoAnswer | None:
    """The table in the text: the longest where there are several."""
    tables: list[TableFound] = []
    problems: list[TableProblem] = []
    for span in place.spans:
        listed = find_records(place.document.text[span.start : span.end], kind) if kind.sparse else None
        if listed is not None:
            tables.append(TableFound(table=listed, position=span.start))
            continue
        for found in find_tables(place.document.text, span.start, span.end, kind, words=words):
            if isinstance(found, TableFound):
                tables.append(found)
            else:
                problems.append(found)
    if not tables:
        if not problems:
            return None
        reason = f"{place.origin(problems[0].position)}: {problems[0].reason}"
        return place.no_answer(Outcome.INCORRECT, reason, problems[0].position)
    longest = max(tables, key=lambda found: len(found.table.rows))
    different = [found for found in tables if found.table != longest.table]
    lines = ", ".join(str(place.document.line(found.position)) for found in different[:_MOST_NAMED])
    remarks = (f"other tables on line {lines}; the longest was read",) if different else ()
    return place.answer(longest.table, longest.position, *remarks)


def _histogram(answer: Answer | NoAnswer | None) -> Answer | NoAnswer | None:
    if not isinstance(answer, Answer) or not isinstance(answer.value, Table):
        return answer
    counts = {row.name: count for row in answer.value.rows if isinstance(count := row.cells["count"], Number)}
    return replace(answer, value=counts)
