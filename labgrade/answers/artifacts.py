"""Answers that are files: handed in as they are, or written by a function; quantities alone open them.

What a function writes comes back as an array of bytes, and is kept in the grader's own folder. Tensors handed in as
.pth are read by torch, as weights alone, in a jail where no code of a student's lies.
"""

from __future__ import annotations

import fnmatch
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.answers.reading.markup import LOSSY
from labgrade.answers.reading.plain_values import what
from labgrade.answers.reading.typed_values import WrongTypeError, as_value
from labgrade.core.arguments import SAVE_TO, TRANSFORMED
from labgrade.core.errors import FaultError
from labgrade.core.results import Answer, NoAnswer
from labgrade.core.task import Limits, TableOfType
from labgrade.sandbox.requests import InspectRequest
from labgrade.sandbox.runner import MOST_BYTES, SAVED_AS
from labgrade.spec.course import home
from labgrade.subjects import linear
from labgrade.truth.measure import UnfitError, find
from labgrade.values import Artifact
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import AnswerType, CallForm, FileForm, SubjectSpec
    from labgrade.sandbox.runner import Runner

_MOST_FILES = 2_000
_STANDS_AT = re.compile(r"\[(.*):(\d+)\]\n")  # at the head of a passage


def obtain(form: FileForm, submission: Submission) -> Answered | None:
    """Return the file, the only match of a pattern, or the files of each group; None if there is none."""
    if form.groups:
        return _of_groups(form, submission)
    if "*" in form.pattern:
        try:
            artifact = find(submission, form.pattern, "file")
        except UnfitError as error:
            return None if error.verdict.outcome is Outcome.MISSING else NoAnswer(verdict=error.verdict)
        return Answer(value=artifact, origin=artifact.name)
    found = locate(submission, form.pattern)
    if isinstance(found, Unreadable):
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, found.reason), origin=found.path)
    if found is None:
        return None
    remarks = () if found == form.pattern else (f"read '{found}' for '{form.pattern}'",)
    return Answer(value=Artifact(path=submission.folder / found, name=found), origin=found, remarks=remarks)


def _of_groups(form: FileForm, submission: Submission) -> Answered | None:
    """Return files that are measured together; if some are missing, the message names their patterns."""
    parts: dict[str, tuple[Path, ...]] = {}
    for name, pattern in form.groups.items():
        found = [file for file in submission.files if fnmatch.fnmatchcase(file, pattern)]
        if not found and "*" not in pattern and isinstance(place := locate(submission, pattern), str):
            found = [place]
        parts[name] = tuple(submission.folder / file for file in found)
    lacking = [pattern for name, pattern in form.groups.items() if not parts[name]]
    if len(lacking) == len(parts):
        return None
    if lacking:
        verdict = without_value(Outcome.MISSING, f"nothing matches {' and '.join(lacking)}")
        return NoAnswer(verdict=verdict, origin=form.pattern)
    if sum(map(len, parts.values())) > _MOST_FILES:
        reason = f"more than {_MOST_FILES:,} files match {form.pattern}"
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, reason), origin=form.pattern)
    count = sum(map(len, parts.values()))
    artifact = Artifact(path=submission.folder, name=f"{count} files ({form.pattern})", parts=parts)
    return Answer(value=artifact, origin=form.pattern)


_ENDINGS = (".pth", ".pt", ".ckpt")
_LIMITS = Limits(seconds=30, memory=4 << 30)
_OUTCOMES = {"refused": Outcome.INCORRECT, "timeout": Outcome.TIMEOUT, "memory": Outcome.MEMORY}


def of_report(passages: Sequence[str], folder: Path) -> Answer | None:
    """Return the report as a text file, whatever its format, and its lines if there are any; None without a report."""
    if not passages:
        return None
    heads = [_STANDS_AT.match(passage) for passage in passages]
    names = [head[1] for head in heads if head is not None]
    text = "\n\n".join(
        "\n" * (int(head[2]) - 1 if place == 0 else 0) + passage[head.end() :]
        for place, (head, passage) in enumerate(zip(heads, passages, strict=True))
        if head is not None
    )
    place = Path(tempfile.mkdtemp(dir=folder, prefix="report-")) / "report.md"
    place.write_text(text, encoding="utf-8")
    lossy = any(name.lower().endswith(LOSSY) for name in names)
    return Answer(value=Artifact(path=place, name=names[0]), origin=names[0], lossy=lossy)


def holds_tensors(kind: AnswerType, pattern: str) -> bool:
    """Return whether tensors are asked for, and a file of that name holds them as torch saves them."""
    return (kind == "tensor" or isinstance(kind, TableOfType)) and PurePosixPath(pattern).suffix.lower() in _ENDINGS


def obtain_tensors(kind: AnswerType, form: FileForm, submission: Submission, runner: Runner) -> Answered | None:
    """Return the tensors in the file, by name, or the only one; None if there is no file.

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


def writes(form: CallForm) -> bool:
    """Return whether the answer is a file that the function writes."""
    return SAVE_TO in form.given or form.module


def values(form: CallForm, subject: SubjectSpec | None) -> dict[str, Any]:
    """Return m, k and n of a subject that is one linear layer: its input is m x k, and it has n outputs."""
    if subject is None or not set(form.given) & {"m", "k", "n"}:
        return {}
    outputs = linear.outputs(subject.model, subject.options)
    return {"m": subject.input.shape[0], "k": subject.input.shape[-1], "n": outputs}


def too_large(content: object) -> str:
    """Return why the file could not be brought out of the sandbox; an empty text if it was."""
    import numpy as np

    if not isinstance(content, np.ndarray) or content.dtype != np.int64 or content.shape != (1,):
        return ""
    return (
        f"the file that was written has {int(content[0]) / 1e6:,.0f} MB; at most {MOST_BYTES / 1e6:,.0f} MB are taken"
    )


def keep(content: object, form: CallForm, folder: Path) -> Artifact:
    """Store the file in the grader's own folder, which outlives the sandbox, and return it.

    Raises:
        WrongTypeError: it is no content of a file: what runs beside a student's code can be made to say anything.
    """
    import numpy as np

    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        message = f"{what(content)} in place of the file"
        raise WrongTypeError(message)
    place = Path(tempfile.mkdtemp(dir=folder, prefix="written-")) / (form.saved_as or SAVED_AS)
    place.write_bytes(content.tobytes())
    return Artifact(path=place, name=f"what {form.function} {'returned' if form.module else 'wrote'}")


def verifies(form: CallForm) -> bool:
    """Return whether the answer is the function's verdict on files."""
    return TRANSFORMED in form.given


def rows(said: object, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return a row for each file with its verdict. `names`: the row's name by the file's name."""
    known = said if isinstance(said, dict) else {}
    return {name: {"verdict": str(known.get(number, "nothing said"))} for number, name in names.items()}
