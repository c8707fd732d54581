"""What verdicts are worth: points, rounding, bonus, totals, and what a student may see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.verdict import PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.results import Graded, Report, SubmissionReport, TaskReport

PLACES = 2  # points are given to hundredths


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What some checks come to.

    `points` leaves bonus checks out, `earned` has them in. Until the `pending` checks are settled the total lies
    between `earned` and `at_most`.
    """

    points: Fraction
    earned: Fraction
    at_most: Fraction
    pending: int


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
    """The sum over checks of any tasks. A fault of ours and what waits for a person may still earn all its points."""
    rows = tuple(checks)
    waiting = [check for check in rows if check.verdict.outcome in PENDING]
    got = sum((check.earned for check in rows if check.verdict.outcome not in PENDING), Fraction(0))
    return Totals(
        points=sum((check.points for check in rows if not check.bonus), Fraction(0)),
        earned=got,
        at_most=got + sum((check.points for check in waiting), Fraction(0)),
        pending=len(waiting),
    )


def for_student(report: Report) -> Report:
    """The report without what only staff may see: hidden checks and their points, and the facts of each verdict."""
    return replace(report, submissions=tuple(_submission(submission) for submission in report.submissions))


def _submission(submission: SubmissionReport) -> SubmissionReport:
    shown = (_task(task) for task in submission.tasks if not task.checks or not all(map(_hidden, task.checks)))
    return replace(submission, tasks=tuple(shown))


def _task(task: TaskReport) -> TaskReport:
    visible = [check for check in task.checks if not check.hidden]
    kept_back = sum((check.points for check in task.checks if check.hidden and not check.bonus), Fraction(0))
    return replace(task, points=task.points - kept_back, checks=tuple(map(_shown, visible)))


def _shown(check: Graded) -> Graded:
    """Without the facts, without the machine's own verdict where a person decided, without rows that stay secret."""
    return replace(
        check,
        verdict=replace(check.verdict, facts={}),
        decision=check.decision and replace(check.decision, machine=replace(check.verdict, facts={})),
        rows=check.rows if check.revealed else (),
    )


def _hidden(check: Graded) -> bool:
    return check.hidden
