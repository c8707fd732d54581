"""Answers handed in as a Python function: looked for without running anything, then called in the sandbox."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers import advice, artifacts
from labgrade.answers.python_source import RETURNED, code_file
from labgrade.answers.reader.asks import Ask
from labgrade.answers.reading.documents import Unreadable
from labgrade.answers.reading.plain_values import is_array, what
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.results import Answer, NoAnswer, Submission
from labgrade.sandbox.requests import CallRequest
from labgrade.subjects import linear
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.answers.question import Question, Running
    from labgrade.answers.reader.reader import Reader
    from labgrade.core.results import Answered, Execution
    from labgrade.core.task import AnswerType, CallForm, SubjectSpec
    from labgrade.sandbox.runner import Runner
    from labgrade.values import Artifact, Value

_WITH_UNIT = 2  # a number, and its unit
OUTCOMES = {
    "missing": Outcome.MISSING,
    "crashed": Outcome.CRASHED,
    "timeout": Outcome.TIMEOUT,
    "waited": Outcome.TIMEOUT,
    "memory": Outcome.MEMORY,
    "output": Outcome.OUTPUT,
    "refused": Outcome.INCORRECT,
    "fault": Outcome.FAULT,
}
# What a busy machine may have caused; computing time is a job's own, and its limit far over what work needs.
UNSTEADY = frozenset({"waited", "memory"})


def obtain(question: Question, form: CallForm, running: Running) -> Answered | None:
    """Return the value that the function returns, or why there is none; None if the function is not there.

    If only one file has its name, it may lie in a folder, as in an archive of a whole folder, or be spelled in another
    case.
    """
    submission = question.submission
    file = code_file(form, submission)
    if isinstance(file, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, file.reason), origin=file.path)
    if file is None or not present(form, submission, running.reader):
        return None
    remarks = () if file == form.file else (f"read '{file}' for '{form.file}'",)
    execution = _run(question, form, file, running.runner)
    origin = f"{file}:{form.function}"
    if execution.status != "returned":
        return _none(origin, execution, OUTCOMES[execution.status], execution.reason, remarks)
    note: tuple[str, ...] = ()
    try:
        if artifacts.writes(form):
            problem = artifacts.too_large(execution.value)
            if problem:
                verdict = without_value(Outcome.MANUAL, problem, hint="hand it in as a file: a person will look")
                return NoAnswer(verdict=verdict, origin=origin, remarks=remarks)
            value: Value = artifacts.keep(execution.value, form, running.store)
        else:
            value, note = _value(execution.value, question.wanted.type, form, running.reader)
    except WrongTypeError as error:
        return _none(origin, execution, Outcome.INCORRECT, f"{form.function} returned {error}", remarks)
    return _some(value, origin, execution, (*remarks, *note))


def present(form: CallForm, submission: Submission, reader: Reader) -> bool:
    """Return whether the function's file binds its name, as far as the source shows."""
    return reader.ask(submission, Ask(wanted="present", forms=(form,))) is True


def returns(form: CallForm) -> bool:
    """Return whether the answer is the function's value, and nothing more."""
    return not (artifacts.writes(form) or artifacts.verifies(form))


def obtain_each(
    questions: Sequence[Question], form: CallForm, running: Running, *, attempt: bool = False
) -> tuple[str, list[Value]]:
    """Return where the answers come from, and the function's value for each subject, up to the first failure.

    One process makes all calls, within the limits of the first: see `Runner.run_each`. Empty if the answer is more than
    the returned value. `attempt`: stop at the first value that is not plain.
    """
    origin, said = _said_of_each(questions, form, running, attempt=attempt)
    values: list[Value] = []
    for each in said:
        try:
            value, note = _value(each, questions[0].wanted.type, form, running.reader)
        except WrongTypeError:
            break
        if attempt and note:
            break
        values.append(value)
    return origin, values


def obtain_some(
    questions: Sequence[Question], form: CallForm, running: Running, *, past: bool = False
) -> tuple[str, list[Value | None]]:
    """Return values as `obtain_each`, of a file that has the function; None for a text or a value of another type.

    `past`: None also for calls that raise, and texts are read.
    """
    origin, said = _said_of_each(questions, form, running, known=True, past=past)
    values: list[Value | None] = []
    for each in said:
        try:
            wrong = each is None or (isinstance(each, str) and not past)
            values.append(None if wrong else _value(each, questions[0].wanted.type, form, running.reader)[0])
        except WrongTypeError:
            values.append(None)
    return origin, values


def _said_of_each(
    questions: Sequence[Question],
    form: CallForm,
    running: Running,
    *,
    attempt: bool = False,
    known: bool = False,
    past: bool = False,
) -> tuple[str, list[Any]]:
    first = questions[0]
    submission = first.submission
    file = code_file(form, submission)
    if not returns(form) or not isinstance(file, str):
        return "", []
    if not (known or present(form, submission, running.reader)):
        return "", []
    request = replace(_request(first, form, file), subject=None, model={}, attempt=attempt, past=past)
    return f"{file}:{form.function}", running.runner.run_each(request, _subjects(questions))


def write_each(questions: Sequence[Question], form: CallForm, running: Running) -> tuple[str, list[Artifact]]:
    """Return where the files come from, and the file that the function writes for each subject, up to a failure.

    One process makes all calls, as in `obtain_each`.
    """
    first = questions[0]
    submission = first.submission
    file = code_file(form, submission)
    if not isinstance(file, str) or not present(form, submission, running.reader):
        return "", []
    request = replace(_request(first, form, file), subject=None, model={})
    each = [(artifacts.values(form, subject), model, subject) for subject, model in _subjects(questions)]
    contents = running.runner.write_each(request, each)[: len(each)]  # a student's code can have any number sent
    found: list[Artifact] = []
    with contextlib.suppress(WrongTypeError):
        found.extend(artifacts.keep(content, form, running.store) for content in contents)
    return f"{file}:{form.function}", found


def _subjects(questions: Sequence[Question]) -> list[tuple[SubjectSpec, Mapping[str, Path]]]:
    return [(each.subject, each.model) for each in questions if each.subject is not None]


def _run(question: Question, form: CallForm, file: str, runner: Runner) -> Execution:
    """Call the function, in the way that its arguments need."""
    request = _request(question, form, file)
    if artifacts.verifies(form):
        return runner.verify(request)
    if artifacts.writes(form):
        return runner.write(request, artifacts.values(form, question.subject))
    return runner.run(request)


def _request(question: Question, form: CallForm, file: str) -> CallRequest:
    return CallRequest(
        folder=question.submission.folder,
        file=file,
        function=form.function,
        given=form.given,
        written=form.written,
        subject=question.subject,
        limits=question.limits,
        model=question.model if "model_path" in form.given else {},
        saved_as=form.saved_as,
        module=form.module,
    )


def _value(said: object, kind: AnswerType, form: CallForm, reader: Reader) -> tuple[Value, tuple[str, ...]]:
    """Return the returned value in the answer's type, with a note if it was in another form.

    Raises:
        WrongTypeError: it is no value of the type.
    """
    if artifacts.verifies(form):
        return as_value(artifacts.rows(said, linear.numbered_tilings()), kind), ()
    plain, note = _alone(said, kind)
    return (_read(plain, kind, reader) if isinstance(plain, str) and kind != "text" else as_value(plain, kind)), note


def _read(text: str, kind: AnswerType, reader: Reader) -> Value:
    """Read a text that was returned like a printed text.

    Raises:
        WrongTypeError: it is no value of the kind.
        FaultError: the sandbox failed.
    """
    with tempfile.TemporaryDirectory(prefix="labgrade-returned-") as name:
        Path(name, RETURNED).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        held = Submission(name="", folder=Path(name), files=(RETURNED,))
        found = reader.once(held, Ask(wanted="returned", kind=kind))
    if not isinstance(found, Answer):
        raise WrongTypeError(found.verdict.reason)
    return found.value


def _some(value: Value, origin: str, execution: Execution, remarks: tuple[str, ...]) -> Answer:
    notes = advice.notes(execution)
    return Answer(value=value, origin=origin, remarks=remarks, notes=notes, printed=execution.printed, computed=True)


def _none(origin: str, execution: Execution, outcome: Outcome, reason: str, remarks: tuple[str, ...]) -> NoAnswer:
    facts = {"printed": execution.printed} if execution.printed else {}
    verdict = without_value(outcome, reason, hint=advice.hint(execution), **facts)
    return NoAnswer(
        verdict=replace(verdict, unsteady=execution.status in UNSTEADY),
        origin=origin,
        remarks=remarks,
        notes=advice.notes(execution),
        printed=execution.printed,
    )


def _alone(plain: object, kind: AnswerType) -> tuple[object, tuple[str, ...]]:
    """Return the only element of a list, an array or a mapping where one scalar is asked for, with a note."""
    if kind not in ("count", "bytes", "number", "time", "text"):
        return plain, ()
    if isinstance(plain, dict) and len(plain) == 1:
        inner, _ = _alone(next(iter(plain.values())), kind)
        return inner, (f"{what(plain)} was returned; the only value in it was read",)
    if isinstance(plain, list | tuple) and len(plain) == _WITH_UNIT and kind in ("count", "bytes", "time"):
        number, unit = plain
        if isinstance(number, int | float) and not isinstance(number, bool) and isinstance(unit, str):
            return f"{number!r} {unit}", ("a number and its unit were returned, and read together",)
    elements = cast("Any", plain).ravel().tolist() if is_array(plain) and cast("Any", plain).size == 1 else plain
    alone = isinstance(elements, list) and len(elements) == 1 and not isinstance(elements[0], list)
    if not alone or (is_array(plain) and not cast("Any", plain).ndim):
        return plain, ()
    return cast("list[object]", elements)[0], (f"{what(plain)} was returned; the only value in it was read",)
