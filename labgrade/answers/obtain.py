"""One answer of one submission: the first form that is present is judged, the others are compared for staff."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from labgrade.answers import call, entry, file, text
from labgrade.model import CallForm, EntryForm, FileForm
from labgrade.results import Answer, NoAnswer
from labgrade.values import Number
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from labgrade.model import AnswerSpec, Form, Limits, SubjectSpec
    from labgrade.results import Submission
    from labgrade.sandbox.runner import Runner
    from labgrade.verdict import Verdict


def obtain(  # noqa: PLR0913 - each by its name
    wanted: AnswerSpec,
    submission: Submission,
    *,
    subject: SubjectSpec | None,
    live_only: bool,
    limits: Limits,
    runner: Runner,
    model: Mapping[str, Path] = MappingProxyType({}),
    store: Path,
) -> Answer | NoAnswer:
    """The answer in the first form that is present; MISSING with what was looked for where none is.

    `live_only`: only forms that can be computed again for another subject count (cases). `model`: the files of an
    ONNX subject, by name, for a call that is given their path. `store`: where files that a call writes are kept.
    """
    forms = [form for form in wanted.forms if isinstance(form, CallForm) or not live_only]
    for position, form in enumerate(forms):
        if isinstance(form, CallForm):
            found = call.obtain(
                wanted.name,
                wanted.type,
                form,
                submission,
                subject=subject,
                limits=limits,
                runner=runner,
                model=model,
                store=store,
            )
        else:
            found = _read(wanted, form, submission)
        if found is not None:
            return _compared(found, wanted, forms[position + 1 :], submission)
    return NoAnswer(name=wanted.name, verdict=_missing(forms, submission))


def _read(wanted: AnswerSpec, form: Form, submission: Submission) -> Answer | NoAnswer | None:
    match form:
        case EntryForm():
            return entry.obtain(wanted.name, wanted.type, form, submission)
        case FileForm():
            return file.obtain(wanted.name, wanted.type, form, submission)
        case CallForm():
            return None
        case _:
            return text.obtain(wanted.name, wanted.type, form, submission)


def _compared(
    found: Answer | NoAnswer, wanted: AnswerSpec, later: list[Form], submission: Submission
) -> Answer | NoAnswer:
    """The answer with a remark for each later form that says something else. Only numbers are compared."""
    if not isinstance(found, Answer) or not isinstance(found.value, Number):
        return found
    remarks = list(found.remarks)
    for form in later:
        other = _read(wanted, form, submission)
        if isinstance(other, Answer) and isinstance(other.value, Number) and _differ(found.value, other.value):
            remarks.append(f"{other.origin} says {other.value} instead")
    return Answer(name=found.name, value=found.value, origin=found.origin, remarks=tuple(remarks))


def _differ(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) > max(one.half_unit, other.half_unit)


def _missing(forms: list[Form], submission: Submission) -> Verdict:
    looked = "; ".join(describe(form) for form in forms)
    reason = f"nothing was handed in; looked for {looked}" if submission.files else "the folder is empty"
    notes = [
        note
        for form in forms
        if isinstance(form, CallForm | FileForm)
        and (note := file.notebook_instead(submission, form.file if isinstance(form, CallForm) else form.pattern))
    ]
    return without_value(Outcome.MISSING, reason, hint=notes[0] if notes else "")


def describe(form: Form) -> str:
    """A form in words: `total_macs in hw2_1.py`."""
    match form:
        case CallForm():
            return f"'{form.function}' in {form.file}"
        case EntryForm():
            return f"'{form.path}' in answers.yaml"
        case FileForm():
            return form.pattern
    words = f"'{form.after or form.find}' " if form.after or form.find else ""
    if form.file:
        return f"{words}in {form.file}" if words else form.file
    return f"{words}in the report" + (f" under {' / '.join(form.report)}" if form.report else "")
