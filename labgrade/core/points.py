"""What verdicts are worth: points, rounding, bonus, totals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.verdict import PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.results import Deduction, Graded, NotShown, SubmissionReport

PLACES = 2  # points are given to hundredths
NOT_SHOWN = "cases that are not shown"  # what hidden checks are called where students read of their points
NOT_GRADED = "not graded: "  # begins a note on a submission that labgrade could not grade
CUT_OFF = "the time of this submission was used up"  # begins the reason of what waits for more of it
NOT_REACHED = "not judged yet"  # begins the reason of what a run that did not end has not come to
LEFT_OUT = "left out: "  # begins a note on what belongs to no student in a folder of submissions
NOT_THERE = "not in this run: "  # begins a note on who is in the results and not among the submissions any more
ONLY_ONE = "only one submission: "  # begins a note on a folder that may hold all of them
OF_ONE_RUN = (NOT_GRADED, NOT_THERE, ONLY_ONE)
FOR_STAFF = (LEFT_OUT, *OF_ONE_RUN)  # such notes name others


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


def added(parts: Iterable[Fraction]) -> Fraction:
    """The sum: whole numbers are added as such, which takes a tenth of the time."""
    whole, rest = 0, Fraction(0)
    for part in parts:
        if part.denominator == 1:
            whole += part.numerator
        else:
            rest += part
    return rest + whole if rest else Fraction(whole)


def totals(checks: Iterable[Graded]) -> Totals:
    """The sum over checks of any tasks. labgrade's faults and what waits for a person may still earn all points."""
    rows = tuple(checks)
    waiting = [check for check in rows if check.verdict.outcome in PENDING]
    got = added(check.earned for check in rows if check.verdict.outcome not in PENDING)
    return Totals(
        points=added(check.points for check in rows if not check.bonus),
        earned=got,
        at_most=got + added(check.points for check in waiting),
        pending=len(waiting),
    )


def final_totals(submission: SubmissionReport) -> Totals:
    """The sum over all tasks of a submission, raw and final."""
    shown = totals(check for task in submission.tasks for check in task.checks)
    whole = _with_not_shown(shown, submission.not_shown)
    taken = most = Fraction(0)
    for lab in {deduction.lab for deduction in submission.deductions}:
        own = of_lab(submission, lab)
        mine = [deduction for deduction in submission.deductions if deduction.lab == lab]
        taken += min(own.earned, sum((deducted(each, own, own.earned) for each in mine), Fraction(0)))
        most += min(own.at_most, sum((deducted(each, own, own.at_most) for each in mine), Fraction(0)))
    return replace(whole, deducted=taken, most_deducted=most)


def of_lab(submission: SubmissionReport, lab: str) -> Totals:
    """The sum over the tasks of one lab, raw."""
    shown = totals(check for task in submission.tasks if task.lab == lab for check in task.checks)
    return _with_not_shown(shown, [each for each in submission.not_shown if each.lab == lab])


def _with_not_shown(shown: Totals, others: Iterable[NotShown]) -> Totals:
    """The sum with what checks that are not shown earned, where that is released."""
    for each in others:
        if each.earned is not None and each.at_most is not None:
            shown = replace(
                shown,
                points=shown.points + each.points,
                earned=shown.earned + each.earned,
                at_most=shown.at_most + each.at_most,
                pending=shown.pending + (each.earned < each.at_most),
            )
    return shown


def hidden_points(checks: Iterable[Graded]) -> Fraction:
    """What hidden checks are worth, bonus checks aside."""
    return added(check.points for check in checks if check.hidden and not check.bonus)


def deducted(deduction: Deduction, lab: Totals, got: Fraction) -> Fraction:
    """What a deduction takes where `got` points were earned in its lab: in hundredths, half to even, and no more."""
    if deduction.share is None:
        return min(deduction.points, got)
    base = got if deduction.of_earned else lab.points
    return min(round(base * deduction.share, PLACES), got)
