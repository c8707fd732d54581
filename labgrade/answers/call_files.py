"""Answers that are about files: the file that a student's function writes, or what it says of each of several.

A file that is written comes back as an array of bytes, and is kept in the grader's own folder.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labgrade.answers.reading.plain_values import what
from labgrade.answers.reading.typed_values import WrongTypeError
from labgrade.core.arguments import SAVE_TO, TRANSFORMED
from labgrade.sandbox.requests import CallRequest
from labgrade.sandbox.runner import MOST_BYTES, SAVED_AS
from labgrade.subjects import linear
from labgrade.values import Artifact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labgrade.core.results import Execution, Submission
    from labgrade.core.task import CallForm, Limits, SubjectSpec
    from labgrade.sandbox.runner import Runner


def writes(form: CallForm) -> bool:
    """Whether the answer is what the function writes."""
    return SAVE_TO in form.given or form.module


def run(
    form: CallForm,
    file: str,
    submission: Submission,
    *,
    subject: SubjectSpec | None,
    limits: Limits,
    runner: Runner,
    model: Mapping[str, Path],
) -> Execution:
    """Call the function. Where it returned, the value is the content of the file, an array of bytes."""
    request = replace(_request(form, file, submission, limits=limits, model=model), subject=subject)
    return runner.write(request, _values(form, subject))


def run_each(
    form: CallForm,
    file: str,
    submission: Submission,
    subjects: Sequence[tuple[SubjectSpec, Mapping[str, Path]]],
    *,
    limits: Limits,
    runner: Runner,
) -> list[object]:
    """What the function writes for each of several subjects with their files, up to the first for which it fails.

    One process makes all calls, so that one may spoil the next.
    """
    request = _request(form, file, submission, limits=limits)
    found = runner.write_each(request, [(_values(form, subject), model, subject) for subject, model in subjects])
    return found[: len(subjects)]  # a student's code can have any number of them sent, each a file to be kept


def _request(
    form: CallForm, file: str, submission: Submission, *, limits: Limits, model: Mapping[str, Path] | None = None
) -> CallRequest:
    return CallRequest(
        folder=submission.folder,
        file=file,
        function=form.function,
        given=form.given,
        subject=None,
        limits=limits,
        model=model or {},
        saved_as=form.saved_as,
        module=form.module,
    )


def _values(form: CallForm, subject: SubjectSpec | None) -> dict[str, Any]:
    """The whole numbers of a subject that is one linear layer: its input is m x k, and it has n outputs."""
    if subject is None or not set(form.given) & {"m", "k", "n"}:
        return {}
    outputs = linear.outputs(subject.model, subject.options)
    return {"m": subject.input.shape[0], "k": subject.input.shape[-1], "n": outputs}


def too_large(content: object) -> str:
    """Why the file could not be brought out of the sandbox; nothing where it was."""
    import numpy as np

    if not isinstance(content, np.ndarray) or content.dtype != np.int64 or content.shape != (1,):
        return ""
    return (
        f"the file that was written has {int(content[0]) / 1e6:,.0f} MB; at most {MOST_BYTES / 1e6:,.0f} MB are taken"
    )


def keep(content: object, form: CallForm, folder: Path) -> Artifact:
    """The file in the grader's own folder, which outlives the sandbox.

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
    """Whether the answer is what the function says of files."""
    return TRANSFORMED in form.given


def verify(
    form: CallForm,
    file: str,
    submission: Submission,
    *,
    limits: Limits,
    runner: Runner,
    model: Mapping[str, Path],
) -> Execution:
    """Call the function for each file of `model` but the first, which is the original. The value: what it said."""
    return runner.verify(_request(form, file, submission, limits=limits, model=model))


def rows(said: object, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What was said, a row a file, under the names that say what the files are."""
    known = said if isinstance(said, dict) else {}
    return {name: {"verdict": str(known.get(number, "nothing said"))} for number, name in names.items()}
