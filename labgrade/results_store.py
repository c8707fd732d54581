"""What a run found, kept in a folder of results: the machine's own report, before anything that people decide."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labgrade import graded_plain
from labgrade.errors import UsageError
from labgrade.results import Deduction, Report, SubmissionReport, TaskReport

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "report.json"
_SCHEMA = "labgrade/results/1"


def load(folder: Path) -> Report:
    """The machine's report of a folder of results.

    Raises:
        UsageError: there is none, or it can't be read.
    """
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"'{folder}' is no folder of results: it holds no {FILE}"
        raise UsageError(message) from None
    except (OSError, ValueError) as error:
        message = f"'{path}' can't be read: {error}"
        raise UsageError(message) from error
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA:
        message = f"'{path}' is no file of labgrade's results ({_SCHEMA})"
        raise UsageError(message)
    return Report(submissions=tuple(map(submission, data["submissions"])), notes=tuple(data["notes"]))


def save(folder: Path, report: Report) -> None:
    """Keep the machine's report, in place of an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {
        "schema": _SCHEMA,
        "notes": list(report.notes),
        "submissions": [plain_submission(each) for each in report.submissions],
    }
    partly = folder / f"{FILE}.new"
    partly.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")
    partly.replace(folder / FILE)


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
