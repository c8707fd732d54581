"""How points are said, and the checks that they are of."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from labgrade.values import show
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from labgrade.policy import Totals
    from labgrade.results import Graded, SubmissionReport


def checks(submission: SubmissionReport) -> Iterator[Graded]:
    """All checks of all tasks."""
    return (check for task in submission.tasks for check in task.checks)


def counts(submission: SubmissionReport) -> Counter[Outcome]:
    """How many checks ended how: cases of one that ended alike count once, and a bonus that is not there is not missed.

    So a page, a table and the report of one submission say the same numbers.
    """
    ended = {
        (task.id, check.id.partition("[")[0], check.verdict.outcome)
        for task in submission.tasks
        for check in task.checks
        if not (check.bonus and check.verdict.outcome is Outcome.MISSING)
    }
    return Counter(outcome for _, _, outcome in ended)


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
