"""How points are said, and the checks that they are of."""

from __future__ import annotations

from datetime import datetime
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


def moment(said: str) -> str:
    """When something was handed in, for people: `2026-11-20 23:59:00 +08:00`; what is no such moment as it is."""
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        return said
    return f"{at:%Y-%m-%d %H:%M:%S} {at.isoformat()[-6:] if at.tzinfo else ''}".rstrip()


def points(value: Fraction) -> str:
    """Points to hundredths: `86.4`."""
    return show(round(value, 2))


def spread(low: Fraction, high: Fraction) -> str:
    """`86.4`, or `80 to 86.4` while something is pending."""
    return points(low) if low == high else f"{points(low)} to {points(high)}"


def of_points(total: Totals) -> str:
    """`86.4 / 100`, or `80 to 86.4 / 100`."""
    return f"{spread(total.earned, total.at_most)} / {points(total.points)}"
