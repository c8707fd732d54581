"""The report as Gradescope's results.json: one file for each submission, which its autograder leaves in results/.

The format: https://gradescope-autograders.readthedocs.io/en/latest/specs/. A hidden check has the visibility `hidden`:
Gradescope shows it to staff alone, and then shows no total to the student either.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core import points, student_view
from labgrade.core.results import Report
from labgrade.core.text import escaped, framed
from labgrade.reports import summary
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from labgrade.core.results import Deduction, Graded, SubmissionReport, TaskReport
    from labgrade.core.task import Plain


def render(report: Report) -> str:
    """results.json of the first submission of a report, without a final newline."""
    submission = _without_guesses(report.submissions[0])
    total = points.final_totals(submission)
    document: dict[str, Plain] = {
        "score": _number(total.final),
        "execution_time": round(sum(check.seconds for check in summary.checks(submission) if not check.hidden)),
        "output": _output(submission),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": list(_tests(submission)),
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _without_guesses(submission: SubmissionReport) -> SubmissionReport:
    tasks = [replace(task, checks=tuple(map(student_view.without_guesses, task.checks))) for task in submission.tasks]
    return replace(submission, tasks=tuple(tasks))


def _output(submission: SubmissionReport) -> str:
    """Return the text for the whole submission. It reveals nothing of hidden checks: no total, count or share."""
    (shown,) = student_view.for_student(Report(submissions=(submission,))).submissions
    lines = [framed(remark, "left out: ", theirs=True) for remark in summary.left_out(shown)]
    lines += [f"{each.lab}: {_deduction_label(each)}{each.why}" for each in submission.deductions]
    if any(check.verdict.outcome in PENDING for check in summary.checks(shown)):
        lines.append("some checks wait for a person, so the score may still rise")
    return escaped("\n".join(lines))


def _deduction_label(deduction: Deduction) -> str:
    """Return the words before the reason of a deduction.

    Those of a share would tell what hidden checks are worth; those of visible ones alone are not what the score lost.
    """
    return "late: " if deduction.share is not None else f"{summary.points(deduction.points)} points are taken: "


def _tests(submission: SubmissionReport) -> Iterator[Plain]:
    """Each check. Visible ones are numbered as if there were no others: a gap would tell of a hidden one."""
    place = 0
    for task in submission.tasks:
        place += any(not check.hidden for check in task.checks)
        count = {False: 0, True: 0}
        for check in task.checks:
            count[check.hidden] += 1
            yield _test(task, check, f"{place}.{'hidden ' if check.hidden else ''}{count[check.hidden]}")


def _test(task: TaskReport, check: Graded, number: str) -> Plain:
    verdict = check.verdict
    said = summary.full_reason(verdict, bonus=check.bonus)
    helps = summary.hint(verdict)
    told = [(f"{verdict.outcome}: ", said), ("hint: ", helps), *(("note: ", note) for note in verdict.notes)]
    source = [framed(check.answer_from, "from: ", theirs=True)] if check.answer_from else []
    test: dict[str, Plain] = {
        "name": escaped(f"{task.title}: {check.id}") + (" (bonus)" if check.bonus else ""),
        "number": number,
        "score": _number(check.earned),
        "max_score": 0 if check.bonus else _number(check.points),
        "output": "\n".join((*(framed(text, label) for label, text in told if text), *source)) or str(verdict.outcome),
        "tags": [escaped(task.id)],
        "visibility": "hidden" if check.hidden else "visible",
        "extra_data": {"outcome": str(verdict.outcome)},
    }
    if verdict.outcome not in PENDING:  # what waits is neither passed nor failed
        test["status"] = "passed" if verdict.outcome is Outcome.CORRECT else "failed"
    return test


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(round(value, 2))
