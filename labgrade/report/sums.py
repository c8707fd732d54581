"""How points are said, and the checks that they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.values import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from labgrade.policy import Totals
    from labgrade.results import Graded, SubmissionReport


def checks(submission: SubmissionReport) -> Iterator[Graded]:
    """All checks of all tasks."""
    return (check for task in submission.tasks for check in task.checks)


def points(value: Fraction) -> str:
    """Points to hundredths: `86.4`."""
    return show(round(value, 2))


def spread(low: Fraction, high: Fraction) -> str:
    """`86.4`, or `80 to 86.4` while something is pending."""
    return points(low) if low == high else f"{points(low)} to {points(high)}"


def of_points(total: Totals) -> str:
    """`86.4 / 100`, or `80 to 86.4 / 100`."""
    return f"{spread(total.earned, total.at_most)} / {points(total.points)}"
