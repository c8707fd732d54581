"""The report as Markdown: a table of the class, then each submission with what is wrong, why, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.policy import totals
from labgrade.report import steps, sums
from labgrade.report.seen import seen
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.results import Graded, Report, SubmissionReport, TaskReport

_MEANS_SOMETHING = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|~:&$=^]")
_AT = "@<!-- -->"  # names nobody: what follows stands in another node of the page
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


def text(said: str) -> str:
    r"""A text in which nothing means anything to Markdown, on one line: no markup, no link, nobody's name.

    >>> text("*a* <b>")
    '\\*a\\* \\<b\\>'
    """
    line = " ".join(seen(said if len(said) <= _LONGEST else f"{said[:_LONGEST]}...").split())
    return _MEANS_SOMETHING.sub(lambda found: "\\" + found[0], line).replace("@", _AT)


def table(report: Report) -> Iterator[str]:
    """One row a submission."""
    yield "| submission | points | of | right | all checks | waiting |"
    yield "|---|---:|---:|---:|---:|---:|"
    for submission in report.submissions:
        total = policy.settled(submission)
        found = [check.verdict.outcome for check in sums.checks(submission)]
        right = sum(outcome is Outcome.CORRECT for outcome in found)
        points = sums.spread(total.final, total.final_at_most)
        yield (
            f"| {text(submission.name)} | {points} | {sums.points(total.points)} | {right} | {len(found)} "
            f"| {total.pending or ''} |"
        )


def summary(submission: SubmissionReport) -> Iterator[str]:
    """Points, deductions, and what to do first."""
    total = policy.settled(submission)
    yield f"**{sums.spread(total.final, total.final_at_most)} of {sums.points(total.points)} points**"
    for each in submission.deductions:
        yield ""
        yield f"{text(each.lab)}: {sums.points(each.points)} points less: {text(each.why)}"
    first = next(iter(steps.steps(submission)), None)
    if first is not None:
        names = ", ".join(check.id for check in first.checks)
        says = f": {text(first.says)}" if first.says else ""
        worth = f"{sums.points(first.points)} more {'point' if first.points == 1 else 'points'}"
        yield ""
        yield f"Do first: {text(first.task.title)}, {text(names)}, worth {worth}{says}"


def _task(task: TaskReport) -> Iterator[str]:
    yield f"## {text(task.title)} ({sums.of_points(totals(task.checks))})"
    yield ""
    yield "| check | points | what was found |"
    yield "|---|---:|---|"
    for check in task.checks:
        yield row(check)


def row(check: Graded) -> str:
    """A check as a row of a table."""
    verdict = check.verdict
    earned = "?" if verdict.outcome in PENDING else sums.points(check.earned)
    kinds = "".join(f" *({kind})*" for kind, so in (("bonus", check.bonus), ("hidden", check.hidden)) if so)
    first, *others = steps.without_pictures(check).splitlines() or [""]  # what follows is a program, or a table
    said = text(f"{first} ..." if others else first)
    hint = f"<br>**Hint:** {text(verdict.hint)}" if verdict.hint else ""
    sign = _LOOKS.get(verdict.outcome, "❌")
    points = f"{earned} / {sums.points(check.points)}"
    return f"| {sign} {text(check.id)}{kinds} | {points} | {verdict.outcome}{f': {said}' if said else ''}{hint} |"
