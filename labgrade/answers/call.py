"""Answers handed in as a Python function: looked for without running anything, then called in the sandbox."""

from __future__ import annotations

import ast
import os
import warnings
from typing import TYPE_CHECKING

from labgrade import zoo_linear
from labgrade.answers import verified, written
from labgrade.answers.typed import WrongTypeError, as_value
from labgrade.results import Answer, NoAnswer
from labgrade.sandbox.request import CallRequest
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from labgrade.model import AnswerType, CallForm, Limits, SubjectSpec
    from labgrade.results import Execution, Submission
    from labgrade.sandbox.runner import Runner

_SOURCE_BYTES = 2 << 20
_OUTCOMES = {
    "missing": Outcome.MISSING,
    "crashed": Outcome.CRASHED,
    "timeout": Outcome.TIMEOUT,
    "memory": Outcome.MEMORY,
    "output": Outcome.OUTPUT,
    "refused": Outcome.INCORRECT,
    "fault": Outcome.FAULT,
}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def present(submission: Submission, form: CallForm) -> bool:
    """Whether the file is there and binds the function's name at its top level, as far as its source tells.

    A file with a star import may bind any name, and what cannot be parsed is the student's attempt all the same: both
    are present, and calling the function tells the rest.
    """
    if form.file not in submission.files:
        return False
    try:
        source = _read(submission.folder / form.file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the student's escapes and comparisons
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    except OSError:
        return False
    names = set(_bound(tree))
    return form.function in names or "*" in names


def obtain(  # noqa: PLR0913 - each by its name
    name: str,
    kind: AnswerType,
    form: CallForm,
    submission: Submission,
    *,
    subject: SubjectSpec | None,
    limits: Limits,
    runner: Runner,
    model: Mapping[str, Path],
    store: Path,
) -> Answer | NoAnswer | None:
    """The value that the function returns, or why there is none; None where the function is not present."""
    if not present(submission, form):
        return None
    model = model if "model_path" in form.given else {}
    if verified.wanted(form):
        execution = verified.run(form, submission, subject=subject, limits=limits, runner=runner, model=model)
    elif written.wanted(form):
        execution = written.run(form, submission, subject=subject, limits=limits, runner=runner, model=model)
    else:
        execution = runner.run(
            CallRequest(
                folder=submission.folder,
                file=form.file,
                function=form.function,
                given=form.given,
                subject=subject,
                limits=limits,
                model=model,
            )
        )
    origin = f"{form.file}:{form.function}"
    if execution.status != "returned":
        return _none(name, origin, execution, _OUTCOMES[execution.status], execution.reason)
    if written.wanted(form):
        problem = written.too_large(execution.value)
        if problem:
            hint = "hand it in as a file: a person will look"
            return NoAnswer(name=name, verdict=without_value(Outcome.MANUAL, problem, hint=hint), origin=origin)
        return Answer(name=name, value=written.keep(execution.value, form, store), origin=origin)
    said = execution.value
    if verified.wanted(form):
        said = verified.rows(said, zoo_linear.numbered_tilings())
    try:
        value = as_value(said, kind)
    except WrongTypeError as error:
        return _none(name, origin, execution, Outcome.INCORRECT, f"{form.function} returned {error}")
    return Answer(name=name, value=value, origin=origin)


def _none(name: str, origin: str, execution: Execution, outcome: Outcome, reason: str) -> NoAnswer:
    facts = {"printed": execution.printed} if execution.printed else {}
    return NoAnswer(name=name, verdict=without_value(outcome, reason, **facts), origin=origin)


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


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name bound at the top level, also within `if`, `try`, `with` and loops; `*` for a star import."""
    nodes: list[ast.AST] = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, _SCOPES):
            if not isinstance(node, ast.Lambda):
                yield node.name
            continue
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        nodes.extend(ast.iter_child_nodes(node))
