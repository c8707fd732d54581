"""What a reader is asked of a hand-in: words and types, never an expected value. `perform` reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from labgrade.answers import entry, file, near_miss, printed_names, python_source, rendering, reports, text
from labgrade.answers.reading.documents import locate
from labgrade.core.task import BuildForm, CallForm, EntryForm, FileForm, RunForm, TextForm
from labgrade.cpp import explain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.answers.near_miss import Note
    from labgrade.answers.reading.lines import Line
    from labgrade.answers.rendering import CodeFile
    from labgrade.answers.text import Seen
    from labgrade.core.results import Answer, Answered, Submission
    from labgrade.core.task import AnswerType, Form
    from labgrade.values import Array

    Reply: TypeAlias = (
        Answered
        | Seen
        | tuple[Note, ...]
        | tuple[str, ...]
        | tuple[Line, ...]
        | tuple[Answer, ...]
        | tuple[CodeFile, ...]
        | str
        | bool
        | Array
        | None
    )

Wanted: TypeAlias = Literal[
    "value",
    "stray",
    "printed",
    "notes",
    "seen",
    "passages",
    "lines",
    "mentions",
    "around",
    "tables",
    "present",
    "returned",
    "markdown",
    "picture",
    "image",
    "code",
    "log",
    "crash",
    "sources",
]

_MANY_FILES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One thing to be read of a hand-in.

    `value`: the answer of the only form; `stray`: what is likely to be it, under another name; `printed`: the answer of
    what a program printed; `notes`: what lies where the forms look in vain; `seen`: what a text holds instead of a
    value; `passages`: the texts in which forms look; `lines`: the lines in which a form looks, as typed pieces;
    `mentions`: those that have its task's number; `around`: those in which it may be answered, where it has no section;
    `tables`: all tables of the kind in its section, or in what is of no task where `about` says `around`;
    `present`: whether a file has the function of the only form; `returned`: what a text that it returned stands for;
    `markdown`, `picture`, `code`: what a person is shown, of a text, of a file, of all files with code; `log`, `crash`,
    `sources`: what is found in what tools and programs said, and in C++ sources.
    `about`: the model in question, the text or the file that is shown, what was said, or "". `line`: of the text, where
    a value was read.
    `image`: why a picture shows nothing. `others`: the names of tasks under whose headings nothing is of this one.
    """

    wanted: Wanted
    kind: AnswerType = "text"
    forms: tuple[Form, ...] = ()
    about: str = ""
    line: int = 0
    others: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return the part that is read: if that can't be read for one ask, it can't for others."""
        if self.wanted == "returned":
            return "the text that was returned"
        if self.wanted not in {"value", "stray", "seen", "present"}:
            return self.wanted
        form = self.forms[0]
        match form:
            case CallForm():
                return f"'{form.file}'"
            case EntryForm():
                return "the file of entries"
            case FileForm():
                return f"'{form.pattern}'"
            case TextForm():
                return f"'{form.file}'" if form.file is not None else "the report"
        return self.wanted  # pragma: no cover - no other form is read


def ask_value(kind: AnswerType, form: Form, about: str = "") -> Ask:
    """Return the ask for the answer in a form. A form without a model names none, so that it is read once for all."""
    return Ask(wanted="value", kind=kind, forms=(form,), about=about if isinstance(form, TextForm) else "")


def ask_notes(kind: AnswerType, forms: list[Form]) -> Ask:
    """Return the ask for what these forms find instead of values."""
    return Ask(wanted="notes", kind=kind, forms=tuple(map(without_files, forms)))


def without_files(form: Form) -> Form:
    """Return the form without the grader's files that a program finds beside it, which nobody reads for."""
    return replace(form, provide={}) if isinstance(form, RunForm | BuildForm) else form


def ask_passages(kind: AnswerType, forms: Iterable[Form]) -> Ask:
    """Return the ask for the passages in which these forms look, as people see them; for a `file` without addresses."""
    return Ask(wanted="passages", kind=kind, forms=tuple(map(without_files, forms)))


def ask_lines(form: TextForm, about: str = "") -> Ask:
    """Return the ask for all lines in which a form looks."""
    return Ask(wanted="lines", forms=(replace(form, after=None, find=None),), about=about)


def ask_mentions(form: TextForm, about: str = "", others: tuple[str, ...] = ()) -> Ask:
    """Return the ask for the report's lines with the number of a form's task, under any heading but other tasks'."""
    bare = replace(form, after=None, find=None)
    return Ask(wanted="mentions", forms=(bare,), about=about, others=others)


def ask_around(path: tuple[str, ...], about: str = "") -> Ask:
    """Return the ask for the report's lines that belong to no other task than a path's."""
    return Ask(wanted="around", forms=(TextForm(report=path),), about=about)


def ask_tables(kind: AnswerType, form: TextForm, *, around: bool = False) -> Ask:
    """Return the ask for all that may be the table where a form looks, or `around` the sections of tasks."""
    bare = replace(form, after=None, find=None)
    return Ask(wanted="tables", kind=kind, forms=(bare,), about="around" if around else "")


def is_of_nothing(ask: Ask, submission: Submission) -> bool:
    """Return whether no file has a name that is looked for, so that the reply is None.

    With many files, this takes as long as reading them.
    """
    if ask.wanted not in ("value", "stray", "seen") or len(submission.files) > _MANY_FILES:
        return False
    match ask.forms[0]:
        case EntryForm():
            return entry.find(submission) is None
        case TextForm(file=None):
            return not reports.find_reports(submission)
        case TextForm(file=str(name)):
            return locate(submission, name) is None
        case FileForm(pattern=name):
            return "*" not in name and locate(submission, name) is None
    return False


def perform(ask: Ask, submission: Submission) -> Reply:
    """Return the reply to one ask."""
    match ask.wanted, ask.forms[0] if ask.forms else None:
        case "value", EntryForm() as form:
            return entry.obtain(ask.kind, form, submission)
        case "stray", EntryForm() as form:
            return entry.obtain(ask.kind, form, submission, stray=True)
        case "value", FileForm() as form:
            return file.obtain(ask.kind, form, submission)
        case "value", TextForm() as form:
            return text.obtain(ask.kind, form, submission, about=ask.about)
        case "seen", TextForm() as form:
            return text.seen_instead(ask.kind, form, submission)
        case (("lines" | "mentions" | "around" | "tables"), TextForm() as form):
            return _of_sections(ask, form, submission)
        case (("printed" | "returned" | "present"), _):
            return _of_code(ask, submission)
    return _beside(ask, submission)


def _of_sections(ask: Ask, form: TextForm, submission: Submission) -> Reply:
    """Return the lines or tables in which an answer may be."""
    match ask.wanted:
        case "mentions":
            return reports.mentions(form, submission, ask.about, ask.others)
        case "around":
            return reports.around(form, submission, ask.about)
        case "tables":
            return text.tables(ask.kind, form, submission, around=bool(ask.about))
    return reports.lines(form, submission, ask.about)


def _beside(ask: Ask, submission: Submission) -> Reply:
    """Return the reply to an ask for something beside the answers."""
    match ask.wanted, ask.forms[0] if ask.forms else None:
        case "notes", _:
            return tuple(near_miss.notes(list(ask.forms), ask.kind, submission))
        case "passages", _:
            forms = (form.reads if isinstance(form, RunForm) else form for form in ask.forms)
            own = [form for form in forms if isinstance(form, TextForm)]
            written = ask.kind != "file"
            found = reports.passages(own, submission, written=written)
            return found or reports.passages(
                [TextForm()], submission, written=written
            )  # all that a person may find it in
        case "markdown", _:
            return rendering.as_html(ask.about, ask.line)
        case "picture", _:
            return rendering.as_pixels(submission, ask.about)
        case "image", _:
            return rendering.empty_picture(submission, ask.about)
        case "code", _:
            return rendering.as_code(submission)
        case ("log" | "crash" | "sources") as found, _:
            return explain.read(found, submission, ask.about)
    raise _nothing(ask)


def _of_code(ask: Ask, submission: Submission) -> Reply:
    """Return the reply to an ask about a student's code, or about how it ran."""
    match ask.wanted, ask.forms[0] if ask.forms else None:
        case "printed", EntryForm() as form:
            return printed_names.obtain(ask.kind, form, submission)
        case "present", CallForm() as form:
            return python_source.present(form, submission)
        case "returned", None:
            return python_source.returned(ask.kind, submission)
    raise _nothing(ask)


def _nothing(ask: Ask) -> ValueError:
    return ValueError(f"nothing is read for {ask}")
