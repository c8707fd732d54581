"""The page of a class, for staff: how it went, what waits for a person, and which checks need a look."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labgrade.core import points
from labgrade.core.results import people
from labgrade.reports import figures, summary
from labgrade.reports.html import charts, class_pictures
from labgrade.reports.html import render as page
from labgrade.reports.html.render import KINDS
from labgrade.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from labgrade.core.points import Totals
    from labgrade.core.results import Graded, Report, SubmissionReport
    from labgrade.reports.figures import CheckFigures

_FIGURES = re.compile(r"'[^']*'|\d[\d,.]*")
_SLOWEST = 10
_MOST = 1000  # rows of submissions: a browser is slow with more, and a spreadsheet is not
_MOST_WAITING = 200  # lines of what waits, and of what several have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubmissionRow:
    submission: SubmissionReport
    total: Totals
    counts: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A check that only a person can settle."""

    who: str
    task: str
    check: Graded


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRow:
    """Two submissions with common code: the share of the smaller one, and lines and files of the first."""

    names: tuple[str, str]
    share: float
    lines: int
    paths: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonWork:
    """Work that submissions share. `files`: paths and their owners; `says`: how far the search has come."""

    files: Sequence[tuple[Sequence[str], Sequence[str]]]
    code: Sequence[CodeRow]
    says: str


def render(
    report: Report, link: Callable[[str], str] = lambda _: "", marking: str = "", same: CommonWork | None = None
) -> str:
    """The page of a class. It shows all that the report has: hidden checks, facts, names.

    `link` gives the address of a submission's own page, or ""; `marking` that of the page on which people mark.
    `same`: what was found by comparing the hand-ins themselves; None where they are not at hand.
    """
    rows = [_row(submission) for submission in report.submissions]
    return page.render(
        "class.html",
        script=page.own_script("class.js"),
        rows=rows,
        most=_MOST,
        few=_MOST_WAITING,
        **_spread(rows),
        **_check_fields(report),
        **_waiting_fields(report),
        spread=summary.spread,
        people=people,
        reason=summary.full_reason,
        compared=summary.beside_expected,
        chart=_chart(rows),
        by_task=class_pictures.by_task(report),
        mistakes=class_pictures.mistakes(report),
        planes=list(class_pictures.point_plots(report)),
        link=link,
        marking=marking,
        handed_in=same,
        zeros=figures.without_points(report),
        causes=figures.causes(report),
        same=figures.same_values(report),
        notes=report.notes,
    )


def _check_fields(report: Report) -> dict[str, Any]:
    """Return the template fields about checks and common mistakes."""
    checks, mistakes = figures.check_figures(report), figures.misconceptions(report)
    return {
        "checks": checks,
        "weak": [each for each in checks if figures.discriminates_badly(each)],
        "fewest": figures.FEWEST,
        "misconceptions": mistakes,
        "common": [each for each in mistakes if len(each.names) > 1][:1],
        "slowest": _slowest(checks),
        "cut_off": [each for each in checks if each.cut_off],
    }


def _waiting_fields(report: Report) -> dict[str, Any]:
    """Return the template fields about what waits for a person."""
    faults, waiting = _waiting(report, Outcome.FAULT), _waiting(report, Outcome.MANUAL)
    manual = [each for each in waiting if not each.check.verdict.waits_for]  # what hangs on these settles with them
    return {
        "reasons": _reasons(faults, waiting),
        "faults": faults[:_MOST_WAITING],
        "manual": manual[:_MOST_WAITING],
        "counted": (len(faults), len(manual)),
    }


def _spread(rows: list[_SubmissionRow]) -> dict[str, Fraction | None]:
    """The middle, the lowest and the highest final points, and how many there are to earn."""
    finals = [row.total.final for row in rows]
    return {
        "middle": statistics.median(finals) if finals else None,
        "low": min(finals, default=None),
        "high": max(finals, default=None),
        "worth": max((row.total.points for row in rows), default=None),
    }


def _row(submission: SubmissionReport) -> _SubmissionRow:
    found = summary.counts(submission)
    return _SubmissionRow(
        submission=submission,
        total=points.final_totals(submission),
        counts={kind: sum(found[outcome] for outcome in outcomes) for kind, (_, outcomes) in KINDS.items()},
        seconds=sum(check.seconds for check in summary.checks(submission)),
    )


def _chart(rows: Sequence[_SubmissionRow]) -> object:
    shares = [float(row.total.final / row.total.points) for row in rows if row.total.points]
    title = f"how many of {len(shares):,} submissions earned which share of the points"
    return charts.distribution(shares, title=title, salt="class") if shares else None


def _waiting(report: Report, outcome: Outcome) -> list[_Waiting]:
    return [
        _Waiting(who=submission.name, task=task.id, check=check)
        for submission in report.submissions
        for task in submission.tasks
        for check in task.checks
        if check.verdict.outcome is outcome
    ]


def _reasons(faults: Sequence[_Waiting], manual: Sequence[_Waiting]) -> Sequence[tuple[str, int, Sequence[str]]]:
    """Return why checks wait, each reason without its figures, with how many and in which tasks."""
    found: defaultdict[str, list[_Waiting]] = defaultdict(list)
    for each in (*faults, *manual):
        verdict = each.check.verdict
        why = verdict.facts.get("fault", "") or summary.reason(verdict)
        found[_FIGURES.sub("...", why.partition("\n")[0])].append(each)
    rows = [(why, len(own), tuple(dict.fromkeys(each.task for each in own))) for why, own in found.items()]
    return sorted(rows, key=lambda row: -row[1])


def _slowest(checks: Sequence[CheckFigures]) -> Sequence[CheckFigures]:
    slow = [each for each in checks if each.seconds[1] > 0]
    return sorted(slow, key=lambda each: -each.seconds[1])[:_SLOWEST]
