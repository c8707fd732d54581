"""A submission's report as plain data and back: how a release keeps what was shown."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade import graded_plain
from labgrade.results import Deduction, SubmissionReport, TaskReport

if TYPE_CHECKING:
    from collections.abc import Mapping


def plain_submission(each: SubmissionReport) -> dict[str, Any]:
    """One submission as plain data: what JSON can hold."""
    return {
        "name": each.name,
        "remarks": list(each.remarks),
        "members": list(each.members),
        "handed_in": each.handed_in,
        "handed_in_by": each.handed_in_by,
        "deductions": [
            [cut.lab, str(cut.points), cut.why, None if cut.share is None else str(cut.share), cut.of_earned]
            for cut in each.deductions
        ],
        "tasks": [
            {
                "lab": task.lab,
                "id": task.id,
                "title": task.title,
                "points": str(task.points),
                "checks": [graded_plain.plain(check) for check in task.checks],
            }
            for task in each.tasks
        ],
    }


def submission(plain: Mapping[str, Any]) -> SubmissionReport:
    """The submission that `plain_submission` was made of."""
    tasks = tuple(
        TaskReport(
            lab=task["lab"],
            id=task["id"],
            title=task["title"],
            points=Fraction(task["points"]),
            checks=tuple(map(graded_plain.from_plain, task["checks"])),
        )
        for task in plain["tasks"]
    )
    deductions = tuple(
        Deduction(
            lab=lab, points=Fraction(points), why=why, share=None if share is None else Fraction(share), of_earned=of
        )
        for lab, points, why, share, of in plain["deductions"]
    )
    return SubmissionReport(
        name=plain["name"],
        tasks=tasks,
        remarks=tuple(plain["remarks"]),
        members=tuple(plain["members"]),
        handed_in=plain["handed_in"],
        handed_in_by=plain["handed_in_by"],
        deductions=deductions,
    )
