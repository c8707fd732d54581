"""Tensors handed in as .pth: read by torch, as weights alone, in a jail in which no code of a student's lies."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import Limits, TableOfType
from labgrade.sandbox.requests import InspectRequest
from labgrade.spec.course import home
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, FileForm
    from labgrade.sandbox.runner import Runner

_ENDINGS = (".pth", ".pt", ".ckpt")
_LIMITS = Limits(seconds=30, memory=4 << 30)
_OUTCOMES = {"refused": Outcome.INCORRECT, "timeout": Outcome.TIMEOUT, "memory": Outcome.MEMORY}


def reads(kind: AnswerType, pattern: str) -> bool:
    """Whether a file of that name holds tensors as torch saves them, and these are asked for."""
    return (kind == "tensor" or isinstance(kind, TableOfType)) and PurePosixPath(pattern).suffix.lower() in _ENDINGS


def obtain(kind: AnswerType, form: FileForm, submission: Submission, runner: Runner) -> Answered | None:
    """The tensors in the file, by name, or the only one; None where there is no file.

    Raises:
        FaultError: labgrade's own code failed, or the sandbox did.
    """
    found = locate(submission, form.pattern)
    if found is None:
        return None
    if isinstance(found, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, found.reason), origin=found.path)
    request = InspectRequest(
        file=home() / "reference/tensors.py",
        function="tensors",
        artifact=submission.folder / found,
        limits=_LIMITS,
    )
    done = runner.inspect(request)
    if done.status in _OUTCOMES:
        return NoAnswer(verdict=without_value(_OUTCOMES[done.status], f"'{found}': {done.reason}"), origin=found)
    if done.status == "crashed":
        return NoAnswer(verdict=without_value(Outcome.MANUAL, f"'{found}': {done.reason}"), origin=found)
    if done.status != "returned" or not isinstance(done.value, dict):
        raise FaultError(done.reason or "the file was not read")
    value = done.value
    if kind == "tensor" and len(value) == 1:
        value = next(iter(value.values()))
    remarks = () if found == form.pattern else (f"read '{found}' for '{form.pattern}'",)
    try:
        return Answer(value=as_value(value, kind), origin=found, remarks=remarks)
    except WrongTypeError as error:
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, f"'{found}': {error}"), origin=found)
