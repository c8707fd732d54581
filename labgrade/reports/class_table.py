"""A class in a terminal: a row a submission, with its points and how many checks ended how."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from labgrade.core.points import final_totals
from labgrade.reports import summary
from labgrade.reports.plain_page import Page
from labgrade.verdict import PENDING, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from labgrade.core.results import Report, SubmissionReport

_COLUMNS = {
    "right": {Outcome.CORRECT},
    "partly": {Outcome.PARTIAL},
    "wrong": {Outcome.INCORRECT, Outcome.CRASHED, Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT},
    "missing": {Outcome.MISSING},
    "waiting": PENDING,
}


def render(report: Report, *, console: Console) -> None:
    """Print a line for each student."""
    page = Page(console)
    for note in report.notes:
        page.paragraph(note, indent=0, label="note: ")
    if report.submissions:
        show(page, report.submissions)


def show(page: Page, submissions: Sequence[SubmissionReport]) -> None:
    """Print the table and the median. Names come last, so that none is cut."""
    totals = [final_totals(submission) for submission in submissions]
    heads, columns = _table(submissions)
    widths = [max(map(len, (head, *cells))) for head, cells in zip(heads, columns, strict=True)]
    page.blank()
    page.line((f"{len(totals):,} {'submission' if len(totals) == 1 else 'submissions'}", "bold"))
    page.rule()
    page.line((f"{_cells(heads, widths)}  submission", "dim"))
    for submission, (points, *others) in zip(submissions, zip(*columns, strict=True), strict=True):
        page.line(
            (_cells([points], widths), "bold"),
            (f"  {_cells(others, widths[1:])}", ""),
            (f"  {submission.name}", ""),
            hang=sum(widths) + 2 * len(widths),
            gutter=page.gutter,
        )
    earned = [total.final for total in totals]
    middle, low, high = (summary.points(each) for each in (statistics.median(earned), min(earned), max(earned)))
    waiting = sum(total.pending > 0 for total in totals)
    still = f"; {waiting} of {len(totals)} submissions still wait for a person" if waiting else ""
    page.rule()
    page.line((f"median {middle}, from {low} to {high} points", ""), (still, "cyan"))


def _table(submissions: Sequence[SubmissionReport]) -> tuple[list[str], list[list[str]]]:
    """Return heads and columns; a column of late points only where some were deducted."""
    totals = [final_totals(submission) for submission in submissions]
    spreads = [summary.spread(total.final, total.final_at_most) for total in totals]
    same = len({total.points for total in totals}) == 1
    worth = [summary.points(total.points) for total in totals]
    heads = [f"of {worth[0]}" if same else "points"]
    columns = [spreads if same else [f"{each} / {of}" for each, of in zip(spreads, worth, strict=True)]]
    if any(submission.deductions for submission in submissions):
        heads.append("late")
        columns.append([f"-{summary.points(total.deducted)}" if total.deducted else "." for total in totals])
    counts = [summary.counts(submission) for submission in submissions]
    for head, outcomes in _COLUMNS.items():
        heads.append(head)
        columns.append([str(sum(count[outcome] for outcome in outcomes) or ".") for count in counts])
    return heads, columns


def _cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
