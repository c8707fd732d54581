"""A task tried by what its fixtures hand in: the exemplar, nothing, the exemplar again, samples."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.authoring.samples import EXEMPLAR, outcomes
from labgrade.core.did_you_mean import did_you_mean
from labgrade.core.results import Submission
from labgrade.core.task import BuildForm, RunForm
from labgrade.judging.items import items
from labgrade.reports.summary import full_reason
from labgrade.run.task import TaskGrading
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from labgrade.authoring.samples import Sample
    from labgrade.core.results import Graded, TaskReport
    from labgrade.core.task import Task
    from labgrade.run.grader import Grader
    from labgrade.verdict import Verdict

_NOTHING = frozenset({Outcome.MISSING, Outcome.SKIPPED})


def exemplar_of(task: Task, samples: Iterable[Sample], folder: Path, grader: Grader) -> str:
    """Return whose work should be right throughout: the exemplar if it hands anything in, else a sample, or ""."""
    for sample in samples:
        expected = sample.expected.get(task.id)
        if expected is not None:
            if all(outcome.startswith(("CORRECT", "MANUAL")) for outcome in expected.values()):
                return sample.name
        elif sample.name == EXEMPLAR and not sample.expected:
            report = TaskGrading(grader, task, submission_of(folder / sample.name)).report()
            if any(check.verdict.outcome not in _NOTHING for check in report.checks):
                return sample.name
    return ""


def why_no_exemplar(task: Task, samples: Iterable[Sample], folder: Path) -> str:
    """Say what is lacking where no submission is right throughout a task."""
    exemplar = next((sample for sample in samples if sample.name == EXEMPLAR), None)
    place = f"{folder.name}/{EXEMPLAR}"
    if exemplar is None:
        return f"no submission is right throughout: put an exemplar into '{place}'"
    if not exemplar.expected:
        return f"the exemplar lacks task '{task.id}': hand in its answers in '{place}', too"
    if task.id not in exemplar.expected:
        return f"the exemplar lacks task '{task.id}': '{place}.expected.yaml' does not say what each check comes to"
    return f"no submission is right throughout: '{place}.expected.yaml' expects less than CORRECT of task '{task.id}'"


def submission_of(folder: Path, name: str = "") -> Submission:
    """Return a trusted folder as a submission, with its regular files."""
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts
    )
    return Submission(name=name or folder.name, folder=folder, files=tuple(files))


# ---- what is handed in -----------------------------------------------------------------------------------------


def points_exemplar_lacks(report: TaskReport, task: Task) -> Iterator[str]:
    """Yield the points that the exemplar does not get; only what is marked by a rubric may wait for a person."""
    by_hand = {item.id for item in items(task) if item.check.by_hand}
    for check in report.checks:
        waits = check.verdict.outcome is Outcome.MANUAL and check.id in by_hand
        if not waits and check.verdict.outcome is not Outcome.CORRECT:
            yield f"the exemplar is {check.verdict.outcome.value} at '{check.id}': {_why(check.verdict)}"


def points_for_nothing(grader: Grader, task: Task, empty: Path) -> Iterator[str]:
    """Yield the checks that give points to a submission without files."""
    for check in TaskGrading(grader, task, Submission(name="empty", folder=empty, files=())).report().checks:
        if check.earned or check.verdict.outcome not in _NOTHING:
            yield f"nothing handed in is {check.verdict.outcome.value} at '{check.id}', {float(check.earned):g} points"


def differences_when_repeated(before: TaskReport, after: TaskReport) -> Iterator[str]:
    """Yield what differs when the same submission is judged a second time."""
    for one, other in zip(before.checks, after.checks, strict=True):
        if _without_timing(one) != _without_timing(other):
            yield f"judged twice, '{one.id}' is {one.verdict.outcome.value}, then {other.verdict.outcome.value}"


def grade_timed(grader: Grader, task: Task, who: Submission) -> tuple[TaskReport, dict[str, float]]:
    """Judge all checks, and return how many seconds each took."""
    grading = TaskGrading(grader, task, who)
    took: dict[str, float] = {}
    for name in grading.items:
        begin = time.monotonic()
        grading.graded(name)
        took[name] = time.monotonic() - begin
    return grading.report(), took


def _without_timing(check: Graded) -> Graded:
    return replace(check, seconds=0.0, printed="")


def samples_as_expected(
    grader: Grader, task: Task, samples: Iterable[Sample], folder: Path, known: Mapping[str, TaskReport]
) -> list[str]:
    """Return where samples differ from what their files say. `known` are reports that exist already.

    Two are judged at a time, but where programs are run.
    """
    wanted = [sample for sample in samples if task.id in sample.expected]
    programs = any(isinstance(form, RunForm | BuildForm) for each in task.answers.values() for form in each.forms)

    def differences(sample: Sample) -> list[str]:
        own = known.get(sample.name) or TaskGrading(grader, task, submission_of(folder / sample.name)).report()
        return list(_as_expected(own, sample))

    with ThreadPoolExecutor(1 if programs else 2) as pool:
        return [said for found in pool.map(differences, wanted) for said in found]


def _as_expected(report: TaskReport, sample: Sample) -> Iterator[str]:
    """Yield where a sample differs from its file; an outcome without points stands for any points."""
    wanted, got = sample.expected[report.id], outcomes(report)
    for check in dict.fromkeys((*wanted, *got)):
        said, right = got.get(check, ""), wanted.get(check, "")
        if not right:
            yield f"'{sample.name}' is {said} at '{check}', of which its file says nothing: add '{check}: {said}'"
        elif not said:
            yield f"'{sample.name}' has no check '{check}'{did_you_mean(check, got)}"
        elif right not in (said, said.partition(" ")[0]):
            yield f"'{sample.name}' is {said} at '{check}', expected {right}"


def _why(verdict: Verdict) -> str:
    """Return a verdict's reason, or what failed."""
    return verdict.facts.get("fault") or full_reason(verdict)
