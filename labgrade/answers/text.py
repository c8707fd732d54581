"""Answers handed in as text: the value behind some words, or a printed table, in a file or a section of the report."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers.reading.blocks import kinds
from labgrade.answers.reading.claim import Candidate, candidates
from labgrade.answers.reading.documents import Document, Unreadable, read_document
from labgrade.answers.reading.numerals.numbers import find_numbers, finest_of
from labgrade.answers.reading.passages.around import of_none, of_several
from labgrade.answers.reading.plain_values import cut, is_array
from labgrade.answers.reading.tabular.cells import each_apart, is_part
from labgrade.answers.reading.tabular.formats.records import find_records
from labgrade.answers.reading.tabular.headed import TableFound, TableProblem
from labgrade.answers.reading.tabular.tables import find_every, find_tables
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.answers.reading.words.terms import stands_out
from labgrade.answers.reports import below, find_reports, parts, together
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableOfType, TableType
from labgrade.values import Number, Table
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.answers.reading.passages.sections import Span
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, TextForm
    from labgrade.values import Value

_MOST_NAMED, _MOST_TABLES = 6, 60
_MOST_SEEN = 100_000
_MOST_LEFT = 40
POINTS_ELSEWHERE = "an address or a picture alone stands there; what it shows is for a person to see"
_HISTOGRAM = TableType(row="name", columns={"count": "count"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The text that a form names, what is asked of it, and how messages name a place in it.

    `about`: the model in question, or "".
    """

    document: Document
    spans: tuple[Span, ...]
    under: str
    about: str = ""

    def origin(self, position: int | None = None) -> str:
        line = "" if position is None else f":{self.document.line(position)}"
        return f"{self.document.path}{line}{self.under}"

    def answer(self, value: Value, position: int | None, *remarks: str) -> Answer:
        remarks = (*self.document.remarks, *remarks)
        origin, lossy = self.origin(position), self.document.lossy
        return Answer(value=value, origin=origin, remarks=remarks, free=True, lossy=lossy)

    def no_answer(self, outcome: Outcome, reason: str, position: int | None = None, *, hint: str = "") -> NoAnswer:
        verdict = without_value(outcome, reason, hint=hint)
        origin, document = self.origin(position), self.document
        return NoAnswer(verdict=verdict, origin=origin, remarks=document.remarks, free=True, lossy=document.lossy)


def obtain(kind: AnswerType, form: TextForm, submission: Submission, *, about: str = "") -> Answered | None:
    """Return the value in the text; None if there is no such file, heading or word, or no value behind it.

    `about`: the model in question; a value of another one is doubted. MANUAL if the text has different values behind
    the same words or none plainly, FAULT if a pattern of the spec fails.
    """
    if form.file is not None:
        document = read_document(submission, form.file)
        return _in(document, kind, form, about) if document is not None else None
    paths = find_reports(submission)
    documents = [document for path in paths if (document := read_document(submission, path)) is not None]
    readable = [document for document in documents if not isinstance(document, Unreadable)] or documents
    found = [answer for document in readable if (answer := _in(document, kind, form, about)) is not None]
    if not found:
        return None
    answer = together(found)
    return replace(answer, remarks=(*answer.remarks, *below(submission, paths)))


def _in(document: Document | Unreadable, kind: AnswerType, form: TextForm, about: str) -> Answered | None:
    """Return the value in one document."""
    if isinstance(document, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, document.reason), origin=document.path)
    place = _place(document, form, about)
    return _obtain(place, kind, form) if place is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a text has in place of a missing value. `is_table`: rows without their total."""

    text: str
    is_table: bool = False


def seen_instead(kind: AnswerType, form: TextForm, submission: Submission) -> Seen | None:
    """Return what the text has behind the form's words that is no value; None if that is nothing."""
    if form.after is None or kind not in ("count", "bytes", "number", "time"):
        return None
    paths = (form.file,) if form.file is not None else find_reports(submission)
    documents = [read_document(submission, path) for path in paths]
    places = [_place(each, form, "") for each in documents if isinstance(each, Document)]
    seen = (_seen(place, form.after, str(kind)) for place in places if place is not None)
    return next(filter(None, seen), None)


def _seen(place: _Place, words: str, kind: str) -> Seen | None:
    tables = [each for each in _candidates(place, words, kind) if each.unsummed]
    if tables:
        where = place.origin(tables[0].position)
        return Seen(text=f"a table of {tables[0].unsummed} rows was found ({where}), but no total", is_table=True)
    for span in place.spans:
        part = place.document.text[span.start : min(span.end, span.start + _MOST_SEEN)]
        found = next((each for each in find_numbers(part, kind) if each.number and stands_out(part, each)), None)
        if found is not None:
            start = part.rfind("\n", 0, found.start) + 1
            line = part[max(start, found.start - _MOST_LEFT) :].partition("\n")[0]
            where = place.origin(span.start + found.start)
            return Seen(text=f"{where} says '{cut(line)}', but no value behind these words")
    return None


def _place(document: Document, form: TextForm, about: str) -> _Place | None:
    document, spans = parts(document, form.report or ())
    under = f", under {' / '.join(form.report)}" if form.report else ""
    return _Place(document=document, spans=spans, under=under, about=about) if spans else None


def _obtain(place: _Place, kind: AnswerType, form: TextForm) -> Answered | None:
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


def _said(place: _Place, words: str, kind: str) -> Answered | None:
    found = [each for each in _candidates(place, words, kind) if not each.unsummed]
    firm = [each for each in found if not each.doubt]
    firm = [each for each in firm if each.near] or firm
    valued = [each for each in firm if each.value is not None]
    if not found:
        return None
    if not valued:
        doubtful = [each for each in found if each.doubt and each.value is not None]
        return _doubted(place, words, doubtful) if doubtful else _refused(place, words, found[0])
    chosen = _agreed(valued)
    if chosen is None:
        reason = f"'{words}' is followed by different values: {_listed(place, valued)}"
        return place.no_answer(Outcome.MANUAL, reason, valued[0].position, hint="say one value behind these words")
    return place.answer(chosen.value, chosen.position) if chosen.value is not None else None


def _candidates(place: _Place, words: str, kind: str) -> list[Candidate]:
    return [
        each
        for span in place.spans
        for each in candidates(place.document.text, span.start, span.end, words, kind, about=place.about)
    ]


def _doubted(place: _Place, words: str, found: list[Candidate]) -> NoAnswer:
    """Return MANUAL with the values that the text does not plainly give as the answer, and why each is in doubt."""
    reason = f"'{words}' is not plainly followed by a value: {_listed(place, found)}"
    return place.no_answer(Outcome.MANUAL, reason, found[0].position, hint="say the value plainly behind these words")


def _refused(place: _Place, words: str, found: Candidate) -> NoAnswer:
    reason = f"{place.origin(found.position)}: behind '{words}', {found.problem}"
    return place.no_answer(Outcome.INCORRECT, reason, found.position)


def _agreed(found: list[Candidate]) -> Candidate | None:
    """Return the finest of candidates that all agree; None if they differ."""
    numbers = [each.value for each in found if isinstance(each.value, Number)]
    if numbers:
        finest = finest_of(numbers)
        return next((each for each in found if each.value is finest), None) if finest is not None else None
    plain = [cast("Any", each.value).tolist() if is_array(each.value) else each.value for each in found]
    return found[0] if all(each == plain[0] for each in plain) else None


def _listed(place: _Place, found: list[Candidate]) -> str:
    """Return the different values with their lines, each once."""
    first: dict[str, Candidate] = {}
    for each in found:
        first.setdefault(str(each.value), each)
    shown = [
        f"{value} (line {place.document.line(each.position)}{each.doubt and f': {cut(each.doubt)!r}'})"
        for value, each in list(first.items())[:_MOST_NAMED]
    ]
    return ", ".join(shown) + (f" and {len(first) - _MOST_NAMED} more" if len(first) > _MOST_NAMED else "")


def _found(place: _Place, pattern: str, kind: AnswerType) -> Answered | None:
    """Return the value that a spec's pattern matches."""
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


def _whole(place: _Place, kind: str) -> Answered | None:
    """Return a text that is the value as a whole."""
    within = [(span.start, min(span.end, span.start + _MOST_SEEN * 2)) for span in place.spans]
    said = " ".join(place.document.text[start:end].strip() for start, end in within)
    written = " ".join(place.document.as_written(start, end).strip() for start, end in within)
    if not said.strip():
        seen = kind == "text" and written.strip()
        return place.no_answer(Outcome.MANUAL, POINTS_ELSEWHERE, within[0][0]) if seen else None
    try:
        answer = place.answer(as_value(said, kind), within[0][0])
    except WrongTypeError as error:
        return place.no_answer(Outcome.INCORRECT, f"{place.origin()}: {error}")
    return replace(answer, written=written) if written != said else answer


def _tabled(place: _Place, words: str | None, kind: TableType) -> Answered | None:
    """Return the table in the text: the longest of several."""
    tables: list[TableFound] = []
    problems: list[TableProblem] = []
    for span in place.spans:
        listed = find_records(place.document.text[span.start : span.end], kind) if kind.sparse else None
        if listed is not None:
            tables.append(TableFound(table=listed, position=span.start))
            continue
        for found in find_tables(place.document.text, span.start, span.end, kind, words=words):
            if isinstance(found, TableFound):
                tables.append(replace(found, table=each_apart(found.table)))
            else:
                problems.append(found)
    if not tables:
        if not problems:
            return None
        reason = f"{place.origin(problems[0].position)}: {problems[0].reason}"
        return place.no_answer(Outcome.INCORRECT, reason, problems[0].position)
    tables = [found for found in tables if found.about] or tables
    longest = max(tables, key=lambda found: len(found.table.rows))
    others = [found for found in tables if found.table != longest.table]
    against = next((found for found in others if not is_part(found.table, longest.table)), None)
    if against is not None:
        lines = " and ".join(
            str(place.document.line(found.position)) for found in sorted((longest, against), key=_where)
        )
        reason = f"several tables fit and don't say the same: on lines {lines}"
        return place.no_answer(Outcome.MANUAL, reason, longest.position, hint="hand in one table")
    lines = ", ".join(str(place.document.line(found.position)) for found in others[:_MOST_NAMED])
    remarks = (f"other tables on line {lines}; the longest was read",) if others else ()
    return place.answer(longest.table, longest.position, *remarks)


def _where(found: TableFound) -> int:
    return found.position


def tables(kind: AnswerType, form: TextForm, submission: Submission, *, around: bool = False) -> tuple[Answer, ...]:
    """Return all that may be the table where a form looks, or outside of the sections of tasks."""
    table_kind = kind if isinstance(kind, TableType) else _HISTOGRAM
    found: list[Answer] = []
    for path in (form.file,) if form.file is not None else find_reports(submission):
        document = read_document(submission, path)
        if not isinstance(document, Document):
            continue
        if around and form.report:
            number = form.report[-1]
            spans: tuple[Span, ...] = (*of_several(document, number), *of_none(document, number))
        else:
            document, spans = parts(document, form.report or ())
        place, kind_of = _Place(document=document, spans=spans, under=""), kinds(document.text)
        for span in spans:
            for each in find_every(document.text, span.start, span.end, table_kind):
                line = kind_of[document.line(each.position) - 1]
                if not (line.code or line.quoted or line.example):
                    found.append(place.answer(each_apart(each.table), each.position))
    return tuple(found[:_MOST_TABLES])


def _histogram(answer: Answered | None) -> Answered | None:
    if not isinstance(answer, Answer) or not isinstance(answer.value, Table):
        return answer
    counts = {row.name: count for row in answer.value.rows if isinstance(count := row.cells["count"], Number)}
    return replace(answer, value=counts)


# ---- patterns of an expert ------------------------------------------------------------------------------------------

_SECONDS = 10.0
_MOST_MATCHES = 100
_LONGEST = 10_000

_SEARCH = f"""
import itertools, json, re, sys
pattern = json.loads(sys.stdin.buffer.readline())
text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
found = itertools.islice(re.finditer(pattern, text, re.MULTILINE), {_MOST_MATCHES})
matches = [(m.start("answer"), m["answer"][:{_LONGEST}]) for m in found if m["answer"] is not None]
sys.stdout.write(json.dumps(matches))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The match of the group `answer`, and its place."""

    position: int
    text: str


class PatternError(Exception):
    """The pattern took too long or failed. The message names it; the author has to mend it, not the student."""


def search(pattern: str, text: str, *, seconds: float = _SECONDS) -> list[Match]:
    """Return the first matches (at most 100) of a pattern with a group `answer`; `^` and `$` match at every line.

    Raises:
        PatternError: no result after `seconds`, or the pattern is not valid.
    """
    sent = json.dumps(pattern).encode() + b"\n" + text.encode("utf-8", "surrogatepass")
    command = [sys.executable, "-I", "-S", "-c", _SEARCH]
    try:
        done = subprocess.run(command, input=sent, capture_output=True, timeout=seconds, check=False)  # noqa: S603 - our own program
    except subprocess.TimeoutExpired:
        message = f"the pattern '{pattern}' was not done after {seconds:g} s on {len(text):,} characters"
        raise PatternError(message) from None
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        message = f"the pattern '{pattern}' failed: {last or f'exit status {done.returncode}'}"
        raise PatternError(message)
    return [Match(position=position, text=matched) for position, matched in json.loads(done.stdout)]
