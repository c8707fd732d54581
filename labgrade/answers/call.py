"""Answers handed in as a Python function: looked for without running anything, then called in the sandbox."""

from __future__ import annotations

import ast
import contextlib
import os
from typing import TYPE_CHECKING, Any, cast

from labgrade.answers import advice, call_files
from labgrade.answers.reading import code
from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.answers.reading.plain_values import is_array, what
from labgrade.answers.reading.tables import TableFound, find_tables
from labgrade.answers.reading.typed import WrongTypeError, as_value
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import TableType
from labgrade.sandbox.requests import CallRequest
from labgrade.subjects import linear
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from labgrade.answers.question import Question, Running
    from labgrade.core.results import Answered, Execution, Submission
    from labgrade.core.task import AnswerType, CallForm, SubjectSpec
    from labgrade.sandbox.runner import Runner
    from labgrade.values import Artifact, Value

_SOURCE_BYTES = 2 << 20
OUTCOMES = {
    "missing": Outcome.MISSING,
    "crashed": Outcome.CRASHED,
    "timeout": Outcome.TIMEOUT,
    "memory": Outcome.MEMORY,
    "output": Outcome.OUTPUT,
    "refused": Outcome.INCORRECT,
    "fault": Outcome.FAULT,
}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def present(submission: Submission, found: str, function: str) -> bool:
    """Whether the file binds the function's name at its top level, as far as its source tells.

    A file with a star import may bind any name, and what cannot be parsed is the student's attempt all the same: both
    are present, and calling the function tells the rest.
    """
    try:
        tree = code.parse(_read(submission.folder / found))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    except OSError:
        return False
    names = set(_bound(tree))
    return function in names or "*" in names


def obtain(question: Question, form: CallForm, running: Running) -> Answered | None:
    """The value that the function returns, or why there is none; None where the function is not present.

    The file may lie in a folder, as in an archive of a whole folder, or have its name in another case, where it is the
    only one of its name.
    """
    submission = question.submission
    file = locate(submission, form.file)
    if isinstance(file, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, file.reason), origin=file.path)
    if file is None or not present(submission, file, form.function):
        return None
    remarks = () if file == form.file else (f"read '{file}' for '{form.file}'",)
    execution = _run(question, form, file, running.runner)
    origin = f"{file}:{form.function}"
    if execution.status != "returned":
        return _none(origin, execution, OUTCOMES[execution.status], execution.reason, remarks)
    note: tuple[str, ...] = ()
    try:
        if call_files.writes(form):
            problem = call_files.too_large(execution.value)
            if problem:
                verdict = without_value(Outcome.MANUAL, problem, hint="hand it in as a file: a person will look")
                return NoAnswer(verdict=verdict, origin=origin, remarks=remarks)
            value: Value = call_files.keep(execution.value, form, running.store)
        else:
            value, note = _value(execution.value, question.wanted.type, form)
    except WrongTypeError as error:
        return _none(origin, execution, Outcome.INCORRECT, f"{form.function} returned {error}", remarks)
    return _some(value, origin, execution, (*remarks, *note))


def returns(form: CallForm) -> bool:
    """Whether the answer is what the function returns, and nothing more."""
    return not (writes(form) or call_files.verifies(form))


def writes(form: CallForm) -> bool:
    """Whether the answer is the file that the function writes."""
    return call_files.writes(form)


def obtain_each(questions: Sequence[Question], form: CallForm, running: Running) -> tuple[str, list[Value]]:
    """Where the answers come from, and what the function returns for each subject, as far as that can be read.

    One process makes all calls, within the limits of the first: see `Runner.run_each`. Nothing where the answer is more
    than what is returned.
    """
    first = questions[0]
    submission = first.submission
    file = locate(submission, form.file)
    if not returns(form) or not isinstance(file, str) or not present(submission, file, form.function):
        return "", []
    request = CallRequest(
        folder=submission.folder, file=file, function=form.function, given=form.given, subject=None, limits=first.limits
    )
    values: list[Value] = []
    for said in running.runner.run_each(request, _subjects(questions)):
        try:
            values.append(_value(said, first.wanted.type, form)[0])
        except WrongTypeError:
            break
    return f"{file}:{form.function}", values


def write_each(questions: Sequence[Question], form: CallForm, running: Running) -> tuple[str, list[Artifact]]:
    """Where the files come from, and the file that the function writes for each subject, up to the first without one.

    One process makes all calls, as in `obtain_each`.
    """
    first = questions[0]
    submission = first.submission
    file = locate(submission, form.file)
    if not isinstance(file, str) or not present(submission, file, form.function):
        return "", []
    contents = call_files.run_each(
        form, file, submission, _subjects(questions), limits=first.limits, runner=running.runner
    )
    found: list[Artifact] = []
    with contextlib.suppress(WrongTypeError):
        found.extend(call_files.keep(content, form, running.store) for content in contents)
    return f"{file}:{form.function}", found


def _subjects(questions: Sequence[Question]) -> list[tuple[SubjectSpec, Mapping[str, Path]]]:
    return [(each.subject, each.model) for each in questions if each.subject is not None]


def _run(question: Question, form: CallForm, file: str, runner: Runner) -> Execution:
    """Call the function, by the program that its arguments ask for."""
    submission, subject, limits = question.submission, question.subject, question.limits
    model = question.model if "model_path" in form.given else {}
    if call_files.verifies(form):
        return call_files.verify(form, file, submission, limits=limits, runner=runner, model=model)
    if call_files.writes(form):
        return call_files.run(form, file, submission, subject=subject, limits=limits, runner=runner, model=model)
    return runner.run(
        CallRequest(
            folder=submission.folder,
            file=file,
            function=form.function,
            given=form.given,
            subject=subject,
            limits=limits,
            model=model,
        )
    )


def _value(said: object, kind: AnswerType, form: CallForm) -> tuple[Value, tuple[str, ...]]:
    """What was returned, in the answer's type, with a note where it was read in spite of its form.

    Raises:
        WrongTypeError: it is no value of the type.
    """
    if call_files.verifies(form):
        return as_value(call_files.rows(said, linear.numbered_tilings()), kind), ()
    plain, note = _alone(said, kind)
    return (_printed(plain, kind) if isinstance(plain, str) else as_value(plain, kind)), note


def _some(value: Value, origin: str, execution: Execution, remarks: tuple[str, ...]) -> Answer:
    notes = advice.notes(execution)
    return Answer(value=value, origin=origin, remarks=remarks, notes=notes, printed=execution.printed, computed=True)


def _none(origin: str, execution: Execution, outcome: Outcome, reason: str, remarks: tuple[str, ...]) -> NoAnswer:
    facts = {"printed": execution.printed} if execution.printed else {}
    verdict = without_value(outcome, reason, hint=advice.hint(execution), **facts)
    return NoAnswer(
        verdict=verdict,
        origin=origin,
        remarks=remarks,
        notes=advice.notes(execution),
        printed=execution.printed,
    )


def _alone(plain: object, kind: AnswerType) -> tuple[object, tuple[str, ...]]:
    """The only element of a list or an array where one scalar is asked for, with a note that it was one."""
    if kind not in ("count", "bytes", "number", "text"):
        return plain, ()
    elements = cast("Any", plain).ravel().tolist() if is_array(plain) and cast("Any", plain).size == 1 else plain
    alone = isinstance(elements, list) and len(elements) == 1 and not isinstance(elements[0], list)
    if not alone or (is_array(plain) and not cast("Any", plain).ndim):
        return plain, ()
    return cast("list[object]", elements)[0], (f"{what(plain)} was returned; the only value in it was read",)


def _printed(text: str, kind: AnswerType) -> Value:
    """A text that was returned: read as one that was printed where it holds a table.

    Raises:
        WrongTypeError: it is no value of the kind.
    """
    if not isinstance(kind, TableType):
        return as_value(text, kind)
    found = find_tables(text, 0, len(text), kind)
    tables = [each.table for each in found if isinstance(each, TableFound)]
    problem = next((each.reason for each in found if not isinstance(each, TableFound)), "")
    if not tables and problem:
        message = f"a text: {problem}"
        raise WrongTypeError(message)
    return max(tables, key=lambda table: len(table.rows)) if tables else as_value(text, kind)


def _read(path: Path) -> bytes:
    """The source.

    Raises:
        ValueError: it is larger than any program by hand.
        OSError: it cannot be read, or became a link since it was listed.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, for O_NOFOLLOW
        source = file.read(_SOURCE_BYTES + 1)
    if len(source) > _SOURCE_BYTES:
        message = "too large to be parsed"
        raise ValueError(message)
    return source


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """A template that nobody filled in: a docstring at most, then `raise NotImplementedError`."""
    *before, last = node.body
    raised = last.exc if isinstance(last, ast.Raise) else None
    named = raised.func if isinstance(raised, ast.Call) else raised
    only = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in before)
    return only and isinstance(named, ast.Name) and named.id == "NotImplementedError"


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name bound at the top level, also within `if`, `try`, `with` and loops; `*` for a star import."""
    nodes: list[ast.AST] = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, _SCOPES):
            if not isinstance(node, ast.Lambda) and not _is_stub(node):
                yield node.name
            continue
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        nodes.extend(ast.iter_child_nodes(node))
