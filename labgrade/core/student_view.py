"""What of a report a student may see: no hidden checks, no facts, none of the notes that are for staff.

What hidden checks are worth is shown if a task says so (`TaskReport.not_shown`); what they earned is shown once it is
released, as one sum a lab, so that all points are those of the gradebook.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.core import points
from labgrade.core.results import NotShown
from labgrade.verdict import FEW_DIGITS, OF_TOOL, Outcome, without_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
    from labgrade.verdict import ComparedRow

_WRONG = frozenset({Outcome.INCORRECT, Outcome.PARTIAL})
STAFF = "a person"  # how a student's report calls the person who decided


def for_student(report: Report, *, released: bool = False) -> Report:
    """The report without what only staff may see: hidden checks, and the facts of each verdict.

    Nor does it say what of a class was left out, which names others. `released`: what hidden checks earned is shown.
    """
    notes = tuple(note for note in report.notes if not note.startswith(points.FOR_STAFF))
    views = tuple(_submission(submission, released=released) for submission in report.submissions)
    return replace(report, notes=notes, submissions=views)


def with_hidden_worth(report: Report, worth: Mapping[str, Fraction]) -> Report:
    """Return a report with what the hidden tasks of each lab are worth."""
    return replace(report, submissions=tuple(_with_more(each, worth) for each in report.submissions))


def _with_more(submission: SubmissionReport, worth: Mapping[str, Fraction]) -> SubmissionReport:
    told = {each.lab: each for each in submission.not_shown}
    for lab in dict.fromkeys(task.lab for task in submission.tasks):
        if lab in worth:
            known = told.get(lab, NotShown(lab=lab, points=Fraction(0)))
            told[lab] = replace(known, points=known.points + worth[lab])
    return replace(submission, not_shown=tuple(told.values()))


def _submission(submission: SubmissionReport, *, released: bool) -> SubmissionReport:
    shown = (
        task_for_student(task, released=released)
        for task in submission.tasks
        if not task.checks or not all(map(_hidden, task.checks))
    )
    others = submission.not_shown or tuple(_not_shown(submission, released=released))
    seen = replace(submission, tasks=tuple(shown), not_shown=others)
    labs = {deduction.lab: points.of_lab(seen, deduction.lab) for deduction in seen.deductions}
    taken = (points.deducted(each, labs[each.lab], labs[each.lab].earned) for each in seen.deductions)
    return replace(
        seen,
        deductions=tuple(replace(each, points=own) for each, own in zip(seen.deductions, taken, strict=True)),
    )


def _not_shown(submission: SubmissionReport, *, released: bool) -> Iterator[NotShown]:
    """Return what stands for the checks that are left out, by lab, if students see their worth."""
    for lab in dict.fromkeys(task.lab for task in submission.tasks):
        tasks = [task for task in submission.tasks if task.lab == lab and task.not_shown is not None]
        worth = sum((task.not_shown or Fraction(0) for task in tasks), Fraction(0))
        left_out = [check for task in tasks for check in task.checks if check.hidden]
        if released and left_out:
            got = points.totals(left_out)
            yield NotShown(lab=lab, points=worth, earned=got.earned, at_most=got.at_most)
        elif worth:
            yield NotShown(lab=lab, points=worth)


def task_for_student(task: TaskReport, *, released: bool = False) -> TaskReport:
    """The same of one task."""
    visible = [check for check in task.checks if not check.hidden]
    seen = tuple(_check_for_student(check if released else without_guesses(check)) for check in visible)
    return replace(task, points=task.points - points.hidden_points(task.checks), checks=seen)


def without_guesses(check: Graded) -> Graded:
    """The check, waiting where a number has too few digits: what it earns would tell whether these are right.

    Who may try again and again would so find the value digit by digit.
    """
    verdict = check.verdict
    if check.decision is not None or verdict.outcome not in _WRONG or FEW_DIGITS not in verdict.facts:
        return check
    few, _, enough = verdict.facts[FEW_DIGITS].partition(" of ")
    reason = f"got {verdict.facts.get('got', 'a number')}: with {few} significant digits it is not judged here"
    more = f"print more digits: at least {enough} are needed"
    tool = verdict.facts.get(OF_TOOL, "")  # its number tells nothing: anybody can run it
    waits = without_value(Outcome.MANUAL, reason, hint=f"{tool} Besides, {more}" if tool else more)
    return replace(check, verdict=waits, earned=Fraction(0))


def _check_for_student(check: Graded) -> Graded:
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
        rows=check.rows if check.revealed else tuple(_own_cells(check)),
        plot=check.plot if check.plot is not None and (check.revealed or not check.plot.measured) else None,
        basis="",
        once_met=None,
        to_mark=None,
    )


def _own_cells(check: Graded) -> Iterator[ComparedRow]:
    """The cells that were handed in, each right or not; none where nothing is said of them yet."""
    if check.verdict.outcome in _WRONG:
        for row in check.rows:
            if row.got is not None or row.got_text:
                yield replace(row, expected=None, expected_text="")


def _hidden(check: Graded) -> bool:
    return check.hidden
