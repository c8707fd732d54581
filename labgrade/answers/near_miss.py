"""Where no form is present: what lies there instead, so that no attempt is called missing."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers import entry, file
from labgrade.answers.python_source import NO_PYTHON, code_file, tree_of
from labgrade.answers.reading.documents import Document, Unreadable, locate, read_bytes, read_document
from labgrade.answers.reading.find_words import find_words
from labgrade.answers.reading.passages.mentions import names_tasks, of_task
from labgrade.answers.reports import find_reports
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.errors import SpecError
from labgrade.core.task import BuildForm, CallForm, EntryForm, FileForm, RunForm, TextForm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.results import Submission
    from labgrade.core.task import AnswerType, Form, Plain

_LARGEST_SOURCE = 2 << 20
_OTHER_REPORTS = (".doc", ".odt", ".rtf")
_LISTED = 6
_REACH = 200
_LONG_NUMBER = re.compile(r"\d[\d.,' ]{2,}\d")
_ON_LINE = re.compile(r"^the words '.*?' (?=stand on line)")
_OPPOSITE = frozenset({"non", "not", "no", "un", "without"})
_COMMA = re.compile(r"\d+,\d+(?![\d,])")
_NUMBER_LIKE = re.compile(r"[^\w\n]{0,20}?(\d[\d.,']*(?: ?[A-Za-z]{1,8})?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a form finds in its place instead of a value.

    `unread`: a value that can't be read, but that a person may see. `blank`: a template that nobody changed.
    """

    text: str
    unread: bool = False
    blank: bool = False


def notes(forms: list[Form], kind: AnswerType, submission: Submission) -> list[Note]:
    """Return what each form finds in its place, in the order of the forms, each once."""
    forms = _beneath_headings(forms, submission)
    found = [note for form in forms for note in _notes(form, kind, submission)]
    found += _unannounced([form for form in forms if isinstance(form, TextForm) and form.file is None], submission)
    by_place = {_ON_LINE.sub("", note.text): note for note in reversed(found)}  # of one line the first words
    once = [note for note in dict.fromkeys(found) if by_place[_ON_LINE.sub("", note.text)] == note]
    return sorted(once, key=lambda note: (not note.unread, note.blank))


def _beneath_headings(forms: list[Form], submission: Submission) -> list[Form]:
    """Return the forms without those whose headings nobody wrote, if another form's headings are there."""
    documents = [read_document(submission, path) for path in find_reports(submission)]
    absent = [
        form
        for form in forms
        if isinstance(form, TextForm) and form.file is None
        if not any(isinstance(each, Document) and of_task(each, form.report or ())[1] for each in documents)
    ]
    left = [form for form in forms if form not in absent]
    return left if any(isinstance(form, TextForm) and form.file is None for form in left) else forms


def _notes(form: Form, kind: AnswerType, submission: Submission) -> Iterator[Note]:
    if isinstance(form, TextForm):
        yield from _text(form, kind, submission)
        return
    match form:
        case CallForm():
            note = _function(form, submission) or _instead(form.file, submission)
        case RunForm():
            note = _instead(form.file, submission)
        case BuildForm():
            note = _sources(form, submission)
        case FileForm():
            note = _instead(form.pattern, submission)
        case EntryForm():
            note = _entry(form, submission)
    if note is not None:
        yield note


def _instead(wanted: str, submission: Submission) -> Note | None:
    said = file.notebook_instead(submission, wanted)
    return Note(text=said) if said else None


def _sources(form: BuildForm, submission: Submission) -> Note | None:
    """Return a note on C++ sources in a folder that is not built."""
    found = [name for name in submission.files if name.endswith((".cpp", ".cc", ".cxx"))]
    if not found or not form.folder:
        return None
    return Note(text=f"'{found[0]}' is C++: put it into a folder '{form.folder}', where it is built")


def _function(form: CallForm, submission: Submission) -> Note | None:
    """Return a note on a function of almost that name or a method of a class; else on which functions there are."""
    path = code_file(form, submission)
    if not isinstance(path, str):
        return None
    source = read_bytes(submission, path, _LARGEST_SOURCE)
    if isinstance(source, Unreadable):
        return Note(text=source.reason)
    try:
        tree = tree_of(source, path)
    except NO_PYTHON:
        return None
    inner = {
        method.name: node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }
    if form.function in inner:
        owner = inner[form.function]
        return Note(text=f"'{form.function}' stands in the class '{owner}' of {path}; define it outside of any class")
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if form.function in names:
        return Note(text=f"'{form.function}' in {path} is as in the template", blank=True)
    same = next((name for name in names if _plain(name) == _plain(form.function)), None)
    alike = [name for name in names if _names_alike(form.function, name)]
    offer = f"; did you mean '{same}'?" if same else did_you_mean(form.function, alike)
    if offer:
        return Note(text=f"{path} has no '{form.function}'{offer} rename it to '{form.function}'")
    names = [name for name in names if not name.startswith("_")] or names  # private help is not what was meant
    listed = ", ".join(f"'{name}'" for name in names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return Note(text=f"{path} has no function '{form.function}'; it has {listed or 'none'}")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _names_alike(one: str, other: str) -> bool:
    """Return whether names are alike, and no word is another word: `total_parameters` is no `trainable_parameters`.

    Nor is it `non_trainable_parameters`, which has further words, one of them a negation.
    """
    words, others = one.split("_"), other.split("_")
    if len(words) == len(others):
        return all(map(did_you_mean, words, ([each] for each in others)))
    fewer, more = sorted((words, others), key=len)
    added = [each for each in more if not did_you_mean(each, fewer)]
    known = all(did_you_mean(each, more) for each in fewer)
    return "".join(words) == "".join(others) or (known and _OPPOSITE.isdisjoint(added))


def _entry(form: EntryForm, submission: Submission) -> Note | None:
    """Return a note on what the file of entries holds where the entry is missing."""
    found = next((found for each in entry.FILES if (found := locate(submission, each)) is not None), None)
    if not isinstance(found, str):
        return None
    try:
        data = entry.read(submission, found)
    except (SpecError, OSError, ValueError):
        return None
    example = f"`{form.path.partition('.')[0]}: {{{form.path.rpartition('.')[2]}: ...}}`"
    if data is None:
        return Note(text=f"'{found}' is empty")
    if not isinstance(data, dict):
        held = "a list" if isinstance(data, list) else "a single value"
        return Note(text=f"'{found}' holds {held}; write {example}")
    known = _entries(data)
    if form.path in known:
        return Note(text=f"'{form.path}' in {found} has no value", blank=True)
    offer = did_you_mean(form.path, known)
    return Note(text=f"'{found}' has no '{form.path}'{offer}") if offer else None


def _entries(data: dict[str, Plain], before: str = "") -> list[str]:
    names: list[str] = []
    for key, value in data.items():
        names += _entries(value, f"{before}{key}.") if isinstance(value, dict) else [f"{before}{key}"]
    return names


# ---- text ------------------------------------------------------------------------------------------------------


def _text(form: TextForm, kind: AnswerType, submission: Submission) -> Iterator[Note]:
    if form.file is not None:
        said = file.notebook_instead(submission, form.file)
        if said:
            yield Note(text=said)
        paths = [form.file]
    else:
        paths = list(find_reports(submission))
        if not paths:
            yield from _other_report(submission)
    for path in paths:
        document = read_document(submission, path)
        if not isinstance(document, Document):
            continue
        if document.lossy:
            why = document.problem or "may have lost a part when it was made text"
            yield Note(text=f"{path} {why}; report.md is read for certain", unread=True)
        elif form.after is not None and isinstance(kind, str):
            yield from _words_elsewhere(form, form.after, document)
        elif not of_task(document, form.report or ())[1]:
            yield Note(text=_no_heading(form, document))


def _other_report(submission: Submission) -> Iterator[Note]:
    other = [name for name in submission.files if PurePosixPath(name).suffix.lower() in _OTHER_REPORTS]
    if other:
        listed = ", ".join(f"'{name}'" for name in other[:_LISTED])
        yield Note(text=f"a report must be .md, .txt, .html, .ipynb, .docx or .pdf; there is {listed}")


def _words_elsewhere(form: TextForm, words: str, document: Document) -> Iterator[Note]:
    """Yield notes on the form's words outside of the section, or before something that is no number."""
    document, spans = of_task(document, form.report or ())
    for span in spans:
        for match in find_words(words, document.text, span.start, span.end):
            rest = document.text[match.end() : match.end() + _REACH].partition("\n")[0]
            why = _unreadable(rest)
            if why:
                where = f"line {document.line(match.start())} of {document.path}"
                yield Note(text=f"on {where}, behind '{words}', stands {why}", unread=True)
                return
    if not spans:
        yield Note(text=_no_heading(form, document))
        first = next(find_words(words, document.text), None)
        if first is not None:
            unread = not names_tasks(document, form.report or ()) and bool(
                _LONG_NUMBER.search(document.text, first.end())
            )
            yield Note(text=f"the words '{words}' stand on line {document.line(first.start())}", unread=unread)


def _unannounced(forms: list[TextForm], submission: Submission) -> Iterator[Note]:
    """Yield a note on a section with numbers but without the form's words."""
    words = [form.after for form in forms if form.after is not None]
    if not words or len(words) < len(forms):
        return
    heading = " / ".join(forms[0].report or ())
    for path in find_reports(submission):
        document = read_document(submission, path)
        if not isinstance(document, Document):
            continue
        document, spans = of_task(document, forms[0].report or ())
        for span in spans:
            text = document.text[span.start : span.end]
            lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
            told = any(next(find_words(each, text), None) for each in words)
            if not told and any(letter.isdigit() for line in lines for letter in line):
                under = f" under '{heading}'" if heading else ""
                missing = f"in {path}{under} the words '{words[0]}' are missing: write them before the answer"
                yield Note(text=missing)
                return


def _no_heading(form: TextForm, document: Document) -> str:
    return f"no heading of {document.path} begins with '{' / '.join(form.report or ())}'"


def _unreadable(rest: str) -> str:
    """Return why a number behind the words can't be read."""
    match = _NUMBER_LIKE.match(rest)
    if match is None or not _COMMA.match(match[1]):
        return ""
    return f"'{match[1]}', which can't be read: write decimals with a point"
