"""What a student can do next: mend what is wrong, then hand in what is missing; what costs most comes first."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from labgrade.report.left_out import left_out
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labgrade.results import Graded, SubmissionReport, TaskReport

_LONGEST = 240  # characters of what is said about a step
_SETTLED = PENDING | {Outcome.SKIPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Some checks of a task with one thing to do about them. `points` is what they could still earn.

    `missing`: nothing was handed in for them, and `says` may then be empty.
    """

    task: TaskReport
    checks: tuple[Graded, ...]
    points: Fraction
    says: str
    missing: bool

    @property
    def lost(self) -> Fraction:
        """What the most expensive of its checks costs."""
        return max(check.points - check.earned for check in self.checks)


def steps(submission: SubmissionReport) -> Sequence[Step]:
    """The steps in the order in which to take them: what is wrong, the most points first, then what is missing.

    Bonus checks and what waits for other checks are none.
    """
    found = []
    for task in submission.tasks:
        open_checks = [
            check
            for check in task.checks
            if not check.bonus and check.verdict.outcome not in _SETTLED and check.earned < check.points
        ]
        nothing = left_out(task)
        if nothing is not None and open_checks:
            found.append(_step(task, open_checks, "; ".join(nothing.hints), missing=True))
            continue
        for (missing, says), same in itertools.groupby(sorted(open_checks, key=_said), key=_said):
            found.append(_step(task, list(same), says, missing=missing))
    return sorted(found, key=lambda step: (step.missing, Fraction(0) if step.missing else -step.lost))


def _step(task: TaskReport, checks: Sequence[Graded], says: str, *, missing: bool) -> Step:
    points = sum((check.points - check.earned for check in checks), Fraction(0))
    return Step(task=task, checks=tuple(checks), points=points, says=says, missing=missing)


def _said(check: Graded) -> tuple[bool, str]:
    """What is missing is one thing to do, unless a hint says more; else what the verdict says."""
    verdict = check.verdict
    missing = verdict.outcome is Outcome.MISSING
    return missing, verdict.hint or ("" if missing else _short(check))


def _short(check: Graded) -> str:
    """The reason without pictures in characters, and cut: the check itself has all of it."""
    reason = without_pictures(check)
    first, *others = reason.splitlines() or [""]
    return f"{first[:_LONGEST]}..." if others or len(first) > _LONGEST else first


def without_pictures(check: Graded) -> str:
    """The reason, for who draws the grids better than in characters."""
    reason = check.verdict.reason
    for grid in check.grids:
        reason = reason.replace("\n".join(("", *grid.picture)), "") if grid.picture else reason
    return reason
