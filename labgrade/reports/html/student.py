"""The page of one student: what was reached, what to do next, and each task with its verdicts and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from labgrade.core import points
from labgrade.core.points import totals
from labgrade.core.results import LabText, people
from labgrade.reports import summary
from labgrade.reports.html import charts, pictures
from labgrade.reports.html import render as page
from labgrade.reports.html.render import KINDS
from labgrade.reports.summary import missing_task
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from labgrade.core.points import Totals
    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport
    from labgrade.reports.summary import MissingTask

_FIRST = 3  # steps that are shown at once; the others are folded away


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskView:
    """A task as the page shows it; its checks are `cards`. `nothing`: what stands there where nothing was handed in."""

    id: str
    title: str
    anchor: str
    total: Totals
    share: str
    names: tuple[str, ...]
    nothing: MissingTask | None
    not_shown: Fraction | None
    statement: str


def render(report: Report) -> str:
    """The page of the first submission of a report, which is the only one of a student's.

    What a student may not see is taken out before (`student_view.for_student`): this shows all of the report.
    """
    (submission, *_) = report.submissions
    total = points.final_totals(submission)
    texts = {each.lab: each for each in report.labs}
    tasks = _tasks(submission, texts)
    cards = {shown.anchor: _cards(task, shown.anchor) for task, shown in zip(submission.tasks, tasks, strict=True)}
    todo, missing = _steps(submission, tasks)
    count = summary.counts(submission)
    return page.render(
        "student.html",
        name=submission.name,
        about=_about(submission, texts),
        released=submission.released,
        at=report.at,
        comments=_comments(submission, tasks),
        members=people(submission.members, submission.called),
        handed_in=submission.handed_in,
        deductions=submission.deductions,
        remarks=summary.left_out(submission),
        total=total,
        below=totals(check for task in submission.tasks for check in task.checks),
        not_shown=summary.not_shown(submission),
        hidden_counted=any(each.earned is not None for each in submission.not_shown),
        spread=summary.spread,
        tasks=tasks,
        cards=cards,
        todo=todo,
        worth_of=summary.worth_of,
        shown_at_once=_FIRST,
        missing=missing,
        waiting=sum(check.verdict.outcome in PENDING for task in submission.tasks for check in task.checks),
        counts=[(kind, word, sum(count[outcome] for outcome in outcomes)) for kind, (word, outcomes) in KINDS.items()],
        share=page.percent(total.final / total.points if total.points else 0),
        share_at_most=page.percent(total.final_at_most / total.points if total.points else 0),
        notes=report.notes,
    )


def _tasks(submission: SubmissionReport, texts: Mapping[str, LabText]) -> list[_TaskView]:
    asked = {(lab, task): text for lab, each in texts.items() for task, text in each.statements}
    numbered = enumerate(submission.tasks, 1)
    return [_task(task, f"t{number}", asked.get((task.lab, task.id), "")) for number, task in numbered]


def _about(submission: SubmissionReport, texts: Mapping[str, LabText]) -> list[str]:
    """The course and the labs that a page is about, for its head."""
    labs = list(dict.fromkeys(task.lab for task in submission.tasks))
    named = [texts.get(lab) or LabText(lab=lab, title="") for lab in labs]
    return list(dict.fromkeys([*(each.course for each in named if each.course), *map(_lab, named)]))


def _lab(text: LabText) -> str:
    """A lab by its name and its title, which may be alike."""
    return (
        f"{text.lab}: {text.title}"
        if text.title and text.lab.lower() not in text.title.lower()
        else text.title or text.lab
    )


def _comments(submission: SubmissionReport, tasks: Sequence[_TaskView]) -> list[tuple[str, str, str]]:
    """What people wrote: the anchor of the check, what it is called, the comment."""
    return [
        (_card(f"{shown.anchor}-{number}"), f"{task.title}: {check.id}", check.decision.reason)
        for task, shown in zip(submission.tasks, tasks, strict=True)
        for number, check in enumerate(task.checks, 1)
        if check.decision is not None and check.decision.reason
    ]


def _task(task: TaskReport, anchor: str, statement: str) -> _TaskView:
    total = totals(task.checks)
    return _TaskView(
        id=task.id,
        title=task.title,
        anchor=anchor,
        total=total,
        share=page.percent(total.earned / total.points if total.points else 0),
        names=tuple(check.id for check in task.checks),
        nothing=missing_task(task),
        not_shown=task.not_shown,
        statement=statement.strip(),
    )


def _steps(
    submission: SubmissionReport, tasks: Sequence[_TaskView]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What to mend, numbered, and what to hand in: anchor, what it is called, what it is worth, what is found."""
    shown = {(task.lab, task.id): each for task, each in zip(submission.tasks, tasks, strict=True)}
    todo: list[tuple[Any, ...]] = []
    missing: list[tuple[Any, ...]] = []
    for step in summary.steps(submission):
        if step.bonus and submission.released:
            continue  # it cost nothing
        task, names = shown[step.task.lab, step.task.id], [check.id for check in step.checks]
        if task.nothing is not None:
            item = (task.anchor, task.title, step, step.says)
        else:
            anchor = f"{task.anchor}-{task.names.index(names[0]) + 1}"
            item = (_card(anchor), f"{task.title}: {', '.join(names)}", step, step.says)
        if step.missing:
            missing.append(item)
        else:
            todo.append((len(todo), *item))
    return todo, missing


def _card(anchor: str) -> str:
    return f"c{anchor[1:]}"


def _cards(task: TaskReport, anchor: str) -> Markup:
    """The checks of a task. What was printed, and a note, is shown where it occurs first."""
    shown: set[str] = set()
    cards = []
    for number, graded in enumerate(task.checks, 1):
        cards.append(_check(graded, _card(f"{anchor}-{number}"), shown))
        shown |= {graded.printed, *graded.verdict.notes}
    return Markup("\n").join(cards)


def _check(graded: Graded, anchor: str, shown: set[str]) -> Markup:
    """A check in all its parts; the places that were looked for are many, and stand below the reason."""
    verdict = graded.verdict
    comment = graded.decision.reason if graded.decision else ""
    reason = summary.reason(verdict, bonus=graded.bonus, places=False)
    notes = tuple(note for note in verdict.notes if note not in shown)
    printed = "" if graded.printed in shown else graded.printed
    below = verdict.lines if graded.grids else (*verdict.lines, *verdict.picture)  # grids are drawn
    return page.fragment(
        "check.html",
        anchor=anchor,
        id=graded.id,
        outcome=verdict.outcome,
        bonus=graded.bonus,
        hidden=graded.hidden,
        worth=graded.points,
        earned=graded.earned,
        origin=graded.answer_from,
        decision=graded.decision,
        comment=comment,
        reason=reason.removesuffix(f": {comment}") if comment else reason,
        looked_for=verdict.looked_for,
        hint=summary.hint(verdict),
        example="\n".join(below).strip("\n"),
        printed=printed,
        notes=notes,
        short=verdict.outcome is Outcome.CORRECT and not (notes or printed),
        pictures=pictures.check_pictures(graded, anchor),
        grids=[(charts.tile_grid(grid), charts.grid_in_words(grid)) for grid in graded.grids],
    )
