"""Answers that are files as they are: found by their names, opened by nothing but quantities, in their jail."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from labgrade.answers.reading.documents import Unreadable, locate
from labgrade.core.results import Answer, NoAnswer
from labgrade.truth.measure import UnfitError, find
from labgrade.values import Artifact
from labgrade.verdict import Outcome, without_value

if TYPE_CHECKING:
    from pathlib import Path

    from labgrade.core.results import Answered, Submission
    from labgrade.core.task import FileForm

_MOST_FILES = 2_000


def obtain(form: FileForm, submission: Submission) -> Answered | None:
    """The file, the only match of a pattern, or the files of each group; None where there is none."""
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
    """Files that are measured together. Where some are missing, the message names the patterns that match nothing."""
    parts: dict[str, tuple[Path, ...]] = {}
    for name, pattern in form.groups.items():
        found = [file for file in submission.files if fnmatch.fnmatchcase(file, pattern)]
        parts[name] = tuple(submission.folder / file for file in found)
    lacking = [pattern for name, pattern in form.groups.items() if not parts[name]]
    if len(lacking) == len(parts):
        return None
    reason = f"nothing matches {' and '.join(lacking)}" if lacking else ""
    if sum(map(len, parts.values())) > _MOST_FILES:
        reason = f"more than {_MOST_FILES:,} files match {form.pattern}"
    if reason:
        return NoAnswer(verdict=without_value(Outcome.INCORRECT, reason), origin=form.pattern)
    count = sum(map(len, parts.values()))
    artifact = Artifact(path=submission.folder, name=f"{count} files ({form.pattern})", parts=parts)
    return Answer(value=artifact, origin=form.pattern)
