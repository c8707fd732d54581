"""The page of one student: what was reached, what to do next, and each task with its verdicts and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.policy import totals
from labgrade.report import steps, sums
from labgrade.report.html import charts, page, tiles
from labgrade.report.html.words import KINDS
from labgrade.report.left_out import LOOKED_FOR, left_out
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from labgrade.policy import Totals
    from labgrade.report.left_out import LeftOut
    from labgrade.report.steps import Step
    from labgrade.results import Graded, Report, SubmissionReport, TaskReport
    from labgrade.verdict import ComparedRow

_FIRST = 3  # steps that are shown at once; the others are folded away
_MOST_ROWS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """A check as the page shows it. `printed` is empty where an earlier check of the task shows the same.

    `looked_for`: the places that a reason names at its end, which are many. `example`: its lines after the first,
    which are a program or a table.
    """

    graded: Graded
    anchor: str
    reason: str
    example: str
    looked_for: tuple[str, ...]
    printed: str
    notes: tuple[str, ...]
    chart: Markup | None
    grids: Sequence[tuple[Markup, str]]
    rows: Sequence[ComparedRow]
    first_wrong: str

    @property
    def short(self) -> bool:
        """Nothing has to be said about it."""
        return self.graded.verdict.outcome is Outcome.CORRECT and not (self.notes or self.printed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A task as the page shows it. `nothing`: what is said in place of its checks where nothing was handed in."""

    task: TaskReport
    anchor: str
    total: Totals
    share: str
    checks: Sequence[_Check]
    nothing: LeftOut | None


def render(report: Report) -> str:
    """The page of the first submission of a report, which is the only one of a student's.

    What a student may not see is taken out before (`policy.for_student`): this shows all that it is given.
    """
    (submission, *_) = report.submissions
    total = policy.settled(submission)
    shown = [_task(task, number) for number, task in enumerate(submission.tasks, 1)]
    anchors = {
        (each.task.id, check.graded.id): each.anchor if each.nothing else check.anchor
        for each in shown
        for check in each.checks
    }
    every = [(step, anchors[step.task.id, step.checks[0].id], _called(step)) for step in steps.steps(submission)]
    todo = [item for item in every if not item[0].missing]
    count = sums.counts(submission)
    return page.render(
        "student.html",
        submission=submission,
        total=total,
        spread=sums.spread,
        tasks=shown,
        first=todo[:_FIRST],
        later=todo[_FIRST:],
        missing=[item for item in every if item[0].missing],
        waiting=_waiting(submission),
        counts=[(kind, word, sum(count[outcome] for outcome in outcomes)) for kind, (word, outcomes) in KINDS.items()],
        share=page.percent(total.final / total.points if total.points else 0),
        share_at_most=page.percent(total.final_at_most / total.points if total.points else 0),
        notes=report.notes,
    )


def _called(step: Step) -> str:
    """The task, and the checks where these are not all of it."""
    names = ", ".join(check.id for check in step.checks)
    return step.task.title if left_out(step.task) else f"{step.task.title}: {names}"


def _waiting(submission: SubmissionReport) -> int:
    return sum(check.verdict.outcome in (Outcome.MANUAL, Outcome.FAULT) for check in sums.checks(submission))


def _task(task: TaskReport, number: int) -> _Task:
    total = totals(task.checks)
    said: set[str] = set()
    shown = []
    for place, graded in enumerate(task.checks, 1):
        shown.append(_check(graded, f"c{number}-{place}", said))
        said |= {graded.printed, *graded.verdict.notes}
    share = page.percent(total.earned / total.points if total.points else 0)
    return _Task(task=task, anchor=f"t{number}", total=total, share=share, checks=shown, nothing=left_out(task))


def _check(graded: Graded, anchor: str, said: set[str]) -> _Check:
    told, _, looked_for = steps.without_pictures(graded).partition(LOOKED_FOR)
    reason, _, example = told.partition("\n")
    wrong = next((row for row in graded.rows if not row.right), None)
    return _Check(
        graded=graded,
        anchor=anchor,
        reason=reason,
        example=example.strip("\n"),
        looked_for=tuple(filter(None, looked_for.split("; "))),
        printed="" if graded.printed in said else graded.printed,
        notes=tuple(note for note in graded.verdict.notes if note not in said),
        chart=_chart(graded, anchor),
        grids=[(tiles.drawn(grid), tiles.described(grid)) for grid in graded.grids],
        rows=graded.rows[:_MOST_ROWS],
        first_wrong=wrong.name if wrong is not None else "",
    )


def _chart(graded: Graded, anchor: str) -> Markup | None:
    """Bars of the first column that has a wrong number; none where no number is wrong."""
    column = next((row.column for row in graded.rows if not row.right and None not in (row.got, row.expected)), None)
    if column is None:
        return None
    bars = [
        charts.Bar(name=row.name, got=row.got, expected=row.expected, right=row.right)
        for row in graded.rows
        if row.column == column and row.expected is not None
    ]
    wrong = [bar for bar in bars if not bar.right]
    differ = f"{len(wrong):,} differ, first '{wrong[0].name}'"
    title = f"{column} of {len(bars):,} rows, yours before the expected ones; {differ}"
    return charts.compared(bars, title=title, unit=column, salt=anchor)
