"""What goes back to students: of each release the page, the report as Markdown, and the points. Nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.collect.giving_back import Package
from labgrade.core.student_view import for_student
from labgrade.reports import csv, html, markdown
from labgrade.review import releases
from labgrade.spec import course, load

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from labgrade.core.results import Report
    from labgrade.review.results import Whole


def packages(found: Whole, names: Collection[str]) -> Iterator[Package]:
    """Yield what goes back for each of these submissions that was released.

    Raises:
        UsageError: pages need what is not installed.
    """
    html.refuse_without()
    lab = found.collected.lab
    texts = load.lab_texts(course.folders(found.root)[0])
    titles = {each.lab: each.title for each in texts}
    report = replace(found.students, labs=texts, notes=())
    for each in report.submissions:
        if each.name in names and each.name in found.releases:
            tasks = tuple(task for task in each.tasks if task.lab == lab)
            alone = replace(
                each,
                tasks=tasks,
                deductions=tuple(cut for cut in each.deductions if cut.lab == lab),
                not_shown=tuple(worth for worth in each.not_shown if worth.lab == lab),
            )
            shown = replace(report, submissions=(alone,), at=found.releases[each.name].at)
            yield Package(
                name=each.name,
                title=titles.get(lab) or lab,
                files=files(shown),
                history=releases.history(found.folder, each.name),
            )


def files(report: Report) -> dict[str, bytes]:
    """The files that show a report of one submission to its students."""
    from labgrade.reports.html import student

    seen = for_student(report)
    texts = {
        "results.html": student.render(seen),
        "results.md": markdown.render(seen),
        "points.csv": csv.render(seen),
    }
    return {name: f"{text}\n".encode() for name, text in texts.items()}


def addresses(found: Whole, name: str) -> list[str]:
    """Return the repositories that a submission's results go to: its own and those of its group."""
    members = next((set(each.members) for each in found.staff.submissions if each.name == name), set())
    entries = found.collected.entries
    return [
        entry["address"]
        for other, entry in sorted(entries.items())
        if entry["address"] and (other == name or members.intersection(entry["members"]))
    ]
