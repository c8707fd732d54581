"""Charts of a class, for staff: how points are spread, which mistakes are common, all points in one plane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labgrade.core import points
from labgrade.reports import figures
from labgrade.reports.html import pictures, planes, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from labgrade.core.results import Plot, Report

_MOST_DRAWN = 12  # mistakes


def all_pictures(report: Report) -> list[tuple[str, Markup]]:
    """Return all charts of the class, each with its name."""
    found = [("How the points are spread", each) for each in by_task(report)]
    drawn = mistakes(report)
    if drawn is not None:
        named = figures.misconceptions(report)
        rows = [(f"{each.place[1]}: {each.place[2]}", each.what, f"{len(each.names)}") for each in named]
        data = pictures.ChartData(title=f"All {len(rows)} mistakes", head=("check", "column", "how many"), rows=rows)
        found.append(("Common mistakes", pictures.chart_element(drawn, data, "mistakes")))
    return [*found, *point_plots(report)]


def by_task(report: Report) -> Sequence[Markup]:
    """Return for each lab a chart of how the points of its tasks are spread."""
    found: dict[str, dict[str, list[int]]] = {}
    for task in (task for submission in report.submissions for task in submission.tasks):
        total = points.totals(task.checks)
        if total.points:
            tenths = found.setdefault(task.lab, {}).setdefault(task.id, [0] * 10)
            tenths[min(9, max(0, int(10 * total.earned / total.points)))] += 1
    return [_spread_of(lab, tasks, f"spread-{number}") for number, (lab, tasks) in enumerate(found.items())]


def _spread_of(lab: str, tasks: Mapping[str, Sequence[int]], anchor: str) -> Markup:
    title = f"{lab}: how many earned which share of each task's points"
    chart = planes.spread_bars(list(tasks.items()), title=title, salt=anchor)
    head = ("task", *(f"{10 * tenth} %" for tenth in range(10)))
    rows = [(name, *(f"{count or ''}" for count in tenths)) for name, tenths in tasks.items()]
    data = pictures.ChartData(title=f"The numbers of {lab}, from each share on", head=head, rows=rows)
    return pictures.chart_element(chart, data, lab, f"{lab}: certain points of each task, in tenths.")


def mistakes(report: Report) -> Markup | None:
    """How often the most common mistakes were made; the table below it has all."""
    found = [(f"{each.place[1]}: {each.what}", len(each.names)) for each in figures.misconceptions(report)]
    if not found:
        return None
    title = f"how many made each of {min(len(found), _MOST_DRAWN)} mistakes"
    return planes.ranked_bars(found[:_MOST_DRAWN], title=title, unit="submissions", salt="mistakes")


def point_plots(report: Report) -> Iterator[tuple[str, Markup]]:
    """Yield for each check with a plot all students' points and their common frontier."""
    found: dict[tuple[str, str, str], list[tuple[str, Plot]]] = {}
    for submission in report.submissions:
        for task in submission.tasks:
            for check in task.checks:
                if check.plot is not None and check.plot.step is None:
                    found.setdefault((task.lab, task.id, check.id), []).append((submission.name, check.plot))
    for number, ((_, task_id, check_id), own) in enumerate(found.items()):
        every = [point for who, plot in own for point in planes.points_of(plot, who)]
        name = f"{task_id}: {check_id}"
        yield name, pictures.plot_with_data(own[0][1], f"plane-{number}", name, every)


def page_of(report: Report, task: str) -> str:
    """A page with the pictures of a task: of one hand-in those of its checks, else those of the class, for staff."""
    own = tuple(
        replace(each, tasks=tuple(found for found in each.tasks if found.id == task)) for each in report.submissions
    )
    if len(own) == 1:
        checks = [check for found in own[0].tasks for check in found.checks]
        drawn = [(f"{check.id}", pictures.check_pictures(check, f"c{number}")) for number, check in enumerate(checks)]
    else:
        drawn = all_pictures(replace(report, submissions=own))
    who = own[0].name if len(own) == 1 else f"{len(own):,} submissions"
    return render.render(
        "pictures.html", title=f"{task}: {who}", pictures=[each for each in drawn if each[1]], notes=report.notes
    )
