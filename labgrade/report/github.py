"""The report as a step summary of GitHub Actions: what is written to the file that GITHUB_STEP_SUMMARY names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labgrade import policy
from labgrade.report import markdown, sums
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labgrade.results import Report, SubmissionReport

_MOST_BYTES = 1000 * 1024  # GitHub refuses a summary of more than 1 MiB
_LEFT_OUT = "\n\n*The rest does not fit into a step summary; the whole report has it.*"


def render(report: Report) -> str:
    """The table of all submissions first, then each one folded away with what is not right; at most 1 MiB."""
    parts = ["# labgrade", "", *markdown.table(report)]
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
    total = policy.settled(submission)
    points = f"{sums.spread(total.final, total.final_at_most)} of {sums.points(total.points)}"
    yield f"<details><summary>{_html(submission.name)}: {points} points</summary>"
    yield ""
    yield from markdown.summary(submission)
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
        yield f"| {markdown.text(task.id)} {markdown.row(check)}"
    yield ""
    yield "</details>"


def _html(name: str) -> str:
    """A name inside of an element, where Markdown is not read: as characters by their numbers."""
    return "".join(
        character if character.isalnum() or character == " " else f"&#{ord(character)};" for character in name
    )


def _cut(text: str) -> str:
    """Whole lines of what fits."""
    kept = text.encode()[: _MOST_BYTES - len(_LEFT_OUT)].decode(errors="ignore")
    return text if kept == text else kept.rpartition("\n")[0]
