"""The report as Markdown: a table of the class, then each submission with what is wrong, why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade.core.points import final_totals, totals
from labgrade.core.text import for_html_in_markdown, for_markdown, gutter_of
from labgrade.reports.summary import checks, first_line, hint, not_shown, of_points, points, spread, steps, worth_of
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.core.results import Graded, Report, SubmissionReport, TaskReport

_LONGEST = 1500
_LOOKS = {
    Outcome.CORRECT: "✅",
    Outcome.PARTIAL: "🟡",
    Outcome.MISSING: "⬜",
    Outcome.SKIPPED: "⬜",
    Outcome.MANUAL: "🧑",
    Outcome.FAULT: "🛠️",
}


def render(report: Report) -> str:
    """The report as CommonMark with tables, without a final newline."""
    lines: list[str] = []
    if len(report.submissions) > 1:
        lines += ["# Submissions", "", *table(report)]
    for submission in report.submissions:
        lines += [*([""] if lines else []), f"# {text(submission.name)}", "", *summary(submission)]
        for task in submission.tasks:
            lines += ["", *_task(task)]
    if report.notes:
        lines += ["", "---", "", *(f"{text(note)}  " for note in report.notes)]
    return "\n".join(lines)


def text(words: str) -> str:
    """The words, cut where they are many, so that Markdown shows them as they are."""
    return for_markdown(words if len(words) <= _LONGEST else f"{words[:_LONGEST]}...")


def quoted(words: str) -> str:
    """The same, with what may be a student's behind a gutter."""
    return gutter_of(words) + text(words) if words else ""


def table(report: Report) -> Iterator[str]:
    """One row a submission."""
    yield "| submission | points | of | right | all checks | waiting |"
    yield "|---|---:|---:|---:|---:|---:|"
    for submission in report.submissions:
        total = final_totals(submission)
        found = [check.verdict.outcome for check in checks(submission)]
        right = sum(outcome is Outcome.CORRECT for outcome in found)
        earned = spread(total.final, total.final_at_most)
        yield (
            f"| {text(submission.name)} | {earned} | {points(total.points)} | {right} | {len(found)} "
            f"| {total.pending or ''} |"
        )


def summary(submission: SubmissionReport) -> Iterator[str]:
    """Points, deductions, and what to do first."""
    total = final_totals(submission)
    yield f"**{spread(total.final, total.final_at_most)} of {points(total.points)} points**"
    for what, worth in not_shown(submission):
        yield ""
        yield f"{text(what)}: {worth} points"
    for each in submission.deductions:
        yield ""
        yield f"{text(each.lab)}: {points(each.points)} points less: {text(each.why)}"
    first = next(iter(steps(submission)), None)
    if first is not None:
        names = ", ".join(check.id for check in first.checks)
        says = f": {quoted(first.says)}" if first.says else ""
        yield ""
        yield f"Do first: {text(first.task.title)}, {text(names)}, {worth_of(first)}{says}"


def _task(task: TaskReport) -> Iterator[str]:
    yield f"## {text(task.title)} ({of_points(totals(task.checks))})"
    yield ""
    yield "| check | points | what was found |"
    yield "|---|---:|---|"
    for check in task.checks:
        yield row(check)


def row(check: Graded) -> str:
    """A check as a row of a table."""
    verdict = check.verdict
    earned = "?" if verdict.outcome in PENDING else points(check.earned)
    kinds = "".join(f" *({kind})*" for kind, so in (("bonus", check.bonus), ("hidden", check.hidden)) if so)
    first, more = first_line(verdict, bonus=check.bonus)
    said = quoted(f"{first} ..." if more else first)  # a program or a table does not fit into a cell
    helps = f"<br>**Hint:** {quoted(hint(verdict))}" if hint(verdict) else ""
    sign = _LOOKS.get(verdict.outcome, "❌")
    worth = f"{earned} / {points(check.points)}"
    return f"| {sign} {text(check.id)}{kinds} | {worth} | {verdict.outcome}{f': {said}' if said else ''}{helps} |"


_MOST_BYTES = 1000 * 1024  # GitHub refuses a summary of more than 1 MiB
_LEFT_OUT = "\n\n*The rest does not fit into a step summary; the whole report has it.*"


def step_summary(report: Report) -> str:
    """The table of all submissions first, then each one folded away with what is not right; at most 1 MiB."""
    parts = ["# labgrade", "", *table(report)]
    text = "\n".join(parts)
    size = len(text.encode())
    for submission in report.submissions:
        part = "\n".join(("", "", *_folded(submission)))
        size += len(part.encode())
        if size > _MOST_BYTES - len(_LEFT_OUT):
            return _cut(text) + _LEFT_OUT
        text += part
    return text


def _folded(submission: SubmissionReport) -> Iterator[str]:
    total = final_totals(submission)
    earned = f"{spread(total.final, total.final_at_most)} of {points(total.points)}"
    yield f"<details><summary>{for_html_in_markdown(submission.name)}: {earned} points</summary>"
    yield ""
    yield from summary(submission)
    rows = [
        (task, check)
        for task in submission.tasks
        for check in task.checks
        if check.verdict.outcome is not Outcome.CORRECT
    ]
    if rows:
        yield ""
        yield "| task | check | points | what was found |"
        yield "|---|---|---:|---|"
    for task, check in rows:
        yield f"| {text(task.id)} {row(check)}"
    yield ""
    yield "</details>"


def _cut(text: str) -> str:
    """Whole lines of what fits."""
    kept = text.encode()[: _MOST_BYTES - len(_LEFT_OUT)].decode(errors="ignore")
    return text if kept == text else kept.rpartition("\n")[0]
