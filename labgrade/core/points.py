"""What verdicts are worth: points, rounding, bonus, totals, and what a student may see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.verdict import PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.results import Deduction, Graded, Report, SubmissionReport, TaskReport

PLACES = 2  # points are given to hundredths
LEFT_OUT = "left out: "  # begins a note on what belongs to no student in a folder of submissions
STAFF = "a person"  # how a student's report calls the person who decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What some checks come to.

    `points` leaves bonus checks out, `earned` has them in. Until the `pending` checks are settled the total lies
    between `earned` and `at_most`. These are raw points; a late rule takes `deducted` from `earned`, and
    `most_deducted` from `at_most`, which leaves the final ones.
    """

    points: Fraction
    earned: Fraction
    at_most: Fraction
    pending: int
    deducted: Fraction = Fraction(0)
    most_deducted: Fraction = Fraction(0)

    @property
    def final(self) -> Fraction:
        """What is earned for certain after deductions."""
        return self.earned - self.deducted

    @property
    def final_at_most(self) -> Fraction:
        """What may be left after deductions once all is settled."""
        return self.at_most - self.most_deducted


def earned(points: Fraction, credit: Fraction) -> Fraction:
    """What a check earns: rounded once, to hundredths, half to even."""
    return round(points * credit, PLACES)


def share(points: Fraction, parts: int) -> tuple[Fraction, ...]:
    """Points split among the cases of a check: as even as hundredths allow, and exactly `points` together.

    >>> [str(part) for part in share(Fraction(1), 3)]
    ['33/100', '17/50', '33/100']
    """
    edges = [round(points * part / parts, PLACES) for part in range(parts)] + [points]
    return tuple(edges[part + 1] - edges[part] for part in range(parts))


def totals(checks: Iterable[Graded]) -> Totals:
    """The sum over checks of any tasks. labgrade's faults and what waits for a person may still earn all points."""
    rows = tuple(checks)
    waiting = [check for check in rows if check.verdict.outcome in PENDING]
    got = sum((check.earned for check in rows if check.verdict.outcome not in PENDING), Fraction(0))
    return Totals(
        points=sum((check.points for check in rows if not check.bonus), Fraction(0)),
        earned=got,
        at_most=got + sum((check.points for check in waiting), Fraction(0)),
        pending=len(waiting),
    )


def final_totals(submission: SubmissionReport) -> Totals:
    """The sum over all tasks of a submission, raw and final."""
    whole = totals(check for task in submission.tasks for check in task.checks)
    taken = most = Fraction(0)
    for lab in {deduction.lab for deduction in submission.deductions}:
        own = of_lab(submission, lab)
        mine = [deduction for deduction in submission.deductions if deduction.lab == lab]
        taken += min(own.earned, sum((deducted(each, own, own.earned) for each in mine), Fraction(0)))
        most += min(own.at_most, sum((deducted(each, own, own.at_most) for each in mine), Fraction(0)))
    return replace(whole, deducted=taken, most_deducted=most)


def of_lab(submission: SubmissionReport, lab: str) -> Totals:
    """The sum over the tasks of one lab, raw."""
    return totals(check for task in submission.tasks if task.lab == lab for check in task.checks)


def deducted(deduction: Deduction, lab: Totals, got: Fraction) -> Fraction:
    """What a deduction takes where `got` points were earned in its lab: in hundredths, half to even, and no more."""
    if deduction.share is None:
        return min(deduction.points, got)
    base = got if deduction.of_earned else lab.points
    return min(round(base * deduction.share, PLACES), got)


def for_student(report: Report) -> Report:
    """The report without what only staff may see: hidden checks and their points, and the facts of each verdict.

    Nor does it say what of a class was left out, which names others.
    """
    notes = tuple(note for note in report.notes if not note.startswith(LEFT_OUT))
    return replace(report, notes=notes, submissions=tuple(_submission(submission) for submission in report.submissions))


def _submission(submission: SubmissionReport) -> SubmissionReport:
    shown = (
        task_for_student(task) for task in submission.tasks if not task.checks or not all(map(_hidden, task.checks))
    )
    seen = replace(submission, tasks=tuple(shown))
    labs = {deduction.lab: of_lab(seen, deduction.lab) for deduction in seen.deductions}
    points = (deducted(each, labs[each.lab], labs[each.lab].earned) for each in seen.deductions)
    return replace(
        seen,
        deductions=tuple(replace(each, points=own) for each, own in zip(seen.deductions, points, strict=True)),
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
