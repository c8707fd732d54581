"""The report as a gradebook: CSV with a row for each student, a column for each task, and the sums."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from labgrade.core import points
from labgrade.core.points import totals
from labgrade.core.text import for_csv_cell, one_line

if TYPE_CHECKING:
    from fractions import Fraction

    from labgrade.core.results import Report, SubmissionReport

_SAID = ("name", "comments")
_SUMS = ("raw", "deducted", "final", "at most", "pending", "points possible")


def render(report: Report) -> str:
    """The gradebook, without a final newline. Those who handed in together have a row each.

    The last two columns are the roster's name, and what people wrote to the student.

    A name that a spreadsheet would run as a formula has an apostrophe before it, as OWASP advises ("CSV Injection").
    """
    tasks = _tasks(report)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["student", "submission", *(for_csv_cell(f"{lab}/{task}") for lab, task in tasks), *_SUMS, *_SAID])
    for submission in report.submissions:
        comments = _comments(submission)
        for place, member in enumerate(submission.members or (submission.name,)):
            name = submission.called[place] if place < len(submission.called) else ""
            marks = (*_points(submission, tasks), *_sums(submission))
            writer.writerow(
                [
                    *(for_csv_cell(one_line(who)) for who in (member, submission.name)),
                    *marks,
                    *map(for_csv_cell, (name, comments)),
                ]
            )
    return stream.getvalue().removesuffix("\n")


def number(value: Fraction) -> str:
    """Points as every spreadsheet reads them: `1234.5`."""
    rounded = value if value.denominator == 1 else round(value, 2)
    return str(rounded.numerator) if rounded.denominator == 1 else f"{float(rounded):.2f}".rstrip("0")


def _tasks(report: Report) -> list[tuple[str, str]]:
    found: dict[tuple[str, str], None] = {}
    for submission in report.submissions:
        found |= dict.fromkeys((task.lab, task.id) for task in submission.tasks)
    return sorted(found)


def _points(submission: SubmissionReport, tasks: list[tuple[str, str]]) -> list[str]:
    """What each task earned for certain; empty where it was not graded."""
    earned = {(task.lab, task.id): totals(task.checks).earned for task in submission.tasks}
    return [number(earned[key]) if key in earned else "" for key in tasks]


def _comments(submission: SubmissionReport) -> str:
    """What people wrote about each check, a line each."""
    rows = ((task.id, check) for task in submission.tasks for check in task.checks)
    return "\n".join(
        f"{task}: {check.id}: {check.decision.reason}"
        for task, check in rows
        if check.decision is not None and check.decision.reason
    )


def _sums(submission: SubmissionReport) -> list[str]:
    total = points.final_totals(submission)
    values = (total.earned, total.deducted, total.final, total.final_at_most)
    return [*map(number, values), str(total.pending), number(total.points)]
