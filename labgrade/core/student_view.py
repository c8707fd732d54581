"""What of a report a student may see: no hidden checks, no facts, none of the notes that are for staff."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core import points

if TYPE_CHECKING:
    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport

STAFF = "a person"  # how a student's report calls the person who decided


def for_student(report: Report) -> Report:
    """The report without what only staff may see: hidden checks and their points, and the facts of each verdict.

    Nor does it say what of a class was left out, which names others.
    """
    notes = tuple(note for note in report.notes if not note.startswith(points.LEFT_OUT))
    return replace(report, notes=notes, submissions=tuple(_submission(submission) for submission in report.submissions))


def _submission(submission: SubmissionReport) -> SubmissionReport:
    shown = (
        task_for_student(task) for task in submission.tasks if not task.checks or not all(map(_hidden, task.checks))
    )
    seen = replace(submission, tasks=tuple(shown))
    labs = {deduction.lab: points.of_lab(seen, deduction.lab) for deduction in seen.deductions}
    taken = (points.deducted(each, labs[each.lab], labs[each.lab].earned) for each in seen.deductions)
    return replace(
        seen,
        deductions=tuple(replace(each, points=own) for each, own in zip(seen.deductions, taken, strict=True)),
    )


def task_for_student(task: TaskReport) -> TaskReport:
    """The same of one task."""
    visible = [check for check in task.checks if not check.hidden]
    kept_back = sum((check.points for check in task.checks if check.hidden and not check.bonus), Fraction(0))
    return replace(task, points=task.points - kept_back, checks=tuple(map(_shown, visible)))


def _shown(check: Graded) -> Graded:
    """Without the facts, without the machine's own verdict where a person decided, without rows that stay secret."""
    found = check.verdict.diagnosis
    shown = found and replace(found, refuted=(), fits=())
    return replace(
        check,
        verdict=(
            seen := replace(
                check.verdict, facts={}, fits=(), comparisons=(), remarks=(), suggestion=None, diagnosis=shown
            )
        ),
        decision=check.decision and replace(check.decision, by=STAFF, machine=seen),
        rows=check.rows if check.revealed else (),
        basis="",
        once_met=None,
        to_mark=None,
    )


def _hidden(check: Graded) -> bool:
    return check.hidden
