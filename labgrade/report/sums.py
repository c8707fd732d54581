"""What a submission comes to: raw points, what late rules take, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.policy import totals
from labgrade.values import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.policy import Totals
    from labgrade.results import Graded, SubmissionReport

_NONE = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The points of a submission. `earned` and `at_most` are raw; `deducted` is what late rules take from them."""

    points: Fraction
    earned: Fraction
    at_most: Fraction
    pending: int
    deducted: Fraction

    @property
    def final(self) -> Fraction:
        """What counts, as far as it is certain; never below nothing."""
        return max(_NONE, self.earned - self.deducted)

    @property
    def final_at_most(self) -> Fraction:
        """What may count once all pending checks are settled."""
        return max(_NONE, self.at_most - self.deducted)


def checks(submission: SubmissionReport) -> Iterator[Graded]:
    """All checks of all tasks."""
    return (check for task in submission.tasks for check in task.checks)


def of(submission: SubmissionReport) -> Sums:
    """The sums of a submission."""
    total = totals(checks(submission))
    return Sums(
        points=total.points,
        earned=total.earned,
        at_most=total.at_most,
        pending=total.pending,
        deducted=sum((deduction.points for deduction in submission.deductions), _NONE),
    )


def points(value: Fraction) -> str:
    """Points to hundredths: `86.4`."""
    return show(round(value, 2))


def spread(low: Fraction, high: Fraction) -> str:
    """`86.4`, or `80 to 86.4` while something is pending."""
    return points(low) if low == high else f"{points(low)} to {points(high)}"


def of_points(total: Totals) -> str:
    """`86.4 / 100`, or `80 to 86.4 / 100`."""
    return f"{spread(total.earned, total.at_most)} / {points(total.points)}"
