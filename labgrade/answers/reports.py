"""Which files are a student's report, what several of them say together, and what one says where it sums up."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers.reading.documents import Document, read_document
from labgrade.answers.reading.lines import read_lines
from labgrade.answers.reading.markup import FORMATS, LOSSY
from labgrade.answers.reading.numerals.numbers import finest_of
from labgrade.answers.reading.passages.around import of_none, of_several
from labgrade.answers.reading.passages.mentions import (
    any_like,
    is_of_several,
    names_tasks,
    of_task,
    spoken_of,
    without_others,
)
from labgrade.answers.reading.passages.sections import Span, from_heading
from labgrade.answers.reading.passages.topics import of_model
from labgrade.answers.reading.plain_values import cut
from labgrade.core.results import Answer, NoAnswer
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.answers.reading.lines import Line
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import TextForm

_MOST_NAMED, _MOST_REPORTS = 4, 50
_LONGEST_LINE = 600
_REFERS = re.compile(
    r"\W{0,6}(?:please )?(?:see|siehe|s\.|vgl\.|voir|véase|ver|vedi|zie|same as|as in|見|见|參見|参见|參考|参考|同)"
    r"[\s:*_`]{0,4}(?:under |section |task |question |abschnitt |aufgabe |hw ?)?(\d{1,2}-\d{1,2}-\d{1,2})"
    r"(?: above| oben)?\W{0,6}",
    re.IGNORECASE,
)
_PLAIN = (".md", ".markdown", ".txt")
_SOURCES = (".rst", ".tex", ".org", ".adoc", ".rmd", ".qmd")
_REPORT = re.compile(
    r"report(?!er|ing)|bericht|r[ae]pp?orte?|informe|relat[oó]rio|relazione|verslag|отч[её]т|報告|报告|レポート|보고서",
    re.IGNORECASE,
)
_NO_REPORT = re.compile(
    r"output|requirements|constraints|cmake|make|licen[cs]e|changelog|profile|handout|summary|(?:^|[._-])(?:log|logs|start)$",
    re.IGNORECASE,
)


def find_reports(submission: Submission) -> tuple[str, ...]:
    """Return the reports nearest to the top: named `report` in a format that is read, else any other document.

    `report.md` comes first. Of one name in several formats, as after an export, those that lose least. Of more than a
    person would write, as if texts are data, the first ones, plain texts last.
    """
    return _reports_among(submission.files)


@lru_cache(maxsize=4)
def _reports_among(files: tuple[str, ...]) -> tuple[str, ...]:
    found = [file for file in files if _is_report(file)]
    found = found or [file for file in files if _is_written(file) and not _NO_REPORT.search(_name(file))]
    highest = min((file.count("/") for file in found), default=0)
    level = [file for file in found if file.count("/") == highest]
    least: dict[PurePosixPath, int] = {}
    for file in level:
        least[_stem(file)] = min(_loss(file), least.get(_stem(file), _loss(file)))
    level = [file for file in level if _loss(file) == least[_stem(file)]]
    if len(level) > _MOST_REPORTS:
        level = sorted(level, key=lambda file: (file.lower().endswith(".txt"), file))[:_MOST_REPORTS]
    return tuple(sorted(level, key=lambda file: (PurePosixPath(file).name.lower() != "report.md", file)))


def parts(document: Document, path: tuple[str, ...]) -> tuple[Document, tuple[Span, ...]]:
    """Return the parts under a path of headings, or behind the task's number, and the document they belong to.

    If all they say is `see 2-1-1`, the parts of that task.
    """
    own, spans = of_task(document, path)
    said = " ".join(own.text[span.start : min(span.end, span.start + _LONGEST_LINE)].strip() for span in spans)
    other = _REFERS.fullmatch(said.strip())
    if not other or not path or other[1] in path:
        return own, spans
    others, found = of_task(document, (other[1],))
    return (others, found) if found else (own, spans)


def passages(forms: Sequence[TextForm], submission: Submission, *, written: bool = True) -> tuple[str, ...]:
    """Return the parts of the hand-in in which these forms look, each once, with its place.

    They are as `written`: with addresses and images, in which no values are looked for.
    """
    found: dict[str, str] = {}
    for form in forms:
        for path in (form.file,) if form.file is not None else find_reports(submission):
            document = read_document(submission, path)
            if not isinstance(document, Document):
                continue
            document, spans = parts(document, form.report or ())
            for span in spans:
                start = from_heading(document.text, span.start)
                whole = document.as_written(start, span.end) if written else document.text[start : span.end]
                part = whole.strip()
                if part:
                    first = document.line(start) + whole[: whole.index(part)].count(
                        "\n"
                    )  # not of the heading that it stands beneath
                    found.setdefault(part, f"[{document.path}:{first}]\n{part}")
    return tuple(found.values())


def lines(form: TextForm, submission: Submission, about: str) -> tuple[Line, ...]:
    """Return the lines in which a form looks, as typed pieces."""
    found: list[Line] = []
    for path in (form.file,) if form.file is not None else find_reports(submission):
        document = read_document(submission, path)
        if isinstance(document, Document):
            read = read_lines(*parts(document, form.report or ()), about)
            several = is_of_several(document, form.report or ())
            found += [replace(line, shared=True) for line in read] if several else read
    return tuple(found)


def mentions(form: TextForm, submission: Submission, about: str, others: tuple[str, ...] = ()) -> tuple[Line, ...]:
    """Return a report's lines with the number of a form's task that are no heading; without a path, of any task.

    In a report without such numbers, under a path of one task: lines that are under no heading of another model, nor of
    one of the `others`, tasks by their names.
    """
    found: list[Line] = []
    for path in find_reports(submission) if form.file is None else ():
        document = read_document(submission, path)
        if not isinstance(document, Document):
            continue
        told = spoken_of(document, form.report or ())
        if told is not None:
            read = read_lines(told, (Span(start=0, end=len(told.text)),), about)
            found += [replace(line, numbered=True) for line in read]
        elif form.report and form.report != (any_like(form.report[-1]),) and not names_tasks(document, form.report):
            found += read_lines(document, of_model(document, about, (form.report[-1], *others)), about)
    return tuple(found)


def around(form: TextForm, submission: Submission, about: str) -> tuple[Line, ...]:
    """Return the lines that belong to no task, in which a task without a section may be answered."""
    found: list[Line] = []
    under = form.report or ()
    for path in find_reports(submission) if under else ():
        document = read_document(submission, path)
        if isinstance(document, Document) and names_tasks(document, under):
            of_more = (*of_several(document, under[-1]), *of_none(document, under[-1]))
            found += read_lines(document, tuple(without_others(document, of_more, under[-1])), about)
    return tuple(found)


def below(submission: Submission, read: Sequence[str]) -> tuple[str, ...]:
    """Return a remark for staff if other reports lie deeper than those that were read."""
    deeper = [file for file in submission.files if _is_report(file) and file not in read]
    if not deeper or not any(map(_is_report, read)):
        return ()
    return (f"not read, as a report lies above it: {_named(deeper)}",)


def together(found: Sequence[Answered]) -> Answered:
    """Return the common value of reports of the same level if they agree; else MANUAL with every place."""
    first = found[0]
    if len(found) == 1:
        return first
    answers = [each for each in found if isinstance(each, Answer)]
    agreed = _agreed(answers) if len(answers) == len(found) else None
    places = ", ".join(f"{_said(each)} ({each.origin})" for each in found[:_MOST_NAMED])
    if agreed is None:
        verdict = without_value(
            Outcome.MANUAL,
            f"{len(found)} reports say different things: {places}",
            hint="hand in one report, at the top of the folder",
        )
        return NoAnswer(verdict=verdict, origin=first.origin, remarks=first.remarks)
    origins = ", ".join(each.origin for each in found)
    return replace(agreed, remarks=(*agreed.remarks, f"{len(found)} reports say the same: {origins}"))


def _agreed(answers: Sequence[Answer]) -> Answer | None:
    numbers = [each.value for each in answers if isinstance(each.value, Number)]
    if len(numbers) == len(answers):
        finest = finest_of(numbers)
        return next((each for each in answers if each.value is finest), None)
    return answers[0] if all(each.value == answers[0].value for each in answers) else None


def _said(each: Answered) -> str:
    if isinstance(each, NoAnswer):
        return each.verdict.reason
    return cut(str(each.value)) if isinstance(each.value, Number | str | tuple) else "a table"


def _named(files: Sequence[str]) -> str:
    return ", ".join(f"'{file}'" for file in files[:_MOST_NAMED]) + (", ..." if len(files) > _MOST_NAMED else "")


def _is_report(file: str) -> bool:
    return _is_written(file) and bool(_REPORT.search(_name(file)))


def _is_written(file: str) -> bool:
    return PurePosixPath(file.lower()).suffix in (*_PLAIN, *_SOURCES, *FORMATS)


def _name(file: str) -> str:
    return PurePosixPath(file).stem


def _stem(file: str) -> PurePosixPath:
    return PurePosixPath(file.lower()).with_suffix("")


def _loss(file: str) -> int:
    suffix = PurePosixPath(file.lower()).suffix
    return 0 if suffix in _PLAIN else 2 if suffix in LOSSY else 1
