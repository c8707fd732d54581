"""One answer of one submission: the first form that is present is judged, the others are compared for staff."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from labgrade.answers import call, entry, file, missing, run, text
from labgrade.forms import BuildForm, CallForm, EntryForm, FileForm, RunForm, TextForm
from labgrade.results import Answer, NoAnswer
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from labgrade.forms import AnswerSpec, AnswerType, Form
    from labgrade.model import Limits, SubjectSpec
    from labgrade.results import Submission
    from labgrade.sandbox.runner import Runner
    from labgrade.verdict import Verdict

_MOST_NOTES = 2
# What a program came to that gave no value: others may still find one in what it printed or wrote.
_TRIED = frozenset({Outcome.MISSING, Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT})


def obtain(  # noqa: PLR0913 - each by its name
    wanted: AnswerSpec,
    submission: Submission,
    *,
    subject: SubjectSpec | None,
    live_only: bool,
    limits: Limits,
    runner: Runner,
    runs: run.Runs,
    model: Mapping[str, Path] = MappingProxyType({}),
    store: Path,
) -> Answer | NoAnswer:
    """The answer in the first form that is present; MISSING with what was looked for where none is.

    `live_only`: only forms that can be computed again for another subject count (cases). `model`: the files of an
    ONNX subject, by name, for a call that is given their path. `store`: where files that a call writes are kept.
    """
    called = partial(call.obtain, subject=subject, limits=limits, runner=runner, model=model, store=store)
    ran = partial(run.obtain, subject=subject, limits=limits, runs=runs)
    about = subject.model if subject is not None and not subject.is_config else ""
    forms = [form for form in wanted.forms if not live_only or _is_live(form)]
    failed: NoAnswer | None = None
    for position, form in enumerate(forms):
        match form:
            case CallForm():
                found = called(wanted.name, wanted.type, form, submission)
            case RunForm() | BuildForm():
                found = ran(wanted.name, wanted.type, form, submission)
                if isinstance(found, NoAnswer) and found.verdict.outcome in _TRIED:
                    failed = _worse(failed, found)
                    continue
            case _ if failed is None or failed.verdict.outcome is Outcome.MISSING:
                found = _read(wanted, form, submission, about)
            case _:
                continue
        if found is not None:
            return _compared(found, wanted, forms[position + 1 :], submission, about)
    if failed is not None and not (submission.unread and failed.verdict.outcome is Outcome.MISSING):
        return failed
    return NoAnswer(name=wanted.name, verdict=_missing(forms, wanted.type, submission))


def _is_live(form: Form) -> bool:
    """Whether it can be computed again for another subject."""
    return isinstance(form, CallForm) or (isinstance(form, RunForm | BuildForm) and form.varies)


def _worse(one: NoAnswer | None, other: NoAnswer) -> NoAnswer:
    """The first that failed, else the first that ended well and said nothing."""
    said_nothing = Outcome.MISSING
    if one is None or (one.verdict.outcome is said_nothing and other.verdict.outcome is not said_nothing):
        return other
    return one


def _read(wanted: AnswerSpec, form: Form, submission: Submission, about: str) -> Answer | NoAnswer | None:
    match form:
        case EntryForm():
            return entry.obtain(wanted.name, wanted.type, form, submission)
        case FileForm():
            return file.obtain(wanted.name, wanted.type, form, submission)
        case CallForm() | RunForm() | BuildForm():
            return None
        case _:
            return text.obtain(wanted.name, wanted.type, form, submission, about=about)


def _compared(
    found: Answer | NoAnswer, wanted: AnswerSpec, later: list[Form], submission: Submission, about: str
) -> Answer | NoAnswer:
    """The answer with a remark for each later form that says something else. Only numbers are compared."""
    if not isinstance(found, Answer) or not isinstance(found.value, Number):
        return found
    remarks = list(found.remarks)
    for form in later:
        other = _read(wanted, form, submission, about)
        if isinstance(other, Answer) and isinstance(other.value, Number) and _differ(found.value, other.value):
            remarks.append(f"{other.origin} says {other.value} instead")
    return replace(found, remarks=tuple(remarks))


def _differ(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) > max(one.half_unit, other.half_unit)


def _missing(forms: list[Form], kind: AnswerType, submission: Submission) -> Verdict:
    """MISSING with what was looked for; MANUAL where a value was said, only not so that it can be read."""
    if submission.unread:
        return missing.unread(submission)
    looked = "; ".join(places(forms))
    if not submission.files:
        return without_value(Outcome.MISSING, _empty(submission))
    notes = missing.notes(forms, kind, submission)
    hint = "; ".join(note.text for note in notes[:_MOST_NOTES])
    if any(note.unread for note in notes):
        return without_value(Outcome.MANUAL, f"no value could be read; looked for {looked}", hint=hint)
    if notes and all(note.blank for note in notes):
        return without_value(Outcome.MISSING, f"not handed in yet: {notes[0].text}{_elsewhere(len(places(forms)) - 1)}")
    seen = [text.seen_instead(kind, form, submission) for form in forms if isinstance(form, TextForm)]
    seen = sorted(filter(None, seen), key=lambda note: not note.startswith("a table"))
    what = seen[0] if seen else "no answer was found" if notes else "nothing was handed in"
    return without_value(Outcome.MISSING, f"{what}; looked for {looked}", hint=hint)


def _empty(submission: Submission) -> str:
    folders = sorted(entry.name for entry in submission.folder.iterdir() if entry.is_dir())
    if submission.refused:
        return "nothing in the folder can be read"
    return f"there is no file in the folder, only folders: '{folders[0]}'" if folders else "the folder is empty"


def _elsewhere(count: int) -> str:
    return f", and {count} other {'places hold' if count > 1 else 'place holds'} nothing" if count else ""


def places(forms: Iterable[Form]) -> list[str]:
    """Forms in words, each place once: `'Total MACs' or 'MACs' in out.txt`."""
    found: dict[tuple[str, bool], list[str]] = {}
    for form in forms:
        words, place = _described(form)
        of_place = found.setdefault((place, bool(words)), [])
        if words not in of_place:
            of_place.append(words)
    return [_joined(words, place) for (place, _), words in found.items()]


def describe(form: Form) -> str:
    """A form in words: `'total_macs' in hw2_1.py`."""
    words, place = _described(form)
    return _joined([words], place)


def _joined(words: list[str], place: str) -> str:
    *others, last = words
    said = f"{', '.join(others)} or {last}" if others else last
    return f"{said} in {place}" if said and place else said or place


def _described(form: Form) -> tuple[str, str]:
    """What a form is known by, if anything, and where it is."""
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
