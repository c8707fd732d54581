"""One answer of one submission: the first form that is present is judged, the others are compared for staff."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from labgrade.answers import artifacts, call, run
from labgrade.answers.question import about
from labgrade.answers.reader.asks import (
    Ask,
    ask_around,
    ask_lines,
    ask_mentions,
    ask_notes,
    ask_passages,
    ask_tables,
    ask_value,
)
from labgrade.answers.reader.reader import by_name
from labgrade.answers.reading.passages.mentions import any_like
from labgrade.answers.text import POINTS_ELSEWHERE
from labgrade.core.by_identity import ByIdentity
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import (
    ARTIFACT_KINDS,
    BuildForm,
    CallForm,
    EntryForm,
    FileForm,
    RunForm,
    TableOfType,
    TableType,
    TextForm,
)
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.answers.near_miss import Note
    from labgrade.answers.question import Question, Running
    from labgrade.answers.reader.reader import Reader
    from labgrade.answers.text import Seen
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerSpec, AnswerType, Form, SubjectSpec, Task
    from labgrade.verdict import Verdict

UNREAD = "no value could be read"
_MOST_NOTES = 2
_ANSWERS = 1024  # of the specs of a course that are graded at once
_ALONE = ("count", "bytes")  # which another line of the same text may contradict where they are right
_TEXTS = (".txt", ".md", ".log", ".csv", ".tsv")
# What a program came to that gave no value: others may still find one in what it printed or wrote.
_TRIED = frozenset({Outcome.MISSING, Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT})


def obtain(question: Question, running: Running) -> Answered:
    """Return the answer in the first form that is present; MISSING with all that was looked for if none is."""
    wanted, submission = question.wanted, question.submission
    forms = [form for form in wanted.forms if not question.live_only or is_live(form)]
    failed: NoAnswer | None = None
    unread: Answered | None = None
    for position, form in enumerate(forms):
        match form:
            case CallForm():
                found = call.obtain(question, form, running)
            case RunForm() | BuildForm():
                found = run.obtain(question, form, running.runs)
                if isinstance(found, NoAnswer) and found.verdict.outcome in _TRIED:
                    failed = _first_failed(failed, found)
                    continue
            case _ if failed is None or failed.verdict.outcome is Outcome.MISSING:
                found = _unless_taken(_read(question, form, running.reader, running), question)
                if _is_in_no_file(found, form) or _points_elsewhere(found):
                    unread = unread or found
                    continue
            case _:
                continue
        if found is not None:
            return _compared(found, question, forms[position + 1 :], running.reader)
    if failed is not None and not (submission.unread and failed.verdict.outcome is Outcome.MISSING):
        return failed
    if unread is not None:
        return unread
    return _stray(forms, question, running.reader) or _no_answer(forms, question, running.reader)


def _no_answer(forms: list[Form], question: Question, reader: Reader) -> NoAnswer:
    verdict = _missing(forms, question, reader)
    return NoAnswer(verdict=verdict, free=verdict.outcome in (Outcome.MISSING, Outcome.MANUAL))


def _stray(forms: list[Form], question: Question, reader: Reader) -> Answered | None:
    """Return the value of an entry with another name that is likely this answer and no other answer."""
    kind = question.wanted.type
    asks = (
        Ask(wanted="stray", kind=kind, forms=(form,))
        for form in forms
        if isinstance(form, EntryForm) and kind != "text"
    )
    found = (each for ask in asks if isinstance(each := reader.ask(question.submission, ask), Answer))
    return next((each for each in found if _unless_taken(each, question)), None)


def _unless_taken(found: Answered | None, question: Question) -> Answered | None:
    """Return the value found, unless it is the entry of another answer of the same task."""
    return None if isinstance(found, Answer) and found.instead in question.taken else found


def _is_in_no_file(found: Answered | None, form: Form) -> bool:
    """Return whether the file of entries can't be read, so that it does not show the answer."""
    return isinstance(form, EntryForm) and isinstance(found, NoAnswer) and not found.origin.endswith(f" {form.path}")


def _points_elsewhere(found: Answered | None) -> bool:
    """Return whether there is only a picture or an address, so that another form may have the text."""
    return isinstance(found, NoAnswer) and found.verdict.reason == POINTS_ELSEWHERE


def is_live(form: Form) -> bool:
    """Return whether the answer can be computed again for another subject."""
    return isinstance(form, CallForm) or (isinstance(form, RunForm | BuildForm) and form.varies)


def _first_failed(one: NoAnswer | None, other: NoAnswer) -> NoAnswer:
    """Return the first failed run, else the first one that ended well without a value."""
    said_nothing = Outcome.MISSING
    if one is None or (one.verdict.outcome is said_nothing and other.verdict.outcome is not said_nothing):
        return other
    return one


def asks(task: Task, submission: Submission) -> Iterator[tuple[str, Mapping[str, Ask]]]:
    """Yield what may be read of a hand-in for a task, by what is read together: "" for what is likely needed."""
    printed = False  # whether tensors may be, where there is no code that gives them: no text is an answer then
    for wanted in task.answers.values():
        has_code = any(isinstance(form, CallForm) and form.file in submission.files for form in wanted.forms)
        first, where_missing = _asks(wanted, task.subject, has_code)
        yield "", first
        yield "where nothing is found", where_missing
        printed |= isinstance(wanted.type, TableOfType) and not has_code and all(map(is_live, wanted.forms))
    yield "" if printed else f"lines of {task.id}", _all_lines(task)


def _asks_of(
    wanted: AnswerSpec,
    subject: SubjectSpec | None,
    has_code: bool,  # noqa: FBT001
) -> tuple[Mapping[str, Ask], Mapping[str, Ask]]:
    """Return what is read first, and what only if no value is found; without code, the latter is likely needed."""
    live, model = [form for form in wanted.forms if is_live(form)], about(subject)
    read = [form for form in wanted.forms if _is_read(form) and not _is_opened(form, wanted.type)]
    texts = [form for form in wanted.forms if isinstance(form, TextForm)]
    first = (
        *(Ask(wanted="present", forms=(form,)) for form in wanted.forms if isinstance(form, CallForm)),
        *(ask_value(wanted.type, form, model) for form in read),
        *(ask_passages("file", [form]) for form in texts if wanted.type in ARTIFACT_KINDS),
    )
    where_missing = (
        *(Ask(wanted="stray", kind=wanted.type, forms=(form,)) for form in wanted.forms if isinstance(form, EntryForm)),
        *(ask_notes(wanted.type, forms) for forms in (list(wanted.forms), live)),
        *(Ask(wanted="seen", kind=wanted.type, forms=(form,)) for form in texts),
    )
    if has_code:
        return by_name(first), by_name(where_missing)
    lines = _lines(wanted, model) if wanted.type in _ALONE else ()
    return by_name((*first, *where_missing, *lines)), {}


_asks = ByIdentity(_asks_of, _ANSWERS)  # a class is asked the same
_all_lines = ByIdentity(
    lambda task: by_name(ask for wanted in task.answers.values() for ask in _lines(wanted, about(task.subject), task)),
    _ANSWERS,
)


def _lines(wanted: AnswerSpec, about: str, task: Task | None = None) -> Iterator[Ask]:
    """Yield the asks for all lines in which it may be, and for those about its task."""
    texts = text_forms(wanted)
    for form in (*texts, TextForm(report=())):
        yield ask_lines(form, about)
    for path in dict.fromkeys((report_path(wanted), ())) if texts else ():
        yield ask_mentions(TextForm(report=path), about) if task is None else mentions_of(task, path, about)
    if texts and report_path(wanted):
        yield ask_around(report_path(wanted), about)
    if isinstance(wanted.type, TableType) or wanted.type == "histogram":
        yield from (*tables_of(wanted), *tables_of(wanted, around=True), ask_tables(wanted.type, TextForm(report=())))


def tables_of(wanted: AnswerSpec, *, around: bool = False) -> Iterator[Ask]:
    """Yield the asks for all tables that may be the answer, in its section or around."""
    for form in {(form.report, form.file): form for form in text_forms(wanted)}.values():
        if form.report or not around:
            yield ask_tables(wanted.type, form, around=around)


def mentions_of(task: Task, path: tuple[str, ...], about: str) -> Ask:
    """Return the ask for the report's lines about a task, under a path of headings or none."""
    return ask_mentions(TextForm(report=path), about, _named_alike(task.path.parent, path[-1]) if path else ())


@lru_cache
def _named_alike(lab: Path, name: str) -> tuple[str, ...]:
    """Return the lab's other tasks with the same first word, `llm-ring` for `llm-lora`, if it has no number."""
    alike = any_like(name)
    found = sorted(path.stem for path in lab.glob(f"{alike}.yaml")) if alike else []
    return tuple(each for each in found if each != name)


def text_forms(wanted: AnswerSpec) -> list[TextForm]:
    """Return the forms that look in a text; a text file without words to look for is one, too."""
    texts = [form for form in wanted.forms if isinstance(form, FileForm) and form.pattern.endswith(_TEXTS)]
    return [
        *(form for form in wanted.forms if isinstance(form, TextForm)),
        *(TextForm(file=form.pattern) for form in texts),
    ]


def report_path(wanted: AnswerSpec) -> tuple[str, ...]:
    """Return the headings under which a report should have the answer, or none."""
    return next((form.report for form in text_forms(wanted) if form.report), ())


def _is_read(form: Form) -> bool:
    return isinstance(form, EntryForm | FileForm | TextForm)


def _is_opened(form: Form, kind: AnswerType) -> bool:
    """Return whether another program than the reader opens the file."""
    return kind in ARTIFACT_KINDS or (isinstance(form, FileForm) and artifacts.holds_tensors(kind, form.pattern))


def _read(question: Question, form: Form, reader: Reader, running: Running | None = None) -> Answered | None:
    if not _is_read(form):
        return None
    if question.wanted.type in ARTIFACT_KINDS:
        if isinstance(form, TextForm):
            said: tuple[str, ...] = reader.ask(question.submission, ask_passages("file", [form]))
            return artifacts.of_report(said, running.store) if running is not None else None
        made = artifacts.obtain(form, question.submission) if isinstance(form, FileForm) else None
        return _unless_blank(made, question.submission, reader) if question.wanted.type == "image" else made
    if isinstance(form, FileForm) and artifacts.holds_tensors(question.wanted.type, form.pattern):
        return (
            artifacts.obtain_tensors(question.wanted.type, form, question.submission, running.runner)
            if running is not None
            else None
        )
    found: Answered | None = reader.ask(question.submission, ask_value(question.wanted.type, form, question.about))
    return found


def _unless_blank(found: Answered | None, submission: Submission, reader: Reader) -> Answered | None:
    """Return the picture, unless it shows nothing."""
    problem = reader.ask(submission, Ask(wanted="image", about=found.origin)) if isinstance(found, Answer) else ""
    if not problem or found is None:
        return found
    verdict = without_value(
        Outcome.INCORRECT, f"'{found.origin}': {problem}", hint="look at the file, and hand it in again"
    )
    return NoAnswer(verdict=verdict, origin=found.origin, remarks=found.remarks)


def _compared(found: Answered, question: Question, later: list[Form], reader: Reader) -> Answered:
    """Return the answer with a remark for each later form with another value. Only numbers are compared."""
    if not isinstance(found, Answer) or not isinstance(found.value, Number):
        return found
    remarks = list(found.remarks)
    for form in later:
        other = _read(question, form, reader)
        if isinstance(other, Answer) and isinstance(other.value, Number) and _differ(found.value, other.value):
            remarks.append(f"{other.origin} says {other.value} instead")
    return replace(found, remarks=tuple(remarks))


def _differ(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) > max(one.half_unit, other.half_unit)


def _missing(forms: list[Form], question: Question, reader: Reader) -> Verdict:
    """Return MISSING with what was looked for; MANUAL if there is a value that can't be read."""
    kind, submission = question.wanted.type, question.submission
    if submission.unread:
        return submission.unread_verdict()
    looked_for = tuple(places(forms))
    if not submission.files:
        return without_value(Outcome.MISSING, _empty(submission))
    notes: tuple[Note, ...] = reader.ask(submission, ask_notes(kind, forms))
    suggestions = tuple(note.text for note in notes[:_MOST_NOTES])
    if any(note.unread for note in notes):
        verdict = without_value(Outcome.MANUAL, UNREAD)
        return replace(verdict, looked_for=looked_for, suggestions=suggestions)
    if notes and all(note.blank for note in notes):
        return without_value(Outcome.MISSING, f"not handed in yet: {notes[0].text}{_elsewhere(len(looked_for) - 1)}")
    texts = [form for form in forms if isinstance(form, TextForm)]
    found: list[Seen | None] = [reader.ask(submission, Ask(wanted="seen", kind=kind, forms=(form,))) for form in texts]
    seen = sorted((each for each in found if each is not None), key=lambda each: not each.is_table)
    what = seen[0].text if seen else "no answer was found" if notes else "nothing was handed in"
    if question.live_only and len(forms) < len(question.wanted.forms) and not (seen or notes):
        # A file or a report is about the task's own subject.
        what = f"no {'function' if any(isinstance(form, CallForm) for form in forms) else 'program'} was handed in"
    return replace(without_value(Outcome.MISSING, what), looked_for=looked_for, suggestions=suggestions)


def _empty(submission: Submission) -> str:
    folders = sorted(entry.name for entry in submission.folder.iterdir() if entry.is_dir())
    if submission.refused:
        return f"nothing in the folder can be read: {submission.refused[0]}"
    return f"there is no file in the folder, only folders: '{folders[0]}'" if folders else "the folder is empty"


def _elsewhere(count: int) -> str:
    return f", and {count} other {'places hold' if count > 1 else 'place holds'} nothing" if count else ""


def places(forms: Iterable[Form]) -> list[str]:
    """Return where the forms look, in words and each place once: `'Total MACs' or 'MACs' in out.txt`."""
    found: dict[tuple[str, bool], list[str]] = {}
    for form in forms:
        words, place = _described(form)
        of_place = found.setdefault((place, bool(words)), [])
        if words not in of_place:
            of_place.append(words)
    return [_joined(words, place) for (place, _), words in found.items()]


def _joined(words: list[str], place: str) -> str:
    *others, last = words
    said = f"{', '.join(others)} or {last}" if others else last
    return f"{said} in {place}" if said and place else said or place


def _described(form: Form) -> tuple[str, str]:
    """Return the words by which a form is known, if any, and where it looks."""
    match form:
        case BuildForm():
            return f"a C++ program '{form.program}'", form.folder
        case RunForm():
            return f"'{form.command}'", form.folder
        case CallForm():
            return f"'{form.function}'", form.file
        case EntryForm():
            return f"'{form.path}'", "answers.yaml"
        case FileForm():
            return "", form.pattern
    words = f"'{form.after or form.find}'" if form.after or form.find else ""
    return words, form.file or "the report" + (f" under {' / '.join(form.report)}" if form.report else "")
